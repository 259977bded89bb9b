"""Densities and shares of distributions, for rows of numbers. Pure.

Without scipy, which takes longer to import than all else of a search, and twice as much of the disk as numpy.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Below this the series is exact to a double's last digits, and erfc comes close to the smallest double.
_FAR = -12.0
_TERMS = 12


def normal(off: Floats, deviation: float) -> Floats:
    """Return the density of a normal distribution, so far off its mean."""
    density: Floats = np.exp(-((off / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
    return density


def student(t: Floats, freedom: float) -> Floats:
    """Return the density of Student's t distribution."""
    log = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    density: Floats = np.exp(log - (freedom + 1) / 2 * np.log1p(t * t / freedom))
    return density


def log_normal_below(z: Floats) -> Floats:
    """Return the logarithm of the share of the standard normal distribution below each z."""
    found = np.array([_log_below(each) for each in z.ravel().tolist()])
    return found.reshape(z.shape)


def _log_below(z: float) -> float:
    if z > _FAR:
        return math.log(math.erfc(-z / math.sqrt(2)) / 2)
    # The asymptotic series of erfc (DLMF 7.12.1).
    term = total = 1.0
    for number in range(1, _TERMS):
        term *= -(2 * number - 1) / (z * z)
        total += term
    return -z * z / 2 - math.log(-z * math.sqrt(2 * math.pi)) + math.log(total)
