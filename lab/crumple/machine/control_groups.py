"""Where the files of a process's control groups are: of version 1, 2 or both, also those of a container.

A path in /proc/PID/cgroup is as it is seen from crumple's own namespace of control groups, and so is the root
of each mount in any process's mountinfo. So a group's files lie below a mount whose root is the group or one
around it. If no mount here shows the group, as in a container that looks at another one, a mount that the
process itself sees may, below /proc/PID/root.
"""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

PROC = Path("/proc")
# What mountinfo writes for a space, a tab, a line feed and a backslash: proc_pid_mountinfo(5).
_ESCAPED = re.compile(r"\\(\d{3})")


@dataclass(frozen=True)
class Group:
    """A control group. `path`: in its hierarchy, as seen from here; `folder`: where its files are."""

    path: str
    folder: Path

    def text(self, name: str) -> str:
        """Return what one of its files says; empty: it has none, or it cannot be read."""
        with contextlib.suppress(OSError):
            return (self.folder / name).read_text(encoding="utf-8", errors="replace").strip()
        return ""

    def number(self, name: str) -> int | None:
        """Return the number in one of its files; None: there is none, as where it says "max"."""
        with contextlib.suppress(ValueError):
            return int(self.text(name))
        return None

    def counted(self, name: str, key: str) -> int | None:
        """Return what a file of lines "KEY NUMBER" counts under a key; None: nothing."""
        words = (line.split() for line in self.text(name).splitlines())
        return next((int(each[1]) for each in words if len(each) == 2 and each[0] == key), None)


@dataclass(frozen=True)
class _Mount:
    """A mounted hierarchy: `controllers` if it is one of version 1. `root`: the group that `folder` shows."""

    is_unified: bool
    controllers: frozenset[str]
    root: str
    folder: Path


@dataclass(frozen=True)
class Groups:
    """The groups of a process that may limit each of these: its own first, then those around it.

    `tasks`: processes and threads; `unified`: those of version 2, whatever they limit. Empty: not found.
    """

    cpu: tuple[Group, ...]
    cores: tuple[Group, ...]
    memory: tuple[Group, ...]
    tasks: tuple[Group, ...]
    unified: tuple[Group, ...]


def of(pid: int | str) -> Groups:
    """Return the groups of a process."""
    paths = _paths(pid)
    mounts = (_mounts("self", Path("/")), _mounts(pid, PROC / str(pid) / "root"))

    def around(controller: str) -> tuple[Group, ...]:
        # What version 1 does not have is version 2's.
        kind = controller if controller in paths else ""
        return tuple(_around(mounts, paths[kind], kind)) if kind in paths else ()

    return Groups(*(around(each) for each in ("cpu", "cpuset", "memory", "pids", "")))


def _paths(pid: int | str) -> dict[str, str]:
    """Controller → the path of its group; "" → that of version 2."""
    found: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in os.fsdecode((PROC / str(pid) / "cgroup").read_bytes()).splitlines():
            _, controllers, path = line.split(":", 2)
            found.update(dict.fromkeys(controllers.split(","), path))
    return found


def _around(mounts: Sequence[Sequence[_Mount]], path: str, controller: str) -> Iterator[Group]:
    for of_one in mounts:
        shown = [(each, below) for each in of_one if (below := _below(each, path, controller)) is not None]
        # The mount that shows most of the groups around it.
        for mount, below in sorted(shown, key=lambda each: -len(each[1].parts)):
            if (mount.folder / below).is_dir():
                yield from _levels(mount, below)
                return


def _below(mount: _Mount, path: str, controller: str) -> PurePosixPath | None:
    """Return a group's path below the root of a mount; None: the mount does not show it."""
    if not (controller in mount.controllers if controller else mount.is_unified):
        return None
    with contextlib.suppress(ValueError):
        below = PurePosixPath(path).relative_to(mount.root)
        return None if ".." in below.parts else below
    return None


def _levels(mount: _Mount, below: PurePosixPath) -> Iterator[Group]:
    for each in (below, *below.parents):
        yield Group(str(PurePosixPath(mount.root) / each), mount.folder / each)


def _mounts(pid: int | str, prefix: Path) -> Sequence[_Mount]:
    """Return the hierarchies that a process sees. `prefix`: where its root directory is seen from here."""
    found: list[_Mount] = []
    with contextlib.suppress(OSError):
        for line in os.fsdecode((PROC / str(pid) / "mountinfo").read_bytes()).splitlines():
            before, _, after = line.partition(" - ")
            kind, _, options = after.split(" ", 2)
            if kind not in ("cgroup", "cgroup2"):
                continue
            root, point = (_ESCAPED.sub(_character, each) for each in before.split(" ")[3:5])
            found.append(
                _Mount(kind == "cgroup2", frozenset(options.split(",")), root, prefix / point.lstrip("/"))
            )
    return found


def _character(escaped: re.Match[str]) -> str:
    return chr(int(escaped[1], 8))
