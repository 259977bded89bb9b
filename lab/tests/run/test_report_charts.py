"""Charts of a run: each value has its mark, and only percentiles with enough samples are drawn."""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import documents
import pytest
import synthetic_run
from crumple.drawing import numerals, svg, theme
from crumple.drawing.plot import Band, Graph, Line, Picture, RowChart, RowPoint, Segment, Whisker
from crumple.record import disturbance, histogram
from crumple.record.disturbance import Disturbance
from crumple.record.figures import Figures
from crumple.run.report import bars, curves, run_charts
from crumple.run.report.run_report import markdown
from crumple.run.report.view import ExperimentView, RunView, ServerView, StartView, view

SECOND_NS = 1_000_000_000
DRAWN: dict[Callable[[ExperimentView], Picture | None], tuple[str, float]] = {
    bars.throughput: ("throughput", 1.0),
    bars.cpu: ("cpu_per_request", 1e3),
    bars.memory: ("memory", 1.0),
}


@cache
def seen() -> RunView:
    return view(synthetic_run.run_file(), synthetic_run.trials())


def shared() -> ExperimentView:
    return seen().experiments[0]


def chart(picture: Picture | None) -> RowChart:
    assert picture is not None
    (panel,) = picture.panels
    assert isinstance(panel.drawn, RowChart)
    return panel.drawn


def graphs(picture: Picture | None) -> list[Graph]:
    assert picture is not None
    return [panel.drawn for panel in picture.panels if isinstance(panel.drawn, Graph)]


def changed(change: Callable[[Figures], dict[str, Any]], experiment: ExperimentView) -> ExperimentView:
    """Return an experiment whose starts have other figures."""

    def of(start: StartView) -> StartView:
        figures = start.figures
        return StartView(start.trial, replace(figures, **change(figures)) if figures else None)

    servers = tuple(
        ServerView(row.name, row.note, tuple(map(of, row.starts)), row.twin) for row in experiment.servers
    )
    return replace(experiment, servers=servers, twin=None)


def repeated(row: ServerView, times: int) -> ServerView:
    return ServerView(row.name, row.note, row.starts * times, row.twin)


@pytest.mark.parametrize("draw", DRAWN)
def test_every_figure_has_a_bar_that_ends_at_it(draw: Callable[[ExperimentView], Picture | None]) -> None:
    metric, per_unit = DRAWN[draw]
    rows = shared().rows if draw is bars.throughput else shared().servers
    for row, drawn in zip(rows, chart(draw(shared())).rows, strict=True):
        summary = row.summaries[metric]
        assert summary is not None
        high = max(mark.high for mark in drawn.marks if isinstance(mark, Segment))
        assert high == pytest.approx(summary.estimate * per_unit)
        assert drawn.figure


def test_a_cpu_time_that_is_not_divided_has_a_plain_bar() -> None:
    unknown = changed(lambda _: {"cpu_user_us": None, "cpu_kernel_us": None}, shared())
    for row, drawn in zip(unknown.servers, chart(bars.cpu(unknown)).rows, strict=True):
        (bar,) = (mark for mark in drawn.marks if isinstance(mark, Segment))
        summary = row.summaries["cpu_per_request"]
        assert summary is not None
        assert (bar.low, bar.high) == pytest.approx((0, summary.estimate * 1e3))
        assert "not told apart" in bar.title


def test_a_unit_comes_from_all_that_is_drawn() -> None:
    # No start is valid, so no server has a summary, and only signs are drawn.
    none_valid = changed(lambda _: {"valid": False}, shared())
    drawn = chart(bars.memory(none_valid))
    assert {type(mark) for row in drawn.rows for mark in row.marks} == {RowPoint}
    assert [tick.label for tick in drawn.x.ticks] == ["0", "100 MiB", "200 MiB", "300 MiB"]


def test_a_figure_that_others_spoiled_says_who_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disturbance, "SLOWDOWN_MAX", 2.0)
    spoils = Disturbance(others_share=0.9, steal_share=0.0, slowdown=2.5, by="apt-get (pid 7)")

    def spoiled(start: StartView) -> StartView:
        assert start.figures is not None
        figures = replace(start.figures, memory_peak_bytes=None)
        return StartView(start.trial.model_copy(update={"disturbance": spoils}), figures)

    first, *others = shared().servers
    row = ServerView(first.name, first.note, tuple(map(spoiled, first.counting)), first.twin)
    drawn = chart(bars.memory(replace(shared(), servers=(row, *others), twin=None))).rows[0]
    assert (drawn.figure, drawn.remark) == ("–", "apt-get disturbed it too much for this figure")


