"""Levels: whether the objective held, whether the load lasts, and what was seen of the server."""

from collections.abc import Mapping
from typing import Any

import documents
import pytest
from crumple.contract import OpenShapeSpec, RateSpec, TrialRecord
from crumple.find import level as levels
from crumple.find.level import Level
from crumple.find.next_level import NextLevel
from crumple.find.watch import Watch, slower_than_ns
from crumple.load import objective
from crumple.record import disturbance, histogram
from crumple.record.disturbance import Disturbance
from crumple.record.validity import Validity

MS = 1_000_000
VALID = Validity("valid", (), ())
LATE = ["engine-limited", "schedule-missed"]
STEP = NextLevel(5_000.0, 2.0, "bisect")


def record(
    times_ns: Mapping[int, int], *, too_late: int = 0, unfinished: int = 0, **changes: Any
) -> TrialRecord:
    """A record of two seconds of an open load with these response times."""
    plain, ok = documents.record(), sum(times_ns.values())
    rate = RateSpec(from_per_s=5_000, to_per_s=5_000, duration_s=2)
    shape = OpenShapeSpec(connections=64, rates=(rate,))
    histograms = plain.histograms.model_copy(
        update={
            "response_time": documents.histogram(times_ns),
            "unfinished_age": documents.histogram({MS: unfinished}),
        }
    )
    made = {
        "spec": documents.spec(shape=shape),
        "scheduled": ok + unfinished + too_late,
        "outcomes": documents.outcomes(ok=ok, unfinished=unfinished, not_sent=too_late),
        "not_sent": documents.not_sent(too_late=too_late),
        "histograms": histograms,
    }
    return plain.model_copy(update={**made, **changes})


def judged(
    seen: TrialRecord,
    validity: Validity = VALID,
    asked: str = "p99<250ms, failed<0.1%",
    expected: float = 10_000,
) -> Level:
    """The level of a record; `expected`: the most answers. Requests come and end evenly over its time.

    The number of waiting requests grows evenly.
    """
    meant = objective.parse(asked)
    watch = Watch(meant, STEP, expected, lambda: None)
    times, seconds = histogram.decoded(seen.histograms.response_time), seen.measured_ns / 1e9
    slow = [times.count_above(limit_ns) for limit_ns in slower_than_ns(meant)]
    for part in (line / 20 for line in range(1, 20)):
        ended = {name: round(part * number) for name, number in seen.outcomes.as_dict().items()}
        watch(
            documents.progress(
                seconds=part * seconds,
                scheduled=round(part * seen.scheduled),
                outcomes=documents.outcomes(**{**ended, "unfinished": 0}),
                slower=tuple(round(part * number) for number in slow),
            )
        )
    return levels.level(STEP, 0, seen, meant, watch, validity)


def failing(ok: int, wrong: int, response_ns: int = 10 * MS) -> TrialRecord:
    """A record with `ok` answers and `wrong` ones of another status."""
    outcomes = documents.outcomes(ok=ok, wrong_status=wrong)
    return record({response_ns: ok}, outcomes=outcomes, scheduled=ok + wrong)


def test_a_level_that_held() -> None:
    level = judged(record({10 * MS: 10_000}))
    assert level.outcome == "held" and not level.broken
    assert (level.load, level.throughput_per_s, level.failed_share) == (5_000, 5_000, 0)
    assert level.p99_ns == pytest.approx(10 * MS, rel=1e-3)
    assert level.server_cores_busy == pytest.approx(0.9)


def test_a_level_that_broke_names_the_part_that_failed() -> None:
    level = judged(record({10 * MS: 5_000, 900 * MS: 5_000}))
    (part,) = level.broken
    assert level.outcome == "broke" and part.name == "p99<250ms"
    assert part.value == pytest.approx(900 * MS, rel=1e-3)
    # All answers against it are known, and of the others those that were due 250 ms before the end.
    assert (part.known, part.against, part.share) == (8_750, 5_000, 5_000 / 8_750)


def test_a_share_near_its_limit_is_undecided_with_a_tendency() -> None:
    above, below = (judged(record({10 * MS: 10_000 - slow, 900 * MS: slow})) for slow in (130, 70))
    assert above.outcome == below.outcome == "undecided" and not above.broken
    assert above.judged.leans_against and not below.judged.leans_against


def test_a_growing_backlog_means_that_the_load_does_not_last() -> None:
    growing = judged(record({10 * MS: 10_000}, unfinished=400))
    assert growing.outcome == "broke" and [part.name for part in growing.broken] == [levels.KEEPS_UP]
    # The lines of progress cover 19 of 20 parts of the level.
    assert growing.backlog_grew == 380
    steady = judged(record({10 * MS: 10_000}, unfinished=10))
    assert steady.outcome == "held" and 5 < steady.backlog_grew < 15


