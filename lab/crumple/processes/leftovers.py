"""What a lab left that was killed together with its guard: processes with a mark, and their scratch folder.

Nobody else would end them. Whoever finds them does: a folder that a living lab holds, or of which a guard is
still at work, is left alone.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from crumple.processes import marked, scratch_folder
from crumple.processes.scratch_folder import locked


@dataclass(frozen=True)
class Ended:
    """What was found and cleared away. `left`: processes that could not be ended."""

    processes: int = 0
    folders: int = 0
    left: tuple[int, ...] = ()

    def __add__(self, other: "Ended") -> "Ended":
        return Ended(
            self.processes + other.processes, self.folders + other.folders, (*self.left, *other.left)
        )

    def __bool__(self) -> bool:
        return bool(self.processes or self.folders or self.left)

    def __str__(self) -> str:
        """For the user, in a line."""
        counts = (
            (self.processes, "process", "processes"),
            (self.folders, "scratch folder", "scratch folders"),
        )
        found = [f"{number:,} {one if number == 1 else many}" for number, one, many in counts if number]
        said = f"a crumple that was killed had left {' and '.join(found)}"
        if not self.left:
            return f"{said}; all of it is ended and removed"
        pids = ", ".join(map(str, self.left))
        return f"{said}, of which the processes {pids} could not be ended; end them by hand"


def end_all() -> Ended:
    """End and remove whatever belongs to nobody any more."""
    carried = marked.everywhere()
    ended = Ended()
    for folder in dict.fromkeys((*carried, *_in_temporary_folder())):
        path = Path(folder)
        # Not what we descend from ourselves, nor what is no scratch folder of ours.
        if (
            path.is_absolute()
            and path.name.startswith(scratch_folder.PREFIX)
            and folder != os.environ.get(marked.MARK)
        ):
            ended += _end(path, carried.get(folder, ()))
    return ended


def _in_temporary_folder() -> Iterable[str]:
    return map(str, Path(tempfile.gettempdir()).glob(f"{scratch_folder.PREFIX}*"))


def _end(folder: Path, processes: Sequence[int]) -> Ended:
    # Another user's, whose folder is not ours to open.
    with contextlib.suppress(OSError):
        lock = locked(_seen_by(processes[0], folder) if processes else folder)
        if lock is not None:
            try:
                if not any(map(_is_guard, processes)) and os.geteuid() in (0, os.fstat(lock).st_uid):
                    return _end_held(folder, lock, len(processes))
            finally:
                os.close(lock)
    return Ended()


def _end_held(folder: Path, lock: int, processes: int) -> Ended:
    left = tuple(marked.end(folder))
    # In another container's file system, which has its own folder of that name or none.
    ours = folder.is_dir() and os.path.samestat(os.fstat(lock), folder.lstat())
    if ours:
        shutil.rmtree(folder, ignore_errors=True)
    return Ended(processes, int(ours), left)


def _seen_by(pid: int, folder: Path) -> Path:
    """Where a process finds the folder, whose root may be another."""
    return Path(f"/proc/{pid}/root{folder}")


def _is_guard(pid: int) -> bool:
    """Whether it is a guard: its lab is gone, so it ends the rest by itself, and with more grace than we."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:2] == [b"guard"]
    return False
