"""Shares of requests, and how far two of them differ, with 95 % intervals. Pure.

Without numpy and scipy, which take long to import. `stats.pooled` has the exact interval.
"""

import math

# The quantile of the normal distribution that belongs to 95 %.
Z = 1.959964


def interval(found: int, of: int) -> tuple[float, float]:
    """Return both ends of Wilson's interval (J. Am. Stat. Assoc. 22, 1927) of the share; `of`: above 0."""
    share, spread = found / of, Z * Z / of
    middle = (share + spread / 2) / (1 + spread)
    reach = math.sqrt(spread * share * (1 - share) + spread * spread / 4) / (1 + spread)
    return max(0.0, min(share, middle - reach)), min(1.0, max(share, middle + reach))


def difference(found: int, of: int, other: int, of_other: int) -> tuple[float, float]:
    """Return both ends of the interval of one share less another.

    It is Newcombe's, of two intervals of Wilson's (Statistics in Medicine 17, 1998, method 10). It holds for
    shares of 0 and of 1, too.
    """
    one, two = found / of, other / of_other
    (low_one, high_one), (low_two, high_two) = interval(found, of), interval(other, of_other)
    below = math.hypot(one - low_one, high_two - two)
    above = math.hypot(high_one - one, two - low_two)
    return one - two - below, one - two + above
