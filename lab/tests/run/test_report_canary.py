"""The chart of a canary: each answer, the quantiles with enough answers, and how many never came."""

from functools import cache

import pytest
import synthetic_ramp
import synthetic_run
from crumple.drawing import page
from crumple.run.report import run_charts
from crumple.run.report.view import ExperimentView, ServerView, view
from synthetic_ramp import PHP_150


@cache
def stall() -> ExperimentView:
    return view(synthetic_ramp.run_file(), synthetic_ramp.trials()).experiments[1]


def row(name: str) -> ServerView:
    return next(server for server in stall().servers if server.name == name)


@pytest.mark.long
@pytest.mark.parametrize("width_px", [page.NARROW_PX, page.WIDE_PX])
def test_the_specification_is_valid(width_px: int) -> None:
    drawn = run_charts.canary(stall(), width_px)
    assert drawn is not None
    drawn.to_dict(validate=True)
    assert run_charts.has_canary(stall())


def test_without_a_canary_there_is_no_chart() -> None:
    without = view(synthetic_run.run_file(), synthetic_run.trials()).experiments[0]
    assert run_charts.canary(without, page.WIDE_PX) is None
    assert not run_charts.has_canary(without)


@pytest.mark.long
@pytest.mark.long
def test_only_quantiles_with_enough_answers_are_marked() -> None:
    carried = {mark["kind"]: mark for mark in run_charts._marks(row(PHP_150))}
    # A hundred answers are enough for p90 and not for p99.
    assert set(carried) == {"p50", "p90", "start", run_charts.HEAVY}
    assert carried["p50"]["ns"] == pytest.approx(3e6, rel=0.2)
    assert carried["p50"]["end"] == carried["p90"]["ns"] > carried["p50"]["ns"]
    assert carried[run_charts.HEAVY]["ns"] == pytest.approx(1.7e8, rel=0.1)


def test_a_server_with_few_answers_is_drawn() -> None:
    stalled = row("node-http")
    assert {mark["kind"] for mark in run_charts._marks(stalled)} == {run_charts.HEAVY}
    assert len(run_charts._ticks(stalled)) == 3 * 14
    assert run_charts._answer_count(stalled) == "42 of 300 answered in time"
    assert run_charts._answer_count(row(PHP_150)) == ""


def test_of_very_many_answers_a_sample_is_drawn() -> None:
    ticks = run_charts._ticks(row(PHP_150))
    assert len(ticks) == run_charts.TICKS_MAX
    every = run_charts._all_ns(row(PHP_150))
    assert [ticks[0]["ns"], ticks[-1]["ns"]] == pytest.approx([every[0], every[-1]], rel=1e-3)


def test_labels_of_marks_do_not_overlap() -> None:
    marks = [
        {"kind": kind, "row": server, "ns": ns}
        for server, ns_of in (("go", (1e6, 1.1e6, 9e6)), ("node", (1e6, 5e6, 1.2e6)))
        for kind, ns in zip(("p50", "p90", run_charts.HEAVY), ns_of, strict=True)
    ]
    named = run_charts._marks_to_name(marks, 0.5)
    assert [(mark["kind"], mark["row"]) for mark in named] == [
        ("p50", "go"), ("p90", "node"), (run_charts.HEAVY, "go"),
    ]  # fmt: skip
