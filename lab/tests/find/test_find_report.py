"""The report of a search: in a terminal, as a page, as data."""

import json
import re
from dataclasses import replace
from typing import Any

import own_scripts
import pytest
from crumple.commands import find as command
from crumple.drawing import report_page, report_text, terminal
from crumple.drawing.plot import Dot, Graph, Guide, RowChart, RowPoint
from crumple.drawing.report_parts import plain as words
from crumple.find.level import PartResult
from crumple.find.report import find_answer
from crumple.find.report import find_sentences as say
from crumple.find.report.find_charts import levels_by_start, response_over_load
from crumple.find.report.find_figures import SearchFigures
from crumple.find.report.find_plot import plot
from crumple.find.report.find_report import report
from crumple.find.seen import LevelOutcome
from crumple.load import objective
from made_levels import judged
from made_searches import COMMAND, KINDS, changed, finding, plain
from rich.console import Group

# Each kind of search computes for a second.
pytestmark = [pytest.mark.weighs, pytest.mark.long]


@pytest.mark.parametrize(
    ("kind", "headline", "why"),
    [
        (
            "found",
            r"breaks at (1,9|2,0)\d\d /s \[1,\d\d\d – [12],\d\d\d\]",
            r"95 % interval, from \d+ levels on \d starts",
        ),
        ("one start", r"breaks at [\d,]+ /s \[", r"95 % interval, from \d+ levels on one running process"),
        ("connections", r"breaks at \d+ connections \[\d+ – \d+\]", "95 % interval"),
        (
            "never",
            r"does not hold at any load that was tried, down to [\d.]+ /s",
            "it broke at the lowest load tried",
        ),
        (
            "engine",
            r"at least [\d,]+ /s",
            "the engine gave in before the server broke: the engine was late: 10%",
        ),
        (
            "dies",
            r"the server was lost at 2,\d\d\d /s: its process 7 ended with code 1; before that it held 1",
            r"the server was lost before [\d:]+ UTC: its process 7 ended with code 1; look at its log",
        ),
        (
            "gone",
            r"the server was lost at 2,\d\d\d /s: nobody listens at 127\.0\.0\.1:1 any more",
            r"the server was lost before [\d:]+ UTC: nobody listens at 127\.0\.0\.1:1 any more; look at",
        ),
        (
            "budget",
            "no answer: no level held in the time there was",
            "the budget was over before there was a load",
        ),
        ("highest", "at least 50 connections", "it held at the highest load allowed; raise -c above 50"),
    ],
)
def test_the_result_comes_first_then_the_levels_it_rests_on(kind: str, headline: str, why: str) -> None:
    seen = finding(kind)
    assert re.match(headline, plain(say.headline(seen))), say.headline(seen)
    assert re.match(why, plain(say.why(seen))), say.why(seen)


def undecided(kind: str, ending: str | None = None, point: bool = True) -> SearchFigures:
    """That search with all its levels undecided."""
    seen = finding(kind)
    levels = tuple(replace(each, outcome="undecided") for each in seen.found.levels)
    changes: dict[str, Any] = {"levels": levels, "ending": ending or seen.found.ending}
    return changed(seen, found=replace(seen.found, **changes, **({} if point else {"point": None})))


@pytest.mark.parametrize(
    ("ending", "point", "code"),
    [("found", True, 3), ("never", False, 3), ("gone", True, 3), ("interrupted", True, 130)],
)
def test_a_search_of_which_no_level_was_decided_says_so(ending: str, point: bool, code: int) -> None:
    seen = undecided("connections", ending, point)
    said = plain(say.headline(seen))
    assert said.startswith("nothing was decided: no level held or broke in its time")
    assert ("; it may break at" in said) is point and not said.startswith("breaks")
    if ending in ("found", "never"):
        assert re.match(r"\d+ levels, of which none was decided; raise --budget", plain(say.why(seen)))
    assert seen.document.decided is False and finding("connections").document.decided is True
    assert "Nothing was decided" in screen(seen, 100)
    assert command.code_of(seen) == code


def screen(found: SearchFigures, columns: int) -> str:
    """What a terminal shows of it, without styles."""
    return report_text.text(report(found.document), columns, styled=False)


