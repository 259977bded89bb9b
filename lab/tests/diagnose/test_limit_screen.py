"""The screen of a diagnosis: what limits it, what to change, what that gives, what was refuted, and --if."""

from dataclasses import replace

import made_results
import pytest
from crumple.cause import judged
from crumple.cause.belief import Belief
from crumple.cause.experiment_account import ExperimentMade, Rival
from crumple.cause.hypotheses import cpu
from crumple.cause.hypothesis import Reading
from crumple.diagnose import what_if_flags
from crumple.diagnose.diagnose_live import DiagnoseView
from crumple.diagnose.diagnosis import Diagnosis
from crumple.diagnose.report import (
    diagnose_answer,
    diagnose_charts,
    diagnose_report,
    diagnose_sentences,
    limit_rows,
    tenths,
)
from crumple.drawing.numerals import NARROW
from crumple.drawing.plot import RowChart
from crumple.drawing.terminal import Terminal
from crumple.errors import UsageError
from crumple.limit import finding, first_line
from crumple.limit.finding import Cause, Finding, Unclear
from crumple.machine.setting_names import Setting
from crumple.observation.outcome import Crowd, ExperimentOutcomes, LoadPairs
from crumple.observation.server_facts import ServerFacts
from made_at_load import CAUSES, CONNECTION_POOL, CPU, DEPENDENCY, LOCK, NOTHING, ONE_LOOP, WORKERS

GUNICORN = Setting("gunicorn", "workers", "-w {n}", 8)


def of(facts: ServerFacts, **changed: object) -> Diagnosis:
    found = replace(
        made_results.diagnosis(), facts=facts, seen=facts.seen, said=tuple(judged.judged(facts)), took_s=30.0
    )
    return replace(found, **changed)  # type: ignore[arg-type]


def screen(found: Diagnosis) -> str:
    return made_results.screen_of_diagnosis(found, 80)


def changes_of(found: Diagnosis) -> dict[str, str]:
    """What to change about the first limit, by the names of its rows."""
    first = finding.first(found.said)
    assert first is not None
    return dict(limit_rows.change(found, first))


def test_the_screen_begins_with_the_line_for_programs_and_ends_with_the_answer() -> None:
    found = of(WORKERS)
    lines = screen(found).splitlines()
    assert lines[0] == "limit=workers k=8 p=0.99 likely gain=2.0x"
    assert lines[1] == "What limits http://127.0.0.1:8080/work, and how much load does it hold?"
    assert diagnose_report.document_of(found).line == lines[0]
    last = " ".join(" ".join(lines[lines.index("", lines.index("") + 1) :]).split())
    limit, tried, _ = diagnose_answer.found(found)
    assert last.startswith(
        f"Its {limit.removeprefix('its ')}. Try: {tried.removeprefix('Try: ')}".replace(NARROW, " ")
    )
    assert "all 8 workers are busy at 160 /s" in last and "Try: 16 workers: 160 /s → 320 /s" in last
    assert "likely: > 99 %, by what was measured; not confirmed by an experiment" in last


@pytest.mark.parametrize("name", CAUSES)
def test_no_line_of_the_screen_is_wider_than_80_columns(name: str) -> None:
    found = of(CAUSES[name], plan=replace(made_results.diagnosis().plan, changes={"workers": 16.0}))
    assert max(len(line) for line in screen(found).splitlines()) <= 80


@pytest.mark.parametrize(
    ("settings", "change"),
    [
        ((), "16 workers: 160 /s → 320 /s, if nothing else"),
        ((GUNICORN,), "-w 16 (8 now): 160 /s → 320 /s"),
        (
            (replace(GUNICORN, now=None, where="WEB_CONCURRENCY"),),
            "-w 16 (WEB_CONCURRENCY): 160 /s → 320 /s",
        ),
        (
            (Setting("php-fpm", "workers", "pm.max_children = {n}", 8, file="/etc/php/www.conf"),),
            "pm.max_children = 16 (8 now, in /etc/php/www.conf): 160 /s → 320 /s",
        ),
        ((replace(GUNICORN, cause="one-loop"),), "16 workers: 160 /s → 320 /s"),
        (
            (
                Setting(
                    "Java", "workers", "server.tomcat.threads.max={n}", where="of Spring Boot", library=True
                ),
            ),
            "16 workers (as server.tomcat.threads.max=16 of Spring Boot): 160 /s → 320 /s",
        ),
    ],
)
def test_the_change_is_spelt_as_the_program_spells_it(settings: tuple[Setting, ...], change: str) -> None:
    found = of(WORKERS, settings=settings)
    rows = changes_of(found)
    assert rows["change"].replace("\u202f", " ").startswith(change) and "gain" not in rows


