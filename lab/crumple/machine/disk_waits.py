"""How many threads of this machine wait for a disk.

A thread that no signal wakes (state D) waits for a disk, or for a lock in the kernel, of one folder for
instance. The kernel counts the former (procs_blocked of proc_stat(5)), of all programs together.
"""

import contextlib
from pathlib import Path

_STAT = Path("/proc/stat")


def threads() -> int | None:
    """Return how many there are now; None: this kernel does not say it."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in _STAT.read_text().splitlines():
            if line.startswith("procs_blocked"):
                return int(line.split()[1])
    return None
