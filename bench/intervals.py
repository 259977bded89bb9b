"""Intervals that `crumple.stats` has no need of: of a median that asks nothing of how values scatter, and of
a slope. Pure."""

import math
from collections.abc import Sequence

from crumple.stats.stats import CONFIDENCE, Interval
from scipy import stats


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The median, between two values that enclose the true one at least as often as `confidence`.

    Fewer than six values do not, whatever they are: their interval is endless.
    """
    ordered, n = sorted(values), len(values)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    rank = _rank(n, confidence)
    if rank == 0:
        return Interval(middle, -math.inf, math.inf, confidence, n)
    return Interval(middle, ordered[rank - 1], ordered[n - rank], confidence, n)


def _rank(n: int, confidence: float) -> int:
    """The highest k for which the k-th lowest and the k-th highest of n values enclose the median as often.

    Each value lies below it with probability one half, so how many do is binomial. 0: there is none.
    """
    rank, outside = 0, 2 / 2**n
    while outside <= 1 - confidence:
        rank += 1
        outside += 2 * math.comb(n, rank) / 2**n
    return rank


def slope_interval(x: Sequence[float], y: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """How much y rises with each of x, by least squares. Of two points nothing is known of the spread."""
    line = stats.linregress(x, y)
    if len(x) < 3:
        return Interval(line.slope, -math.inf, math.inf, confidence, len(x))
    reach = stats.t.ppf((1 + confidence) / 2, len(x) - 2) * line.stderr
    return Interval(line.slope, line.slope - reach, line.slope + reach, confidence, len(x))
