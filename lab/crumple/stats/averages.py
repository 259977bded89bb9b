"""Means, variances and the like of short rows of numbers. Pure.

Without numpy: `crumple load` does, as that takes long to import and half of the memory.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence


def mean(values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """Return the mean of the values, one or more; `weights`: how much each counts, None: all alike."""
    if weights is None:
        return math.fsum(values) / len(values)
    products = (value * weight for value, weight in zip(values, weights, strict=True))
    return math.fsum(products) / math.fsum(weights)


def variance(values: Sequence[float]) -> float:
    """Return the variance of a sample; 0 with fewer than two values."""
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample; 0 with fewer than two values."""
    return math.sqrt(variance(values))


def quantile(values: Sequence[float], q: float) -> float:
    """Return the quantile q (0..1), interpolated between the two values around it."""
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    below = min(int(at), max(0, len(ordered) - 2))
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def interpolated(at: float, places: Sequence[float], values: Sequence[float]) -> float:
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