def test_it_names_what_broke_first_and_which_resource_was_used_up() -> None:
    seen = finding("found")
    facts = {name: plain(said) for name, said in say.facts(seen)}
    which = r"p99<250ms: ([\d.]+ m?s|[\d.]+ % of [\d,]+ took longer,)|the backlog grew by .*"
    assert re.match(rf"({which}) at [12],\d\d\d /s", facts["broke first"])
    assert re.match(r"the server's CPU: (1\.0|0\.99) of 1 core busy", facts["used up"])
    assert not {"broke first", "used up", "first limit"} & dict(say.facts(finding("dies"))).keys()


def test_requests_that_were_not_sent_did_not_fail_at_the_server() -> None:
    seen = finding("found")
    (level, *_) = (each for each in seen.found.levels if each.outcome == "broke")
    lost = PartResult("failed<0.1%", "failed", 0.001, 0.02, False, known=1_000, against=20)
    failures = {"not-sent": 15, "reset": 5}
    unsent = replace(level, parts=(lost,), failed_share=0.02, scheduled=1_000, not_sent=15, failures=failures)
    point = replace(seen.found.point, low=level.load, high=level.load)  # type: ignore[type-var]
    said = say.first_broken(changed(seen, found=replace(seen.found, levels=(unsent,), point=point)))
    assert plain(said).startswith(
        "failed<0.1%: 2.0 % of 1,000 failed "
        "(not-sent 15: no one of 1,000 connections was free in time, reset 5)"
    )


def test_a_remote_server_has_no_used_up_resource() -> None:
    names = [name for name, _ in say.facts(finding("found", is_local=False))]
    assert "used up" not in names


def test_a_search_on_one_start_says_so() -> None:
    assert say.ONE_START in [said for _, said in say.facts(finding("one start"))]
    assert say.ONE_START not in [said for _, said in say.facts(finding("found"))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [80, 100])
def test_the_summary_fits_and_shows_every_level(kind: str, width: int) -> None:
    seen = finding(kind)
    lines = screen(seen, width).splitlines()
    assert max(map(len, lines)) <= width
    assert sum(any(glyph in line for glyph in "●✕○?") for line in lines) >= len(seen.found.levels)
    ends = plain(words(find_answer.of(seen).found[0]))
    assert ends in plain(" ".join(lines))


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_needs_no_network_and_has_the_same_facts(kind: str) -> None:
    seen = finding(kind)
    page = report_page.html(report(seen.document))
    assert set(re.findall(r"https?://[^\s\"'<)]+", page)) <= {
        "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink",
    }  # fmt: skip
    assert (
        "<script" not in own_scripts.without(page)
        and say.headline(seen)[1:] in page
        and f"<pre>{COMMAND}</pre>" in page
    )
    assert "<dt>" in page and "<dt></dt>" not in page
    assert page.count('<tr id="level-') == len(seen.found.levels)
    assert ("Response time over load" in page) is any(level.p50_ns for level in seen.found.levels)
    assert (">Levels by start</h3>" in page) is bool(seen.found.levels)


@pytest.mark.parametrize("kind", KINDS)
def test_the_json_has_the_same_facts(kind: str) -> None:
    seen = finding(kind)
    data = json.loads(seen.document.model_dump_json())
    assert data["ending"] == seen.found.ending and len(data["levels"]) == len(seen.found.levels)
    assert (data["breaking_point"] is None) is (seen.found.point is None)
    if seen.found.point:
        assert data["breaking_point"]["low"] == seen.found.point.low


def test_the_chart_has_the_limit_the_interval_and_a_mark_for_each_outcome() -> None:
    drawn = terminal.printed(Group(*plot(finding("found"), 80)), 80, styled=False)
    for mark in ("●", "✕", "╌", "░", "p99 over requests/s"):
        assert mark in drawn
    limit = next(line for line in drawn.splitlines() if "╌╌╌" in line)
    above = drawn.split(limit)[0]
    assert "●" not in above and plot(finding("budget"), 80) == []


