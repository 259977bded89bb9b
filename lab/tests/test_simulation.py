"""Proof by simulation, seeded: intervals hold the truth as often as they say, twins stay alike.

Each number is a share of simulated studies whose truth is known. The bands are rule 18 of the method.
"""

from collections.abc import Callable

import numpy as np
import pytest
from crumple.stats.stats import (
    blocks_needed,
    distinguishable,
    mean_intervals,
    noise_floor,
    paired_ratio,
    unpaired_ratio,
)
from crumple.study.claim import RatioClaim, RatioPair
from crumple.verdict.effect import Answer
from crumple.verdict.verdict import judge
from made_figures import trial
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
STUDIES = 3_000
NOISE = 0.03
SLOWDOWN = 1.10

# Log ratios around a true 0: as they should be, lopsided, and with odd starts among them.
SHAPES: dict[str, Callable[[Generator, tuple[int, int]], Floats]] = {
    "normal": lambda random, size: random.normal(size=size),
    "gamma": lambda random, size: random.gamma(2, size=size) - 2,
    "exponential": lambda random, size: random.exponential(size=size) - 1,
    "lognormal": lambda random, size: random.lognormal(0, 0.5, size) - np.exp(0.125),
    "student-3": lambda random, size: random.standard_t(3, size),
    "laplace": lambda random, size: random.laplace(size=size),
}
# Shapes the method was not chosen on. On these it holds the truth too often; what that costs is width.
WIDE_SHAPES: dict[str, Callable[[Generator, tuple[int, int]], Floats]] = {
    "uniform": lambda random, size: random.uniform(-1, 1, size=size),
    "two-levels": lambda random, size: random.choice([-1.0, 1.0], size) + random.normal(0, 0.3, size),
}


def coverage(samples: Floats) -> float:
    low, high = mean_intervals(samples)
    return float(np.mean((low <= 0) & (high >= 0)))


@pytest.mark.parametrize("n", [10, 15, 30])
@pytest.mark.parametrize("shape", SHAPES)
def test_from_ten_blocks_on_95_per_cent_hold_the_truth_of_normal_skewed_and_heavy_noise(
    shape: str, n: int
) -> None:
    samples = SHAPES[shape](np.random.default_rng([n, *shape.encode()]), (STUDIES, n))
    assert 0.93 <= coverage(samples) <= 0.97


@pytest.mark.parametrize("n", [10, 15, 30])
@pytest.mark.parametrize("shape", WIDE_SHAPES)
def test_flat_and_two_level_shapes_err_on_the_wide_side_and_by_little(shape: str, n: int) -> None:
    samples = WIDE_SHAPES[shape](np.random.default_rng([n, *shape.encode()]), (STUDIES, n))
    assert coverage(samples) >= 0.95
    low, high = mean_intervals(samples)
    student = 2 * stats.t.ppf(0.975, n - 1) * stats.sem(samples, axis=1)
    assert np.median((high - low) / student) <= 1.1


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_below_ten_blocks_95_per_cent_hold_the_truth_of_normal_noise(n: int) -> None:
    samples = np.random.default_rng(n).normal(size=(5 * STUDIES, n))
    assert 0.945 <= coverage(samples) <= 0.955


@pytest.mark.parametrize(("confidence", "within"), [(0.8, 0.02), (0.99, 0.006)])
def test_other_confidences_hold_too(confidence: float, within: float) -> None:
    samples = np.random.default_rng(4).normal(size=(STUDIES, 12))
    low, high = mean_intervals(samples, confidence)
    assert np.mean((low <= 0) & (high >= 0)) == pytest.approx(confidence, abs=within)


def trials(random: Generator, blocks: int, speed: float = 10_000.0, noise: float = NOISE) -> Floats:
    return speed * np.exp(random.normal(0, noise, blocks))


