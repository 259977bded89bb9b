"""Quantiles of Student's t distribution. Pure.

Without scipy, which takes longer to import than a short load takes.
"""

import math
from functools import lru_cache

# Of the continued fraction: its terms shrink by a factor each, and this many are enough for any freedom here.
_TERMS_MAX = 500
_TINY = 1e-300
_EXACT = 1e-15
# Halvings of an interval of logarithms. Each halves the error.
_HALVINGS = 80


@lru_cache(maxsize=256)
def quantile(freedom: float, probability: float) -> float:
    """Return the t that a share `probability` of the distribution does not exceed; above 0, below 1."""
    if probability < 0.5:
        return -quantile(freedom, 1 - probability)
    if probability == 0.5:
        return 0.0
    # As logarithms, because with little freedom t is large. The ends are beyond any probability but 0 and 1.
    low, high = -40.0, min(300.0, max(4.0, 740.0 / freedom))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if above(freedom, math.exp(middle)) > 1 - probability:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)


def above(freedom: float, t: float) -> float:
    """Return the share of the distribution above t, which is not below 0."""
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function; `x` in 0..1."""
    if x <= 0 or x >= 1:
        return min(1.0, max(0.0, x))
    # The continued fraction converges fast on this side of the mean only.
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22)."""
    c, d = 1.0, 1 / _not_0(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _TERMS_MAX):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _not_0(1 + term * d)
            c = _not_0(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _EXACT:
            break
    return value


def _not_0(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
