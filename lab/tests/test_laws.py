"""The law of queues near their capacity: against closed forms, a simulated walk, and known queues."""

import math

import numpy as np
import pytest
from crumple.find import likelihood
from crumple.find.likelihood import DEVIATIONS, QueueLaw, balance_s, below
from crumple.find.seen import Base, Evidence, Judged

# One worker with random (exponential) times and independent users: the variances of gaps and work are 1 each.
LIMIT, LIMIT_S, CAPACITY = 0.01, 0.25, 1_000.0
CALM = Base(median_s=0.0, variation=1.0)
AS_SAID = int(np.argmin(np.abs(DEVIATIONS)))
LOGS = np.log(np.linspace(700.0, 1_400.0, 701))


def law(
    limit_s: float = LIMIT_S, near: float = CAPACITY, calm: Base = CALM, arrivals: float = 1.0
) -> QueueLaw:
    """The law for levels that last three seconds."""
    return QueueLaw(LIMIT, limit_s, calm, arrivals, 3.0, near)


def likely(
    load: float, passed_s: float | None, *, watched_s: float = 3.0, pace: tuple[int, float] | None = None
) -> np.ndarray:
    """How likely such a level is at each of the breaking points, with the variance as computed."""
    against = 0 if passed_s is None else 100
    seen = Evidence(
        "p99", LIMIT, 3_000, against, 1, settled_s=1.0, watched_s=watched_s, passed_s=passed_s, pace=pace,
        limit_s=LIMIT_S,
    )  # fmt: skip
    level = Judged(load, 0, "broke" if against else "held", (seen,), CALM)
    return law().likelihood(level, seen, LOGS)[AS_SAID]


def best(likelihoods: np.ndarray) -> float:
    """The breaking point with the highest likelihood."""
    return math.exp(LOGS[int(np.argmax(likelihoods))])


def walked(drift: float, until: float, walks: int, seed: int) -> np.ndarray:
    """When walks that cannot fall below zero reach 1; infinite for walks that do not within `until`.

    The walk goes in small steps. The lowest value within a step is drawn from a Brownian bridge. The bound is
    lowered to correct for what a walk in steps overshoots (Siegmund, *Corrected diffusion approximations*,
    1979).
    """
    noise, step = np.random.default_rng(seed), 1e-3
    at, passed = np.zeros(walks), np.full(walks, np.inf)
    for number in range(round(until / step)):
        moved = drift * step + noise.normal(0, math.sqrt(step), walks)
        reach = np.sqrt(moved**2 - 2 * step * np.log(noise.uniform(size=walks)))
        low = at + (moved - reach) / 2
        at = at + moved + np.maximum(0.0, -low)
        passed[(at >= 1 - 0.5826 * math.sqrt(step)) & np.isinf(passed)] = (number + 1) * step
    return passed


@pytest.mark.long
def test_without_a_drift_it_is_the_closed_form() -> None:
    times = np.array((0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 4.0))
    odd = 2 * np.arange(100) + 1
    signs = np.where(np.arange(100) % 2, -1.0, 1.0)
    closed = 4 / np.pi * (signs / odd) @ np.exp(-np.outer(odd**2 * np.pi**2 / 8, times))
    assert below(np.zeros(7), times) == pytest.approx(closed, abs=2e-3)


@pytest.mark.parametrize("drift", [-2.0, -1.0, 1.0, 3.0, 10.0, 20.0, 30.0, 60.0, 400.0])
def test_the_mean_time_to_reach_1_is_the_known_one(drift: float) -> None:
    mean = 1 / drift - (1 - math.exp(-2 * drift)) / (2 * drift**2)
    times = np.concatenate([np.linspace(0, mean / 50, 100), np.geomspace(mean / 50, 50 * mean, 5_000)])
    assert np.trapezoid(below(np.full(times.shape, drift), times), times) == pytest.approx(mean, rel=0.03)


