"""Shares of requests: the interval of a share, and a sequential test of a share against a limit. Pure.

"p99 < 250 ms" says that less than 1 % take longer. Wald's test (*Sequential Tests of Statistical Hypotheses*,
1945) weighs half the limit against twice the limit, as odds, and is wrong at either in at most `ERROR` of the
cases. Between the two it may end either way, or not at all.

The test assumes independent answers. Answers of one queue are not independent: a short stall makes many of
them slow at once. So slow answers are counted by occasion: all that come together count as one.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

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
    """Return the interval of a share over starts, at least as wide as that of all its requests together.

    Starts that all lost nothing have no spread, although their requests may be too few to exclude a loss.
    """
    low, high = pooled(interval.estimate, requests, interval.confidence)
    return replace(interval, low=min(interval.low, low), high=max(interval.high, high))


def chance_at_half(times: int, of: int) -> float:
    """Return how likely `times` or more `of` starts do what each start does with probability one half."""
    return float(special.bdtrc(times - 1, of, 0.5)) if times > 0 else 1.0


def requests_needed(bound: float, confidence: float) -> int:
    """Return how many requests without a loss exclude a share of `bound` or more."""
    return math.ceil(math.log((1 - confidence) / 2) / math.log1p(-bound)) if 0 < bound < 1 else 1


Verdict = Literal["held", "broke", "undecided"]

ERROR = 0.01
APART = 2.0
_BOUND = math.log((1 - ERROR) / ERROR)


@dataclass(frozen=True)
class Counted:
    """How many answers are known, how many of them are against the limit, and on how many occasions."""

    known: int
    against: int
    occasions: int


def verdict(limit: float, counted: Counted) -> Verdict:
    """Return what the answers show of a share that is to stay below `limit`, which lies between 0 and 1."""
    said = evidence(limit, counted)
    if said >= _BOUND:
        return "broke"
    return "held" if said <= -_BOUND else "undecided"


def evidence(limit: float, counted: Counted) -> float:
    """Return the log-likelihood ratio of twice the limit to half of it; above 0: twice is more likely."""
    for_each, against_each = _steps(limit)
    together = counted.against / counted.occasions if counted.occasions else 1.0
    return counted.occasions * for_each + (counted.known - counted.against) / together * against_each


def answers_needed(limit: float) -> int:
    """Return how many answers are enough for "held" if none of them is against it: 308 for 1 %."""
    return math.ceil(_BOUND / -_steps(limit)[1])


def answers_to_break(limit: float, share: float) -> float:
    """Return how many answers are enough for "broke" if `share` of them, above the limit, are against it."""
    for_each, against_each = _steps(limit)
    return _BOUND / max(1e-9, share * for_each + (1 - share) * against_each)


def _steps(limit: float) -> tuple[float, float]:
    """Return what an answer against the limit adds to the evidence, and what any other adds: less than 0."""
    odds = limit / (1 - limit)
    low, high = (odds * factor / (1 + odds * factor) for factor in (1 / APART, APART))
    return math.log(high / low), math.log((1 - high) / (1 - low))
