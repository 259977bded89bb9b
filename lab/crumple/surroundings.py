"""What a command finds around itself as it begins, made fit: its standard streams, the memory it may address.

A result that took minutes is not to be lost because nobody reads it, or because an encoding lacks a letter.
"""

import errno
import io
import os
import resource
import sys
from pathlib import Path

from crumple.errors import CrumpleError

# With less, what computes quantiles is not to be loaded.
ADDRESSED_MIN_BYTES = 192 << 20


def mend_streams() -> None:
    """Standard streams that are closed give and take nothing; what an encoding lacks becomes "?"."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest that is free, which no file or socket opened later is to become.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdin = sys.stdin or _nothing("r")
    sys.stdout = sys.stdout or _nothing("w")
    sys.stderr = sys.stderr or _nothing("w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def refusal(folder: Path) -> str:
    """Why nothing can be written to a folder that need not be there as yet; empty if it can."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir():
        return os.strerror(errno.ENOTDIR)
    if os.access(there, os.W_OK | os.X_OK):
        return ""
    read_only = os.statvfs(there).f_flag & os.ST_RDONLY
    return os.strerror(errno.EROFS if read_only else errno.EACCES)


def check_memory() -> None:
    """Raises CrumpleError where too little may be addressed."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < ADDRESSED_MIN_BYTES:
        needed = ADDRESSED_MIN_BYTES >> 10
        message = f"no more than {limit >> 10:,} KiB of memory may be addressed here"
        raise CrumpleError(message, f"raise the limit: ulimit -v {needed}")


def _nothing(mode: str) -> io.TextIOWrapper:
    # Where they are missing from the start, other files may have their numbers by now.
    return open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123