@pytest.mark.long
@pytest.mark.parametrize("drift", [-2.0, 2.0, 8.0])
def test_it_equals_a_simulated_walk_that_cannot_fall_below_zero(drift: float) -> None:
    passed = walked(drift, 1.5, 4_000, seed=1)
    times = np.array((0.1, 0.2, 0.4, 0.8, 1.2))
    share = (passed[:, np.newaxis] > times).mean(axis=0)
    # Allows for three standard deviations of that share, and for the error of the cells.
    assert below(np.full(5, drift), times) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("drift", [-60.0, -5.0, 0.0, 5.0, 30.0, 59.0, 60.0, 300.0])
def test_the_share_that_has_passed_begins_at_zero_and_never_falls(drift: float) -> None:
    times = np.concatenate([[0.0], np.geomspace(1e-9, 1e4, 400)])
    stays = below(np.full(times.shape, drift), times)
    assert stays[0] == 1 and stays[1] == pytest.approx(1.0)
    assert (np.diff(stays) <= 1e-6).all() and (stays >= 0).all()
    assert drift < 0 or stays[-1] < 1e-6


def test_a_faster_drift_passes_sooner() -> None:
    drifts = np.linspace(-80.0, 80.0, 321)
    for time in (0.004, 0.03, 0.3, 3.0):
        assert (np.diff(below(drifts, np.full(drifts.shape, time))) <= 0.02).all()


def test_beyond_the_table_it_is_extrapolated_evenly() -> None:
    at = np.log(below(np.full(3, -2.0), np.array((60.0, 120.0, 240.0))))
    assert at[1] == pytest.approx(2 * at[0]) and at[2] == pytest.approx(4 * at[0])


def test_the_gap_to_the_capacity_equals_that_of_a_known_queue() -> None:
    # M/M/1: the share beyond the limit is exp(-(capacity - load) × limit).
    edge = CAPACITY - math.log(1 / LIMIT) / LIMIT_S
    assert edge * math.exp(law(near=edge).gap) == pytest.approx(CAPACITY)


def test_even_arrivals_and_even_work_leave_a_smaller_gap() -> None:
    even_work = law(calm=Base(0.0, 0.0))
    neither = law(calm=Base(0.0, 0.0), arrivals=0.0)
    assert law().gap > 1.9 * even_work.gap > 1.9 * neither.gap > 0


def test_a_wait_beyond_the_limit_lasts_until_the_drift_brings_it_back() -> None:
    # The wait exceeds the limit by variance / (2 × drift) on average, and falls at the rate of the drift; the
    # load is 18.4 below the capacity.
    drift = math.log(1 / LIMIT) / LIMIT_S / CAPACITY
    assert law().beyond_s(CAPACITY) == pytest.approx(2 / CAPACITY / (2 * drift) / drift, rel=1e-6)


def test_it_applies_if_a_long_queue_fits_into_the_limit_and_stays() -> None:
    assert law().holds
    assert not law(near=40.0).holds
    assert not law(limit_s=0.025).holds


def test_a_level_that_held_says_little_of_loads_just_below_the_capacity() -> None:
    # A level at 990 often holds although only 981.6 lasts; far above the load that lasts it does not.
    held = likely(990.0, None)
    near, far = np.interp(np.log([981.6, 850.0]), LOGS, held)
    assert near > 0.5 and far < 0.02


def test_a_level_that_held_longer_says_more() -> None:
    short, long = (
        np.interp(math.log(960.0), LOGS, likely(990.0, None, watched_s=watched_s)) for watched_s in (2.0, 8.0)
    )
    assert long < 0.75 * short


def test_a_queue_that_passed_the_limit_sooner_means_a_lower_breaking_point() -> None:
    soon, late = best(likely(1_200.0, 0.5)), best(likely(1_200.0, 2.0))
    # The queue is empty a second before measuring begins, and the wait grows by load / capacity - 1.
    assert soon == pytest.approx(1_200 / (1 + 0.25 / 1.5) - 18.4, rel=0.06)
    assert late == pytest.approx(1_200 / (1 + 0.25 / 3) - 18.4, rel=0.06)


