"""What a command writes on both streams: a file without a name, of which only the end is kept.

Not a pipe: whoever reads one wakes with every line of the server's, beside the load.
"""

import ctypes
import os
import tempfile
import threading

TAIL_LINES = 20
TAIL_BYTES = 16_384
# So much may lie on the disk, and what a flood brings between two looks.
KEPT_BYTES = 1 << 20
LOOK_EVERY_S = 0.25

_KEEP_SIZE, _PUNCH_HOLE = 1, 2  # of fallocate(2)
_LIBC = ctypes.CDLL(None, use_errno=True)


class Written:
    """The output of one command. Gone with this object or with the lab, however that ends."""

    def __init__(self) -> None:
        """Raises OSError."""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the command)
        self._over = threading.Event()

    def fileno(self) -> int:
        """For the command to write to."""
        return self._file.fileno()

    def tail(self) -> list[str]:
        """The last lines."""
        size = os.fstat(self.fileno()).st_size
        # pread: the command writes at the same file position, which must not move.
        tail = os.pread(self.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES))
        return tail.decode("utf-8", "replace").splitlines()[-TAIL_LINES:]

    def began(self) -> None:
        """Somebody writes; keep it bounded until it is over."""
        threading.Thread(target=self._keep_bounded, daemon=True).start()

    def over(self) -> None:
        """Nobody writes any more."""
        self._over.set()

    def _keep_bounded(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            seen = os.fstat(self.fileno())
            if seen.st_blocks * 512 > KEPT_BYTES:
                _free(self.fileno(), seen.st_size - TAIL_BYTES)


def _free(file: int, until: int) -> None:
    """Give back what lies before `until`, and keep the size: who writes goes on where the file ends.

    Where the file system cannot, nothing happens.
    """
    _LIBC.fallocate(file, _KEEP_SIZE | _PUNCH_HOLE, ctypes.c_int64(0), ctypes.c_int64(until))
