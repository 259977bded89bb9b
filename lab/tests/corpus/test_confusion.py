"""The tables of what diagnoses answered: right, wrong and *cannot tell* are counted as what they are."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from crumple import project

sys.path.insert(0, str(project.root() / "corpus"))

import answers
import confusion
import confusion_tables
import made_results
import screens
from answers import Answer, Truth
from made_at_load import WORKERS

import corpus


def said(who: str | None, *causes: str, waits: Any = None, computes: Any = None) -> dict[str, Any]:
    findings = [{"kind": "finding", "cause": cause} for cause in causes]
    unknown = {"why": "it was not asked for"}
    others = [{"kind": "out", "cause": "cpu"}, {"kind": "unclear", "cause": "none"}]
    return {
        "who_waits": {"who": who} if who else unknown,
        "findings": [*findings, *others],
        "waits": waits or unknown,
        "computes": computes or unknown,
    }


def limit(value: float, kind: str = "limit") -> dict[str, Any]:
    return {"kind": kind, "value": value, "low": value, "high": value, "why": None}


POOL = Truth(io_models=("thread-pool", "hybrid"), waits=8, computes=2, causes=("workers",), near=("cpu",))
ANSWER = Answer("pool", "cause", 1, POOL, said("threads", "workers", waits=limit(8.2)), "", 30.0)


@pytest.mark.parametrize(
    ("models", "who", "judged"),
    [
        (("thread-pool",), "threads", "right"),
        (("process-pool", "thread-pool"), "either", "right"),
        (("green-threads",), "threads", "wrong"),
        (("green-threads", "event-loop"), "nobody", "right"),
        (("thread-per-connection",), "nobody", "wrong"),
        (("event-loop",), None, "cannot tell"),
    ],
)
def test_whether_a_thread_waits_is_right_if_the_model_that_is_true_says_so(
    models: tuple[str, ...], who: str | None, judged: str
) -> None:
    assert replace(ANSWER, truth=Truth(io_models=models), said=said(who)).who_is == judged


def test_of_a_program_that_may_be_said_to_do_both_it_is_not_judged() -> None:
    assert not POOL.is_of_one_kind and Truth(io_models=("thread-pool", "process-pool")).is_of_one_kind


@pytest.mark.parametrize(
    ("causes", "both", "judged", "names_both"),
    [
        (("workers",), False, "right", True),
        (("cpu", "workers"), False, "wrong", True),
        ((), False, "cannot tell", False),
        (("workers",), True, "right", False),
        (("workers", "gate"), True, "right", True),
        (("cpu", "workers", "gate"), True, "wrong", True),
    ],
)
def test_the_first_finding_must_be_true_and_all_of_several_are_counted_apart(
    causes: tuple[str, ...], both: bool, judged: str, names_both: bool
) -> None:
    truth = replace(POOL, causes=("workers", "gate") if both else ("workers",), both=both)
    answer = replace(ANSWER, truth=truth, said=said(None, *causes))
    assert (answer.cause_is, answer.names_both) == (judged, names_both)
    counted = f"both of two causes found: {names_both:d} of 1"
    assert (counted in confusion_tables.tables([answer])) == both


def test_what_failed_is_neither_right_nor_wrong() -> None:
    failed = replace(ANSWER, said=None, error="it did not start")
    assert (failed.who_is, failed.cause_is, failed.off("waits")) == ("failed", "failed", None)
    assert "it did not start" in confusion_tables.tables([failed])


@pytest.mark.parametrize(
    ("true", "found", "off"),
    [
        (8, limit(8.2), pytest.approx(0.025)),
        (8, None, "cannot tell"),
        (8, limit(8, "at-least"), "cannot tell"),
        (8, limit(32, "at-least"), "at least 32 of 8"),
        ("unlimited", limit(512, "at-least"), 0.0),
        ("unlimited", limit(16), "a limit of 16"),
        (None, limit(16), None),
    ],
)
def test_a_number_is_off_by_a_share_or_is_no_number(true: Any, found: Any, off: Any) -> None:
    given = replace(ANSWER, truth=replace(POOL, waits=true), said=said(None, waits=found))
    assert given.off("waits") == off


def test_the_tables_count_every_answer() -> None:
    of_threads = replace(POOL, io_models=("thread-pool",))
    given = [
        ANSWER,
        replace(ANSWER, name="right", truth=of_threads),
        replace(ANSWER, name="other", said=said("nobody", "cpu", waits=limit(12)), truth=of_threads),
        replace(ANSWER, name="own", kind="plain", own=True, said=said(None), truth=of_threads),
    ]
    drawn = confusion_tables.tables(given)
    assert "who waits, the project's servers: 0 of 1 right, 1 cannot tell" in drawn
    assert "who waits, corpus: 1 of 2 right, 1 wrong" in drawn
    assert "planted causes, first finding: 2 of 3 right, 1 wrong" in drawn
    assert "a near miss was named: other" in drawn
    assert "waits: 2 of 4 within 10 %" in drawn and "+50%" in drawn


def test_what_is_stored_is_read_again_and_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers.store(tmp_path, ANSWER)
    (read,) = answers.read(tmp_path)
    assert read == ANSWER
    asked = []

    def diagnosed(words: Sequence[str], by: str) -> tuple[str, str]:
        asked.append((by, words))
        return json.dumps(said("threads", "workers")), ""

    monkeypatch.setattr(confusion, "_asked", diagnosed)
    case = confusion.Case("pool", "cause", POOL, False, lambda: nullcontext(["http://x/work"]))
    confusion.run([case], 2, tmp_path, ["--no-search"])
    assert asked == [("diagnose", ["http://x/work", "--no-search"])]
    assert [each.round for each in answers.read(tmp_path)] == [1, 2]


@pytest.mark.parametrize(
    ("by", "typed"),
    [
        ("load", ["load", "--quiet", "--no-store", "--json", "http://127.0.0.1:9/work", "--watch", "7"]),
        ("first-look", ["--quiet", "--no-store", "--json", "http://127.0.0.1:9/work"]),
    ],
)
@pytest.mark.parametrize(("code", "is_answer"), [(0, True), (3, True), (2, False), (130, False)])
def test_a_load_or_a_first_look_is_asked_for_the_planted_causes(
    by: str, typed: list[str], code: int, is_answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = {"findings": [{"kind": "finding", "cause": "workers"}]}
    ran: list[list[str]] = []

    def run(command: list[Any], **_: Any) -> subprocess.CompletedProcess[str]:
        ran.append([str(word) for word in command[1:]])
        return subprocess.CompletedProcess(command, code, json.dumps(printed), "why")

    subject = corpus.Subject("127.0.0.1:9", (7,))
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(corpus, "running", lambda *_: nullcontext(subject))
    (case,) = confusion.wanted(["koa-nofile"], by=by)
    assert {each.kind for each in confusion.wanted((), by=by)} == {"cause"}
    answer = confusion.made(case, 1, [])
    assert ran == [typed]
    assert (answer.said, answer.error) == ((printed, "") if is_answer else (None, "why"))
    if is_answer:
        assert (answer.causes, answer.who, answer.off("waits")) == (["workers"], None, None)
        assert answers.again(answer) == answer
        drawn = confusion_tables.tables([answer])
        assert "planted causes" in drawn and "who waits" not in drawn and "at a time" not in drawn


def test_a_server_that_cannot_run_here_is_no_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def running() -> Iterator[list[str]]:
        raise corpus.Skipped("erl is not installed")
        yield []

    confusion.run([confusion.Case("erl", "plain", POOL, False, running)], 1, tmp_path, [])
    assert answers.read(tmp_path) == [] and "skipped    erl is not installed" in capsys.readouterr().out


def test_what_was_observed_is_judged_as_it_would_be_now() -> None:
    facts = {key: value for key, value in asdict(WORKERS).items() if key != "seen"}
    stale = {**said("nobody", "cpu"), "observed": asdict(WORKERS.seen), "facts": facts}
    stored = json.loads(json.dumps(asdict(replace(ANSWER, said=stale))))
    now = answers.again(replace(ANSWER, said=stored["said"]))
    assert (now.who, now.causes[0]) == ("threads", "workers")
    assert (now.who_is, now.cause_is) == ("right", "right")
    assert now.off("waits") == pytest.approx(0)


def test_screens_are_made_of_the_servers_that_are_named() -> None:
    found = confusion.wanted(["koa-nofile", "go-nethttp"])
    assert [case.name for case in found] == ["go-nethttp", "koa-nofile"]
    with pytest.raises(SystemExit, match="no server is called no-such"):
        list(screens.made(["no-such"]))


def test_screens_are_made_of_answers_that_are_stored(tmp_path: Path) -> None:
    diagnosis = made_results.diagnosis()
    answers.store(tmp_path, replace(ANSWER, name="one", said=made_results.of_diagnosis(diagnosis)))
    ((name, shown),) = screens.stored(tmp_path, ["one"])
    drawn = made_results.screen_of_diagnosis(diagnosis, screens.COLUMNS)
    assert name == "one" and shown == drawn.strip()
    with pytest.raises(SystemExit, match="no answer of two"):
        list(screens.stored(tmp_path, ["two"]))
