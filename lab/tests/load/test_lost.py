"""How a server was lost, in figures and in words: by the record of a load, without a server."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import documents
import pytest
import synthetic_load
from crumple import contract
from crumple.contract import TrialRecord
from crumple.diagnose import presence
from crumple.exports import measured
from crumple.load import lost, unloaded
from crumple.load.lost import ServerProcess
from crumple.load.report import load_sentences
from crumple.load.report.load_document import LoadDocument
from crumple.machine import load_machine
from crumple.machine.life import End
from crumple.record.loss import Lost
from crumple.record.outage import Gap, Outage
from crumple.results import restored
from crumple.results.selection import StoredEntry
from crumple.words import lost_sentences
from made_outages import record

SEEN = Outage(1.5, 1.5, 3_000, 0, 800, 0, 8, 3_000)
GAPS = (Gap(1.5, 2.4, 450, 3), Gap(3.9, 4.8, 900, 2))
OK = [100] * 10 + [0] * 8 + [100] * 10 + [0] * 8 + [100] * 4
FAILED = [8 * (number == 0) for number in OK]


def said(found: Lost) -> str:
    """The sentence and the remedy, with plain spaces."""
    return f"{lost_sentences.sentence(found)} | {lost_sentences.remedy(found)}".replace("\u202f", " ")


def load(of: TrialRecord, **changes: Any) -> LoadDocument:
    return synthetic_load.load(of, url="http://localhost/", **changes)


def said_of(of: TrialRecord) -> list[str]:
    return [each.replace("\u202f", " ") for each in load_sentences.warnings(load(of))]


def ended_at(of: TrialRecord, measured_s: float) -> End:
    return End(7, (of.began_unix_ns + of.warm_up_ns) / 1e9 + measured_s, "ended with code 1")


@pytest.fixture
def listens(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Set whether anybody listens after the load."""

    monkeypatch.setattr(lost, "LOOK_S", 0.0)

    def set_to(is_listening: bool) -> None:
        monkeypatch.setattr(load_machine, "refuses", lambda _: not is_listening)

    return set_to


def answered(ok: int = 1, **ends: int) -> TrialRecord:
    return documents.record(outcomes=documents.outcomes(ok=ok, **ends))


def test_a_server_that_is_started_again_has_no_figure_and_runs(listens: Callable[[bool], None]) -> None:
    listens(True)
    refused = contract.ReasonRecord(
        outcome="refused", reason="refused", count=sum(FAILED), first_ns=1_001_000_000
    )
    of = record(OK, FAILED, refused=sum(FAILED), reasons=(refused,))
    found = lost.after(of, ServerProcess(lambda: ended_at(of, 1.01)), answered)
    assert found is not None and len(found.gaps) == 2 and found.answers_again
    told = said(found)
    assert "lost 1.0 s after measuring began" in told and "ended with code 1" in told
    assert "lost 2 times (from 1.0 s to 1.8 s, from 2.8 s to 3.6 s, since measuring began)" in told
    assert "answers again since 3.6 s" in told and "start it again" not in told
    screen = synthetic_load.screen(load(of, lost=found), 100, styled=False)
    assert "refused from 1.00 s on" in screen.replace("\u202f", " ") and "start the server" not in screen
    assert "no figure is of it" in screen and "throughput" not in screen and "p99" not in screen


def test_nobody_who_listens_for_a_time_is_seen_without_the_process(listens: Callable[[bool], None]) -> None:
    listens(True)
    found = lost.after(record(OK, FAILED, refused=sum(FAILED)), lost.NOT_KNOWN, answered)
    assert found is not None and len(found.gaps) == 2
    assert lost.after(record(OK, FAILED, reset=sum(FAILED)), lost.NOT_KNOWN, answered) is None


def test_a_server_that_is_down_again_at_the_end(listens: Callable[[bool], None]) -> None:
    listens(False)
    ok = [*OK, *[0] * 6]
    failed = [8 * (number == 0) for number in ok]
    of = record(ok, failed, refused=sum(failed))
    found = lost.after(of, ServerProcess(lambda: ended_at(of, 1.0), may_return=False), answered)
    assert found is not None and "lost 3 times" in said(found) and "until the load was over" in said(found)


