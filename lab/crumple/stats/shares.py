"""Shares of requests: their intervals, how far two of them differ, and whether one stays below a limit. Pure.

Without numpy and scipy, which take long to import. `stats.pooled` has the exact interval.

"p99 < 250 ms" says that less than 1 % take longer. Wald's test (*Sequential Tests of Statistical Hypotheses*,
1945) weighs half the limit against twice the limit, as odds, and is wrong at either in at most `ERROR` of the
cases. Between the two it may end either way, or not at all. The test assumes independent answers. Answers of
one queue are not independent: a short stall makes many of them slow at once. So slow answers are counted by
occasion: all that come together count as one.
"""

import math
from dataclasses import dataclass

from crumple.stats.decision import Answer

# The quantile of the normal distribution that belongs to 95 %.
Z = 1.959964


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


ERROR = 0.01
APART = 2.0
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
