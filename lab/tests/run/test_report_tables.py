"""Figures in the report's tables and bars: their units, their bounds, and in which order servers stand."""

import json
import math
from dataclasses import replace

import pytest
from crumple.drawing import numerals
from crumple.drawing.plot import RowChart, Segment, Whisker
from crumple.run.report import bars, run_tables
from crumple.run.report.report_document import as_json
from crumple.run.report.run_report import markdown, text
from crumple.run.report.view import ExperimentView, ServerView
from usual_page import page, seen


@pytest.mark.long
def chart(experiment: ExperimentView) -> RowChart:
    picture = bars.throughput(experiment)
    assert picture is not None
    drawn = picture.panels[0].drawn
    assert isinstance(drawn, RowChart)
    return drawn


def test_engine_limited_throughput_is_a_lower_bound_in_tables_charts_and_json() -> None:
    separate = seen().experiments[1]
    (row,) = (each for each in run_tables.servers(separate) if each.server.name == "node-cluster")
    slow = [start.figures.throughput_per_s for start in row.server.counting if start.figures]
    summary = row.server.summaries["throughput"]
    assert summary is not None and (summary.n, summary.high) == (3, math.inf)
    assert row.throughput == run_tables.WordedFigure(f"at least {numerals.significant(summary.low)}")
    assert (row.starts, row.remark) == ("2 of 3", "1 more start as a lower bound") and len(slow) == 2
    memory = row.server.summaries["memory"]
    assert memory is not None and memory.n == 2
    for said in (page(), markdown(seen()), text(seen(), width=110, styled=False)):
        assert f"at least {numerals.significant(summary.low)}" in said
    said = {drawn.figure for drawn in chart(separate).rows if "at least" in drawn.figure}
    assert said == {row.throughput.estimate}
    document = json.loads(as_json(seen()))
    (told,) = (
        each["summaries"]
        for each in document["experiments"][1]["servers"]
        if each["server"] == "node-cluster"
    )
    assert (told["throughput"]["limit"], told["throughput"]["high"]) == ("at least", None)
    assert told["memory"]["limit"] is None
    assert [each["id"] for each in document["trials"] if each["engine_limited"]] == [
        "separate/b03/node-cluster"
    ]


def test_two_starts_far_apart_have_no_printed_interval() -> None:
    def apart(factor: float) -> ServerView:
        row = seen().experiments[0].servers[0]
        starts = tuple(
            replace(start, figures=replace(start.figures, throughput_per_s=speed))
            for start, speed in zip(row.starts, (1_000.0, 1_000.0 * factor), strict=False)
            if start.figures
        )
        return replace(row, starts=starts)

    def beside(row: ServerView) -> ExperimentView:
        return replace(seen().experiments[0], servers=(row, seen().experiments[0].servers[1]), twin=None)

    near, far = (beside(apart(factor)) for factor in (1.02, 3.0))
    one, other = (run_tables.figures_of(each.servers[0]) for each in (near, far))
    assert "–" in one.throughput.interval
    assert other.throughput == run_tables.WordedFigure("1,700")
    assert "two starts" not in chart(near).rows[0].remark
    assert not any(isinstance(mark, Whisker) for mark in chart(far).rows[0].marks)


@pytest.mark.long
def test_a_server_that_loses_requests_comes_last_and_is_not_ranked() -> None:
    separate = seen().experiments[1]
    lossy, slower = (
        next(row for row in separate.servers if row.name == name)
        for name in ("node-express-cluster", "node-express")
    )
    fast, slow = (row.summaries["throughput"] for row in (lossy, slower))
    assert fast is not None and slow is not None and fast.estimate > slow.estimate
    assert separate.servers[-2:] == (slower, lossy)
    assert [row.ranked for row in separate.servers] == [True] * 6 + [False]
    for said in (page(), markdown(seen()), text(seen(), width=110, styled=False)):
        assert said.count("not ranked by speed") == 1
    ranked = {
        each["server"]: each["ranked"] for each in json.loads(as_json(seen()))["experiments"][1]["servers"]
    }
    assert [name for name, is_ranked in ranked.items() if not is_ranked] == ["node-express-cluster"]


def test_cpu_time_has_a_suitable_unit_in_tables_and_charts() -> None:
    def taking(cpu_us: float) -> ExperimentView:
        row = seen().experiments[0].servers[0]
        starts = tuple(
            replace(
                start,
                figures=replace(
                    start.figures, cpu_per_request_us=cpu_us, cpu_user_us=cpu_us / 2, cpu_kernel_us=cpu_us / 2
                ),
            )
            for start in row.starts
            if start.figures
        )
        return replace(seen().experiments[0], servers=(replace(row, starts=starts),))

    def beside(experiment: ExperimentView) -> ExperimentView:
        """Return it with the server twice, as one has no chart."""
        (row,) = experiment.servers
        return replace(experiment, servers=(row, replace(row, name="other")))

    for cpu_us, unit, said in ((185.0, "µs", "185"), (18_500.0, "ms", "18.5"), (2.2e6, "s", "2.20")):
        (row,) = run_tables.servers(taking(cpu_us))
        assert row.cpu.estimate == f"{said}{numerals.NARROW}{unit}"
        picture = bars.cpu(beside(taking(cpu_us)))
        assert picture is not None
        chart = picture.panels[0].drawn
        assert isinstance(chart, RowChart)
        assert chart.rows[0].figure == row.cpu.estimate
        ends = [mark.high for mark in chart.rows[0].marks if isinstance(mark, Segment)]
        assert max(ends) == pytest.approx(cpu_us * 1e3)
        assert chart.x.ticks[-1].label.endswith(f" {unit}")
