"""Derivatives of the logarithm of the gamma function. Pure, without scipy: see `beta`."""

import math

# The least x at which the series are exact to a double's last digits (DLMF 5.11.2 and its derivatives).
_FAR = 12.0
# The Bernoulli numbers B2, B4, …
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def digamma(x: float) -> float:
    """Return the first derivative; `x` above 0."""
    below = 0.0
    while x < _FAR:
        below, x = below - 1 / x, x + 1
    series = sum(number / (2 * k * x ** (2 * k)) for k, number in enumerate(_BERNOULLI, 1))
    return below + math.log(x) - 1 / (2 * x) - series


def trigamma(x: float) -> float:
    """Return the second derivative; `x` above 0."""
    below = 0.0
    while x < _FAR:
        below, x = below + 1 / x**2, x + 1
    series = sum(number / x ** (2 * k + 1) for k, number in enumerate(_BERNOULLI, 1))
    return below + 1 / x + 1 / (2 * x**2) + series


def tetragamma(x: float) -> float:
    """Return the third derivative; `x` above 0."""
    below = 0.0
    while x < _FAR:
        below, x = below - 2 / x**3, x + 1
    series = sum((2 * k + 1) * number / x ** (2 * k + 2) for k, number in enumerate(_BERNOULLI, 1))
    return below - 1 / x**2 - 1 / x**3 - series
