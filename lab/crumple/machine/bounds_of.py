"""How many files the processes of a server have open, and may."""

import contextlib
import os
from pathlib import Path

from crumple.machine import process_tree


def open_files(pid: int) -> tuple[int, int] | None:
    """Open files and their limit, of the process of the tree that is nearest to it; None: cannot be read."""
    found = []
    for process in (pid, *process_tree.descendants(pid)):
        with contextlib.suppress(OSError, StopIteration, ValueError):
            limits = Path(f"/proc/{process}/limits").read_text().splitlines()
            limit = next(line for line in limits if line.startswith("Max open files")).split()[3]
            used = len(os.listdir(f"/proc/{process}/fd"))  # noqa: PTH208  (called beside a load)
            found.append((used, int(limit)))
    return nearest(found)


def nearest(files: list[tuple[int, int]]) -> tuple[int, int] | None:
    """The number of open files that is nearest to its limit, with that limit; None: there is none."""
    return max(files, key=lambda each: each[0] / max(1, each[1]), default=None)
