"""The page of one load: it needs no network, says what the summary says, and draws only what was measured."""

import re
from collections.abc import Callable
from functools import cache

import documents
import made_inside
import made_stages
import own_scripts
import pytest
import synthetic_load
from crumple import contract
from crumple.drawing.page import NARROW_PX, WIDE_PX, Chart, unbroken
from crumple.load.report import load_charts
from crumple.load.report import load_sentences as say
from crumple.load.report.load_document import LoadDocument
from crumple.words import quantile_chart
from synthetic_load import page as html

MAKERS: dict[str, Callable[[], LoadDocument]] = {
    "constant": synthetic_load.constant,
    "stepped": synthetic_load.stepped,
    "closed": synthetic_load.closed,
    "frozen": synthetic_load.frozen,
    "silent": synthetic_load.silent,
    "failing": synthetic_load.failing,
    "several": synthetic_load.several,
    "starved": synthetic_load.starved,
    "closing": synthetic_load.closing,
}


@cache
def made(name: str) -> LoadDocument:
    return MAKERS[name]()


@cache
def page(name: str) -> str:
    return html(made(name))


def charts_of(said: str) -> list[str]:
    return re.findall(r"<figure class=\"chart.*?<h3>(.*?)</h3>", said, re.S)


@pytest.mark.long
@pytest.mark.parametrize("name", MAKERS)
def test_the_page_needs_no_network(name: str) -> None:
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", page(name)))
    assert addresses <= {synthetic_load.URL, "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "<script" not in own_scripts.without(page(name))
    assert "@import" not in page(name)


@pytest.mark.long
@pytest.mark.parametrize("name", MAKERS)
def test_the_page_has_the_facts_of_the_summary(name: str) -> None:
    load, said = made(name), page(name)
    assert say.identity(load.record) in said
    assert load.validity.word in said
    for sentence in (*load.validity.problems, *load.validity.warnings):
        assert unbroken(sentence)[1:] in said
    assert f"<pre>{load.command}</pre>" in said


@pytest.mark.long
@pytest.mark.long
def test_failures_come_first_and_unfold_to_request_and_answer() -> None:
    said = page("failing")
    validity = said.split('<section id="validity">')[1].split("</section>")[0]
    assert "<b>5.0\u202f% failed</b>" in validity
    (fault,) = re.findall(r'<details class="exchange">.*?500 Internal.*?</details>', validity, re.S)
    assert "5,000 × 500 Internal Server Error; first: `{&#34;error&#34;" in fault
    assert "GET /hello HTTP/1.1" in fault and "HTTP/1.1 500 Internal Server Error" in fault
    assert "pool \\x1b[31mexhausted" in fault and "\x1b" not in said


@pytest.mark.long
def test_an_answer_is_shown_as_text() -> None:
    record = made("failing").record
    bad = documents.example(
        "wrong-status", 500, body="<script>alert(1)</script>", head="A: <img src=x>\u202e"
    )
    kind = record.requests[0].model_copy(update={"examples": (bad,)})
    said = html(synthetic_load.load(record.model_copy(update={"requests": (kind,)})))
    assert "<script" not in own_scripts.without(said) and "<img" not in said and "\u202e" not in said
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in said and "&lt;img src=x&gt;\\u202e" in said


@pytest.mark.long
@pytest.mark.long
def test_each_of_several_requests_has_a_row() -> None:
    kinds = page("several").split('<section id="kinds">')[1].split("</section>")[0]
    assert 'list <span class="of">GET /hello</span>' in kinds
    assert "3,000 (415 × 2,500, reset × 500)" in kinds
    assert '<section id="kinds">' not in page("failing")


@pytest.mark.long
@pytest.mark.long
def test_users_without_an_answer_and_a_server_that_closes_are_named() -> None:
    assert "56 of 64 connections got no answer in 3 s; the quantiles are of the other 8" in page("starved")
    assert "<b>56 of 64 connections unanswered</b>" in page("starved")
    assert "100 connects took 1 s or more" in page("closing")
    assert "Closed: 50 connections at a time, which the server closed after each answer." in page("closing")


@pytest.mark.long
def test_only_a_load_on_a_schedule_is_explained() -> None:
    assert [say.OPEN in page(name) for name in ("constant", "stepped", "closed")] == [True, True, False]
    assert "when it is due" not in page("closed")


@pytest.mark.long
@pytest.mark.long
def test_every_chart_with_data_is_drawn() -> None:
    of_the_load = ["Response time", "Requests", "Quantiles", "Histogram"]
    assert charts_of(page("constant")) == [*of_the_load, "CPU", "Memory"]
    assert charts_of(page("closed")) == of_the_load
    assert charts_of(page("silent")) == ["Requests", "CPU", "Memory"]


@pytest.mark.long
@pytest.mark.parametrize("chart", load_charts.CHARTS, ids=lambda chart: chart.name)
def test_specifications_are_valid(chart: Chart[LoadDocument]) -> None:
    load = with_connections(made("stepped"), range(120))
    if chart.name == "time-by-stages":
        load = divided()
    for width_px in (NARROW_PX, WIDE_PX):
        drawn = chart.draw(load, width_px)
        assert drawn is not None
        drawn.to_dict(validate=True)


def divided() -> LoadDocument:
    """A load whose time is divided, inside too."""
    record = made_stages.with_readings([{"inside": 20, "unread": 12}] * 60)
    waits = {"127.0.0.1:5432": [(6, 2, 0)] * 40, "127.0.0.1:6379": [(1, 2, 0)] * 40}
    probes = record.probes.model_copy(
        update={
            "server": made_inside.server(record, 0.5, 0.2),
            "tasks": made_inside.tasks(record, [(2, 1, 0)] * 60, cores=0.7, run_queue_ns=record.measured_ns),
            "dependencies": made_inside.dependencies(record, waits),
        }
    )
    return synthetic_load.load(record.model_copy(update={"probes": probes}))


@pytest.mark.long
def test_the_page_draws_where_the_time_goes() -> None:
    said = html(divided())
    assert charts_of(said)[0] == "Where the time goes"
    drawn = said.split('<section id="charts">')[1]
    for words in ("unread", "user CPU", "ready to run", "waiting for 127.0.0.1:5432", "otherwise inside"):
        assert words in drawn, words


def with_connections(load: LoadDocument, connections: range) -> LoadDocument:
    series = load.record.series.model_copy(update={"connections": tuple(connections)})
    return synthetic_load.load(load.record.model_copy(update={"series": series}), load.validity)


def test_connections_are_drawn_only_if_they_change() -> None:
    assert load_charts.connections(made("stepped")) == []
    assert len(load_charts.connections(with_connections(made("stepped"), range(120)))) == 120


@pytest.mark.long
def test_ids_in_the_page_are_unique() -> None:
    ids = re.findall(r'\bid="([^"]+)"', page("stepped"))
    assert len(ids) == len(set(ids))
    for reference in re.findall(r"url\(#([^)]+)\)", page("stepped")):
        assert reference in ids


@pytest.mark.long
@pytest.mark.long
def test_chart_colours_follow_the_page() -> None:
    style = page("stepped").split("</style>")[0]
    for colour in set(re.findall(r'(?:fill|stroke)="(#[0-9a-fA-F]{3,6})"', page("stepped"))):
        assert f'"{colour}"]' in style, f"{colour} stays as it is in the dark"


@pytest.mark.long
def test_markup_in_an_address_stays_text() -> None:
    load = made("closed")
    said = html(
        synthetic_load.remade(load, url="http://a/<script>alert(1)</script>", command="crumple load '<b>'")
    )
    assert "<script" not in own_scripts.without(said)
    assert "<b>&#39;" not in said


def test_a_line_over_time_has_a_gap_where_nothing_was_answered() -> None:
    rows = [row for row in load_charts.response_times(made("frozen")) if row["line"] == "p50"]
    runs = {row["run"] for row in rows}
    assert len(runs) == 2
    assert not [row for row in rows if 6 <= row["s"] < 8]


def test_a_percentile_over_time_is_drawn_from_intervals_with_enough_answers() -> None:
    # 2,000 answers per 100 ms are enough for a p99; 100 are not, but the 1,000 of a second are.
    fine = [row for row in load_charts.response_times(made("constant")) if row["line"] == "p99"]
    coarse = [row for row in load_charts.response_times(made("frozen")) if row["line"] == "p99"]
    assert len(fine) == 120
    assert len(coarse) == 8
    assert [row["s"] for row in coarse][:2] == [2.5, 3.5]


def test_a_long_load_is_reduced_to_what_a_page_can_show() -> None:
    asked = synthetic_load.spec(contract.ClosedShapeSpec(connections=4))
    record = synthetic_load.record(asked, [100] * 200, median_ns=1e6)
    load = synthetic_load.load(record)
    for rows in (load_charts.response_times(load), load_charts.outcomes(load)):
        for line in {row["line"] for row in rows}:
            drawn = [row for row in rows if row["line"] == line]
            assert 1 < len(drawn) <= load_charts.INTERVALS_MAX
            assert drawn[-1]["s"] == pytest.approx(202, abs=60)
    answered = [row["value"] for row in load_charts.outcomes(load) if row["line"] == "ok"]
    assert answered == pytest.approx([100] * len(answered))


def test_few_samples_draw_a_short_curve() -> None:
    few = documents.histogram(synthetic_load.times(200, 1e6, 0.3))
    rows = quantile_chart.rows_of("response time", few)
    assert rows[-1]["x"] == pytest.approx(20)  # 95 %
    assert quantile_chart.rows_of("response time", documents.histogram({1_000: 19})) == []


def test_a_shortened_last_interval_is_not_drawn_as_a_dip() -> None:
    load = made("constant")
    series = load.record.series
    cut = series.model_copy(
        update={"duration_ns": (*series.duration_ns[:-1], 1_000_000), "ok": (*series.ok[:-1], 0)}
    )
    rows = load_charts.outcomes(synthetic_load.load(load.record.model_copy(update={"series": cut})))
    assert min(row["value"] for row in rows if row["line"] == "ok") == pytest.approx(20_000)


def test_memory_is_the_peak_of_the_summary() -> None:
    watched = made("constant").record.probes.server
    assert watched is not None
    assert max(row["value"] for row in load_charts.memory(watched)) == watched.window.rss_max_bytes
    pss = (None, *[1_000] * 119, None)
    shared = watched.model_copy(update={"samples": watched.samples.model_copy(update={"pss_bytes": pss})})
    assert {row["value"] for row in load_charts.memory(shared)} == {1_000}
    assert len(load_charts.memory(shared)) == 119


def test_cores_kept_busy_add_up_to_the_time_spent() -> None:
    engine = made("constant").record.probes.engine
    rows = load_charts.cpu("engine", engine)
    spent_ns = engine.samples.cpu_user_ns[-1] + engine.samples.cpu_kernel_ns[-1]
    assert sum(row["value"] for row in rows) * synthetic_load.INTERVAL_NS == pytest.approx(spent_ns)
