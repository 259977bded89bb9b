"""How long the loads of a turn last, and how many blocks fit into the time. Pure.

A load at the rate lasts until it has the answers for p99, or for a lower quantile where that takes too long.
Where the time is short, loads are shorter: four blocks of short loads show a large difference, which two of
long ones do not, as the spread over two blocks is as good as unknown.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from crumple.load.load_shape import ArrivalKind
from crumple.record.histogram import SAMPLES_BEYOND
from crumple.stats.sequential import Looks
from crumple.versus.calibrating import REWARM_S, Calibrated
from crumple.versus.standing import Figure
from crumple.versus.turn import QUANTILES

# The usual lengths of a closed load and of a load at the rate, where the answers come fast.
CLOSED_S, RATE_S = 1.0, 1.2
# The answers for which a closed load lasts, and the longest that it may last for them, in seconds.
CLOSED_ANSWERS, CLOSED_S_MAX = 400.0, 3.0
# The factor by which a load is longer than the rate would need, because by chance fewer requests may come.
MORE = 1.1
# The longest load at the rate for each quantile, the highest first.
LONGEST_S: tuple[tuple[Figure, float], ...] = (("p99", 3.0), ("p90", 5.0), ("p50", 10.0))
# The least number of blocks that the budget should have room for; longer loads give way to them.
BLOCKS_WANTED = 6
# The shortest closed load and the shortest load at a rate, in seconds, whatever the budget is.
CLOSED_S_LEAST, RATE_S_LEAST = 0.4, 0.5
# What the engine takes for two loads, beside these and beside the server's start.
ENGINE_S = 0.25
# The number of blocks after which is the first look, and which a comparison has at least; and how many times
# as long as planned a block may take.
LEAST, SPARE = 4, 1.15
# The step to which a budget that is named is rounded up, in seconds; and how much longer versions may be
# calibrated with it, as a factor.
BUDGET_STEP_S, CALIBRATES_LONGER = 5.0, 1.5
# The most blocks: looks at more have not been simulated (stats.sequential).
MOST = 60


@dataclass(frozen=True)
class Loads:
    """How the versions are loaded."""

    budget_s: float
    rate_per_s: float | None
    """The rate; None: `share` of what the slowest takes."""
    share: float
    connections: int
    warm_up_s: float | None
    """How long a start is warmed up; None: as long as its throughput rises."""
    arrivals: ArrivalKind
    tolerance: float
    """A difference below it counts as none."""
    seed: int


@dataclass(frozen=True)
class Lengths:
    """How a block is laid out."""

    closed_s: float
    rate_s: float
    block_s: float
    """How long a block takes in all."""
    quantiles: tuple[Figure, ...]
    """The quantiles for which there are enough answers."""


def lengths(
    known: Sequence[Calibrated], rate_per_s: float, budget_s: float, left_s: float = math.inf
) -> Lengths:
    """Return the lengths for these versions, the first of which has a twin. `left_s`: of the budget."""
    slowest = min(each.per_s for each in known)
    closed_s = min(CLOSED_S_MAX, max(CLOSED_S, CLOSED_ANSWERS / slowest))
    around_s = sum(each.beside_s + each.warm_up_s + REWARM_S + ENGINE_S for each in (known[0], *known))
    turns = len(known) + 1
    room_s = (budget_s / BLOCKS_WANTED - around_s) / turns - closed_s
    rate_s = RATE_S
    for quantile, longest_s in LONGEST_S:
        needed_s = MORE * SAMPLES_BEYOND / (1 - QUANTILES[quantile]) / rate_per_s
        if needed_s <= min(longest_s, max(RATE_S, room_s)):
            rate_s = max(RATE_S, needed_s)
            break
    closed_s, rate_s = _in_time(closed_s, rate_s, rate_per_s, (left_s / SPARE / LEAST - around_s) / turns)
    answers = rate_per_s * rate_s / MORE
    has = tuple(name for name, q in QUANTILES.items() if answers * (1 - q) >= SAMPLES_BEYOND * (1 - 1e-9))
    return Lengths(closed_s, rate_s, around_s + turns * (closed_s + rate_s), has)


def _in_time(closed_s: float, rate_s: float, rate_per_s: float, room_s: float) -> tuple[float, float]:
    """Return the lengths of both loads of a turn, shortened if they take more than `room_s` together.

    The load at the rate keeps the answers for the median.
    """
    median_s = MORE * SAMPLES_BEYOND / (1 - QUANTILES["p50"]) / rate_per_s
    rate_least_s, closed_least_s = min(rate_s, max(RATE_S_LEAST, median_s)), min(closed_s, CLOSED_S_LEAST)
    share = min(1.0, max(0.0, room_s) / (closed_s + rate_s))
    rate_s = max(rate_least_s, share * rate_s)
    return min(closed_s, max(closed_least_s, room_s - rate_s)), rate_s


def looks(block_s: float, left_s: float) -> Looks | None:
    """Return after which blocks to look, if a block takes `block_s`; None: fewer than LEAST fit."""
    most = min(MOST, math.floor(left_s / block_s + 1e-9))
    return Looks(LEAST, most) if most >= LEAST else None


def budget_s(block_s: float, calibrating_s: float) -> float:
    """Return a budget that is enough, by what a block and what is before the first one take.

    With a larger budget versions may be calibrated for longer.
    """
    needed_s = SPARE * (CALIBRATES_LONGER * calibrating_s + LEAST * block_s)
    return BUDGET_STEP_S * math.ceil(needed_s / BUDGET_STEP_S)
