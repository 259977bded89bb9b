"""Shares of requests: their intervals, how far two of them differ, and whether one stays below a limit. Pure.

Without numpy and scipy, which take long to import.

"p99 < 250 ms" says that less than 1 % take longer. Wald's test (*Sequential Tests of Statistical Hypotheses*,
1945) weighs half the limit against twice the limit, as odds, and is wrong at either in at most `ERROR` of the
cases. Between the two it may end either way, or not at all. The test assumes independent answers. Answers of
one queue are not independent: a short stall makes many of them slow at once. So slow answers are counted by
occasion: all that come together count as one.
"""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

from crumple.stats import beta
from crumple.stats.decision import Answer
from crumple.stats.interval import CONFIDENCE, Interval

# The share of a number of things above which they are called most of it.
MOST = 0.5
# The quantile of the normal distribution to which an interval of 95 % reaches.
Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


def interval(found: int, of: int) -> tuple[float, float]:
    """Return both ends of Wilson's interval (J. Am. Stat. Assoc. 22, 1927) of the share; `of`: above 0."""
    share, spread = found / of, Z * Z / of
    middle = (share + spread / 2) / (1 + spread)
    reach = math.sqrt(spread * share * (1 - share) + spread * spread / 4) / (1 + spread)
    return max(0.0, min(share, middle - reach)), min(1.0, max(share, middle + reach))


def difference(found: int, of: int, other: int, of_other: int) -> tuple[float, float]:
    """Return both ends of the interval of one share less another.

    It is Newcombe's, of two intervals of Wilson's (Statistics in Medicine 17, 1998, method 10). It holds for
    shares of 0 and of 1, too.
    """
    one, two = found / of, other / of_other
    (low_one, high_one), (low_two, high_two) = interval(found, of), interval(other, of_other)
    below = math.hypot(one - low_one, high_two - two)
    above = math.hypot(high_one - one, two - low_two)
    return one - two - below, one - two + above


def exact_interval(share: float, requests: int, confidence: float) -> tuple[float, float]:
    """Clopper and Pearson's interval (Biometrika 26, 1934) of a share of `requests`, taken as one sample."""
    if requests <= 0:
        return 0.0, 1.0
    found, tail = min(requests, max(0.0, share * requests)), (1 - confidence) / 2
    low = 0.0 if found < 0.5 else beta.inverse(found, requests - found + 1, tail)
    high = 1.0 if found > requests - 0.5 else beta.inverse(found + 1, requests - found, 1 - tail)
    return low, high


def widen(estimate: Interval, requests: int) -> Interval:
    """Return the interval of a share over starts, at least as wide as that of all its requests together.

    Starts that all lost nothing have no spread, although their requests may be too few to exclude a loss.
    """
    low, high = exact_interval(estimate.estimate, requests, estimate.confidence)
    return replace(estimate, low=min(estimate.low, low), high=max(estimate.high, high))


def chance_at_half(times: int, of: int) -> float:
    """Return how likely `times` or more `of` starts do what each start does with probability one half."""
    return sum(math.comb(of, number) for number in range(max(0, times), of + 1)) / (1 << of)


def requests_needed(bound: float, confidence: float) -> int:
    """Return how many requests without a loss exclude a share of `bound` or more."""
    return math.ceil(math.log((1 - confidence) / 2) / math.log1p(-bound)) if 0 < bound < 1 else 1


# How often Wald's test is wrong at half the limit, and at twice the limit.
ERROR = 0.01
# By which factor the odds of the two shares that the test weighs lie below and above those of the limit.
APART = 2.0
# The log-likelihood ratio at which the test ends.
_BOUND = math.log((1 - ERROR) / ERROR)


@dataclass(frozen=True)
class AnswerCount:
    """How many answers are known, how many of them are against the limit, and on how many occasions."""

    known: int
    against: int
    occasions: int


def stays_below(limit: float, counted: AnswerCount) -> Answer:
    """Return whether the share of answers against the limit stays below `limit`, between 0 and 1."""
    found = evidence(limit, counted)
    return "no" if found >= _BOUND else "yes" if found <= -_BOUND else "open"


def evidence(limit: float, counted: AnswerCount) -> float:
    """Return the log-likelihood ratio of twice the limit to half of it; above 0: twice is more likely."""
    for_each, against_each = _steps(limit)
    together = counted.against / counted.occasions if counted.occasions else 1.0
    return counted.occasions * for_each + (counted.known - counted.against) / together * against_each


def answers_needed(limit: float) -> int:
    """Return how many answers are enough for "yes" if none of them is against it: 308 for 1 %."""
    return math.ceil(_BOUND / -_steps(limit)[1])


def answers_to_break(limit: float, share: float) -> float:
    """Return how many answers are enough for "no" if `share` of them, above the limit, are against it."""
    for_each, against_each = _steps(limit)
    return _BOUND / max(1e-9, share * for_each + (1 - share) * against_each)


def _steps(limit: float) -> tuple[float, float]:
    """Return what an answer against the limit adds to the evidence, and what any other adds: less than 0."""
    odds = limit / (1 - limit)
    low, high = (odds * factor / (1 + odds * factor) for factor in (1 / APART, APART))
    return math.log(high / low), math.log((1 - high) / (1 - low))
