"""Scratch folders, and what a lab leaves that is killed together with its guard.

A scratch folder belongs to one command and is locked while the lab lives that made it. The kernel lifts the
lock when the lab is gone, however it ended, and no child inherits it: so a folder that can be locked belongs
to nobody. Each process carries the name of its scratch folder in its environment, as a mark, which its
children inherit. The next crumple ends marked processes and removes the folder, unless a living lab or guard
still has it.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

# Of crumple's folders and no others: what nobody holds is removed by this name.
PREFIX = "crumple-scratch-"
# In a folder that is filled before the command starts: the guard removes no other that holds anything.
MADE_FOR_THIS = ".crumple-scratch"


class ScratchFolder:
    """A folder that is held. `path`: where it lies."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock: int | None = lock

    @classmethod
    def made(cls) -> Self:
        """A new one, which holds nothing but the word for the guard that it may go. Raises OSError."""
        while True:
            path = Path(tempfile.mkdtemp(prefix=PREFIX))
            lock = locked(path)
            # Another crumple that clears away may have been there in between.
            if lock is not None:
                made = cls(path, lock)
                try:
                    (path / MADE_FOR_THIS).touch()
                except OSError:
                    made.remove()
                    raise
                return made

    def remove(self) -> None:
        """Remove it with all that is in it, and hold it no longer."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def locked(path: Path) -> int | None:
    """The folder's lock, to be closed; None where somebody holds it, or where it is gone. Raises OSError."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(path, follow_symlinks=False)):  # noqa: PTH116
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:
        os.close(lock)
        raise
    os.close(lock)
    return None


MARK = "CRUMPLE_SCRATCH"
GONE_S = 3.0
POLL_S = 0.01

_MARK = f"{MARK}=".encode()


def everywhere() -> Mapping[str, Sequence[int]]:
    """Scratch folder → the processes that carry its mark."""
    found: dict[str, list[int]] = defaultdict(list)
    for process in Path("/proc").glob("[0-9]*"):
        folder = _folder_of(int(process.name))
        if folder:
            found[folder].append(int(process.name))
    return found


def end(folder: Path) -> Sequence[int]:
    """Kill all that carry the mark of `folder`; which of them are there nevertheless, after GONE_S."""
    deadline = time.monotonic() + GONE_S
    while left := everywhere().get(str(folder), ()):
        for pid in left:
            _kill(pid, str(folder))
        if time.monotonic() > deadline:
            return left
        time.sleep(POLL_S)
    return ()


def _kill(pid: int, folder: str) -> None:
    with contextlib.suppress(OSError):
        process = os.pidfd_open(pid)
        try:
            # It may have ended since, and its number have become another's.
            if _folder_of(pid) == folder:
                signal.pidfd_send_signal(process, signal.SIGKILL)
        finally:
            os.close(process)


def _folder_of(pid: int) -> str:
    """Empty for a process without a mark, of another user's, or that is gone; a zombie has no environment."""
    with contextlib.suppress(OSError):
        for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if variable.startswith(_MARK):
                return os.fsdecode(variable.removeprefix(_MARK))
    return ""


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
    carried = everywhere()
    ended = Ended()
    for folder in dict.fromkeys((*carried, *_in_temporary_folder())):
        path = Path(folder)
        # Not what we descend from ourselves, nor what is no scratch folder of ours.
        if path.is_absolute() and path.name.startswith(PREFIX) and folder != os.environ.get(MARK):
            ended += _end(path, carried.get(folder, ()))
    return ended


def _in_temporary_folder() -> Iterable[str]:
    return map(str, Path(tempfile.gettempdir()).glob(f"{PREFIX}*"))


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
    left = tuple(end(folder))
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
