"""Does a connection take a place, though nothing is asked on it? Pure.

A worker that waits for the rest of a request serves nobody else. With j of k workers so held, a load that
keeps all of them busy gets (k - j) / k of its answers. A loop lets as many in as before, and so does a lock
or a pool inside the server. Where cores are what limits it, the other workers get those that become free.
"""

from collections.abc import Sequence

from crumple.cause.observed import Crowded
from crumple.stats import averages, student

# A place is taken if the throughput falls by more than this share, also at the near end of its interval. Less
# may come from what an open connection costs.
FALLS_MIN = 0.03


def crowded(held: int, pairs: Sequence[tuple[float, float]]) -> Crowded | None:
    """Return how the throughput changes; None: too little was measured.

    `pairs`: answers per second beside `held` connections, and soon before or after that without. What drifts
    in the meantime, as others use the machine, makes the pairs differ, which the interval (Student's) shows.
    """
    ratios = [beside / without for beside, without in pairs if without]
    if len(ratios) < 2:
        return None
    ratio = averages.mean(ratios)
    reach = student.of_interval(len(ratios) - 1) * averages.deviation(ratios) / len(ratios) ** 0.5
    return Crowded(held, ratio, max(0.0, ratio - reach), ratio + reach)


def places(found: Crowded | None) -> tuple[float, float, float] | None:
    """Return how many places there are, with both ends of the interval; None: a connection takes none.

    Where no answer came beside them, there are as many places as connections, or fewer.
    """
    if found is None or found.high > 1 - FALLS_MIN:
        return None
    low, value, high = (found.held / (1 - each) for each in (found.low, found.ratio, found.high))
    return value, low, high