def test_a_change_that_is_no_number_has_its_gain_in_a_row_of_its_own() -> None:
    rows = changes_of(of(LOCK))
    assert rows["change"].startswith(
        "find the lock in a dump of its stacks under load (jstack, py-spy, gdb); hold"
    )
    assert rows["gain"].replace("\u202f", " ").startswith("held for half as long, or 2 at a time: 200 /s → 3")
    assert "2 processes: " in changes_of(of(ONE_LOOP))["gain"]
    node = Setting("Node.js", "one-loop", "{n} processes", where="node:cluster")
    said = changes_of(of(ONE_LOOP, settings=(node,)))["gain"]
    assert said.startswith("2 processes (node:cluster): ")


def test_where_others_use_most_cores_no_request_is_to_be_made_cheaper() -> None:
    crowded = replace(CPU, beyond=replace(CPU.beyond, cores=0.1, engine_cores=0.05, idle_most=0.0))
    said = judged.of_belief([Belief(cpu.HYPOTHESIS, 0.97)], judged.scene_of(crowded))
    rows = changes_of(of(crowded, said=tuple(said)))
    assert rows["change"].startswith("other programs use most of its cores: move them") and "gain" not in rows
    assert first_line.line(crowded, said) == "limit=cpu p=0.97 likely"
    alone = judged.of_belief([Belief(cpu.HYPOTHESIS, 0.97)], judged.scene_of(CPU))
    assert changes_of(of(CPU, said=tuple(alone)))["change"].startswith("make a request cheaper")


def test_connections_that_are_held_for_longer_than_they_are_used_are_to_be_held_for_less() -> None:
    peer = replace(CONNECTION_POOL.beyond.peers[0], waiting=1.5)  # type: ignore[index]
    rows = changes_of(
        of(
            replace(CONNECTION_POOL, beyond=replace(CONNECTION_POOL.beyond, peers=(peer,))),
            said=(Finding("connection-pool", "tested", 0.97, None, "", "more connections"),),
        )
    )
    said = rows["change"].replace("\u202f", " ")
    assert "keeps one for 5.00 ms, and database (127.0.0.1:9) works for 1.88 ms of it" in said
    assert rows["or"].startswith("8 connections to database")
    assert "hold them" not in changes_of(of(CONNECTION_POOL))["change"]


def made(name: str, *rivals: Rival) -> ExperimentMade:
    return ExperimentMade(
        name, "half-sent requests beside the work", "100 % of the throughput is left", rivals
    )


def test_a_refuted_cause_is_one_plain_line() -> None:
    beside = ExperimentOutcomes(half_sent=Crowd(2, 8, LoadPairs(1.0, 0.02, 4)))
    facts = replace(LOCK, seen=replace(LOCK.seen, outcomes=beside))
    rivals = (
        Rival("gate", 0.48, 0.97, "93 % or more"),
        Rival("workers", 0.41, 0.001, "68 % to 82 %"),
        Rival("cpu", 0.01, 0.001, "93 % or more"),
        Rival("dependency", 0.1, 0.05, "93 % or more"),
        Rival("disk", 0.1, 0.001, ""),
    )
    found = of(facts, made=(made("half_sent", *rivals),))
    assert limit_rows.refutation_rows(found) == [
        ("refuted", "more workers: no, a place more or less changed nothing")
    ]
    half = replace(beside, half_sent=Crowd(2, 8, LoadPairs(0.5, 0.02, 4)))
    fallen = replace(LOCK, seen=replace(LOCK.seen, outcomes=half))
    ((_, said),) = limit_rows.refutation_rows(of(fallen, made=(made("half_sent", rivals[1]),)))
    assert (
        said == "more workers: no, 100 % of the throughput is left; with this cause it would be 68 % to 82 %"
    )
    assert limit_rows.refutation_rows(of(facts, made=())) == []


def test_the_screen_of_a_limit_has_no_list_of_what_nobody_asked_for() -> None:
    blind = replace(WORKERS, beyond=replace(WORKERS.beyond, descriptors=None))
    found = of(blind)
    assert any(isinstance(each, Unclear) and each.cause == "descriptors" for each in found.said)
    assert "open files" not in screen(found) and "no sign of" not in screen(found)
    unknown = of(blind, said=(*(each for each in found.said if not isinstance(each, Finding)),))
    assert "its open files could not be read" in screen(unknown)


