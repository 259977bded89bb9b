"""The laws by which a level shows where a server breaks: what they know beside the levels."""

import math

import pytest
from crumple.find import laws
from crumple.find.laws import Queue, balance_s, together
from crumple.find.seen import Base, Dispersion, PartEvidence
from made_levels import LIMIT

# One worker with random (exponential) times and independent users: the variances of gaps and work are 1 each.
LIMIT_S, CAPACITY = 0.25, 1_000.0
CALM = Base(median_s=0.0, variation=1.0)


def queue(
    limit_s: float = LIMIT_S, near: float = CAPACITY, calm: Base = CALM, arrivals: float = 1.0
) -> Queue:
    """A queue, of which levels last three seconds."""
    return Queue(LIMIT, limit_s, calm, arrivals, 3.0, near)


def test_the_gap_to_the_capacity_equals_that_of_a_known_queue() -> None:
    # M/M/1: the share beyond the limit is exp(-(capacity - load) × limit).
    edge = CAPACITY - math.log(1 / LIMIT) / LIMIT_S
    assert edge * math.exp(queue(near=edge).gap) == pytest.approx(CAPACITY)


def test_even_arrivals_and_even_work_leave_a_smaller_gap() -> None:
    even_work = queue(calm=Base(0.0, 0.0))
    neither = queue(calm=Base(0.0, 0.0), arrivals=0.0)
    assert queue().gap > 1.9 * even_work.gap > 1.9 * neither.gap > 0


def test_a_wait_beyond_the_limit_lasts_until_the_drift_brings_it_back() -> None:
    # The wait exceeds the limit by variance / (2 × drift) on average, and falls at the rate of the drift; the
    # load is 18.4 below the capacity.
    drift = math.log(1 / LIMIT) / LIMIT_S / CAPACITY
    beyond_s = queue().law.beyond_s_per_load * CAPACITY
    assert beyond_s == pytest.approx(2 / CAPACITY / (2 * drift) / drift, rel=1e-6)


def test_it_applies_if_a_long_queue_fits_into_the_limit_and_stays() -> None:
    assert queue().holds
    assert not queue(near=40.0).holds
    assert not queue(limit_s=0.025).holds


def test_if_only_arrivals_vary_the_variance_is_known_better() -> None:
    assert queue(calm=Base(0.0, 0.0)).law.known_to < 0.6 * queue(calm=Base(0.0, 3.0)).law.known_to


def test_a_level_says_most_where_the_odds_are_twice_those_of_the_limit() -> None:
    telling = laws.of_shares(LIMIT, 1.0).telling
    assert telling / (1 - telling) == pytest.approx(2 * LIMIT / (1 - LIMIT))


def test_a_longer_queue_within_the_limit_reaches_balance_later() -> None:
    assert balance_s(0.25, 100.0) == pytest.approx(3.125)
    assert balance_s(0.5, 100.0) == 4 * balance_s(0.25, 100.0) == 2 * balance_s(0.5, 50.0)


def varied(excess: float, freedom: int) -> PartEvidence:
    """Evidence with this dispersion of the slow answers."""
    return PartEvidence("p99", LIMIT, 1_000, 20, 5, Dispersion(excess, freedom))


def test_dispersion_is_of_all_levels_and_at_least_one() -> None:
    assert together([varied(49.0, 9), varied(50.0, 10)]) == pytest.approx(100 / 20)
    assert together([varied(3.0, 20)]) == 1.0
    assert together([]) == together([varied(0.0, 0)]) == 1.0
