"""Does a connection take a place, though nothing is asked on it? Pure.

A worker that waits for the rest of a request serves nobody else. With j of k workers so held, a load that
keeps all of them busy gets (k - j) / k of its answers. A loop lets as many in as before, and so does a lock
or a pool inside the server. Where cores are what limits it, the other workers get those that become free.
"""

from crumple.cause.observed import Crowded
from crumple.cause.outcome import Crowd
from crumple.stats import student

# A place is taken if the throughput falls by more than this share, also at the near end of its interval. Less
# may come from what an open connection costs.
FALLS_MIN = 0.03


def crowded(found: Crowd) -> Crowded:
    """Return how the throughput changes, with a 95 % interval (Student's)."""
    paired = found.paired
    reach = student.of_interval(paired.pairs - 1) * paired.sd
    return Crowded(found.others, paired.ratio, max(0.0, paired.ratio - reach), paired.ratio + reach)


def places(found: Crowded | None) -> tuple[float, float, float] | None:
    """Return how many places there are, with both ends of the interval; None: a connection takes none.

    Where no answer came beside them, there are as many places as connections, or fewer.
    """
    if found is None or found.high > 1 - FALLS_MIN:
        return None
    low, value, high = (found.held / (1 - each) for each in (found.low, found.ratio, found.high))
    return value, low, high