@pytest.mark.parametrize("kind", KINDS)
def test_each_level_has_a_mark_at_its_load_and_in_the_row_of_its_start(kind: str) -> None:
    seen = finding(kind)
    picture = response_over_load(seen)
    shown = [mark for mark in seen.marks if mark.time_ns or mark.p50_ns]
    assert (picture is None) is (not shown)
    if picture is None:
        return
    ((over,), (by_start,)) = (
        [panel.drawn for panel in each.panels] for each in (picture, levels_by_start(seen)) if each
    )
    assert isinstance(over, Graph) and isinstance(by_start, RowChart)
    drawn = {(mark.x, mark.y, mark.shape) for mark in over.marks if isinstance(mark, Dot)}
    shapes = {"held": "dot", "broke": "cross", "limited": "diamond", "undecided": "ring"}
    for mark in shown:
        if mark.time_ns:
            assert (mark.level.load, mark.time_ns, shapes[mark.level.outcome]) in drawn
    assert all(over.x.scale.has(x) and over.y.scale.has(y) for x, y, _ in drawn)
    assert {tick.at for tick in over.x.ticks} and len(over.x.ticks) <= 7
    rows = [[mark.at for mark in row.marks if isinstance(mark, RowPoint)] for row in by_start.rows]
    assert sorted(at for row in rows for at in row) == sorted(each.load for each in seen.found.levels)
    assert len(rows) == seen.starts
    (limit,) = [mark.label for mark in over.marks if isinstance(mark, Guide) and mark.y is not None]
    assert limit == seen.time_heads[0] and over.y.title.startswith(f"{seen.time_name} ")


def answered(seen: SearchFigures) -> list[str]:
    """The last lines of the screen: the sentences of the answer."""
    return screen(seen, 400).rstrip().split("\n\n")[-1].splitlines()


def test_the_screen_ends_with_the_load_that_holds_with_its_interval_and_why_it_is_known() -> None:
    said = [plain(each) for each in answered(finding("found"))]
    point, _, beyond = said[0].partition(". ")
    assert re.fullmatch(r"Up to 2,000 requests a second \(1,9\d0 – 2,\d\d0, 5 starts\)", point)
    assert beyond.startswith("Beyond it misses p99<250ms: ")
    assert re.search(r"; \d of 5 starts missed it, at 2,\d\d\d to 2,\d\d\d /s and more\.$", beyond)
    assert said[1].startswith("Where it broke, this was used up: the server's CPU")
    assert said[-1].startswith("measured: 95 % interval, from 19 levels on 5 starts")
    alone = plain(answered(finding("one start"))[0])
    assert ", this process). Beyond it misses" in alone and "starts" not in alone
    assert "connections (" in answered(finding("connections"))[0]


@pytest.mark.parametrize(
    ("kind", "sure"),
    [("never", "not known"), ("highest", "a lower bound"), ("dies", "lost"), ("budget", "not known")],
)
def test_without_a_breaking_point_the_screen_ends_with_why_there_is_none(kind: str, sure: str) -> None:
    seen = finding(kind)
    said = [plain(each).casefold() for each in answered(seen)]
    assert said[0] == f"{plain(say.headline(seen))}.".casefold()
    assert said[1].startswith(plain(say.why(seen)).casefold()) and said[-1].startswith(sure)


@pytest.mark.parametrize(
    ("terms", "asked"),
    [
        ("p99<250ms, failed<0.1%", "99 % within 250 ms and failures below 0.1 %"),
        ("p99.9<=1.5s", "99.9 % within 1.5 s"),
        ("failed<=0%, max<2s", "every answer as expected and all within 2 s"),
        ("throughput>5", "throughput>5"),
    ],
)
def test_what_was_asked_is_said_without_names_of_quantities(terms: str, asked: str) -> None:
    seen = finding("found")
    seen = changed(seen, question=replace(seen.question, objective=objective.parse(terms)))
    said = plain(find_answer.asked(seen))
    assert said == f"Up to how many requests a second does server synthetic, workload hello keep {asked}?"


def test_sentences_that_differ_only_in_figures_are_shown_once() -> None:
    seen = finding("engine")
    levels = [
        replace(each, problems=(f"the engine used {80 + n}.{n}% of its cores",))
        for n, each in enumerate(each for each in seen.found.levels if each.outcome == "limited")
    ]
    assert len(levels) > 1
    assert len(changed(seen, found=replace(seen.found, levels=tuple(levels))).problems) == 1


def of_levels(kind: str, *levels: tuple[float, LevelOutcome], **changes: Any) -> SearchFigures:
    """The report's view of such a search with these levels, whose slow answers came one by one."""
    seen = finding(kind)
    like = (seen.found.levels or finding("one start").found.levels)[0]
    made = tuple(
        replace(like, load=load, start=0, outcome=outcome, evidence=judged(load, outcome).evidence)
        for load, outcome in levels
    )
    return changed(seen, found=replace(seen.found, levels=made, calm=None), **changes)


