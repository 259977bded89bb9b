"""The incomplete beta function, from which other distributions follow. Pure.

Without scipy, which takes longer to import than a short load takes, and 110 MB.
"""

import math
from collections.abc import Callable

# The most terms of the continued fraction. It takes the more the larger a and b are: some thousands at a
# million.
_TERMS_MAX = 100_000
# Stands for 0 in a denominator of the continued fraction.
_TINY = 1e-300
# The largest share by which a further term changes the fraction if it is lost in a double's last digit.
_EXACT = 1e-15
# The most steps towards a root. As each halves the interval at worst, some sixty are enough for a double.
_STEPS_MAX = 200
# The largest step of Newton's method, as a share of the root, after which nothing is left of the error, since
# each step squares it.
_CLOSE = 1e-9


def incomplete(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function; `x` in 0..1."""
    if x <= 0 or x >= 1:
        return min(1.0, max(0.0, x))
    # The continued fraction converges fast on this side of the mean only.
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete(b, a, 1 - x)
    return math.exp(_log_front(a, b, x)) * _fraction(a, b, x) / a


def inverse(a: float, b: float, share: float) -> float:
    """Return the x of which `incomplete` is that share, between 0 and 1."""

    def off(log: float) -> tuple[float, float]:
        x = math.exp(log)
        return incomplete(a, b, x) - share, math.exp(_log_front(a, b, x)) / (1 - x)

    return math.exp(root(off, -700.0, -1e-16, math.log(a / (a + b))))


def root(of: Callable[[float], tuple[float, float]], low: float, high: float, first: float) -> float:
    """Return where a function that rises from `low` to `high` is 0: by Newton's method, or else by halving.

    `of` returns the value of the function and its slope; `first`: a place near the root.
    """
    at, step_before = first, high - low
    for _ in range(_STEPS_MAX):
        value, slope = of(at)
        low, high = (at, high) if value < 0 else (low, at)
        step = value / slope if slope > 0 else math.inf
        if abs(step) <= _CLOSE * max(1.0, abs(at)):
            return at - step
        if not low < at - step < high or abs(step) > step_before / 2:
            step = at - (low + high) / 2
        at, step_before = at - step, abs(step)
    return at


def _log_front(a: float, b: float, x: float) -> float:
    return math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)


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
