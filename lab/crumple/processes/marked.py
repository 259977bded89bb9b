"""Processes by the mark in their environment: which scratch folder they were started with.

A child inherits it, also one that left its session and its parent; one that clears its environment has none.
"""

import contextlib
import os
import signal
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

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
