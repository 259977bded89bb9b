"""Little's law: on records that account for all connections by construction, and on some that lost time."""

import random

import documents
import pytest
from crumple import contract
from crumple.record import invariants
from hypothesis import given
from hypothesis import strategies as st

RAMP = contract.RampShapeSpec(from_connections=4, to_connections=64, over_s=2.0)


def _with_mean(mean_ns: float) -> contract.Histograms:
    histograms = documents.record().histograms
    times = histograms.response_time.model_copy(update={"mean_ns": mean_ns})
    return histograms.model_copy(update={"response_time": times})


def _record(shape: contract.ShapeSpec, mean_ns: float, **changes: object) -> contract.TrialRecord:
    """20,000 answers in 2 s; a mean of 3.2 ms accounts for 32 connections."""
    stop = changes.pop("stop", contract.DurationStopSpec(duration_s=2.0))
    spec = documents.spec(shape=shape, stop=stop)
    return documents.record(spec=spec, histograms=_with_mean(mean_ns), **changes)


@given(st.floats(0.9, 1.1))
def test_it_holds_within_2_per_cent(factor: float) -> None:
    found = invariants.problem(documents.record(histograms=_with_mean(3_200_000 * factor)))
    if abs(factor - 1) < 0.0199:
        assert found is None
    if abs(factor - 1) > 0.0201:
        assert found is not None and "of 32 connections (limit 2% off)" in found


def test_requests_cut_off_at_either_end_of_the_window_count() -> None:
    # 32 connections over 2 s are 64 s; the answers alone account for 60 of them.
    whole = _with_mean(3_000_000)
    assert "30.0 of 32" in (invariants.problem(documents.record(histograms=whole)) or "")
    ends = whole.response_time.model_copy(update={"count": 32, "mean_ns": 62_500_000})
    both = whole.model_copy(update={"unfinished_age": ends, "carried_over": ends})
    assert invariants.problem(documents.record(histograms=both)) is None


def test_time_that_answers_lay_unread_counts() -> None:
    held = contract.ArrivalRecord(clock="kernel", unstamped=0, held_ns=4_000_000_000)
    whole = _with_mean(3_000_000)
    assert invariants.problem(documents.record(histograms=whole, arrivals=held)) is None


def test_users_whose_turn_had_not_come_count() -> None:
    whole = _with_mean(3_000_000)
    assert invariants.problem(documents.record(histograms=whole, users_waited_ns=4_000_000_000)) is None


def test_an_engine_that_waited_for_a_core_is_not_called_faulty() -> None:
    short = documents.record(histograms=_with_mean(3_000_000))
    calm, busy = invariants.problem(short, 0.04), invariants.problem(short, 0.34)
    assert calm is not None and calm.endswith("off); keep the record and report it as a fault of the engine")
    assert busy is not None and "waited for a core 34% of the time, so measure again" in busy


def test_connections_without_a_request_do_not_count() -> None:
    shape = contract.ClosedShapeSpec(connections=40)
    for users, held in ((32, True), (36, False), (40, False)):
        found = invariants.problem(_record(shape, 3_200_000, users=users))
        assert (found is None) is held, users


@pytest.mark.parametrize("pause", ["fixed", "exponential"])
def test_pauses_count_by_their_number_and_mean(pause: contract.PauseKind) -> None:
    shape = contract.ClosedShapeSpec(connections=32, pause_ms=2.2, pause=pause)
    assert invariants.problem(_record(shape, 1_000_000)) is None
    shape = contract.ClosedShapeSpec(connections=32, pause_ms=2.0, pause=pause)
    assert "30.0 of 32" in (invariants.problem(_record(shape, 1_000_000)) or "")


def test_few_random_pauses_may_deviate_from_their_mean_and_fixed_ones_may_not() -> None:
    # 1,000 pauses of 60 ms account for 60 of 64 s; two standard errors are 3.8 s.
    short = _with_mean(4_000_000 - 3_800_000)
    times = short.response_time.model_copy(update={"count": 1_000})
    few = {
        "scheduled": 1_000,
        "outcomes": documents.outcomes(ok=1_000),
        "histograms": short.model_copy(update={"response_time": times}),
    }
    found = {
        pause: invariants.problem(
            documents.record(
                spec=documents.spec(
                    shape=contract.ClosedShapeSpec(connections=32, pause_ms=60, pause=pause),
                ),
                **few,
            )
        )
        for pause in ("fixed", "exponential")
    }
    assert found["exponential"] is None
    assert found["fixed"] is not None


