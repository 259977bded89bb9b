"""Which processes descend from a process, read from /proc. It ends none of them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path


def descendants(pid: int) -> Iterator[int]:
    """All that lives and descends from `pid`, parents before their children."""
    # Children belong to the thread that forked them, so every thread is asked.
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_text().split():
                yield int(child)
                yield from descendants(int(child))


def ancestors(pid: int) -> Iterator[int]:
    """Its parent, the parent's parent and so on, up to but not including the first process."""
    while (pid := _parent(pid)) > 1:
        yield pid


def _parent(pid: int) -> int:
    try:
        # The name in brackets may hold anything; what follows it does not.
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
