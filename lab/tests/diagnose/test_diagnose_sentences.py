"""What a diagnosis says in words beside its findings."""

import html
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import made_results
import pytest
from crumple.cause import judged
from crumple.diagnose.report import diagnose_answer, diagnose_report, diagnose_sentences
from crumple.drawing import report_page
from crumple.drawing.numerals import NARROW
from crumple.find.level import Level
from crumple.find.search import SearchResult
from crumple.limit.finding import Out, Unclear
from crumple.limit.remedy import BeforeAndAfter, Remedy
from crumple.observation.observed import FailuresAlone, Observed
from crumple.stats.interval import Interval
from made_at_load import LOCK, WORKERS
from made_observed import LOOP, THREAD_EACH, THREADS


def test_the_headline_says_what_limits_it_and_not_what_is_unknown() -> None:
    found = replace(made_results.diagnosis(), found=None, said=tuple(judged.judged(LOCK)))
    assert "its first limit is a gate inside the program" in diagnose_sentences.headline(found)
    unknown = replace(found, seen=Observed(cores=2), said=tuple(judged.judged(WORKERS)))
    assert "its first limit is workers (" in diagnose_sentences.headline(unknown)
    assert "cannot tell" not in diagnose_sentences.headline(unknown)
    assert "cannot tell" in diagnose_sentences.headline(replace(unknown, said=()))


def searched(*outcomes: str) -> SearchResult:
    """A search of which each level came to this, and that found no breaking point."""
    levels = tuple(
        cast(Level, SimpleNamespace(load=100.0 + at, outcome=each)) for at, each in enumerate(outcomes)
    )
    return SearchResult("budget", levels, None, None, False, None, None, 1.0)


@pytest.mark.parametrize(
    ("outcomes", "interrupted", "said"),
    [
        (("broke", "undecided"), False, "no load that was tried, at "),
        (("undecided",), False, "cannot tell: no load was decided, at "),
        ((), True, ""),
        (("held",), True, "at least 100.0 /s at "),
    ],
)
def test_a_search_that_decided_no_load_does_not_say_that_none_held(
    outcomes: tuple[str, ...], interrupted: bool, said: str
) -> None:
    found = replace(made_results.diagnosis(), found=searched(*outcomes), interrupted=interrupted)
    held = diagnose_sentences.holds(found).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert held.startswith(said) and bool(held) == bool(said)
    assert "cannot tell" not in diagnose_sentences.headline(
        replace(found, said=tuple(judged.judged(WORKERS)))
    )


@pytest.mark.parametrize("closes", [False, True])
def test_a_server_that_closes_connections_unsaid_is_told(closes: bool) -> None:
    found = made_results.diagnosis()
    said = made_results.screen_of_diagnosis(
        replace(found, seen=replace(found.seen, closes_unsaid=closes)), 200
    )
    assert ("the next request on it fails" in said) == closes


def test_what_tells_more_is_said_once() -> None:
    nothing = replace(made_results.diagnosis(), found=None, seen=Observed(cores=2), said=())
    said = made_results.screen_of_diagnosis(nothing, 200)
    assert said.count("--slow PATH") == said.count("--heavy PATH") == 1
    failed = replace(nothing, seen=Observed(cores=2, failed={"slow": "status 404", "heavy": "status 405"}))
    said = made_results.screen_of_diagnosis(failed, 200)
    assert said.count("status 404") == said.count("status 405") == 1


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (
            THREADS,
            "a thread waits with each request, of which there are 8 (8 requests wait at a time, and it",
        ),
        (THREAD_EACH, "a thread waits with each request, and more are added (512 threads are added for 512"),
        (LOOP, "no process or thread waits with a request (512 requests wait at a time in 10 threads in 1"),
    ],
)
def test_who_waits_is_said_with_what_shows_it(seen: Observed, said: str) -> None:
    found = replace(made_results.diagnosis(), seen=seen)
    assert diagnose_sentences.who(found).startswith(said)
    assert said.split(" (")[0] in diagnose_sentences.headline(found)
    unknown = diagnose_sentences.who(replace(found, seen=Observed(cores=2)))
    assert unknown.startswith("cannot tell: ") and "--slow PATH" in unknown


def test_what_sees_more_of_another_user_s_server_is_said() -> None:
    found = replace(made_results.diagnosis(), seen=Observed(cores=2))
    why = "process 4711 is another user's; as root: sudo crumple diagnose :8000"
    foreign = replace(found, plan=replace(found.plan, unwatched=why))
    assert foreign.subject.pid is not None
    assert diagnose_sentences.who(foreign).startswith(f"cannot tell: {why}; ")


