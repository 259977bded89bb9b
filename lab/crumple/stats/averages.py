"""Variances, quantiles and values in between, of short rows of numbers. Pure.

Without numpy: `crumple load` does, as that takes long to import and half of the memory.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from statistics import fmean


def variance(values: Sequence[float]) -> float:
    """Return the variance of a sample; 0 with fewer than two values.

    That of `statistics` takes some fifty times as long, as it computes with fractions.
    """
    if len(values) < 2:
        return 0.0
    middle = fmean(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def quantile(values: Sequence[float], q: float) -> float:
    """Return the quantile q (0..1), interpolated between the two values around it."""
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    below = min(int(at), max(0, len(ordered) - 2))
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def interpolate(at: float, places: Sequence[float], values: Sequence[float]) -> float:
    """Return the value at a place between others, which rise; beyond them, that of the nearest."""
    after = bisect_right(places, at)
    if after == 0:
        return values[0]
    if after == len(places):
        return values[-1]
    share = (at - places[after - 1]) / (places[after] - places[after - 1])
    return values[after - 1] + share * (values[after] - values[after - 1])


def even(low: float, high: float, number: int) -> list[float]:
    """Return `number` values, two or more, at equal distances from `low` to `high`."""
    step = (high - low) / (number - 1)
    return [*(low + step * at for at in range(number - 1)), high]


def even_on_logarithms(low: float, high: float, number: int) -> list[float]:
    """Return `number` values, two or more, at equal ratios from `low` to `high`, which are above 0."""
    logs = even(math.log(low), math.log(high), number)
    return [low, *(math.exp(log) for log in logs[1:-1]), high]
