"""A search shows at each level where the time goes, and ends with what limits the server."""

import json
import os
from dataclasses import replace
from functools import cache

import documents
import made_at_load
import made_searches
import made_waits
import pytest
from crumple.drawing import report_page, report_text
from crumple.drawing.numerals import NARROW
from crumple.find import find_plan
from crumple.find import level as levels
from crumple.find.find_flags import FindFlags
from crumple.find.level import Level
from crumple.find.report import find_figures, find_sentences, find_times
from crumple.find.report.find_figures import SearchFigures
from crumple.find.report.find_report import report
from crumple.find.seen import Base
from crumple.limit.finding import Finding as Cause
from crumple.machine import process_tree
from crumple.observation.observed import FailuresAlone
from crumple.record import stages
from crumple.record.stages import Budget, NoBudget

pytestmark = pytest.mark.weighs


@pytest.fixture(autouse=True)
def named_though_a_rival_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loads here are too plain to tell causes apart; what is made of a named one is tested."""
    monkeypatch.setattr("crumple.cause.judged.LIKELY", 0.3)


DATABASE = made_waits.DATABASE


@cache
def time_at(inside: int) -> Budget:
    """The time with so many of 32 requests inside; the others wait to be read."""
    record = made_waits.watched(user=1.0, waits={DATABASE: [(inside // 2, 2, 0)] * 40}, inside=inside)
    found = stages.budget(record)
    assert isinstance(found, Budget)
    return found


def watched(level: Level, number: int) -> Level:
    """A level at which fewer requests are inside, the higher its number."""
    return replace(level, time=time_at(max(4, 32 - 2 * number)), seen=made_at_load.POOL)


def found(kind: str = "found") -> SearchFigures:
    """A search on a server of this machine, of which each level was watched."""
    plain = made_searches.finding(kind)
    levels = tuple(watched(each, number) for number, each in enumerate(plain.rows))
    return made_searches.changed(plain, found=replace(plain.found, levels=levels))


def rows(finding: SearchFigures) -> dict[str, list[str]]:
    return dict(find_times.rows(find_times.choose(finding)))


@pytest.mark.long
@pytest.mark.long
def test_each_part_has_a_row_and_each_level_a_column() -> None:
    finding = found()
    shown = find_times.choose(finding)
    assert 2 < len(shown) <= find_times.LEVELS_MAX
    assert list(rows(finding)) == [
        "unread", "user CPU", f"waiting for {DATABASE}", "otherwise inside", "mean",
    ]  # fmt: skip
    assert {len(cells) for cells in rows(finding).values()} == {len(shown)}
    # The queue grows with the load, and what is inside becomes less.
    means = [{part.name: part.mean_ns for part in budget.pieces} for _, budget in shown]
    assert means[0].get("unread", 0.0) < means[-1]["unread"]


def test_the_mean_under_load_is_compared_with_the_mean_alone() -> None:
    # Of times that differ much, the median is far below the mean, with and without a load.
    uneven = made_searches.changed(found(), found=replace(found().found, calm=Base(0.01, 9.0, mean_s=0.05)))
    assert uneven.alone is not None and uneven.alone.mean_s == 0.05
    taken = documents.histogram({1_000_000: 15, 9_000_000: 5})
    times = documents.record().histograms.model_copy(update={"response_time": taken})
    base = levels.base(documents.record(histograms=times), 3)
    assert base is not None and base.mean_s == pytest.approx(0.003, rel=0.01)
    assert base.median_s == pytest.approx(0.001, rel=0.01)


def test_of_many_levels_the_lowest_and_the_highest_are_shown() -> None:
    finding = found()
    few = find_times.choose(finding, 3)
    loads = [level.load for level in finding.rows]
    assert len(few) == 3
    assert [few[0][0].load, few[-1][0].load] == [min(loads), max(loads)]


@pytest.mark.parametrize("width", [80, 100])
def test_the_summary_ends_with_the_times_and_what_limits_the_server(width: int) -> None:
    said = report_text.text(report(found().document), width, styled=False).replace(NARROW, " ")
    assert max(map(len, said.splitlines())) <= width
    assert "time at requests/s" in said and f"waiting for {DATABASE}" in said.replace("\n", " ")
    assert "Its first limit is " in said and "\nTry: " in said


def test_a_cause_takes_the_place_of_what_the_cpu_time_alone_says() -> None:
    def names(finding: SearchFigures) -> set[str]:
        return {name for name, _ in find_sentences.facts(finding)}

    plain, watched = made_searches.finding("found"), found()
    assert {"used up", "first limit"} & names(plain) == {"used up"}
    assert {"used up", "first limit"} & names(watched) == {"first limit"}


def test_too_few_connections_are_named_beside_a_cause() -> None:
    watched = found()
    short = tuple(
        replace(each, connections_most=each.connections_limit, server_cores_busy=0.1) for each in watched.rows
    )
    facts = dict(
        find_sentences.facts(made_searches.changed(watched, found=replace(watched.found, levels=short)))
    )
    assert "raise -c" in facts["used up"] and "first limit" in facts


@pytest.mark.long
def test_the_page_and_the_data_have_them_too() -> None:
    finding = found()
    page = report_page.html(report(finding.document))
    assert '<section id="times">' in page and "Where the time goes" in page
    assert f"waiting for {DATABASE}" in page.split('<section id="times">')[1].split("</section>")[0]
    written = json.loads(finding.document.model_dump_json())
    assert written["findings"][0]["kind"] == "finding"
    (*_, last) = written["levels"]
    assert last["seen"]["stage"]["unread"] == 56
    assert {"name", "mean_ns", "of"} <= set(last["time"]["pieces"][0])


def test_what_limits_the_server_is_read_where_it_broke() -> None:
    finding = found()
    (first, *_) = finding.edge
    others = tuple(
        each if each is first else replace(each, seen=made_at_load.NOTHING.beyond)
        for each in finding.found.levels
    )
    marked = made_searches.changed(finding, found=replace(finding.found, levels=others))
    (said, *_) = marked.said
    assert isinstance(said, Cause) and said.cause == "gate", said


@pytest.mark.long
@pytest.mark.long
def test_a_search_that_read_nothing_of_the_server_says_nothing_of_it() -> None:
    plain = made_searches.finding("found")
    assert plain.said == () and find_times.choose(plain) == []
    said = report_text.text(report(plain.document), 100, styled=False)
    assert "first limit" not in said and "time at" not in said
    assert '<section id="times">' not in report_page.html(report(plain.document))


def test_if_no_level_tells_where_the_time_goes_the_reason_is_said() -> None:
    plain = made_searches.finding("found")
    levels = tuple(replace(each, time=NoBudget("it is on another machine")) for each in plain.rows)
    finding = made_searches.changed(plain, found=replace(plain.found, levels=levels))
    shown = report_text.text(report(finding.document), 100, styled=False)
    assert "by stages not known: it is on another machine" in " ".join(shown.split())


def test_a_local_url_is_watched_unless_another_process_is_named_or_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def pid_watched(owner: int, **flags: object) -> int | None:
        monkeypatch.setattr(process_tree, "owner", lambda _: owner)
        plan = find_plan.of_url("http://127.0.0.1:9/", FindFlags(**flags))  # type: ignore[arg-type]
        return plan.options.server_pid

    assert pid_watched(1) == 1
    assert pid_watched(1, no_watch=True) is None
    assert pid_watched(1, watch=str(os.getpid())) == os.getpid()


def test_a_level_at_which_requests_fail_is_compared_with_the_lowest_that_held() -> None:
    first, *_, last = sorted(found().rows, key=lambda each: each.load)
    calm = replace(first, outcome="held", ok=990, failures={"wrong-status": 10, "not-sent": 5})
    assert find_figures._tried([last, calm], last) == FailuresAlone(990, 10, "under a lower load")
    assert find_figures._tried([last], last) is None and find_figures._tried([], last) is None
