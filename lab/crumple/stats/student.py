"""Student's t distribution. Pure, without scipy: see `beta`."""

import math
from functools import lru_cache
from statistics import NormalDist

from crumple.stats import beta
from crumple.stats.interval import CONFIDENCE

# How many quantiles are remembered: those of each number of values and each confidence of some studies.
QUANTILES_KEPT = 8192
# The logarithm of a t beyond which nothing of any distribution is left.
_LOG_MAX = 300.0


@lru_cache(maxsize=QUANTILES_KEPT)
def quantile(freedom: float, probability: float) -> float:
    """Return the t that a share `probability` of the distribution does not exceed; above 0, below 1.

    With endless freedom it is the normal distribution.
    """
    if probability < 0.5:
        return -quantile(freedom, 1 - probability)
    if probability == 0.5:
        return 0.0
    z = NormalDist().inv_cdf(probability)
    if math.isinf(freedom):
        return z
    # Nearly right unless there is little freedom (Abramowitz & Stegun 26.7.5).
    near = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)

    def off(log: float) -> tuple[float, float]:
        t = math.exp(log)
        beyond = above(freedom, t)
        # As logarithms: with little freedom t is large, and its logarithm falls evenly.
        slope = _density(freedom, t) * t / beyond if beyond > 0 else 0.0
        return (math.log((1 - probability) / beyond) if beyond > 0 else math.inf), slope

    return math.exp(beta.root(off, -40.0, _LOG_MAX, math.log(near)))


def of_interval(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Return the t to which an interval of that confidence reaches on either side."""
    return quantile(freedom, (1 + confidence) / 2)


def above(freedom: float, t: float) -> float:
    """Return the share of the distribution above t, which is not below 0."""
    return beta.incomplete(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2


def _density(freedom: float, t: float) -> float:
    log = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    return math.exp(log - (freedom + 1) / 2 * math.log1p(t * t / freedom))
