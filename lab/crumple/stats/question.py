"""Decide whether a ratio exceeds a bound or lies in a span, and how many more blocks would decide it. Pure.

"Is B faster than A?" asks whether the ratio of their speeds exceeds 1. The estimate may be of pairs within
blocks or of two samples (`estimate`); verdicts, `compare` and `versus` make it, ask here at each look, and
put the decision into words.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

from crumple.stats.decision import SLACK, Answer, Extent, differs, exceeds
from crumple.stats.estimate import Estimate
from crumple.stats.interval import Interval
from crumple.stats.sequential import Look

# With few blocks an estimate may lie near a bound by chance. So `blocks_hoped` is computed for a truth
# farther from the bound; with this probability the truth is nearer. By simulation, giving claims up by
# `blocks_hoped` costs no power with up to five blocks, and 2 % with twelve.
HOPED = 0.9
# On which sides of a bound the truth can be shown to lie: 1 above it, −1 below it.
Sides = tuple[Literal[1, -1], ...]
# The sides of a bound on which the truth can lie, if values are not bounds themselves: above it and below it.
BOTH: Sides = (1, -1)


@dataclass(frozen=True)
class Family:
    """Over how many comparisons the error is shared, as any one of them may be wrong."""

    yes: int = 1
    """How many comparisons share the error of a wrong yes."""
    no: int = 1
    """How many comparisons share the error of a wrong no."""


ALONE = Family()


@dataclass(frozen=True)
class Decision:
    """The answer to a question, what it rests on, and what would decide it if it is open."""

    answer: Answer
    interval: Interval
    """The interval that reports print."""
    bounds: tuple[float, ...] = ()
    """The numbers that the interval was compared with."""
    blocks_needed: int | None = None
    """After how many blocks it would probably be decided; None: it is decided, or the number is not known."""
    blocks_hoped: int | None = None
    """That number if the truth lay at the far end of its 80 % interval."""
    by_others: bool = False
    """Whether others took so much of the trials that no number of blocks helps."""

    @property
    def margin(self) -> float | None:
        """The factor between the nearest end of a decided interval and the nearest bound; else None.

        None, too, if no end, or no bound, is finite and above 0.
        """
        ends = [end for end in (self.interval.low, self.interval.high) if 0 < end < math.inf]
        known = [bound for bound in self.bounds if 0 < bound < math.inf and self.answer != "open"]
        return min((max(end / bound, bound / end) for end in ends for bound in known), default=None)


@dataclass(frozen=True)
class LookQuestion:
    """An estimate at one look, of which is asked where the truth lies."""

    estimate: Estimate
    look: Look
    family: Family = ALONE
    sides: Sides = BOTH
    """Where values are only bounds of the truth, one end of the interval is not known."""

    @property
    def printed(self) -> Interval:
        """The interval that reports print; its confidence is that of the intervals of all looks together."""
        return replace(self.at(1), confidence=self.look.confidence)

    @property
    def for_yes(self) -> Interval:
        """The interval by which yes is answered."""
        return self.at(self.family.yes)

    @property
    def for_no(self) -> Interval:
        """The interval by which no is answered."""
        return self.at(self.family.no)

    def exceeds(self, bound: float = 1.0, *, above: bool = True, reached: bool = False) -> Decision:
        """Decide whether the truth lies above a bound, or below it; `reached`: a truth at the bound does."""
        if _is_beyond(self.for_yes, bound, above=above, reached=reached):
            return self._decided("yes", bound)
        if _is_beyond(self.for_no, bound, above=not above, reached=reached):
            return self._decided("no", bound)
        return self._open((bound,), (bound,), is_no=(self._from(bound) > 0) != above)

    def lies_in(self, span: Extent) -> Decision:
        """Decide whether the truth lies in a span."""
        if span.holds(self.for_yes) == "yes":
            return self._decided("yes", *span.ends)
        if span.holds(self.for_no) == "no":
            return self._decided("no", *span.ends)
        # With one end of the interval unknown, only the far end of the span can be shown to be passed.
        known = {1: span.high, -1: span.low}
        ends = span.ends if self.sides == BOTH else tuple(known[side] for side in self.sides)
        if not ends:
            return self._open((), span.ends, is_no=True)
        nearest = min(ends, key=lambda end: abs(self._from(end)))
        is_no = self.sides != BOTH or not self._is_within(span)
        return self._open((nearest,), span.ends, is_no=is_no)

    def differs(self, span: Extent) -> Decision:
        """Decide whether a ratio differs from 1; it does not if it lies in `span`, what counts as alike."""
        if differs(self.for_yes):
            return self._decided("yes", 1.0)
        if span.holds(self.for_no) == "yes":
            return self._decided("no", *span.ends)
        likeness = min(span.ends, key=lambda end: abs(self._from(end)))
        may_be_alike = self._is_within(span) and self.sides == BOTH
        return self._open((1.0, likeness) if may_be_alike else (1.0,), (1.0, *span.ends), is_no=False)

    def at(self, comparisons: int) -> Interval:
        """Return the interval if `comparisons` share the error, without ends that are not known."""
        if comparisons not in self._intervals:
            found = self.estimate.interval(self.look.level(comparisons))
            self._intervals[comparisons] = self._known(found)
        return self._intervals[comparisons]

    @cached_property
    def _intervals(self) -> dict[int, Interval]:
        return {}

    def _known(self, interval: Interval) -> Interval:
        if self.sides == BOTH:
            return interval
        lowest = 0.0 if self.estimate.logarithmic else -math.inf
        return replace(
            interval,
            low=interval.low if 1 in self.sides else lowest,
            high=interval.high if -1 in self.sides else math.inf,
        )

    def _decided(self, answer: Answer, *bounds: float) -> Decision:
        return Decision(answer, self.printed, bounds)

    def _open(self, nearest: Sequence[float], bounds: Sequence[float], *, is_no: bool) -> Decision:
        """Return that it is open; it is decided once the side of any of the `nearest` bounds is shown."""
        found = Decision("open", self.printed, tuple(bounds))
        if not self.sides or self.look.past:
            return found
        comparisons = self.family.no if is_no else self.family.yes
        calm = replace(self.estimate, off=(0.0, 0.0))
        needed = self._fewest(self.estimate, nearest, comparisons)
        return replace(
            found,
            blocks_needed=needed,
            blocks_hoped=self._fewest(self.estimate, nearest, comparisons, HOPED),
            by_others=needed is None and self._fewest(calm, nearest, comparisons) is not None,
        )

    def _fewest(
        self, estimate: Estimate, bounds: Sequence[float], comparisons: int, quantile: float = 0.5
    ) -> int | None:
        """Return how many blocks would show on which side of any of these bounds the truth lies."""
        side = 0 if self.sides == BOTH else self.sides[0]
        confidence = partial(self.later, comparisons=comparisons)
        found = [estimate.blocks_needed(bound, confidence, quantile, side=side) for bound in bounds]
        return min((blocks for blocks in found if blocks is not None), default=None)

    def later(self, blocks: int, comparisons: int) -> float:
        """Return the confidence needed at `blocks` blocks that count; blocks lost so far stay lost."""
        lost = max(0, self.look.blocks - self.estimate.n)
        return self.look.at(blocks + lost).level(comparisons)

    def _is_within(self, span: Extent) -> bool:
        return self._from(span.low) > 0 > self._from(span.high)

    def _from(self, bound: float) -> float:
        """Return how far the estimate lies above a bound."""
        if not self.estimate.logarithmic:
            return self.estimate.centre - bound
        return self.estimate.centre - math.log(bound) if bound > 0 else math.inf


def _is_beyond(interval: Interval, bound: float, *, above: bool, reached: bool) -> bool:
    """Whether the whole interval lies on that side of a bound; `reached`: or at it, but 0 is not above 0."""
    if exceeds(interval, bound) == ("yes" if above else "no"):
        return True
    distance = interval.low - bound if above else bound - interval.high
    return reached and distance >= -abs(bound) * SLACK and not (above and bound == 0)


def holm(chances: Sequence[float], error: float) -> list[float]:
    """Return the error at which each of several comparisons is judged, so that all err as often as one.

    Holm's procedure: the smallest chance is tested first, each with its part of the error, until one is above
    it. All that follow are judged at the level of that one.
    """
    levels, level, goes_on = [0.0] * len(chances), error, True
    for rank, at in enumerate(sorted(range(len(chances)), key=lambda at: (chances[at], at))):
        level = error / (len(chances) - rank) if goes_on else level
        goes_on = goes_on and chances[at] <= level
        levels[at] = level
    return levels
