"""The chart of a canary: each answer, the quantiles with enough answers, and how many never came."""

from functools import cache

import pytest
import synthetic_ramp
import synthetic_run
from crumple.drawing.plot import RowChart, RowPoint
from crumple.run.report import canary_chart, run_charts
from crumple.run.report.bars import short_labels
from crumple.run.report.view import ExperimentView, ServerView, view
from synthetic_ramp import PHP_150


@cache
def stall() -> ExperimentView:
    return view(synthetic_ramp.run_file(), synthetic_ramp.trials()).experiments[1]


def row(name: str) -> ServerView:
    return next(server for server in stall().servers if server.name == name)


def marks(server: str) -> dict[str, list[float]]:
    """Return the marks of a server, by the first word of their titles; ticks of answers have none."""
    picture = canary_chart.canary(stall())
    assert picture is not None
    chart = picture.panels[0].drawn
    assert isinstance(chart, RowChart)
    drawn = next(each for each in chart.rows if each.name == short_labels([row(server)])[0])
    found: dict[str, list[float]] = {}
    for mark in drawn.marks:
        if isinstance(mark, RowPoint):
            found.setdefault(mark.title.split(" ")[0], []).append(mark.at)
    return found


def test_without_a_canary_there_is_no_chart() -> None:
    without = view(synthetic_run.run_file(), synthetic_run.trials()).experiments[0]
    assert canary_chart.canary(without) is None
    assert not run_charts.has_canary(without)
    assert run_charts.has_canary(stall())


@pytest.mark.long
def test_only_quantiles_with_enough_answers_are_marked() -> None:
    # A hundred answers are enough for p90 and not for p99.
    found = marks(PHP_150)
    assert set(found) == {"", "p50:", "p90:", "block", "heavy"}
    assert found["p50:"] == [pytest.approx(3e6, rel=0.2)]
    assert found["p90:"] > found["p50:"]
    assert found["heavy"] == [pytest.approx(1.7e8, rel=0.1)]
    assert len(found["block"]) == 3


def test_only_marks_that_are_drawn_have_a_key() -> None:
    picture = canary_chart.canary(stall())
    assert picture is not None
    assert "p99" not in {key.label for key in picture.keys}
    assert {"p90", "p50 of a start"} <= {key.label for key in picture.keys}


def test_a_server_with_few_answers_is_drawn() -> None:
    found = marks("node-http")
    assert set(found) == {"", "heavy"}
    assert len(found[""]) == 3 * 14
    assert canary_chart._answer_count(row("node-http")) == "42 of 300 answered in time"
    assert canary_chart._answer_count(row(PHP_150)) == ""


def test_of_very_many_answers_a_sample_is_drawn() -> None:
    ticks, every = marks(PHP_150)[""], canary_chart._all_ns(row(PHP_150))
    assert len(ticks) == canary_chart.TICKS_MAX < len(every)
    assert [ticks[0], ticks[-1]] == [every[0], every[-1]]
