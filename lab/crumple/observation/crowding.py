"""How many places there are, by what half-sent requests take from a load. Pure."""

from crumple.observation.outcome import Crowd
from crumple.stats import student

# The least fall of the throughput beside half-sent requests, at the near end of its interval, that shows that
# they take places. A smaller one may be what an open connection costs.
FALLS_MIN = 0.03


def places(found: Crowd | None) -> tuple[float, float, float] | None:
    """Return how many there are, with a 95 % interval (Student's); None: a connection takes none.

    Where no answer came beside them, there are as many places as connections, or fewer.
    """
    if found is None:
        return None
    paired = found.paired
    reach = student.of_interval(paired.pairs - 1) * paired.sd
    low, value, high = (max(0.0, paired.ratio + each) for each in (-reach, 0.0, reach))
    if high > 1 - FALLS_MIN:
        return None
    return found.others / (1 - value), found.others / (1 - low), found.others / (1 - high)
