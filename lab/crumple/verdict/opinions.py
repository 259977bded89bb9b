"""What an interval says of a bound, a span or another server: an answer, with its reason as a clause."""

import math
from dataclasses import dataclass

from crumple.stats import stats
from crumple.stats.stats import SLACK, Interval
from crumple.verdict.effect import Answer, Opinion
from crumple.verdict.evidence import Floor
from crumple.verdict.sentences import number

# A published 1.10 states a gain, however wide the tolerance; what is nearer to 1 states that two are alike.
ALIKE_WITHIN = 1.05


@dataclass(frozen=True)
class Span:
    """From `low` to `high`, both above 0 and both within it."""

    low: float
    high: float

    @classmethod
    def around(cls, low: float, high: float, tolerance: float) -> "Span":
        """As far again on either side, as a ratio."""
        return cls(low / (1 + tolerance), high * (1 + tolerance))

    def holds(self, interval: Interval) -> bool:
        """All of the interval."""
        return interval.low >= self.low * (1 - SLACK) and interval.high <= self.high * (1 + SLACK)

    def beside(self, interval: Interval) -> str:
        """ "below" or "above" where none of the interval is within; else empty."""
        if interval.high < self.low * (1 - SLACK):
            return "below"
        return "above" if interval.low > self.high * (1 + SLACK) else ""

    def __str__(self) -> str:
        return f"{number(self.low)} to {number(self.high)} times"


def states_likeness(published: float, tolerance: float) -> bool:
    """Whether a published ratio says that two are alike, and not that one is ahead."""
    return abs(math.log(published)) <= math.log(min(1 + tolerance, ALIKE_WITHIN)) + SLACK


def ranked(ratio: Interval, floor: Floor, higher_is_better: bool) -> Opinion:
    """Which of two is better."""
    if not differs(ratio, floor):
        return indistinct(ratio)
    if (ratio.estimate > 1) == higher_is_better:
        return Opinion(Answer.SUPPORTED, "that is better, by more than noise")
    return Opinion(Answer.CONTRADICTED, "that is worse, by more than noise")


def sized(ratio: Interval, floor: Floor, published: float, tolerance: float) -> Opinion:
    """A published ratio away from 1: first its direction, then its size."""
    span = Span.around(published, published, tolerance)
    # Where the tolerance is wide enough to reach over 1, the wrong direction is still not the published size.
    span = Span(max(span.low, 1.0), span.high) if published > 1 else Span(span.low, min(span.high, 1.0))
    size, side = f"what counts as the published size ({span})", span.beside(ratio)
    if not differs(ratio, floor):
        nearest = span.low if published > 1 else span.high
        if floor.ratio is None or not side or _near(ratio.estimate, nearest, floor):
            return indistinct(ratio)
        reason = f"neither is ahead, and the whole interval lies {side} {size}, by more than noise"
        return Opinion(Answer.CONTRADICTED, reason)
    if (ratio.estimate > 1) != (published > 1):
        return Opinion(Answer.CONTRADICTED, "that is the other way round, by more than noise")
    if side and _nearer_to_none(ratio, published, floor):
        reason = f"one is ahead, but the whole interval is nearer to 1 than to {size}, by more than noise"
        return Opinion(Answer.CONTRADICTED, reason)
    if _too_narrow(tolerance, floor):
        reason = (
            f"the direction holds but the size stays open: a server differs from itself by more than {size}"
        )
    elif span.holds(ratio):
        return Opinion(Answer.SUPPORTED, f"the whole interval lies in {size}")
    elif side:
        reason = f"the direction holds but not the size: the whole interval lies {side} {size}"
    else:
        reason = f"the direction holds but the size stays open: the interval lies only partly in {size}"
    return Opinion(Answer.SUPPORTED, reason, direction_only=True)


def _nearer_to_none(ratio: Interval, published: float, floor: Floor) -> bool:
    """Whether so little of the published difference is there that it is rather none, as ratios go."""
    halfway = math.sqrt(published)
    beyond = ratio.high < halfway if published > 1 else ratio.low > halfway
    return beyond and not _near(ratio.estimate, halfway, floor)


