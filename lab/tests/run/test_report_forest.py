"""The forest: each claim that has a number has a row, and its marks are what was claimed and measured."""

from functools import cache

import pytest
import synthetic_run
from crumple.drawing.plot import RowPoint, Segment, Strip, Whisker
from crumple.drawing.report_parts import spans_of
from crumple.run.report import forest
from crumple.run.report.forest import Forest, ForestRow
from crumple.run.report.view import RunView, view
from crumple.stats.decision import Extent
from crumple.stats.interval import Interval
from crumple.study.claim import FigureClaim, ModelClaim, ShareClaim
from crumple.verdict.effect import Effect, VerdictWord


@cache
def seen() -> RunView:
    return view(synthetic_run.run_file(), synthetic_run.trials())


def rows() -> dict[str, ForestRow]:
    """Return the row of each claim's first comparison."""
    claims = {claim.id: claim for claim in seen().run.study.claims}
    found = {each.claim_id: forest.row(claims[each.claim_id], each.effects[0]) for each in seen().asked}
    return {claim: row for claim, row in found.items() if row}


def whole() -> Forest:
    found = forest.forest(rows().values())
    assert found is not None
    return found


def strip(row: ForestRow) -> Strip:
    (span,) = spans_of(whole().cell(row))
    assert span.drawing is not None
    return span.drawing


def value(estimate: float, unit: str, bound: str) -> Effect:
    measured = Interval(estimate, estimate / 2, estimate * 2, 0.95, 3)
    return Effect("go", "go", VerdictWord.UNDECIDED, "", "memory", value=measured, unit=unit, bound=bound)


def test_each_claim_of_a_run_has_a_row_on_one_axis() -> None:
    assert set(rows()) == {each.claim_id for each in seen().asked}
    assert all(strip(row).x == whole().heading.x for row in rows().values())
    assert len(whole().axis.ticks) > 1


def test_a_published_ratio_stands_beside_the_measured_one() -> None:
    row = rows()["TJ-4"]
    effect = next(each for each in seen().asked if each.claim_id == "TJ-4").effects[0]
    assert effect.ratio is not None
    marks = strip(row).marks
    points = {mark.shape: mark.at for mark in marks if isinstance(mark, RowPoint)}
    assert points == {"diamond": 5.8, "dot": effect.ratio.estimate}
    (interval,) = (mark for mark in marks if isinstance(mark, Whisker))
    assert (interval.low, interval.high) == (effect.ratio.low, effect.ratio.high)
    (span,) = (mark for mark in marks if isinstance(mark, Segment))
    assert span.low < 5.8 < span.high


def test_an_order_claims_one_side_of_1() -> None:
    assert rows()["TJ-1"].claimed == Extent(1.0, float("inf"))
    assert rows()["TJ-1"].turned().claimed == Extent(0.0, 1.0)


def test_a_ratio_may_be_turned_to_its_larger_side() -> None:
    row, turned = rows()["TJ-3"], rows()["TJ-3"].turned()
    assert row.at < 1 < turned.at == pytest.approx(1 / row.at)
    assert turned.low < turned.at < turned.high
    assert turned.published == pytest.approx(1 / 0.51)


def test_a_figure_is_divided_by_what_was_claimed_of_it() -> None:
    claim = FigureClaim(id="F", text="F", kind="figure", cost="read", published="20 ns", tolerance=0.25)
    row = forest.row(claim, value(240.0, "ns", "20 ns"))
    assert row is not None
    assert row.at == pytest.approx(12.0)
    assert (row.claimed.low, row.claimed.high) == pytest.approx((0.8, 1.25))


def test_a_share_of_nothing_lies_beyond_the_axis() -> None:
    claim = ShareClaim(id="S", text="S", kind="share", experiment="e", servers=("go",), below="5 %")
    row = forest.row(claim, value(0.0, "share", "below 5 %"))
    assert row is not None
    assert (row.at, row.claimed) == (0.0, Extent(0.0, 1.0))
    found = forest.forest([row])
    assert found is not None and not found.axis.scale.has(row.at)


def test_what_has_no_number_has_no_drawing() -> None:
    claim = ModelClaim(id="M", text="M", kind="model", experiment="e", servers=("go",))
    assert forest.row(claim, value(1.0, "", "blocking")) is None
    assert forest.forest([None]) is None
    assert whole().cell(None) == ""
