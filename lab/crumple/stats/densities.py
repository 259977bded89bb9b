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
# numpy has no erfc.
_erfc = np.frompyfunc(math.erfc, 1, 1)


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
    far = z <= _FAR
    near = np.where(far, 0.0, z)
    log: Floats = np.log(np.asarray(_erfc(near / -math.sqrt(2)), dtype=np.float64) / 2)
    return np.where(far, _log_far_below(np.where(far, z, _FAR)), log)


def _log_far_below(z: Floats) -> Floats:
    # The asymptotic series of erfc (DLMF 7.12.1).
    square = z * z
    term, total = np.ones_like(z), np.ones_like(z)
    for number in range(1, _TERMS):
        term = term * (-(2 * number - 1) / square)
        total = total + term
    log: Floats = -square / 2 - np.log(-z * math.sqrt(2 * math.pi)) + np.log(total)
    return log