def around(edge: float) -> list[tuple[float, LevelOutcome]]:
    """Levels of a server that breaks at `edge`."""
    held: list[tuple[float, LevelOutcome]] = [(edge * share, "held") for share in (0.9, 0.95, 0.97, 0.98)]
    return [*held, *((edge * share, "broke") for share in (1.02, 1.03, 1.05, 1.1))]


def test_halves_of_the_levels_that_contradict_each_other_are_reported() -> None:
    seen = of_levels("one start", *around(1_000.0), *around(2_000.0))
    assert seen.halves is not None
    first, second = seen.halves
    assert first.low < 1_000 < first.high < second.low < 2_000 < second.high
    said = plain(dict(say.facts(seen))["moved"])
    says = r"the first half of the levels says (99\d\.\d|1,00\d) /s, the second (1,99\d|2,0[01]\d) /s: "
    assert re.match(says, said)
    assert of_levels("one start", *around(2_000.0), *around(1_000.0)).halves is not None


def test_halves_that_agree_are_undecided_or_of_other_starts_are_not_reported() -> None:
    alike = of_levels("one start", *around(1_000.0), *around(1_010.0))
    assert alike.halves is None and "moved" not in dict(say.facts(alike))
    only_held: list[tuple[float, LevelOutcome]] = [(load, "held") for load, _ in around(1_000.0)]
    assert of_levels("one start", *only_held, *around(2_000.0)).halves is None
    assert of_levels("one start", *around(1_000.0), *around(2_000.0), afresh=True).halves is None
    assert of_levels("budget", *around(1_000.0), *around(2_000.0), afresh=False).halves is None


def test_engine_limited_levels_are_in_neither_half() -> None:
    limited: list[tuple[float, LevelOutcome]] = [(3_000.0, "limited")] * 8
    assert of_levels("one start", *limited, *around(1_000.0), *around(2_000.0)).halves is not None


def test_if_the_budget_ended_and_every_level_broke_the_result_says_so() -> None:
    broke = of_levels("budget", (40.0, "broke"), (20.0, "broke"), (10.0, "limited"))
    assert broke.broke_everywhere
    # The engine's own limit says nothing of the server.
    assert plain(say.headline(broke)) == "does not hold at any load that was tried, down to 20.00 /s"
    assert say.why(broke).startswith("the budget was over before there was a load that held")


def test_if_the_engine_reached_its_limit_below_a_broken_level_there_is_one_result() -> None:
    def ended_by_the_engine(*levels: tuple[float, LevelOutcome]) -> SearchFigures:
        seen = of_levels("budget", *levels)
        return changed(seen, found=replace(seen.found, ending="engine"))

    seen = ended_by_the_engine((80.0, "broke"), (40.0, "broke"), (20.0, "limited"), (20.0, "limited"))
    assert plain(say.headline(seen)) == "broke at 40.00 /s and above; below, the engine gave in"
    assert say.why(seen).startswith("at the lowest load tried the engine gave in: ")
    assert "no answer:" not in screen(seen, 100)
    none = ended_by_the_engine((20.0, "limited"), (20.0, "limited"))
    assert say.headline(none) == "no answer: the engine gave in at every load"
    assert say.why(none).startswith("no level was valid: ")


def test_with_an_undecided_level_or_none_that_broke_there_is_no_result() -> None:
    some = of_levels("budget", (40.0, "broke"), (20.0, "undecided"))
    none = of_levels("budget", (40.0, "limited"), (20.0, "limited"))
    for seen in (some, none):
        assert not seen.broke_everywhere
        assert say.headline(seen) == "no answer: no level held in the time there was"


def test_a_sign_of_the_legend_stays_beside_what_it_stands_for() -> None:
    for columns in range(45, 80):
        drawn = plot(finding("never"), columns)
        lines = [line.plain.strip() for line in drawn]
        assert any(line.endswith("╌ limit") for line in lines), columns
        assert all(line.cell_len <= columns for line in drawn), columns


def test_warnings_stand_apart_and_go_on_below_their_first_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SearchFigures, "warnings", ("a word " * 20 + "the end", "another"))
    lines = screen(finding("never"), 80).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("! a word"))
    assert lines[at - 1] == "" and lines[at + 1].startswith("  word") and "! another" in lines


def test_where_as_many_fail_at_the_lowest_load_no_budget_helps_and_nothing_is_used_up() -> None:
    failing = finding("never")
    vars(failing)["fails_everywhere"] = True
    assert "as many fail at the lowest load" in say.why(failing) and "--objective" in say.why(failing)
    assert finding("never").signs and not failing.signs
