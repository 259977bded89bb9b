"""The answer of an interval to a question: yes, no, or open. Pure.

Verdicts, `compare`, `versus`, `find` and conditions ask here, and put the answer into their own words.
"""

from dataclasses import dataclass
from typing import Literal

from crumple.stats.interval import Interval

Answer = Literal["yes", "no", "open"]
# The tolerance, as a share of a bound, within which an end of an interval has reached the bound. Without it
# rounding errors, and the direction in which a ratio is written, would decide.
SLACK = 1e-9


def exceeds(interval: Interval, bound: float = 1.0) -> Answer:
    """Return whether the truth lies above `bound`: yes or no if the whole interval lies on one side of it."""
    slack = abs(bound) * SLACK
    return "yes" if interval.low > bound + slack else "no" if interval.high < bound - slack else "open"


def differs(ratio: Interval) -> bool:
    """Whether the whole interval lies on one side of 1."""
    return exceeds(ratio) != "open"


@dataclass(frozen=True)
class Extent:
    """From `low` to `high`, both above 0 and both within it."""

    low: float
    high: float

    @classmethod
    def around(cls, low: float, high: float, tolerance: float) -> "Extent":
        """Return the span that is wider by a factor of 1 + `tolerance` on either side."""
        return cls(low / (1 + tolerance), high * (1 + tolerance))

    def holds(self, interval: Interval) -> Answer:
        """Return whether the truth lies within: yes if the whole interval does, no if no part of it does."""
        if interval.low >= self.low * (1 - SLACK) and interval.high <= self.high * (1 + SLACK):
            return "yes"
        return "no" if self.side(interval) else "open"

    def side(self, interval: Interval) -> Literal["below", "above", ""]:
        """Return on which side of the span the whole interval lies; empty if any part is within the span."""
        if exceeds(interval, self.low) == "no":
            return "below"
        return "above" if exceeds(interval, self.high) == "yes" else ""

    @property
    def ends(self) -> tuple[float, float]:
        """`low` and `high`."""
        return self.low, self.high