def alike(ratio: Interval, floor: Floor, published: float, tolerance: float) -> Opinion:
    """A published ratio of about 1: alike when the interval leaves no room for more than the tolerance."""
    span = Span.around(published, published, tolerance)
    likeness = f"what counts as alike ({span})"
    if span.holds(ratio):
        if _too_narrow(tolerance, floor):
            reason = f"a server differs from itself by more than {likeness}, so likeness cannot be shown"
            return Opinion(Answer.NOT_DISTINGUISHABLE, reason)
        return Opinion(Answer.SUPPORTED, f"the whole interval lies in {likeness}")
    if span.beside(ratio) and differs(ratio, floor):
        return Opinion(Answer.CONTRADICTED, f"the whole interval lies outside {likeness}, by more than noise")
    return Opinion(
        Answer.NOT_DISTINGUISHABLE, f"the interval lies neither wholly in nor clearly outside {likeness}"
    )


def beyond(value: Interval, floor: Floor, bound: float, worded: str, above: bool) -> Opinion:
    """Whether a value lies above a bound, or below it."""
    if _near(value.estimate, bound, floor):
        return Opinion(
            Answer.NOT_DISTINGUISHABLE, f"a server differs from itself by as much as it is off {worded}"
        )
    met, missed = _beyond(value, bound, above), _beyond(value, bound, not above)
    if not (met or missed):
        return Opinion(Answer.NOT_DISTINGUISHABLE, f"the interval lies on both sides of {worded}")
    # A bound that is reached is met, so the claim's own side is asked first.
    side = met or missed
    return Opinion(
        Answer.SUPPORTED if met else Answer.CONTRADICTED, f"the whole interval lies {side} {worded}"
    )


def _beyond(value: Interval, bound: float, above: bool) -> str:
    """How the whole interval lies on that side of the bound; empty where it does not."""
    distance = value.low - bound if above else bound - value.high
    side, slack = "above" if above else "below", abs(bound) * SLACK
    if distance > slack:
        return side
    # Who has nothing has not more than nothing.
    reached = distance >= -slack and not (above and bound == 0)
    return f"at or {side}" if reached else ""


def within(value: Interval, floor: Floor, span: Span, worded: str, tolerance: float) -> Opinion:
    """Whether a figure is the published one, `worded` being what counts as that."""
    if span.holds(value):
        if _too_narrow(tolerance, floor):
            return Opinion(Answer.NOT_DISTINGUISHABLE, f"a server differs from itself by more than {worded}")
        return Opinion(Answer.SUPPORTED, f"the whole interval lies in {worded}")
    side = span.beside(value)
    nearest = span.low if side == "below" else span.high
    if side and not _near(value.estimate, nearest, floor):
        return Opinion(Answer.CONTRADICTED, f"the whole interval lies {side} {worded}")
    return Opinion(
        Answer.NOT_DISTINGUISHABLE, f"the interval lies neither wholly in nor clearly outside {worded}"
    )


def differs(ratio: Interval, floor: Floor) -> bool:
    """By more than chance and noise. Without a floor the interval decides alone, and the sentence says so."""
    return stats.distinguishable(ratio, 1.0 if floor.ratio is None else floor.ratio)


def indistinct(ratio: Interval) -> Opinion:
    """Why two cannot be told apart."""
    if not (ratio.low <= 1 + SLACK and ratio.high >= 1 - SLACK):
        return Opinion(Answer.NOT_DISTINGUISHABLE, "a server differs from itself by as much or more")
    reason = "the interval includes 1, so either may be the higher"
    enough = stats.blocks_needed(ratio)
    if enough is not None:
        reason += f"; {ratio.n} blocks are too few to tell, with this spread it would take {enough}"
    return Opinion(Answer.NOT_DISTINGUISHABLE, reason)


def _too_narrow(tolerance: float, floor: Floor) -> bool:
    """Whether a server is not like itself within the tolerance."""
    return floor.ratio is not None and floor.ratio > (1 + tolerance) * (1 + SLACK)


def _near(value: float, bound: float, floor: Floor) -> bool:
    if floor.ratio is None or value <= 0 or bound <= 0:
        return False
    return abs(math.log(value / bound)) <= math.log(floor.ratio) - SLACK
