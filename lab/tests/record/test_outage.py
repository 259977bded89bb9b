"""From when on a server gave no more answers: by the record of one load, and what makes it no outage."""

import pytest
from crumple import contract
from crumple.contract import TrialRecord
from crumple.record import outage
from made_outages import record


def test_a_server_that_refuses_from_half_time_on() -> None:
    seen = outage.of(record([100] * 15 + [0] * 15, [0] * 15 + [80] * 15, warm_up=5, reset=8, refused=1_192))
    assert seen is not None
    assert (seen.since_s, seen.lasted_s, seen.answered, seen.failed) == (1.0, 1.5, 1_500, 1_200)
    assert (seen.ok_measured, seen.since_s < 0, seen.is_exact) == (1_000, False, False)


def test_a_server_that_is_silent_from_half_time_on() -> None:
    seen = outage.of(record([100] * 10 + [0] * 10, unfinished=8, scheduled=[108, *[100] * 9, *[0] * 10]))
    assert seen is not None and (seen.waiting, seen.in_flight, seen.failed) == (8, 8, 0)


def test_a_server_that_is_lost_in_the_warm_up_has_no_figures() -> None:
    seen = outage.of(record([100] * 4 + [0] * 16, [0] * 4 + [80] * 16, warm_up=10, refused=1_280))
    assert seen is not None and seen.since_s < 0
    assert (seen.since_s, seen.ok_measured) == (-0.6, 0)


def test_a_crawl_is_an_outage_although_some_answers_come() -> None:
    seen = outage.of(record([900] * 10 + [0, 1, 0, 0, 0, 1, 0, 0, 0, 0], unfinished=8))
    assert seen is not None and (seen.answered, seen.answered_after, seen.lasted_s) == (9_000, 2, 1.0)


@pytest.mark.parametrize(
    "given",
    [
        # It answers until the end.
        record([100] * 20, unfinished=8),
        # It was never answered at all.
        record([0] * 20, [80] * 20, refused=1_600),
        # It has paused for as long before.
        record([100] * 5 + [0] * 5 + [100] * 2 + [0] * 5, unfinished=8),
        # An answer takes as long.
        record([8, *[0] * 9, 8, *[0] * 9], unfinished=8, took_ns=900_000_000),
        # Nobody asks any more.
        record([100] * 10 + [0] * 10),
        # A tenth of a second says nothing.
        record([100] * 19 + [0], unfinished=8),
    ],
    ids=["answers", "never", "pauses", "slow", "unasked", "short"],
)
def test_no_outage(given: TrialRecord) -> None:
    assert outage.of(given) is None


def test_a_rate_that_falls_is_no_outage() -> None:
    rates = tuple(contract.RateSpec(from_per_s=each, to_per_s=each, duration_s=1) for each in (9_000, 20))
    shape = contract.OpenShapeSpec(connections=8, rates=rates)
    few = [2] * 10
    assert outage.of(record([900] * 10 + few, unfinished=1, shape=shape, scheduled=[900] * 10 + few)) is None
    dead = outage.of(record([900] * 10 + [0] * 10, unfinished=8, shape=shape, scheduled=[900] * 10 + few))
    assert dead is not None and dead.answered_after == 0


def test_users_who_leave_are_no_outage() -> None:
    shape = contract.RampShapeSpec(from_connections=1, to_connections=8, over_s=2.0)
    assert outage.of(record([900] * 10 + [1] * 10, unfinished=1, shape=shape)) is None


def test_an_outage_begins_with_the_first_failure_and_counts_the_answers_until_then() -> None:
    reasons = (
        contract.ReasonRecord(outcome="refused", reason="refused", count=1_200, first_ns=1_515_000_000),
        contract.ReasonRecord(outcome="timeout", reason="late", count=1, first_ns=1_450_000_000),
    )
    seen = outage.of(
        record(
            [100] * 15 + [4] + [0] * 14,
            [0] * 15 + [80] * 15,
            warm_up=5,
            refused=1_200,
            reasons=reasons,
        )
    )
    assert seen is not None and seen.is_exact
    assert seen.since_s == pytest.approx(1.015)
    assert (seen.answered, seen.ok_measured, seen.answered_after) == (1_504, 1_004, 0)


def test_a_server_that_is_started_again_has_gaps_and_no_outage_at_the_end() -> None:
    ok = [100] * 10 + [0] * 8 + [100] * 10 + [0] * 8 + [100] * 4
    failed = [8 * (number == 0) for number in ok]
    restarts = record(ok, failed, warm_up=5, refused=sum(failed))
    assert outage.of(restarts) is None
    spans = [(gap.since_s, gap.until_s, gap.answered) for gap in outage.gaps(restarts)]
    assert spans == [(0.5, 1.3, 1_000), (2.3, 3.1, 2_000)]


def test_a_pause_in_which_nothing_failed_is_no_gap() -> None:
    assert outage.gaps(record([100] * 10 + [0] * 8 + [100] * 10, unfinished=8)) == ()
    assert outage.gaps(record([0] * 10, [8] * 10, refused=80)) == ()


def test_response_times_that_grow_until_the_timeout() -> None:
    grown = record([10] * 10 + [0] * 10, [0] * 10 + [10] * 10, timeout=100)
    last = grown.series.model_copy(update={"max_ns": (*(2_000_000_000 * n for n in range(10)), *[None] * 10)})
    assert outage.grew_until_timeout(grown.model_copy(update={"series": last}))
    assert not outage.grew_until_timeout(grown)