def test_a_server_that_is_started_again_after_the_load_is_not_to_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = [True, True, False]
    monkeypatch.setattr(load_machine, "refuses", lambda _: looks.pop(0))
    of = record([100] * 10 + [0] * 10, [0] * 10 + [8] * 10, refused=80)
    found = lost.after(of, ServerProcess(lambda: ended_at(of, 1.0)), answered)
    assert found is not None and found.answers_again and not looks
    assert "it answers again" in said(found) and "start it again" not in said(found)
    # One that crumple has started is started by nobody else.
    looks[:] = [True]
    found = lost.after(of, ServerProcess(lambda: ended_at(of, 1.0), may_return=False), answered)
    assert found is not None and found.refuses and "start it again" in said(found)


def test_a_process_that_hands_over_is_not_lost(listens: Callable[[bool], None]) -> None:
    listens(True)
    of = record([100] * 20)
    assert lost.after(of, ServerProcess(lambda: ended_at(of, 1.0)), answered) is None


def test_throughput_is_by_the_time_until_the_first_failure_or_the_end_of_the_process() -> None:
    ok, failed = [499, *[0] * 9], [0, *[80] * 9]
    refused = contract.ReasonRecord(outcome="refused", reason="refused", count=720, first_ns=15_000_000)
    of = record(ok, failed, refused=720, reasons=(refused,))
    seen = lost.outage.of(of)
    by_failure = load(of, lost=lost.lost_server(of, seen, refuses=True))
    assert by_failure.throughput_per_s == pytest.approx(499 / 0.015)
    unknown = record(ok, failed, refused=720)
    seen = lost.outage.of(unknown)
    by_end = load(unknown, lost=lost.lost_server(unknown, seen, end=ended_at(unknown, 0.016)))
    assert by_end.throughput_per_s == pytest.approx(499 / 0.016, rel=1e-3)
    not_known = load(unknown, lost=lost.lost_server(unknown, seen, refuses=True))
    assert not_known.throughput_per_s is None and load_sentences.throughput(not_known) == ""


def test_a_load_without_figures_has_none_in_its_document_and_exports(tmp_path: Path) -> None:
    # The times of a whole record, beside the series of a server that was started again.
    series = record(OK, FAILED).series
    whole = synthetic_load.closed()
    ends = whole.record.outcomes.model_copy(update={"refused": sum(FAILED)})
    of = whole.record.model_copy(update={"series": series, "outcomes": ends})
    gone = synthetic_load.load(of, lost=lost.lost_server(of, None, answers_again=True))
    documents_of = [synthetic_load.printed(each) for each in (whole, gone)]
    assert [each["throughput_per_s"] is None for each in documents_of] == [False, True]
    assert [each["times"]["response_time"]["count"] > 0 for each in documents_of] == [True, False]
    entry = StoredEntry("load-1", tmp_path, 0)
    read = [restored.read({"name": "load-1", **each}, "load-1") for each in documents_of]
    exported = [measured.of_load(each, entry) for each in read if isinstance(each, LoadDocument)]
    assert [bool(each.figures) for each in exported] == [True, False]


def test_a_part_of_an_interval_does_not_matter_after_a_long_time() -> None:
    of = record([100] * 40 + [0] * 20, [0] * 40 + [80] * 20, refused=1_600)
    found = load(of, lost=lost.lost_server(of, lost.outage.of(of), refuses=True))
    assert found.throughput_per_s == pytest.approx(1_000)


def test_a_slow_server_is_asked_with_more_patience_than_the_timeout() -> None:
    spec = documents.spec(timeouts=contract.TimeoutSpec(connect_s=1, request_s=1))
    assert unloaded.one_of(spec, 3.0).timeouts.request_s == 3.0
    assert unloaded.one_of(documents.spec(), 3.0).timeouts.request_s == 20


