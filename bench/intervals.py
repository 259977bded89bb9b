"""Intervals that `crumple.stats` does not need: of a median, without an assumption about the distribution of
the values, and of a slope. Pure."""

import math
from collections.abc import Sequence

from crumple.stats.interval import CONFIDENCE, Interval
from scipy import stats


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The median, between two values that enclose the true one with a probability of at least `confidence`.

    Fewer than six values cannot enclose it so often. Their interval is infinite.
    """
    ordered, n = sorted(values), len(values)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    rank = _rank(n, confidence)
    if rank == 0:
        return Interval(middle, -math.inf, math.inf, confidence, n)
    return Interval(middle, ordered[rank - 1], ordered[n - rank], confidence, n)


def _rank(n: int, confidence: float) -> int:
    """The highest k for which the k-th lowest and k-th highest of n values enclose the median often enough.

    Each value lies below the median with a probability of one half, so the number that do is binomial. If
    there is no such k, returns 0.
    """
    rank, outside = 0, 2 / 2**n
    while outside <= 1 - confidence:
        rank += 1
        outside += 2 * math.comb(n, rank) / 2**n
    return rank


def slope_interval(x: Sequence[float], y: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """How much y rises with each of x, by least squares. Two points say nothing about the spread."""
    line = stats.linregress(x, y)
    if len(x) < 3:
        return Interval(line.slope, -math.inf, math.inf, confidence, len(x))
    reach = stats.t.ppf((1 + confidence) / 2, len(x) - 2) * line.stderr
    return Interval(line.slope, line.slope - reach, line.slope + reach, confidence, len(x))