def test_of_which_causes_there_is_no_sign_has_its_reasons_on_the_page_only() -> None:
    found = made_results.diagnosis()
    out = [each for each in found.said if isinstance(each, Out)]
    shown = made_results.screen_of_diagnosis(found, 2_000)
    assert len(out) > 3 and all(each.why not in shown for each in out)
    document = diagnose_report.document_of(found)
    page = html.unescape(report_page.html(diagnose_report.report(document))).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert all(page.count(f"<td>{each.why}</td>") == 1 for each in out)
    assert page.index("What is ruled out") < page.index("How it behaves under load")


@pytest.mark.parametrize("tried", [FailuresAlone(49, 1), None])
def test_how_many_requests_fail_has_a_row(tried: FailuresAlone | None) -> None:
    found = made_results.diagnosis()
    assert found.beyond is not None and found.facts is not None
    assert diagnose_sentences.fails(found) == ""
    outcomes = found.beyond.outcomes.model_copy(update={"wrong_status": found.beyond.outcomes.ok // 4})
    failing = replace(
        found,
        beyond=found.beyond.model_copy(update={"outcomes": outcomes}),
        facts=replace(found.facts, seen=replace(found.facts.seen, work=None, tried=tried)),
    )
    said = dict(diagnose_sentences.facts(failing))["fails"]
    assert said.startswith("20% of the requests failed (wrong-status ")
    alone = "1 of 50 one at a time" if tried else "how many fail without load is not known"
    assert said.endswith(f", and {alone}; all times are of the others")
    all_fail = found.beyond.outcomes.model_copy(update={"wrong_status": 900, "ok": 0})
    all_failing = replace(failing, beyond=found.beyond.model_copy(update={"outcomes": all_fail}))
    assert diagnose_sentences.fails(all_failing).startswith("all requests failed (wrong-status 900")
    assert diagnose_sentences.fails(all_failing).endswith(f", and {alone}")


def test_that_the_search_got_no_answer_stands_first_and_in_the_badge() -> None:
    known = replace(made_results.diagnosis(), said=tuple(judged.judged(WORKERS)))
    first, limit, *_ = diagnose_answer.found(replace(known, found=None))
    assert first == "no request was answered as expected while its breaking point was searched"
    assert limit.replace(NARROW, " ").endswith("350 of the 400 ms that a request takes on average")
    assert diagnose_answer.how_sure(replace(known, found=None)).plain.startswith(
        f"doubtful {first}; likely: "
    )
    sure = diagnose_answer.how_sure(replace(known, found=searched("held"))).plain.replace(NARROW, " ")
    assert sure.startswith("likely > 99 %, by what was measured; not confirmed by an experiment; ")


def test_what_is_ruled_out_has_a_cross_and_says_what_would_be() -> None:
    page = report_page.html(diagnose_report.report(diagnose_report.document_of(made_results.diagnosis())))
    text = html.unescape(page).replace("\N{NO-BREAK SPACE}", " ").replace(NARROW, " ")
    assert "✗" in text and "✓" not in text
    assert "it added 0 % to its processes or threads; with this cause it would be 10 % or more" in text


def test_the_answer_names_limit_and_remedy_first_and_what_would_tell_if_the_limit_is_unknown() -> None:
    known = replace(made_results.diagnosis(), said=tuple(judged.judged(LOCK)), found=searched("held"))
    limit, change, held = diagnose_answer.found(known)
    assert limit.startswith("its first limit is a gate inside the program (a lock, a semaphore or a queue): ")
    assert change.startswith("Try: ") and held.startswith("it holds at least 100.0")
    assert diagnose_answer.title(known).startswith(
        "first limit: a gate inside the program – http://127.0.0.1"
    )
    unknown = replace(known, said=(Unclear("none", "all fits"), Out("cpu", "idle")), would_tell="--ask")
    assert diagnose_answer.found(unknown)[:2] == [
        "what limits it cannot be told: all fits",
        "more would tell: --ask",
    ]
    assert diagnose_answer.how_sure(unknown).plain == "not known 1 cause ruled out"
    assert diagnose_answer.how_sure(replace(known, interrupted=True)).plain.startswith(
        "interrupted only what"
    )


def test_of_a_change_that_was_tried_the_answer_says_what_it_gave() -> None:
    compared = BeforeAndAfter(38.0, 74.0, Interval(1.95, 1.88, 2.02, 0.95, 4))
    tried = Remedy("WORKERS=8", None, "nothing", compared, 32, (), "")
    _, change, *_ = diagnose_answer.found(replace(made_results.diagnosis(), remedy=tried))
    assert change.replace(NARROW, " ") == "as it is 38.0 /s, with WORKERS=8 74.0 /s, × 1.95 [1.88 – 2.02]"