def found_different(
    random: Generator, blocks: int, slowdown: float, floor: bool, noise: float = NOISE
) -> float:
    """Share of studies in which one server is told from another, `slowdown` times as slow."""
    studies = 600
    told = 0
    for _ in range(studies):
        fast, slow, first, twin = (trials(random, blocks, noise=noise) for _ in range(4))
        slow, limit = slow / slowdown, noise_floor(first, twin) if floor else 1.0
        told += distinguishable(paired_ratio(fast, slow), limit)
    return told / studies


@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_twins_are_called_different_in_at_most_5_per_cent(blocks: int) -> None:
    assert found_different(np.random.default_rng(blocks), blocks, 1.0, floor=True) <= 0.05


def test_without_the_floor_it_is_the_intervals_5_per_cent() -> None:
    told = found_different(np.random.default_rng(2), 5, 1.0, floor=False)
    assert 0.03 <= told <= 0.07


def test_a_slowdown_of_a_tenth_shows_at_ten_blocks() -> None:
    assert found_different(np.random.default_rng(1), 10, SLOWDOWN, floor=True) >= 0.9


@pytest.mark.parametrize(("noise", "blocks"), [(0.02, 5), (0.025, 5), (0.03, 6)])
def test_a_slowdown_of_a_tenth_shows_in_nine_full_runs_of_ten(noise: float, blocks: int) -> None:
    random = np.random.default_rng([blocks, round(noise * 1000)])
    assert found_different(random, blocks, SLOWDOWN, floor=True, noise=noise) >= 0.9


@pytest.mark.parametrize("noise", [0.02, 0.03])
def test_claims_of_a_ratio_that_holds_are_supported(noise: float) -> None:
    """From figures to verdict: five blocks, a published ratio that is the true one."""
    random, supported = np.random.default_rng(3), 0
    claim = RatioClaim(
        id="S", text="A claim.", kind="ratio", experiment="shared", metric="throughput",
        pairs=(RatioPair(of="x", to="y", published=1.5),),
    )  # fmt: skip
    for _ in range(200):
        swing = np.exp(random.normal(0, 0.1, 5))
        figures = [
            trial(name, block, float(10_000 * faster * swing[block - 1] * np.exp(random.normal(0, noise))),
                  twin=twin)
            for name, faster, twin in (("x", 1.5, False), ("y", 1.0, False), ("y", 1.0, True))
            for block in range(1, 6)
        ]  # fmt: skip
        verdict = judge(claim, figures)
        supported += verdict.answer is Answer.SUPPORTED and not verdict.direction_only
    assert supported >= 0.95 * 200


def test_unpaired_intervals_hold_the_truth_as_often_as_they_say() -> None:
    random, held = np.random.default_rng(11), 0
    for _ in range(STUDIES):
        one, other = np.exp(random.normal(0, 0.02, 5)), 1.1 * np.exp(random.normal(0, 0.04, 8))
        ratio, _ = unpaired_ratio(other, one)
        held += ratio.low <= 1.1 <= ratio.high
    assert 0.93 <= held / STUDIES <= 0.97


def test_of_two_that_are_not_told_apart_it_is_said_how_many_blocks_it_would_take() -> None:
    random = np.random.default_rng(12)
    ratios = [paired_ratio(trials(random, 4), trials(random, 4) / 1.03) for _ in range(300)]
    needed = [blocks_needed(ratio) for ratio in ratios if ratio.low < 1]
    known = [each for each in needed if each is not None]
    # At this noise it takes ten; the spread of four blocks is a guess, neither wild nor blind.
    assert len(known) >= 0.5 * len(needed)
    assert 6 <= np.median(known) <= 20


def test_swings_shared_by_a_block_do_not_widen_the_interval() -> None:
    random = np.random.default_rng(8)
    swing = np.exp(random.normal(0, 0.5, 10))
    fast, slow = trials(random, 10), trials(random, 10) / SLOWDOWN
    still, swinging = paired_ratio(fast, slow), paired_ratio(fast * swing, slow * swing)
    assert swinging.high - swinging.low == pytest.approx(still.high - still.low)
