"""How often the interval of a search holds the true breaking point: at the noise it assumes, and on queues,
whose levels of seconds see less than what lasts.

The truth of a threshold with noise is the load at which nine in ten levels hold; of a queue the load at which
the objective holds for ever.
"""

import math
from collections.abc import Callable

import numpy as np
from crumple.find.breaking_point import LASTING, Posterior
from crumple.find.level import GROWTH_SHARE_MAX
from crumple.find.search import Aim, Step, Tried, judged, next_step
from crumple.stats.stats import Interval

# Start, load, seconds measured → whether the level holds.
Held = Callable[[int, float, float], bool]

BUDGET_S, GUESSED_S, STARTED_S, SETTLE_S = 90.0, 4.0, 3.5, 0.5
EDGE = 8_000.0
# Capacity per second, and the limit of the p99 in seconds.
QUEUES = ((1_000.0, 0.25), (1_000.0, 0.05), (5_000.0, 0.25))
SEARCHES = 30
# Within and between starts, as logarithms; without a spread of starts there is but one.
NOISE = ((0.005, 0.0), (0.03, 0.0), (0.005, 0.01), (0.01, 0.03), (0.01, 0.06))
COVERED_MIN = 0.93


def searched(held: Held, edge: float, seed: int, *, afresh: bool) -> Interval:
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
        holds = held(start, step.load, step.measure_s)
        tried.append(Tried(step.load, start, step.purpose, "held" if holds else "broke", step.load))
    return Posterior(judged(tried)).interval()


def test_the_interval_holds_the_truth_at_the_noise_it_assumes() -> None:
    covered = 0
    for within, between in NOISE:
        truth, widths = EDGE * math.exp(-LASTING * within), []
        for seed in range(SEARCHES):
            interval = searched(threshold(seed, within, between), EDGE, seed, afresh=between > 0)
            covered += interval.low <= truth <= interval.high
            widths.append(interval.high / interval.low - 1)
        # An interval that holds everything would hold the truth too.
        assert np.median(widths) < 0.03 + 4 * (within + between)
    assert covered / (SEARCHES * len(NOISE)) >= COVERED_MIN


def threshold(seed: int, within: float, between: float) -> Held:
    """Starts that break around EDGE, and levels that come out by chance near there."""
    noise = np.random.default_rng(seed)
    edges = noise.normal(math.log(EDGE), between, 40)
    return lambda start, load, _s: math.log(load) + noise.normal(0, within) < edges[start]


def queue(seed: int, capacity: float, limit_s: float) -> Held:
    """An M/M/1 queue, empty when a level begins to settle, under p99 < `limit_s`, and whether it keeps up."""
    noise = np.random.default_rng(seed)

    def held(_start: int, load: float, measure_s: float) -> bool:
        ends_s = SETTLE_S + measure_s
        due = np.sort(noise.uniform(0, ends_s, noise.poisson(load * ends_s)))
        served = np.cumsum(noise.exponential(1 / capacity, len(due)))
        ended = served + np.maximum.accumulate(due - np.concatenate([[0.0], served[:-1]]))
        measured, in_time = due >= SETTLE_S, ended <= ends_s
        late = measured & (np.minimum(ended, ends_s) - due > limit_s)
        known = measured & (in_time | late)
        grew = (~in_time).sum() - (~measured & (ended > SETTLE_S)).sum()
        limit = (GROWTH_SHARE_MAX + 1 / math.sqrt(measured.sum())) * measured.sum()
        return bool(late.sum() <= 0.01 * known.sum() and grew <= limit)

    return held


def test_the_interval_holds_what_a_queue_sustains_for_ever() -> None:
    covered = 0
    for capacity, limit_s in QUEUES:
        edge = capacity - math.log(100) / limit_s
        for seed in range(SEARCHES):
            interval = searched(queue(seed, capacity, limit_s), edge, seed, afresh=False)
            covered += interval.low <= edge <= interval.high
            assert abs(math.log(interval.estimate / edge)) < 0.1
    assert covered / (SEARCHES * len(QUEUES)) >= COVERED_MIN