def test_a_slow_server_is_not_lost_and_its_response_times_are_said_to_have_grown(
    listens: Callable[[bool], None],
) -> None:
    listens(True)
    plain = record([10] * 10 + [0] * 10, [0] * 10 + [10] * 10, timeout=100)
    last = plain.series.model_copy(update={"max_ns": (*(2_000_000_000 * n for n in range(10)), *[None] * 10)})
    grown = plain.model_copy(update={"series": last})
    assert lost.after(grown, lost.NOT_KNOWN, answered) is None
    assert any("response times grew until they reached -t, 20 s" in each for each in said_of(grown))
    assert not any("grew" in each for each in said_of(plain))
    # The longest answer that came says little then of how long the next one takes.
    long = grown.histograms.response_time.model_copy(update={"max_ns": 18_000_000_000})
    times = grown.histograms.model_copy(update={"response_time": long})
    longest = {"histograms": times}
    assert lost.asked_s(grown.model_copy(update=longest)) > lost.asked_s(plain.model_copy(update=longest))


@pytest.mark.parametrize(
    ("how", "words", "remedy"),
    [
        ({"statuses": (500,)}, "it answers 500 to every request", "it runs: look at its log"),
        ({"statuses": (502,)}, "it answers 502 to every request", "the server behind it"),
        ({"instead": "closed-early"}, "without an answer", "it runs: look at its log"),
        (
            {"instead": "closed-early", "is_cut": True},
            "before the answer is whole",
            "it runs: look at its log",
        ),
        ({"instead": "malformed"}, "something else than HTTP", "it runs: look at its log"),
        ({"silent_s": 3.0}, "no answer in 3.0 s", "what its threads wait for"),
        ({"refuses": True}, "nobody listens", "start it again"),
        ({"end": End(7, None, "ended with code 3")}, "ended with code 3", "start it again"),
    ],
)
def test_each_way_has_its_words_and_its_remedy(how: dict[str, Any], words: str, remedy: str) -> None:
    found = replace(Lost(SEEN), **how)
    told, what_to_do = said(found).split(" | ")
    assert words in told and remedy in what_to_do
    is_down = found.refuses or found.end is not None
    assert ("start it again" in what_to_do) == is_down


def test_a_cut_body_is_seen_in_what_came_instead() -> None:
    cut = contract.ReasonRecord(outcome="closed-early", reason="in-body", count=1, first_ns=1)
    one = documents.record(outcomes=documents.outcomes(closed_early=1), reasons=(cut,))
    assert lost.instead(one)["is_cut"] and not lost.instead(answered(0, closed_early=1))["is_cut"]


@pytest.mark.parametrize(
    ("shape", "during"),
    [
        (
            contract.ClosedShapeSpec(connections=64),
            "in its load with 64 connections, 1.5 s after",
        ),
        (
            contract.OpenShapeSpec(
                connections=9, rates=(contract.RateSpec(from_per_s=300, to_per_s=300, duration_s=1),)
            ),
            "in its load at 300 /s",
        ),
    ],
)
def test_a_diagnosis_says_in_which_load_and_ends_with_3(shape: contract.ShapeSpec, during: str) -> None:
    error = presence.error(Lost(SEEN, refuses=True), presence.in_load(shape))
    assert during in str(error).replace("\u202f", " ") and error.exit_code == 3
    assert "3,000 requests, and 8 were in flight" in str(error).replace("\u202f", " ")


def test_counts_that_differ_are_explained() -> None:
    warm = replace(SEEN, answered=3_500, answered_after=146)
    assert "answered 3,500 requests, 500 of them in the warm-up" in said(Lost(warm, refuses=True))
    assert "146 answers came after that" in said(Lost(warm, refuses=True))


def test_failures_are_counted_from_when_measuring_began() -> None:
    refused = contract.ReasonRecord(outcome="refused", reason="refused", count=80, first_ns=1_515_000_000)
    of = record([100] * 15 + [0] * 10, [0] * 15 + [8] * 10, warm_up=5, refused=80, reasons=(refused,))
    (found,) = load(of).unexpected
    assert found.since_ns == 1_015_000_000