@pytest.mark.parametrize("outcome", ["refused", "connect_timeout", "reset", "closed_early", "malformed"])
def test_the_wait_before_reconnecting_counts(outcome: str) -> None:
    # 100 backoffs of 10 ms account for 1 of 64 s; answers account for the rest.
    outcomes = documents.outcomes(ok=20_000, unfinished=32, **{outcome: 100})
    shape = contract.ClosedShapeSpec(connections=32)
    full = _record(shape, 3_150_000, outcomes=outcomes, scheduled=20_132)
    assert invariants.problem(full) is None
    short = _record(shape, 3_080_000, outcomes=outcomes, scheduled=20_132)
    assert "31.3 of 32" in (invariants.problem(short) or "")


@pytest.mark.parametrize(
    ("over_s", "on_average"), [(2.0, 33.5), (4.0, 18.5), (1.0, 48.75), (0.5, 56.375), (20.0, 6.5)]
)
def test_a_ramp_counts_with_its_average_number_of_users(over_s: float, on_average: float) -> None:
    shape = RAMP.model_copy(update={"over_s": over_s})
    assert invariants.connections(shape, 2_000_000_000) == pytest.approx(on_average)
    for off, wrong in ((1, False), (1.019, False), (1.021, True), (0.981, False), (0.979, True)):
        assert bool(invariants.problem(_record(shape, on_average * 100_000 * off))) is wrong


def test_a_ramp_that_does_not_rise_is_a_closed_shape() -> None:
    shape = RAMP.model_copy(update={"from_connections": 64})
    assert invariants.connections(shape, 2_000_000_000) == 64


@given(st.integers(0, 300), st.integers(1, 300), st.floats(0.1, 50), st.floats(0.1, 50))
def test_a_ramps_average_is_the_sum_of_its_connections_times(
    first: int, rise: int, over_s: float, measured_s: float
) -> None:
    shape = contract.RampShapeSpec(from_connections=first, to_connections=first + rise, over_s=over_s)
    stays_s = (max(0.0, measured_s - over_s * number / rise) for number in range(1, rise + 1))
    summed = first + sum(stays_s) / measured_s
    assert invariants.connections(shape, round(measured_s * 1e9)) == pytest.approx(summed, rel=1e-6, abs=1e-6)


def test_connections_idle_at_the_end_are_not_missing() -> None:
    shape = contract.ClosedShapeSpec(connections=32)
    after = contract.RequestsStopSpec(requests=20_032, within_s=9)
    # The longest request took 9 ms of 2 s.
    assert invariants.problem(_record(shape, 3_200_000 * 0.976, stop=after)) is None
    assert invariants.problem(_record(shape, 3_200_000 * 0.976)) is not None
    assert invariants.problem(_record(shape, 3_200_000 * 0.974, stop=after)) is not None
    assert invariants.problem(_record(shape, 3_200_000 * 1.024, stop=after)) is not None


def test_it_is_not_checked_for_open_shapes_few_requests_or_failures() -> None:
    rates = (contract.RateSpec(from_per_s=10_000, to_per_s=10_000, duration_s=2),)
    wrong_ns = 9_000_000
    assert invariants.problem(_record(contract.OpenShapeSpec(connections=32, rates=rates), wrong_ns)) is None
    shape = contract.ClosedShapeSpec(connections=32)
    few = {"scheduled": 999, "outcomes": documents.outcomes(ok=999)}
    failing = {"scheduled": 20_300, "outcomes": documents.outcomes(ok=20_000, timeout=300)}
    for changes in (few, failing):
        assert invariants.problem(_record(shape, wrong_ns, **changes)) is None
    assert invariants.problem(_record(shape, wrong_ns)) is not None


def test_in_a_ramp_all_users_may_be_in_a_long_pause_at_the_end() -> None:
    # Users join evenly over 2 s, ask at once and then about every 0.25 s; on average half of them are there.
    draw, users, pause_s = random.Random(1), 4_000, 0.25
    asked = 0
    for user in range(users):
        at_s = 2.0 * user / users
        while at_s < 2.0:
            asked, at_s = asked + 1, at_s + draw.expovariate(1 / pause_s)
    shape = contract.RampShapeSpec(
        from_connections=1, to_connections=users, over_s=2.0, pause_ms=pause_s * 1e3, pause="exponential"
    )
    outcomes = documents.record().outcomes.model_copy(update={"ok": asked})
    assert invariants.problem(_record(shape, 1_000, outcomes=outcomes, scheduled=asked)) is None
