"""The forest of a run: for each claim what was claimed and what was measured, as factors on one axis.

A ratio of two servers is drawn as it is, so that 1 means alike. A figure is divided by what was claimed of
it, so that 1 means as claimed. What has no number has no drawing. Pure.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from crumple.drawing import numerals, theme
from crumple.drawing.plot import Guide, RowMark, RowPoint, Segment, Strip, Whisker
from crumple.drawing.report_parts import Words, drawing
from crumple.drawing.scale import AxisScale, ChartAxis, ratio_axis
from crumple.record.metrics import METRICS
from crumple.stats.decision import Extent
from crumple.study.claim import (
    Claim,
    FigureClaim,
    FlatnessClaim,
    GrowthClaim,
    KneeClaim,
    OrderClaim,
    RatioClaim,
    ShareClaim,
    StallClaim,
)
from crumple.verdict.effect import Effect

# The axis reaches this factor beyond the measured and the published ratios: an interval from few blocks can
# span decades, and would press all others together.
BEYOND = 3.0
# The axis ends at this factor from 1: with more, a gain of a tenth would be less than two pixels wide.
FARTHEST = 30.0
# The axis always shows a tenth on both sides of 1, so that claims of likeness have a width.
NEAREST = 1.1
# How many labels have room above a drawing of 180 px, the narrowest.
TICKS_MAX = 5


@dataclass(frozen=True)
class ForestRow:
    """One comparison as factors."""

    at: float
    low: float
    high: float
    claimed: Extent
    """What counts as claimed; its ends may be 0 and infinity."""
    published: float | None
    """The ratio that the article prints or the study expects."""

    def turned(self) -> "ForestRow":
        """Return the comparison of the second server with the first."""
        at, low, high = (_inverse(each) for each in (self.at, self.high, self.low))
        claimed = Extent(_inverse(self.claimed.high), _inverse(self.claimed.low))
        return ForestRow(at, low, high, claimed, _inverse(self.published) if self.published else None)


@dataclass(frozen=True)
class Forest:
    """Rows over one axis."""

    rows: Sequence[ForestRow]

    @cached_property
    def axis(self) -> ChartAxis:
        """The axis of all rows."""
        within = [each for row in self.rows for each in (row.at, row.published) if each]
        least, most = min(*within, 1 / NEAREST, 1.0), max(*within, NEAREST, 1.0)
        ends = [end for row in self.rows for end in (row.low, row.high) if 0 < end < math.inf]
        low = max(least / BEYOND, 1 / FARTHEST, min(least, *ends, least))
        high = min(most * BEYOND, FARTHEST, max(most, *ends, most))
        return ratio_axis(AxisScale(low / 1.08, high * 1.08, log=True), most=TICKS_MAX)

    @property
    def heading(self) -> Strip:
        """The labels of the axis, for the heading of the column."""
        return Strip(self.axis, has_ticks=True)

    def cell(self, row: ForestRow | None) -> Words:
        """Return the drawing of a row, or nothing."""
        if row is None:
            return ""
        rules = [Guide(theme.MUTED, x=1.0, width=1)]
        return drawing(Strip(self.axis, [*_marks(row, self.axis.scale)], rules))


def forest(rows: Iterable[ForestRow | None]) -> Forest | None:
    """Return the forest of rows; None if none of them has a number."""
    drawn = [row for row in rows if row is not None]
    return Forest(drawn) if drawn else None


def row(claim: Claim, effect: Effect, *, turned: bool = False) -> ForestRow | None:
    """Return a comparison of a claim as factors; None if it has no number.

    `turned`: as the ratio of the second server to the first, if the words beside it say it so.
    """
    measured, span = effect.measured, _claimed(claim, effect)
    if measured is None or span is None:
        return None
    known = numerals.bounded(measured) and not effect.is_vague
    low, high = (measured.low, measured.high) if known else (measured.estimate, measured.estimate)
    if effect.ratio is not None or effect.unit == "times":
        found = ForestRow(measured.estimate, low, high, span, effect.published or effect.expected)
        return found.turned() if turned and effect.ratio else found
    ends = [end for end in span.ends if 0 < end < math.inf]
    if not ends:
        return None
    size = math.prod(ends) ** (1 / len(ends))
    return ForestRow(
        measured.estimate / size, low / size, high / size, Extent(span.low / size, span.high / size), None
    )


def _claimed(claim: Claim, effect: Effect) -> Extent | None:
    """Return what counts as claimed, in the unit of what was measured."""
    match claim:
        case OrderClaim():
            return _side(1.0, above=METRICS[claim.metric].better == "higher")
        case RatioClaim():
            if size := effect.published or effect.expected:
                return Extent.around(size, size, claim.tolerance)
            return next(
                (
                    _side(pair.at_least, above=True)
                    for pair in claim.pairs
                    if pair.at_least and (pair.of, pair.to) == (effect.of, effect.to)
                ),
                None,
            )
        case ShareClaim():
            return _side(claim.bound, above=claim.above is not None)
        case StallClaim():
            return _side(effect.bounds[0], above=claim.stalls) if effect.bounds else None
        case GrowthClaim():
            return _side(claim.threshold, above=effect.bound.startswith("at least"))
        case FlatnessClaim():
            span = Extent.around(1.0, 1.0, claim.tolerance)
            return _side(span.high, above=False) if claim.may_fall else span
        case KneeClaim():
            return Extent.around(claim.published, claim.published, claim.tolerance)
        case FigureClaim():
            return Extent.around(*claim.size, claim.tolerance)
        case _:
            return None


def _side(bound: float, *, above: bool) -> Extent:
    return Extent(bound, math.inf) if above else Extent(0.0, bound)


def _marks(row: ForestRow, scale: AxisScale) -> Iterable[RowMark]:
    low, high = max(row.claimed.low, scale.low), min(row.claimed.high, scale.high)
    if low < high:
        yield Segment(low, high, theme.CONTEXT, "what counts as claimed", opacity=0.6, is_tall=True)
    if row.low < row.high:
        said = " to ".join(numerals.significant(end) for end in (row.low, row.high))
        yield Whisker(row.low, row.high, title=f"95 % interval: {said}")
    if row.published is not None:
        yield RowPoint(row.published, f"claimed: {row.published:g}", theme.MUTED, "diamond")
    yield RowPoint(row.at, f"measured: {numerals.significant(row.at)}")


def _inverse(factor: float) -> float:
    return 1 / factor if factor > 0 else math.inf
