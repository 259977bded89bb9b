"""Whether a share lies below its limit: a test that looks at every answer and ends as soon as it can. Pure.

"p99 < 250 ms" says that less than 1 % take longer. Wald's test (*Sequential Tests of Statistical Hypotheses*,
1945) weighs half the limit against twice the limit, as odds, and is wrong there in at most `ERROR` of the
cases. In between it may end either way, or not at all.

It is meant for answers that are independent, which those of one queue are not: a moment's stall makes many
slow at once. So slow answers count by occasion: as many together as one.
"""

import math
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["held", "broke", "undecided"]

ERROR = 0.01
APART = 2.0
_BOUND = math.log((1 - ERROR) / ERROR)


@dataclass(frozen=True)
class Counted:
    """Answers that are known, how many of them speak against the limit, and on how many occasions."""

    known: int
    against: int
    occasions: int


def verdict(limit: float, counted: Counted) -> Verdict:
    """What can be said of a share that is to stay below `limit`, which lies between 0 and 1."""
    said = evidence(limit, counted)
    if said >= _BOUND:
        return "broke"
    return "held" if said <= -_BOUND else "undecided"


def evidence(limit: float, counted: Counted) -> float:
    """Log-likelihood of twice the limit over that of half of it; positive: the share is rather above it."""
    for_each, against_each = _steps(limit)
    together = counted.against / counted.occasions if counted.occasions else 1.0
    return counted.occasions * for_each + (counted.known - counted.against) / together * against_each


def answers_needed(limit: float) -> int:
    """How many answers say "held" if none of them speaks against it: 308 for 1 %."""
    return math.ceil(_BOUND / -_steps(limit)[1])


def answers_to_break(limit: float, share: float) -> float:
    """How many answers say "broke" where that share of them, above the limit, speaks against it."""
    for_each, against_each = _steps(limit)
    return _BOUND / max(1e-9, share * for_each + (1 - share) * against_each)


def _steps(limit: float) -> tuple[float, float]:
    """What one answer against the limit adds to the evidence, and what any other takes away."""
    odds = limit / (1 - limit)
    low, high = (odds * factor / (1 + odds * factor) for factor in (1 / APART, APART))
    return math.log(high / low), math.log((1 - high) / (1 - low))