def test_with_few_requests_a_backlog_may_be_chance() -> None:
    assert judged(record({10 * MS: 1_200}, unfinished=60), asked="p99<250ms").outcome == "held"
    assert judged(record({10 * MS: 1_200}, unfinished=90), asked="p99<250ms").outcome == "broke"


def test_a_closed_shape_has_no_backlog() -> None:
    closed = judged(record({10 * MS: 10_000}, unfinished=500, spec=documents.spec()))
    assert [part.name for part in closed.parts] == ["p99<250ms", "failed<0.1%"]


@pytest.mark.parametrize("word", [*LATE, "port-limited"])
def test_a_level_that_holds_despite_a_late_engine_or_missing_ports_holds(word: Any) -> None:
    assert judged(record({10 * MS: 10_000}), Validity(word, ("late",), ())).outcome == "held"


@pytest.mark.parametrize("word", ["schedule-missed", "port-limited"])
def test_a_level_that_breaks_with_a_late_engine_decides_nothing_about_times(word: Any) -> None:
    assert judged(record({900 * MS: 10_000}), Validity(word, ("late",), ())).outcome == "limited"


def test_a_level_breaks_if_a_busy_engine_sent_in_time() -> None:
    busy, slow = Validity("engine-limited", ("busy",), ()), {900 * MS: 10_000}
    plain = record(slow)
    in_time, late = (
        plain.model_copy(
            update={
                "histograms": plain.histograms.model_copy(
                    update={"engine_lateness": documents.histogram({late_ns: 10_000})}
                )
            }
        )
        for late_ns in (MS // 100, 500 * MS)
    )
    assert judged(in_time, busy).outcome == "broke"
    assert judged(late, busy).outcome == "limited"
    assert judged(record(slow, spec=documents.spec()), busy).outcome == "limited"


@pytest.mark.parametrize("word", LATE)
def test_wrong_answers_break_a_level_however_late_the_engine_was(word: Any) -> None:
    level = judged(failing(ok=9_500, wrong=500, response_ns=900 * MS), Validity(word, ("late",), ()))
    assert level.outcome == "broke"


def test_with_a_late_engine_only_wrong_answers_are_evidence() -> None:
    late = Validity("schedule-missed", ("late",), ())
    level = judged(failing(ok=9_500, wrong=500, response_ns=900 * MS), late)
    assert [part.name for part in level.broken] == ["failed<0.1%"]
    assert [each.name for each in level.evidence if each.leans_against] == ["failed<0.1%"]
    times, failures = level.parts[:2]
    assert (times.name, times.holds, times.known, times.against) == ("p99<250ms", None, 0, 0)
    assert (failures.known, failures.against) == (10_000, 500)


@pytest.mark.parametrize("word", ["schedule-missed", "port-limited"])
def test_with_a_late_engine_only_wrong_answers_count_as_failed(word: Any) -> None:
    outcomes = documents.outcomes(ok=9_000, wrong_status=300, timeout=400, not_sent=300)
    seen = record({10 * MS: 9_000}, outcomes=outcomes, scheduled=10_000)
    late = {part.name: part for part in judged(seen, Validity(word, ("late",), ())).parts}["failed<0.1%"]
    valid = {part.name: part for part in judged(seen).parts}["failed<0.1%"]
    assert (late.known, late.against, late.holds) == (10_000, 300, False)
    assert (valid.known, valid.against, valid.holds) == (10_000, 1_000, False)


def test_if_none_may_fail_one_wrong_answer_breaks_despite_a_late_engine() -> None:
    late = Validity("schedule-missed", ("late",), ())
    one = judged(failing(ok=9_999, wrong=1, response_ns=900 * MS), late, asked="p99<250ms, failed<=0%")
    assert one.outcome == "broke" and [part.name for part in one.broken] == ["failed<=0%"]
    none = judged(record({900 * MS: 10_000}), late, asked="p99<250ms, failed<=0%")
    assert none.outcome == "limited" and not none.broken


def test_some_wrong_answers_with_a_late_engine_are_undecided() -> None:
    level = judged(failing(ok=998, wrong=2, response_ns=900 * MS), Validity("schedule-missed", ("late",), ()))
    assert level.outcome == "undecided" and level.judged.leans_against


def test_a_failure_that_the_engine_may_have_caused_is_no_wrong_answer() -> None:
    outcomes = documents.outcomes(ok=9_500, timeout=200, connect_timeout=200, not_sent=100)
    timed_out = record({10 * MS: 9_500}, outcomes=outcomes, scheduled=10_000)
    assert judged(timed_out).outcome == "broke"
    assert judged(timed_out, Validity("schedule-missed", ("late",), ())).outcome == "limited"


@pytest.mark.parametrize("times_ns", [{10 * MS: 10_000}, {900 * MS: 10_000}])
def test_a_level_that_is_not_valid_neither_holds_nor_breaks(times_ns: dict[int, int]) -> None:
    assert judged(record(times_ns), Validity("not-valid", ("no",), ())).outcome == "limited"


def test_without_any_answer_the_level_broke() -> None:
    silent = record({}, scheduled=50, outcomes=documents.outcomes(reset=50))
    assert judged(silent, Validity("not-valid", ("no answer was ok",), ())).outcome == "broke"


def test_too_few_answers_leave_a_level_undecided() -> None:
    few = judged(record({10 * MS: 900}))
    assert few.outcome == "undecided" and not few.judged.leans_against
    assert {part.name: part.holds for part in few.parts}["failed<0.1%"] is None


def test_a_share_that_needs_more_answers_than_a_level_has_is_not_waited_for() -> None:
    assert judged(record({10 * MS: 900}), expected=2_000).outcome == "held"
    assert judged(failing(ok=899, wrong=1), expected=2_000).outcome == "undecided"
    assert judged(record({10 * MS: 900}), asked="failed<0.1%", expected=2_000).outcome == "undecided"


@pytest.mark.parametrize(("taken_share", "by_others"), [(0.0, False), (0.05, False), (0.2, True)])
def test_a_backlog_that_others_may_have_caused_is_marked(
    monkeypatch: pytest.MonkeyPatch, taken_share: float, by_others: bool
) -> None:
    # A tenth of the requests wait at the end.
    taken = Disturbance(others_share=0.2, steal_share=0.0, taken_share=taken_share, slowdown=1.25)
    monkeypatch.setattr(levels, "disturbance", lambda _: taken)
    seen = judged(record({10 * MS: 9_000}, unfinished=1_000))
    (part,) = (each for each in seen.evidence if each.name == levels.KEEPS_UP)
    assert part.leans_against and part.by_others is by_others


def test_a_throughput_that_others_may_have_caused_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = Disturbance(others_share=0.2, steal_share=0.0, taken_share=0.2, slowdown=1.25)
    monkeypatch.setattr(levels, "disturbance", lambda _: taken)
    monkeypatch.setattr(disturbance, "MENTIONED", 1.05)
    for limit, by_others in ((5_500, True), (7_000, False)):
        seen = judged(record({10 * MS: 10_000}), asked=f"throughput>{limit}")
        (part,) = (each for each in seen.evidence if each.name.startswith("throughput"))
        assert part.leans_against and part.by_others is by_others


def test_a_level_in_which_the_server_was_lost_says_nothing_of_its_limits() -> None:
    level = judged(record({10 * MS: 5_000, 900 * MS: 5_000})).lost("the server was lost")
    assert (level.outcome, level.word, level.problems) == ("limited", "lost", ("the server was lost",))
    assert not level.judged.leans_against and not level.judged.evidence and not level.parts


def test_a_term_without_a_share_holds_or_breaks_as_a_whole() -> None:
    slow = judged(record({10 * MS: 10_000}), asked="mean<5ms, throughput>1000")
    assert slow.outcome == "broke"
    assert [(each.name, each.known, each.against) for each in slow.evidence] == [
        ("mean<5ms", 1, 1),
        ("throughput>1000", 1, 0),
        (levels.KEEPS_UP, 1, 0),
    ]


def test_shares_are_evidence_together_with_the_time_under_load_before() -> None:
    level = judged(record({10 * MS: 9_900, 900 * MS: 100}))
    times = level.judged.of("p99<250ms")
    assert times is not None and (times.known, times.against, times.limit_s) == (8_750, 100, 0.25)
    assert (times.settled_s, times.watched_s) == (1.0, 2.0)


def test_with_enough_answers_the_median_and_variance_are_kept() -> None:
    base = judged(record({10 * MS: 500, 30 * MS: 500})).base
    assert base is not None and base.median_s == pytest.approx(0.01, rel=1e-3)
    # The variation is relative to a mean of 20 ms.
    assert base.variation == pytest.approx(0.25, rel=1e-2)
    assert judged(record({10 * MS: 19})).base is None


def test_retransmitted_segments_are_counted_in_the_measured_phase() -> None:
    probes = documents.record().probes.model_copy(update={"sockets": documents.sockets((3, 5, 9, None, 20))})
    assert judged(record({MS: 10_000}, probes=probes)).retransmitted == 11
    assert judged(record({MS: 10_000})).retransmitted is None
