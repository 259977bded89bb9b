"""The scratch folder of one command: made for it, held while the lab lives that made it, removed in the end.

Held by a lock on the folder itself. The kernel lifts it when the lab is gone, however it went, and no child
inherits it: a folder that can be locked belongs to nobody (see `leftovers`).
"""

import fcntl
import os
import shutil
import tempfile
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
