"""Shares of requests: how far so many requests tell a share at all, whatever the spread over starts. Pure."""

import math
from dataclasses import replace

from scipy import special

from crumple.stats.stats import Interval


def pooled(share: float, requests: int, confidence: float) -> tuple[float, float]:
    """Clopper and Pearson's interval (Biometrika 26, 1934) of a share of `requests`, taken as one sample."""
    if requests <= 0:
        return 0.0, 1.0
    found, tail = min(requests, max(0.0, share * requests)), (1 - confidence) / 2
    low = 0.0 if found < 0.5 else float(special.betaincinv(found, requests - found + 1, tail))
    high = 1.0 if found > requests - 0.5 else float(special.betaincinv(found + 1, requests - found, 1 - tail))
    return low, high


def widened(interval: Interval, requests: int) -> Interval:
    """The interval of a share over starts, at least as wide as that of all its requests together.

    Starts that all lost nothing have a mean without spread, and still may be too few requests.
    """
    low, high = pooled(interval.estimate, requests, interval.confidence)
    return replace(interval, low=min(interval.low, low), high=max(interval.high, high))


def chance_at_half(times: int, of: int) -> float:
    """How likely so many `of` starts, or more, do what each does or leaves with equal chances."""
    return float(special.bdtrc(times - 1, of, 0.5)) if times > 0 else 1.0


def requests_needed(bound: float, confidence: float) -> int:
    """So many requests without a loss exclude a share of `bound` or more."""
    return math.ceil(math.log((1 - confidence) / 2) / math.log1p(-bound)) if 0 < bound < 1 else 1