def test_if_is_computed_and_names_what_limits_then() -> None:
    plan = replace(made_results.diagnosis().plan, changes={"workers": 16.0, "dependency": 0.005})
    said = limit_rows.what_if_asked(of(WORKERS, plan=plan))
    assert f"With {said}" in diagnose_answer.of(of(WORKERS, plan=plan), None).found[1]
    assert said.replace("\u202f", " ").startswith(
        "workers=16, dependency=5.00ms: 160 /s → 320 /s, if nothing"
    )
    nothing = limit_rows.what_if_asked(of(NOTHING, plan=plan))
    assert nothing.endswith(": cannot tell: nothing is known to limit it")
    assert not limit_rows.what_if_asked(of(WORKERS))
    data = diagnose_report.document_of(of(WORKERS, plan=plan)).model_dump(mode="json")["what_if"]
    assert data["changes"] == plan.changes and data["predicted"]["high"] == pytest.approx(320)


@pytest.mark.parametrize(
    ("typed", "changes"),
    [
        (["workers=16"], {"workers": 16.0}),
        (["dependency=5ms", "cores=4"], {"dependency": 0.005, "cores": 4.0}),
        (["cpu=90%"], {"cpu": 0.9}),
        ([], {}),
    ],
)
def test_if_is_read(typed: list[str], changes: dict[str, float]) -> None:
    assert what_if_flags.changes(typed) == pytest.approx(changes)


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (["workers"], "--if workers: that changes nothing that is computed; write --if workers=16"),
        (["worker=3"], "--if worker=3: that changes nothing that is computed; did you mean workers?"),
        (["workers=no"], "--if workers=no: that is no number; write --if workers=16"),
        (["workers=0"], "--if workers=0: that is not above 0 and at most 1,000,000"),
        (["workers=nan"], "--if workers=nan: that is not above 0"),
        (["dependency=x"], "--if x: that is no duration"),
        (["cores=1", "cores=2"], "--if cores=2: cores is given twice; leave one of them out"),
    ],
)
def test_a_mistake_in_if_is_one_line(typed: list[str], line: str) -> None:
    with pytest.raises(UsageError) as error:
        what_if_flags.changes(typed)
    assert str(error.value).startswith(line.split("; ")[0])
    assert all(part in error.value.remedy for part in line.split("; ")[1:])


@pytest.mark.parametrize(
    ("seen", "cause", "most"),
    [(WORKERS, "workers", "workers"), (ONE_LOOP, "one-loop", "cpu"), (LOCK, "gate", "gate"),
     (DEPENDENCY, "dependency", "dependency")],
)  # fmt: skip
def test_10_percent_more_of_what_limits_gives_most(seen: ServerFacts, cause: Cause, most: str) -> None:
    found = tenths.of(seen, [Finding(cause, "tested", 0.97, None, "", "")])
    best = max(found, key=lambda each: each.low)
    assert best.part == most and best.tested and best.low == pytest.approx(0.1, abs=0.013)
    assert all(each.high < 0.02 or each.tested for each in found)
    bars = tenths.lines(found)
    assert bars[0].count("█") == tenths.COLUMNS and bars[0].endswith("% tested")
    assert "█" not in bars[-1] and len({line.index("%") for line in bars if "+" not in line}) <= 1


def test_what_a_rival_would_make_wrong_is_drawn_as_uncertain() -> None:
    rival = Finding("workers", "likely", 0.85, None, "", "", "gate", 0.12)
    bar = next(line for line in tenths.lines(tenths.of(WORKERS, [rival])) if line.startswith("workers"))
    assert "░" * tenths.COLUMNS in bar and bar.endswith("+0 to 10\u202f% predicted")
    assert not tenths.of(NOTHING, judged.judged(NOTHING)) and not tenths.of(None, [])


def test_the_page_draws_the_same_bars() -> None:
    drawn = diagnose_charts.gains(of(WORKERS))
    assert drawn is not None
    (panel,) = drawn.panels
    assert isinstance(panel.drawn, RowChart)
    ends = {row.name: [(each.low, each.high) for each in row.marks] for row in panel.drawn.rows}  # type: ignore[union-attr]
    assert ends == {
        each.what: [(0.0, each.low), (each.low, each.high)]
        for each in tenths.of(WORKERS, judged.judged(WORKERS))
    }
    assert diagnose_charts.gains(of(NOTHING)) is None
    assert "10 % more" in dict(diagnose_sentences.facts(of(WORKERS)))


def test_what_is_likely_so_far_stays_on_the_screen_of_progress(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (False, True):
        with DiagnoseView(searches=False, console=Terminal(stderr=True, quiet=quiet, width=80)) as view:
            view.likely(judged.judged(WORKERS))
        said = capsys.readouterr().err
        assert said.startswith("preliminary: workers (> 99 % likely): all 8 workers are busy") != quiet
        assert "16 workers" not in said


def test_a_reading_that_is_a_ratio_is_unchanged_within_a_quarter() -> None:
    assert limit_rows._is_unchanged(Reading(0.2, 0.1, "ratio"))
    assert not limit_rows._is_unchanged(Reading(0.3, 0.1, "ratio"))
