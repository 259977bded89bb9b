"""Which program a process runs, and in which container it does."""

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from crumple.machine import group_owner

# What an interpreter is given to run. Other words of a command may hold secrets.
_SCRIPT = re.compile(r"[\w.-]+\.(py|[mc]?js|ts|rb|pl|psgi|php|lua|exs|jar)")


@dataclass(frozen=True)
class Program:
    """A process as it is shown: "python3 shop.py". `container`: its id or name; empty: that of crumple."""

    pid: int
    name: str
    container: str = ""


def of(pid: int) -> Program | None:
    """Return the program of a process; None: there is no such process, or it is hidden."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return None
    script = _script(_words(pid)[1:])
    inside = _container(pid)
    return Program(
        pid, f"{name} {script}" if script else name, "" if inside == _container("self") else inside
    )


def container_in(groups: str) -> str:
    """Return the id or name of the container that control groups are of; empty: of none.

    `groups`: what /proc/PID/cgroup says.
    """
    paths = (line.split(":", 2)[2] for line in groups.splitlines() if line.count(":") >= 2)
    return next(filter(None, map(group_owner.container_of, paths)), "")


def _container(pid: int | str) -> str:
    with contextlib.suppress(OSError):
        return container_in(Path(f"/proc/{pid}/cgroup").read_text())
    return ""


def _words(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    return []


def _script(words: Sequence[str]) -> str:
    names = (PurePath(word).name for word in words if not word.startswith("-"))
    return next((name for name in names if _SCRIPT.fullmatch(name)), "")
