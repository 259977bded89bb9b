"""Which program a process runs, in which container it does, and how much CPU time that allows it."""

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from crumple.machine import containers, control_groups, group_limits
from crumple.machine.group_limits import Limit

# What an interpreter is given to run. Other words of a command may hold secrets.
_SCRIPT = re.compile(r"[\w.-]+\.(py|[mc]?js|ts|rb|pl|psgi|php|lua|exs|jar)")


@dataclass(frozen=True)
class Program:
    """A process as it is shown: "python3 shop.py". `container`: its name or id; empty: that of crumple.

    `quota`: how much CPU time its control groups allow it, in cores; None: as much as there is, or not known.
    """

    pid: int
    name: str
    container: str = ""
    quota: Limit | None = None


def of(pid: int) -> Program | None:
    """Return the program of a process; None: there is no such process, or it is hidden."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return None
    script = _script(_words(pid)[1:])
    quota = group_limits.limits(control_groups.of(pid)).quota
    return Program(pid, f"{name} {script}" if script else name, containers.name_of(pid), quota)


def _words(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    return []


def _script(words: Sequence[str]) -> str:
    names = (PurePath(word).name for word in words if not word.startswith("-"))
    return next((name for name in names if _SCRIPT.fullmatch(name)), "")
