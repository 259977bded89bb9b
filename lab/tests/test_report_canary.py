"""The chart of a canary: each answer, the quantiles that there are answers for, and how many never came."""

from functools import cache

import pytest
import synthetic_ramp
import synthetic_run
from crumple.drawing import page
from crumple.report import canary_chart, charts
from crumple.report.view import ExperimentView, ServerView, view
from synthetic_ramp import PHP_150


@cache
def stall() -> ExperimentView:
    return view(synthetic_ramp.run_file(), synthetic_ramp.trials()).experiments[1]


def row(name: str) -> ServerView:
    return next(server for server in stall().servers if server.name == name)


@pytest.mark.parametrize("width_px", [page.NARROW_PX, page.WIDE_PX])
def test_the_specification_is_valid(width_px: int) -> None:
    drawn = canary_chart.canary(stall(), width_px)
    assert drawn is not None
    drawn.to_dict(validate=True)
    assert charts.has_canary(stall())


def test_without_a_canary_there_is_no_chart() -> None:
    without = view(synthetic_run.run_file(), synthetic_run.trials()).experiments[0]
    assert canary_chart.canary(without, page.WIDE_PX) is None
    assert not charts.has_canary(without)


def test_marks_are_those_that_the_answers_carry() -> None:
    carried = {mark["kind"]: mark for mark in canary_chart._marks(row(PHP_150))}
    # A hundred answers carry p90 and not p99.
    assert set(carried) == {"p50", "p90", "start", canary_chart.HEAVY}
    assert carried["p50"]["ns"] == pytest.approx(3e6, rel=0.2)
    assert carried["p50"]["end"] == carried["p90"]["ns"] > carried["p50"]["ns"]
    assert carried[canary_chart.HEAVY]["ns"] == pytest.approx(1.7e8, rel=0.1)


def test_a_server_that_answered_few_is_still_seen() -> None:
    stalled = row("node-http")
    assert {mark["kind"] for mark in canary_chart._marks(stalled)} == {canary_chart.HEAVY}
    assert len(canary_chart._ticks(stalled)) == 3 * 14
    assert canary_chart._answered(stalled) == "42 of 300 answered in time"
    assert canary_chart._answered(row(PHP_150)) == ""


def test_of_very_many_answers_some_are_drawn_from_first_to_last() -> None:
    ticks = canary_chart._ticks(row(PHP_150))
    assert len(ticks) == canary_chart.TICKS_MAX
    every = canary_chart._all_ns(row(PHP_150))
    assert [ticks[0]["ns"], ticks[-1]["ns"]] == pytest.approx([every[0], every[-1]], rel=1e-3)


def test_names_of_marks_do_not_stand_in_each_others_way() -> None:
    marks = [
        {"kind": kind, "row": server, "ns": ns}
        for server, ns_of in (("go", (1e6, 1.1e6, 9e6)), ("node", (1e6, 5e6, 1.2e6)))
        for kind, ns in zip(("p50", "p90", canary_chart.HEAVY), ns_of, strict=True)
    ]
    named = canary_chart._named(marks, 0.5)
    assert [(mark["kind"], mark["row"]) for mark in named] == [
        ("p50", "go"), ("p90", "node"), (canary_chart.HEAVY, "go"),
    ]  # fmt: skip
