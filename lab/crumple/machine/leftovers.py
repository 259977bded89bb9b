"""Scratch folders, and the clean-up after a lab and a guard that were killed together.

A scratch folder belongs to one command. The lab that made it holds a lock on it. The kernel releases the lock
when the lab ends, however it ends, and no child inherits it, so a folder that can be locked is not in use.
Each process has the path of its scratch folder in its environment, as a mark, which its children inherit. The
next crumple ends marked processes and removes the folder, unless a living lab or guard still holds it.

Not psutil: it signals a pid, which another process may have got by then; a pidfd stays with its process.
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

# Only crumple's own folders have this prefix: a folder with it that is not locked is removed.
PREFIX = "crumple-scratch-"
# A file in every scratch folder. If a folder holds something before the command starts, the guard removes it
# only if this file is in it.
MADE_FOR_THIS = ".crumple-scratch"


class ScratchFolder:
    """A scratch folder at `path`, locked by this process."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock: int | None = lock

    @classmethod
    def made(cls) -> Self:
        """A new folder, which holds only the file that lets the guard remove it. Raises OSError."""
        while True:
            path = Path(tempfile.mkdtemp(prefix=PREFIX))
            lock = lock_folder(path)
            # Another crumple that cleans up may have removed the folder before it was locked.
            if lock is not None:
                made = cls(path, lock)
                try:
                    (path / MADE_FOR_THIS).touch()
                except OSError:
                    made.remove()
                    raise
                return made

    def remove(self) -> None:
        """Remove the folder with all that is in it, and release its lock."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def lock_folder(path: Path) -> int | None:
    """Lock the folder; a descriptor, to be closed. None: it is locked already, or gone. Raises OSError."""
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
# Seconds for which processes are killed and looked for again. Those that live on are then reported.
GONE_S = 3.0
# Seconds between two searches for them.
POLL_S = 0.01

_MARK = f"{MARK}=".encode()


def everywhere() -> Mapping[str, Sequence[int]]:
    """Scratch folder → the pids of all processes that carry its mark."""
    found: dict[str, list[int]] = defaultdict(list)
    read: set[int] = set()
    # A process that becomes a daemon ends when it has started the next one, which may not be in the list yet.
    # So all are read only when a list names none that has not been.
    while new := _pids() - read:
        for pid in sorted(new):
            if folder := _folder_of(pid):
                found[folder].append(pid)
        read |= new
    return found


def _pids() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdecimal()}  # noqa: PTH208


def end(folder: Path) -> Sequence[int]:
    """Kill all processes that carry the mark of `folder`; the pids of those that live on after GONE_S."""
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
            # It may have ended since, and another process may have its pid.
            if _folder_of(pid) == folder:
                signal.pidfd_send_signal(process, signal.SIGKILL)
        finally:
            os.close(process)


def _folder_of(pid: int) -> str:
    """The scratch folder that a process is marked with.

    Empty: it has no mark, is another user's, is gone, or is a zombie, which has no environment.
    """
    with contextlib.suppress(OSError):
        for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if variable.startswith(_MARK):
                return os.fsdecode(variable.removeprefix(_MARK))
    return ""


@dataclass(frozen=True)
class CleanedUp:
    """What was found and cleaned up. `left`: pids of processes that could not be ended."""

    processes: int = 0
    folders: int = 0
    left: tuple[int, ...] = ()

    def __add__(self, other: "CleanedUp") -> "CleanedUp":
        return CleanedUp(
            self.processes + other.processes, self.folders + other.folders, (*self.left, *other.left)
        )

    def __bool__(self) -> bool:
        return bool(self.processes or self.folders or self.left)

    def __str__(self) -> str:
        """One line for the user."""
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


def end_all() -> CleanedUp:
    """End the processes and remove the scratch folders that no living lab or guard holds."""
    carried = everywhere()
    ended = CleanedUp()
    for folder in dict.fromkeys((*carried, *_in_temporary_folder())):
        path = Path(folder)
        # Skip the folder whose mark this process carries itself, and folders that crumple did not make.
        if path.is_absolute() and path.name.startswith(PREFIX) and folder != os.environ.get(MARK):
            ended += _end(path, carried.get(folder, ()))
    return ended


def _in_temporary_folder() -> Iterable[str]:
    return map(str, Path(tempfile.gettempdir()).glob(f"{PREFIX}*"))


def _end(folder: Path, processes: Sequence[int]) -> CleanedUp:
    # Another user's folder cannot be opened.
    with contextlib.suppress(OSError):
        lock = lock_folder(_seen_by(processes[0], folder) if processes else folder)
        if lock is not None:
            try:
                if not any(map(_is_guard, processes)) and os.geteuid() in (0, os.fstat(lock).st_uid):
                    return _end_held(folder, lock, len(processes))
            finally:
                os.close(lock)
    return CleanedUp()


def _end_held(folder: Path, lock: int, processes: int) -> CleanedUp:
    left = tuple(end(folder))
    # A folder in another container's file system stays; this path may name another folder here, or none.
    ours = folder.is_dir() and os.path.samestat(os.fstat(lock), folder.lstat())
    if ours:
        shutil.rmtree(folder, ignore_errors=True)
    return CleanedUp(processes, int(ours), left)


def _seen_by(pid: int, folder: Path) -> Path:
    """The path of the folder as that process sees it: its root may differ from ours."""
    return Path(f"/proc/{pid}/root{folder}")


def _is_guard(pid: int) -> bool:
    """Whether the process is a guard, which ends the others itself once its lab is gone.

    It gives them time to end, as `end` does not.
    """
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:2] == [b"guard"]
    return False
