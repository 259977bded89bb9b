"""The CPU time that a server uses without a load: by threads of its own, or for others."""

import contextlib
import time
from pathlib import Path

from crumple.machine import process_tree

OVER_S = 0.3


def cores(pid: int, over_s: float = OVER_S) -> float | None:
    """Return how many cores the process tree of `pid` keeps busy in `over_s` from now; None: not readable."""
    before_ns, began_s = _spent_ns(pid), time.monotonic()
    time.sleep(over_s)
    after_ns, took_s = _spent_ns(pid), time.monotonic() - began_s
    if not before_ns or not after_ns:
        return None
    spent_ns = sum(after_ns[thread] - ns for thread, ns in before_ns.items() if thread in after_ns)
    return spent_ns / 1e9 / took_s


def _spent_ns(pid: int) -> dict[str, int]:
    """The CPU time of each thread so far, exact but for what it used since the last tick."""
    spent: dict[str, int] = {}
    for process in (pid, *process_tree.descendants(pid)):
        for file in Path(f"/proc/{process}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                spent[str(file)] = int(file.read_text().split()[0])
    return spent