def test_a_chart_without_a_value_is_not_drawn() -> None:
    nothing = changed(lambda _: {"memory_peak_bytes": None}, shared())
    assert bars.memory(nothing) is None


@pytest.mark.parametrize("draw", DRAWN)
def test_one_server_has_no_bars_of_its_own(draw: Callable[[ExperimentView], Picture | None]) -> None:
    assert draw(replace(shared(), servers=shared().servers[:1], twin=None)) is None


def test_a_start_says_why_it_does_not_count() -> None:
    experiment, block, server = synthetic_run.NOT_VALID
    shown = next(each for each in seen().experiments if each.name == experiment)
    row = next(each for each in chart(bars.throughput(shown)).rows if each.name == server)
    signs = [mark for mark in row.marks if isinstance(mark, RowPoint)]
    (dashed,) = (sign for sign in signs if sign.shape == "dashed")
    assert dashed.title.startswith(f"block {block}: ")
    assert "not valid: the engine used 91 % of its core" in dashed.title
    assert all(sign.below for sign in signs)


def test_of_many_starts_some_have_signs_from_the_lowest_to_the_highest() -> None:
    first, *others = shared().servers
    many = replace(shared(), servers=(repeated(first, 20), *others))
    signs = [mark.at for mark in chart(bars.throughput(many)).rows[0].marks if isinstance(mark, RowPoint)]
    values = [start.figures.throughput_per_s for start in first.starts if start.figures]
    assert len(signs) == bars.SIGNS_MAX < 20 * len(values)
    assert (min(signs), max(signs)) == (min(values), max(values))


def test_a_remark_names_few_starts_and_counts_many() -> None:
    lost = next(row for row in shared().servers if not all(start.counts for start in row.starts))
    assert bars.remark(lost) == "b02 did not run"
    many = bars.remark(repeated(lost, 20))
    assert many == "20 of 60 starts did not run, do not count or lost requests"


def test_a_narrow_screen_has_every_second_percentile() -> None:
    graph, *_ = graphs(curves.response_time(shared()))
    narrow = [tick.label for tick in graph.x.ticks if not tick.is_wide]
    assert narrow == ["50 %", "99 %"]
    assert svg.inline(graph, "").count('class="w"') == len(graph.x.ticks) - len(narrow)


def test_an_interval_that_would_dwarf_every_bar_is_cut() -> None:
    rates = iter([100.0, 10_000.0, 1_000.0] * 7)
    wide = changed(lambda _: {"throughput_per_s": next(rates)}, shared())
    drawn = chart(bars.throughput(wide))
    ends = [mark.high for row in drawn.rows for mark in row.marks if isinstance(mark, Whisker)]
    assert max(ends) == 10_000 * bars.WHISKER_MAX
    assert "interval reaches" in drawn.rows[0].remark


def test_every_chart_is_written_as_a_drawing_that_other_programs_read(tmp_path: Path) -> None:
    files = run_charts.write(seen(), tmp_path / "charts")
    assert [file.stem for file in files] == ["shared-throughput", "separate-throughput"]
    for file in files:
        assert ET.parse(file).getroot().tag == "{http://www.w3.org/2000/svg}svg"
        assert f"(charts/{file.name})" in markdown(seen())
    assert markdown(seen()).count("](charts/") == len(files)


def points(start: StartView) -> list[tuple[float, float]]:
    return curves.curve(start)


def first() -> StartView:
    return shared().servers[0].starts[0]


def with_histograms(start: StartView, **changes: Any) -> StartView:
    record = start.trial.record
    assert record is not None
    histograms = record.histograms.model_copy(update=changes)
    trial = start.trial.model_copy(update={"record": record.model_copy(update={"histograms": histograms})})
    return StartView(trial, start.figures)


def test_a_curve_ends_where_its_samples_do() -> None:
    record = first().trial.record
    assert record is not None
    assert points(first())[-1][0] == min(1_000, record.histograms.response_time.count / 10)
    assert all(one <= other for (_, one), (_, other) in pairwise(points(first())))


