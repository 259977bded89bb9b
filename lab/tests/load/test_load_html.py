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
from crumple.drawing.page import unbroken
from crumple.load.report import load_course
from crumple.load.report import load_sentences as say
from crumple.load.report.load_document import LoadDocument
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
    return re.findall(r"<figure class=\"chart.*?<h3>(?:<a [^>]*></a>)?(.*?)</h3>", said, re.S)


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
def test_failures_come_first_and_unfold_to_request_and_answer() -> None:
    said = page("failing")
    validity = said.split("</header>")[0]
    assert "<b>5.0\u202f% failed (500 × 5,000, reset × 9).</b>" in validity
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
def test_each_of_several_requests_has_a_row() -> None:
    kinds = page("several").split('<section id="kinds">')[1].split("</section>")[0]
    assert 'list <span class="of">GET /hello</span>' in kinds
    assert "3,000 (415 × 2,500, reset × 500)" in kinds
    assert '<section id="kinds">' not in page("failing")


@pytest.mark.long
def test_users_without_an_answer_and_a_server_that_closes_are_named() -> None:
    assert "56 of 64 connections got no answer in 3 s; the quantiles are of the other 8" in page("starved")
    assert "<b>56 of 64 connections unanswered.</b>" in page("starved")
    assert "100 connects took 1 s or more" in page("closing")
    assert "closed: 50 connections at a time, which the server closed after each answer" in page("closing")


@pytest.mark.long
def test_only_a_load_on_a_schedule_is_explained() -> None:
    assert [say.OPEN in page(name) for name in ("constant", "stepped", "closed")] == [True, True, False]
    assert "when it is due" not in page("closed")


@pytest.mark.long
def test_every_chart_with_data_is_drawn() -> None:
    of_the_load = ["Response time", "Requests", "Quantiles", "Histogram"]
    assert charts_of(page("constant")) == [*of_the_load, "CPU", "Memory"]
    assert charts_of(page("closed")) == of_the_load
    assert charts_of(page("silent")) == ["Requests", "CPU", "Memory"]


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
    drawn = said.split("</header>")[0]
    for words in ("unread", "user CPU", "ready to run", "waiting for 127.0.0.1:5432", "otherwise inside"):
        assert f"<title>{words} " in drawn, words


def with_connections(load: LoadDocument, connections: range) -> LoadDocument:
    series = load.record.series.model_copy(update={"connections": tuple(connections)})
    return synthetic_load.load(load.record.model_copy(update={"series": series}), load.validity)


def test_connections_are_drawn_only_if_they_change() -> None:
    assert load_course.connections(made("stepped")) == []
    assert len(load_course.connections(with_connections(made("stepped"), range(120)))) == 120


@pytest.mark.long
def test_ids_in_the_page_are_unique() -> None:
    ids = re.findall(r'\bid="([^"]+)"', page("stepped"))
    assert len(ids) == len(set(ids))
    for reference in re.findall(r"url\(#([^)]+)\)", page("stepped")):
        assert reference in ids


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