def test_a_queue_beyond_the_limit_before_measuring_may_have_passed_at_any_time() -> None:
    # At 1.6 times the capacity the wait is 250 ms after 0.42 s of the second before measuring began.
    told = likely(1_600.0, -0.25)
    lower, there, higher = np.interp(np.log([800.0, 981.6, 1_390.0]), LOGS, told)
    assert lower > 0.99 and there > 0.99 and higher < 0.3
    # The instant is not seen if it is before measuring began, and is seen if it is a little later.
    assert likely(1_600.0, 0.1) == pytest.approx(likely(1_600.0, 0.1 - 1e-9))
    assert np.interp(math.log(800.0), LOGS, likely(1_600.0, 0.5)) < 0.01


def test_the_guess_gives_the_prior_of_the_capacity() -> None:
    before = law(calm=Base(0.0, 1.0, (1_050, 1.0))).before(LOGS)
    assert before is not None and best(before[AS_SAID]) == pytest.approx(1_050 - 18.4, rel=0.01)
    assert law().before(LOGS) is None


def test_under_a_closed_load_the_capacity_may_differ_a_little() -> None:
    # Even a million answers are no more exact than that.
    before = law(calm=Base(0.0, 1.0, (1_000_000, 1_000.0))).before(LOGS)
    assert before is not None
    at = np.interp(np.log([981.6, 981.6 * 1.03]), LOGS, before[AS_SAID])
    assert 0.4 < at[1] / at[0] < 0.8


def test_the_throughput_at_capacity_gives_the_capacity() -> None:
    paced = likely(1_200.0, 0.25, pace=(1_050, 1.0))
    assert best(paced) == pytest.approx(1_050 - 18.4, rel=0.02)


def test_the_most_informative_load_is_where_half_of_the_levels_hold_or_the_capacity() -> None:
    (reach,) = np.exp(law(limit_s=0.05).reach(np.log([CAPACITY - 92.1]))[AS_SAID])
    spread, drift = 2 / CAPACITY, (reach / CAPACITY - 1) * 0.05
    assert CAPACITY - 92.1 < reach < CAPACITY
    half = below(np.array(drift / spread), np.array(3 * spread / 0.05**2))
    assert half == pytest.approx(0.5, abs=0.02)
    # Below the capacity three seconds are too short for most waits to grow to 250 ms.
    assert np.exp(law().reach(np.log([CAPACITY - 18.42]))[AS_SAID]) == pytest.approx(CAPACITY, rel=1e-3)


def test_the_prior_has_its_stated_shares_and_mode() -> None:
    prior = law().prior
    assert prior.sum() == pytest.approx(1.0) and int(np.argmax(prior)) == AS_SAID


def test_if_only_arrivals_vary_more_is_known() -> None:
    assert law(calm=Base(0.0, 0.0)).prior.max() > 1.3 * law(calm=Base(0.0, 3.0)).prior.max()


def test_a_level_that_fits_no_load_has_a_stated_chance() -> None:
    held = Evidence("p99", LIMIT, 100, 0, 0, watched_s=3.0)
    broke = Evidence("p99", LIMIT, 100, 50, 1, watched_s=3.0, passed_s=1.0)
    assert law().blind(held) == 0.5 and law().blind(broke) == pytest.approx(0.1)


def test_a_longer_queue_within_the_limit_reaches_balance_later() -> None:
    assert balance_s(0.25, 100.0) == pytest.approx(3.125)
    assert balance_s(0.5, 100.0) == 4 * balance_s(0.25, 100.0) == 2 * balance_s(0.5, 50.0)


def test_half_of_the_walks_pass_at_the_returned_drift() -> None:
    times, drifts = likelihood._halves()
    within = (np.exp(times) > 0.05) & (np.exp(times) < 20)
    assert below(drifts[within], np.exp(times[within])) == pytest.approx(0.5, abs=0.02)
    assert (np.diff(drifts) <= 0).all()