def test_a_curve_leaves_out_spoilt_quantiles() -> None:
    record = first().trial.record
    assert record is not None
    count = record.histograms.response_time.count
    number = count * 8 // 1_000
    late = documents.histogram({20_000: count - number, 40_000_000: number})
    spoilt = points(with_histograms(first(), engine_lateness=late))
    assert spoilt and max(x for x, _ in spoilt) < 100 < max(x for x, _ in points(first()))


def test_few_samples_give_a_short_curve() -> None:
    few = with_histograms(first(), response_time=synthetic_run.histogram(200, 1e6, 0.3))
    assert points(few)[-1][0] == pytest.approx(20)  # 95 %, the deepest that 200 samples carry


def test_a_chart_says_the_median_of_a_start_that_it_draws() -> None:
    start = first()
    row = replace(shared().servers[0], starts=(start,))
    record = start.trial.record
    assert record is not None
    median_ns = histogram.decoded(record.histograms.response_time).quantile_ns(0.5)
    assert curves.MEDIAN in {1 - 1 / x for x, _ in points(start)}
    drawn = curves.response_time(replace(shared(), servers=(row,)))
    assert drawn is not None and drawn.says.endswith(f" {numerals.duration(median_ns)}")
    few = with_histograms(start, response_time=synthetic_run.histogram(15, 1e6, 0.3))
    drawn = curves.response_time(replace(shared(), servers=(replace(row, starts=(few,)),)))
    assert drawn is not None and drawn.says.endswith(" has too few answers")


@pytest.mark.parametrize("draw", [curves.response_time, curves.over_time])
def test_many_starts_are_a_median_and_a_band(draw: Callable[[ExperimentView], Picture | None]) -> None:
    def own(times: int) -> Iterator[Band | Line]:
        row, *others = shared().servers
        colour = theme.colour_of(row.note.language)
        graph, *_ = graphs(draw(replace(shared(), servers=(repeated(row, times), *others))))
        return (each for each in graph.marks if isinstance(each, Band | Line) and each.colour == colour)

    assert [type(each) for each in own(1)] == [Line] * 3
    assert [type(each) for each in own(4)] == [Band, Line]
    band, line = own(4)
    assert isinstance(band, Band) and isinstance(line, Line)
    for (x, low, high), point in zip(band.points, line.points, strict=True):
        assert point is not None
        assert low <= point[1] <= high and point[0] == x


def slow(per_interval: float) -> ExperimentView:
    """Return an experiment of one server with so few answers that intervals have one or none."""
    row = shared().servers[0]

    def of(start: StartView) -> StartView:
        record = start.trial.record
        assert record is not None
        ok = [int((step + 1) * per_interval) - int(step * per_interval) for step in range(35)]
        series = record.series.model_copy(update={"ok": ok, "scheduled": ok, "failed": [0] * 35})
        trial = start.trial.model_copy(update={"record": record.model_copy(update={"series": series})})
        return StartView(trial, start.figures)

    return replace(shared(), servers=(ServerView(row.name, row.note, tuple(map(of, row.starts))),))


def test_intervals_with_few_answers_are_merged() -> None:
    (graph,) = graphs(curves.over_time(slow(0.6)))
    line = next(each for each in graph.marks if isinstance(each, Line))
    speeds = [point[1] for point in line.points if point]
    # Six answers a second were 0 or 10 in each interval of a tenth of a second.
    assert speeds and all(5 < speed < 7 for speed in speeds)


def test_merged_intervals_keep_every_answer() -> None:
    steps = [(at * SECOND_NS, SECOND_NS, at, "warm-up" if at < 7 else "measured") for at in range(20)]
    for together in (1, 3, 50):
        line = curves._merged(steps, together)
        if together == 1:
            assert len(line) == 20
            continue
        levels = [(begin, end) for begin, end in zip(line[::2], line[1::2], strict=True)]
        assert all(begin[1] == end[1] for begin, end in levels)
        answers = sum((end[0] - begin[0]) * begin[1] for begin, end in levels)
        assert answers == pytest.approx(sum(range(20)))


def test_languages_have_colours_of_their_own() -> None:
    assert len(set(theme.FAMILIES.values())) == len(theme.FAMILIES)
    assert theme.colour_of("Node.js") == theme.colour_of("JavaScript")
    assert theme.family_of("COBOL") == "other"
