"""How often the interval of a search holds the true breaking point: at the noise it assumes, and on queues,
whose levels of seconds see less than what lasts.

The truth of a threshold with noise is the load at which nine in ten levels hold; of a queue the load at which
the objective holds for ever.
"""

import math

import numpy as np
import pytest
from crumple.breaking_point import LASTING, Posterior
from crumple.level import GROWTH_SHARE_MAX
from crumple.search import Aim, Step, Tried, judged, next_step
from crumple.stats import Interval

BUDGET_S, GUESSED_S, STARTED_S = 90.0, 4.0, 3.5
SEARCHES = 40
# Of a nominal 95 % interval; two standard errors of so many searches are allowed for.
COVERED_MIN = 0.93 - 2 * math.sqrt(0.93 * 0.07 / SEARCHES)


def searched(held: object, edge: float, seed: int, *, afresh: bool) -> Interval:
    """The interval of one search; `held`: start, load, seconds → whether a level holds."""
    aim = Aim(
        first=0.5 * edge, lowest=1.0, highest=math.inf, step_up=1.6, whole=False, requests_needed=1_000,
        level_s=2.5, around_s=0.8, start_s=STARTED_S if afresh else None, seed=seed,
    )  # fmt: skip
    tried: list[Tried] = []
    left_s, start = BUDGET_S - GUESSED_S, 0
    while isinstance(step := next_step(tried, left_s, aim), Step):
        if step.afresh:
            start += 1
            left_s -= STARTED_S
        left_s -= step.measure_s + aim.around_s
        outcome = "held" if held(start, step.load, step.measure_s) else "broke"  # type: ignore[operator]
        tried.append(Tried(step.load, start, step.purpose, outcome, step.load))
    return Posterior(judged(tried)).interval()


@pytest.mark.parametrize(
    ("within", "between"),
    [(0.005, 0.0), (0.03, 0.0), (0.005, 0.01), (0.01, 0.03), (0.03, 0.03), (0.01, 0.06)],
)
def test_the_interval_holds_the_truth_at_the_noise_it_assumes(within: float, between: float) -> None:
    truth, covered, widths = 8_000 * math.exp(-LASTING * within), 0, []
    for seed in range(SEARCHES):
        random = np.random.default_rng(seed)
        starts = random.normal(math.log(8_000), between, 40)

        def held(
            start: int, load: float, _s: float, edges: object = starts, noise: np.random.Generator = random
        ) -> bool:
            return bool(math.log(load) + noise.normal(0, within) < edges[start])  # type: ignore[index]

        interval = searched(held, 8_000, seed, afresh=between > 0)
        covered += interval.low <= truth <= interval.high
        widths.append(interval.high / interval.low - 1)
    assert covered / SEARCHES >= COVERED_MIN
    # An interval that holds everything would cover it too.
    assert np.median(widths) < 0.03 + 4 * (within + between)


def queue(
    random: np.random.Generator, load: float, capacity: float, limit_s: float, measure_s: float
) -> bool:
    """Whether a level on an M/M/1 queue, empty to begin with, holds p99 < `limit_s` and keeps up."""
    settle_s = 0.5
    ends_s = settle_s + measure_s
    due = np.sort(random.uniform(0, ends_s, random.poisson(load * ends_s)))
    served = np.cumsum(random.exponential(1 / capacity, len(due)))
    ended = served + np.maximum.accumulate(due - np.concatenate([[0.0], served[:-1]]))
    measured, in_time = due >= settle_s, ended <= ends_s
    late = measured & (np.minimum(ended, ends_s) - due > limit_s)
    known = measured & (in_time | late)
    grew = (measured & ~in_time).sum() + (~measured & ~in_time).sum() - (~measured & (ended > settle_s)).sum()
    keeps_up = grew <= (GROWTH_SHARE_MAX + 1 / math.sqrt(measured.sum())) * measured.sum()
    return bool(late.sum() <= 0.01 * known.sum() and keeps_up)


@pytest.mark.parametrize(("capacity", "limit_s"), [(1_000.0, 0.25), (1_000.0, 0.05), (5_000.0, 0.25)])
def test_the_interval_holds_what_a_queue_sustains_for_ever(capacity: float, limit_s: float) -> None:
    edge, covered = capacity - math.log(100) / limit_s, 0
    for seed in range(SEARCHES):
        random = np.random.default_rng(seed)

        def held(_start: int, load: float, seconds: float, noise: np.random.Generator = random) -> bool:
            return queue(noise, load, capacity, limit_s, seconds)

        interval = searched(held, edge, seed, afresh=False)
        covered += interval.low <= edge <= interval.high
        assert abs(math.log(interval.estimate / edge)) < 0.1
    assert covered / SEARCHES >= COVERED_MIN
