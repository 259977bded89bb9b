"""Comparisons of simulated versions whose figures scatter in a known way."""

import math
from collections.abc import Callable, Mapping

import numpy as np
from crumple.stats.sequential import Looks
from crumple.versus import lengths
from crumple.versus.calibrating import Calibrated
from crumple.versus.letters import FIRST, TWIN
from crumple.versus.standing import Figure, Rows, Rule
from crumple.versus.versus_plan import BUDGET_S
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]


# How much turns of one server differ beyond what a block has in common, measured on two virtual cores.
SPREAD: Mapping[Figure, float] = {"p50": 0.05, "p90": 0.08, "p99": 0.25, "throughput": 0.025, "cpu": 0.013}


WATCHED: tuple[Figure, ...] = ("p50", "p90", "p99", "throughput", "cpu")


SWING = 0.1


COMMON_SHARE = 0.5


NOISE: dict[str, Callable[[Generator, tuple[int, int]], Floats]] = {
    "normal": lambda random, size: random.normal(size=size),
    "skewed": lambda random, size: random.exponential(size=size) - 1,
    "odd turns": lambda random, size: random.standard_t(3, size) / math.sqrt(3),
}


# What was learned of a server that answers a request in a millisecond and starts in half a second.
QUICK = Calibrated((), 1_000.0, 1.0, 0.5)


# And of one that takes long to warm up.
SLOW_START = Calibrated((), 1_000.0, 4.0, 2.5)


def planned(known: Calibrated) -> Looks:
    """The looks of a comparison of two such servers in the default budget."""
    left_s = BUDGET_S - 2 * (4.0 + known.beside_s)
    laid_out = lengths.lengths((known, known), 0.5 * known.per_s, BUDGET_S, left_s)
    looks = lengths.looks(laid_out.block_s, left_s)
    assert looks is not None
    return looks


def drawn(
    random: Generator,
    kind: str,
    rule: Rule,
    times: Mapping[Figure, float],
    times_as_noisy: float,
    spread: Mapping[Figure, float] | None = None,
) -> Rows:
    """Every block of one comparison; figures of a turn resemble each other, and so do turns of a block.

    `times`: figure → how many times as much B has of it.
    """
    blocks = rule.looks.most
    noise, swing = NOISE[kind], random.normal(0, SWING, blocks)
    common = noise(random, (3, blocks))
    made: dict[Figure, dict[str, dict[int, float]]] = {}
    for figure in rule.figures:
        own = math.sqrt(COMMON_SHARE) * common + math.sqrt(1 - COMMON_SHARE) * noise(random, (3, blocks))
        own[2] *= times_as_noisy
        logs = swing + (spread or SPREAD)[figure] * own
        logs[2] += math.log(times.get(figure, 1.0))
        made[figure] = {
            letter: {block: math.exp(value) for block, value in enumerate(row, 1)}
            for letter, row in zip((FIRST, TWIN, "B"), logs, strict=True)
        }
    return made
