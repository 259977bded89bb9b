"""How far away a load host is: how long a line takes there and back, and how far its clock is off."""

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from crumple.load_host.answer_types import Clock


@dataclass(frozen=True)
class Way:
    """What some lines took that were sent one after the other."""

    median_ns: float
    p99_ns: int
    """The largest of fewer than a hundred."""
    clock_ahead_ns: int
    """How far the clock there is ahead of the one here, by the line that was fastest."""
    clock_off_most_ns: int
    """By how much that may be wrong: half of what that line took, as it may have waited on one way only."""
    monotonic_ahead_ns: int
    """The same of the monotonic clocks, which count from the boot of each machine."""


def measured(clock: Callable[[], Clock], lines: int, within_s: float = math.inf) -> Way:
    """Return what so many lines take, or as many as fit into that time. Raises what `clock` does."""
    took_ns: list[int] = []
    ahead_ns, monotonic_ahead_ns, least_ns = 0, 0, math.inf
    over_s = time.monotonic() + within_s
    while len(took_ns) < lines and not (took_ns and time.monotonic() >= over_s):
        unix_ns, began_ns = time.time_ns(), time.monotonic_ns()
        there = clock()
        took_ns.append(time.monotonic_ns() - began_ns)
        if took_ns[-1] < least_ns:
            least_ns = took_ns[-1]
            ahead_ns = there.unix_ns - unix_ns - took_ns[-1] // 2
            monotonic_ahead_ns = there.monotonic_ns - began_ns - took_ns[-1] // 2
    took_ns.sort()
    p99_ns = took_ns[math.ceil(0.99 * len(took_ns)) - 1]
    off_most_ns = -(-took_ns[0] // 2)
    return Way(statistics.median(took_ns), p99_ns, ahead_ns, off_most_ns, monotonic_ahead_ns)
