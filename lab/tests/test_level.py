"""Levels: whether the objective held, whether the load lasts, and what was seen of the server."""

from collections.abc import Mapping
from typing import Any

import documents
import pytest
from crumple.contract import OpenShape, Rate, TrialRecord
from crumple.find import level as levels
from crumple.find.level import Level
from crumple.find.search import Step
from crumple.load import objective
from crumple.record.validity import Validity

MS = 1_000_000
VALID = Validity("valid", (), ())
OBJECTIVE = objective.parse("p99<250ms, failed<0.1%")
STEP = Step(5_000.0, 2.0, "bisect")


def record(
    times_ns: Mapping[int, int], *, carried: int = 0, too_late: int = 0, unfinished: int = 0, **changes: Any
) -> TrialRecord:
    """Two seconds of an open load with these response times."""
    plain, ok = documents.record(), sum(times_ns.values())
    rate = Rate(from_per_s=5_000, to_per_s=5_000, duration_s=2)
    shape = OpenShape(connections=64, rates=(rate,))
    histograms = plain.histograms.model_copy(
        update={
            "response_time": documents.histogram(times_ns),
            "unfinished_age": documents.histogram({MS: unfinished}),
            "carried_over": documents.histogram({MS: carried}),
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


def judged(seen: TrialRecord, validity: Validity = VALID) -> Level:
    """The level of a record."""
    return levels.level(STEP, 0, seen, OBJECTIVE, validity)


def test_a_level_that_held() -> None:
    level = judged(record({10 * MS: 10_000}))
    assert level.outcome == "held" and not level.broken
    assert (level.load, level.throughput_per_s, level.failed_share) == (5_000, 5_000, 0)
    assert level.p99_ns == pytest.approx(10 * MS, rel=1e-3)
    assert level.server_cores_busy == pytest.approx(0.9)


def test_a_level_that_broke_says_by_what() -> None:
    level = judged(record({10 * MS: 9_800, 900 * MS: 200}))
    (part,) = level.broken
    assert level.outcome == "broke" and part.name == "p99<250ms"
    assert part.value == pytest.approx(900 * MS, rel=1e-3)


def test_a_backlog_that_grows_is_no_load_that_lasts() -> None:
    growing = judged(record({10 * MS: 10_000}, unfinished=200))
    assert growing.outcome == "broke" and [part.name for part in growing.broken] == [levels.KEEPS_UP]
    assert growing.backlog_grew == 200
    steady = judged(record({10 * MS: 10_000}, unfinished=200, carried=190))
    assert steady.outcome == "held" and steady.backlog_grew == 10


def test_of_few_requests_chance_alone_leaves_some_waiting() -> None:
    few = judged(record({10 * MS: 1_200}, unfinished=20))
    assert few.outcome == "held"


def test_a_closed_shape_has_no_backlog() -> None:
    closed = judged(record({10 * MS: 10_000}, unfinished=500, spec=documents.spec()))
    assert [part.name for part in closed.parts] == ["p99<250ms", "failed<0.1%"]


@pytest.mark.parametrize("word", ["engine-limited", "schedule-missed"])
def test_a_level_that_holds_though_the_engine_was_late_holds(word: Any) -> None:
    late = Validity(word, ("late",), ())
    assert judged(record({10 * MS: 10_000}), late).outcome == "held"
    assert judged(record({900 * MS: 10_000}), late).outcome == "limited"


@pytest.mark.parametrize("word", ["engine-limited", "schedule-missed"])
def test_what_the_server_fails_breaks_whatever_the_lateness(word: Any) -> None:
    failing = record({10 * MS: 9_500})
    outcomes = documents.outcomes(ok=9_500, wrong_status=500)
    failing = failing.model_copy(update={"outcomes": outcomes, "scheduled": 10_000})
    assert judged(failing, Validity(word, ("late",), ())).outcome == "broke"


@pytest.mark.parametrize("word", ["port-limited", "not-valid"])
@pytest.mark.parametrize("times_ns", [{10 * MS: 10_000}, {900 * MS: 10_000}])
def test_a_level_that_is_not_valid_neither_holds_nor_breaks(word: Any, times_ns: dict[int, int]) -> None:
    assert judged(record(times_ns), Validity(word, ("no",), ())).outcome == "limited"


def test_where_nothing_was_answered_the_server_broke() -> None:
    silent = record({}, scheduled=50, outcomes=documents.outcomes(reset=50))
    assert judged(silent, Validity("not-valid", ("no answer was ok",), ())).outcome == "broke"


def test_too_few_answers_are_not_known() -> None:
    assert judged(record({10 * MS: 900})).outcome == "unknown"


def test_a_server_that_died_broke() -> None:
    level = judged(record({10 * MS: 10_000})).died()
    assert level.outcome == "broke" and level.broken[0].name == levels.ALIVE


def test_segments_sent_again_are_counted_while_measuring() -> None:
    probes = documents.record().probes.model_copy(update={"sockets": documents.sockets((3, 5, 9, None, 20))})
    assert judged(record({MS: 10_000}, probes=probes)).retransmitted == 11
    assert judged(record({MS: 10_000})).retransmitted is None
