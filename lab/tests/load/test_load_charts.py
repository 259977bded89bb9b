"""The charts of one load: what is drawn was measured over the stretch on which it stands."""

import random
from collections import Counter
from itertools import pairwise

import documents
import pytest
import synthetic_load
from crumple import contract
from crumple.drawing.plot import Graph, Line, Picture, Steps
from crumple.load.report import load_charts, load_course
from crumple.load.report.load_document import LoadDocument
from crumple.words import quantile_lines


def graph(picture: Picture | None) -> Graph:
    """The plot of a picture."""
    assert picture is not None
    (panel,) = picture.panels
    assert isinstance(panel.drawn, Graph)
    return panel.drawn


def steps(load: LoadDocument, name: str) -> list[tuple[float, float, float]]:
    """Begin, end and value of what is drawn as steps."""
    marks = graph(load_charts.response_over_time(load)).marks
    return [
        (step.begin, step.end, step.y)
        for mark in marks
        if isinstance(mark, Steps) and mark.name == name
        for step in mark.steps
    ]


def line(picture: Picture | None, name: str) -> list[tuple[float, float] | None]:
    """The points of a line."""
    return next(
        list(mark.points) for mark in graph(picture).marks if isinstance(mark, Line) and mark.name == name
    )


def uneven(seed: int) -> LoadDocument:
    """A load whose seconds have other numbers of answers, and other times, at steps of some seconds."""
    chance = random.Random(seed)
    rates = tuple(
        contract.RateSpec(from_per_s=rate, to_per_s=rate, duration_s=chance.randint(1, 5))
        for rate in (chance.randint(1, 3_000) for _ in range(chance.randint(1, 4)))
    )
    shape = contract.OpenShapeSpec(connections=32, rates=rates)
    answered = [round(rate.to_per_s) for rate in rates for _ in range(round(rate.duration_s))]
    answered = [0 if chance.random() < 0.1 else count for count in answered]
    seconds = [
        Counter(round(10 ** chance.uniform(5, 9)) for _ in range(min(count, 1_200))) for count in answered
    ]
    record = synthetic_load.record(synthetic_load.spec(shape), [*map(Counter.total, seconds)], median_ns=1e6)
    stored = [documents.histogram(each).encoded or synthetic_load.NOTHING for each in seconds]
    log = record.log.model_copy(update={"response_time": stored})
    return synthetic_load.load(record.model_copy(update={"log": log}))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_no_quantile_is_drawn_above_the_longest_nor_across_a_step_of_the_load(seed: int) -> None:
    load = uneven(seed)
    if load_charts.response_over_time(load) is None:
        return
    longest, inner = steps(load, "max"), [begin_s for begin_s, _ in load_course.parts(load)[1:]]
    for begin_s, end_s, p99_ns in steps(load, "p99"):
        assert [p99_ns <= max_ns for at_s, to_s, max_ns in longest if (at_s, to_s) == (begin_s, end_s)] == [
            True
        ]
    for begin_s, end_s, _ in (*longest, *steps(load, "p99")):
        assert not any(begin_s + 0.01 < at_s < end_s - 0.01 for at_s in inner)
    course = line(load_charts.response_over_time(load), "p50")
    for before, after in pairwise(course):
        if before and after:
            assert not any(before[0] < at_s <= after[0] for at_s in inner)


def test_a_line_over_time_has_a_gap_where_nothing_was_answered() -> None:
    course = line(load_charts.response_over_time(synthetic_load.frozen()), "p50")
    assert None in course and not [point for point in course if point and 6 <= point[0] < 8]


def test_a_percentile_over_time_is_drawn_over_stretches_with_enough_answers() -> None:
    # 2,000 answers per 100 ms are enough for a p99; 100 are not, but the 1,000 of a second are.
    fine, coarse = steps(synthetic_load.constant(), "p99"), steps(synthetic_load.frozen(), "p99")
    assert len(fine) == 120
    assert [(begin_s, end_s) for begin_s, end_s, _ in coarse][:2] == [(2, 3), (3, 4)] and len(coarse) == 8


def test_a_long_load_is_reduced_to_what_a_page_can_show() -> None:
    asked = synthetic_load.spec(contract.ClosedShapeSpec(connections=4))
    record = synthetic_load.record(asked, [100] * 200, median_ns=1e6)
    load = synthetic_load.load(record)
    requests = line(load_charts.requests_over_time(load), "ok")
    for course in (requests, line(load_charts.response_over_time(load), "p50")):
        drawn = [point for point in course if point]
        assert 1 < len(drawn) <= load_course.INTERVALS_MAX + 1
        assert drawn[-1][0] == pytest.approx(202, abs=60)
    assert [point[1] for point in requests if point] == pytest.approx([100] * sum(map(bool, requests)))


def test_a_rate_is_drawn_of_stretches_with_ten_requests() -> None:
    asked = synthetic_load.spec(contract.ClosedShapeSpec(connections=4))
    load = synthetic_load.load(synthetic_load.record(asked, [10] * 10, median_ns=1e6))
    drawn = [point for point in line(load_charts.requests_over_time(load), "ok") if point]
    assert [point[1] for point in drawn] == pytest.approx([10] * 12)


def test_few_samples_draw_a_short_curve() -> None:
    few = documents.histogram(synthetic_load.times(200, 1e6, 0.3))
    assert quantile_lines.points_of(few)[-1][0] == pytest.approx(20)  # 95 %
    assert quantile_lines.points_of(documents.histogram({1_000: 19})) == []


def test_the_lateness_of_the_engine_does_not_squeeze_the_response_times() -> None:
    load = synthetic_load.constant()
    axis = graph(load_charts.quantiles(load)).y.scale
    shortest_ns = min(
        ns
        for name in ("response time", "service time")
        for _, ns in filter(None, line(load_charts.quantiles(load), name))
    )
    assert axis.low == pytest.approx(shortest_ns / quantile_lines.BESIDE)
    assert all(ns >= axis.low for _, ns in filter(None, line(load_charts.quantiles(load), "lateness")))


def test_a_shortened_last_interval_is_not_drawn_as_a_dip() -> None:
    load = synthetic_load.constant()
    series = load.record.series
    cut = series.model_copy(
        update={"duration_ns": (*series.duration_ns[:-1], 1_000_000), "ok": (*series.ok[:-1], 0)}
    )
    course = load_course.per_second(
        synthetic_load.load(load.record.model_copy(update={"series": cut})), cut.ok
    )
    assert min(point[1] for point in course if point) == pytest.approx(20_000)


def test_memory_is_the_peak_of_the_summary() -> None:
    watched = synthetic_load.constant().record.probes.server
    assert watched is not None and watched.window is not None
    assert max(size for _, size in filter(None, load_course.memory(watched))) == watched.window.rss_max_bytes
    pss = (None, *[1_000] * 119, None)
    shared = watched.model_copy(update={"samples": watched.samples.model_copy(update={"pss_bytes": pss})})
    assert [size for _, size in filter(None, load_course.memory(shared))] == [1_000] * 119


def test_cores_kept_busy_add_up_to_the_time_spent() -> None:
    engine = synthetic_load.constant().record.probes.engine
    course = load_course.cpu(engine)
    spent_ns = engine.samples.cpu_user_ns[-1] + engine.samples.cpu_kernel_ns[-1]
    cores = sum(value for _, value in filter(None, course))
    assert cores * synthetic_load.INTERVAL_NS == pytest.approx(spent_ns)
