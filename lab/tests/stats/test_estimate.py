"""Intervals: known answers and properties. test_simulation.py tests their coverage."""

import math

import numpy as np
import pytest
from crumple.stats.bootstrap import mean_intervals
from crumple.stats.estimate import geometric_mean, paired_ratio
from crumple.stats.interval import Interval
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

speeds = st.lists(st.floats(100, 1e6), min_size=2, max_size=14)
paired = st.lists(st.tuples(st.floats(100, 1e6), st.floats(100, 1e6)), min_size=2, max_size=14)


def noise(n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(100, 1, n)


def close(one: Interval, other: Interval) -> bool:
    return np.allclose([one.estimate, one.low, one.high], [other.estimate, other.low, other.high], rtol=1e-9)


def test_five_blocks_have_students_interval_on_logarithms() -> None:
    of, to = [10.0, 12.0, 11.0, 13.0, 9.0], [5.0, 5.5, 6.0, 6.1, 4.4]
    logs = np.log(np.array(of) / np.array(to))
    low, high = reference.t.interval(0.95, 4, loc=logs.mean(), scale=reference.sem(logs))
    ratio = paired_ratio(of, to)
    assert ratio.estimate == pytest.approx(math.exp(logs.mean()))
    assert (ratio.low, ratio.high) == pytest.approx((math.exp(low), math.exp(high)))
    assert (ratio.n, ratio.confidence) == (5, 0.95)


def test_two_blocks_by_hand() -> None:
    # Logs 0 and ln 4: mean ln 2, standard error ln 2, and t(1) at 97.5 % is 12.706.
    ratio = paired_ratio([1.0, 4.0], [1.0, 1.0])
    assert ratio.estimate == pytest.approx(2)
    assert ratio.low == pytest.approx(2 ** (1 - 12.7062), rel=1e-4)
    assert ratio.high == pytest.approx(2 ** (1 + 12.7062), rel=1e-4)


def test_from_ten_blocks_on_the_interval_follows_the_skew() -> None:
    skewed = np.exp(np.random.default_rng(5).exponential(0.1, 12))
    ratio = paired_ratio(skewed, np.ones(12))
    assert math.log(ratio.high / ratio.estimate) > 1.1 * math.log(ratio.estimate / ratio.low)
    nine = paired_ratio(skewed[:9], np.ones(9))
    assert math.log(nine.high / nine.estimate) == pytest.approx(math.log(nine.estimate / nine.low))


def test_one_outlier_does_not_make_the_interval_useless() -> None:
    logs = np.append(np.linspace(-0.001, 0.001, 9), 0.1)
    (low,), (high,) = mean_intervals(logs[np.newaxis])
    student = reference.t.ppf(0.975, 9) * reference.sem(logs)
    assert 0.9 * student <= high - logs.mean() <= 2.001 * student
    assert 0.899 * student <= logs.mean() - low <= 2.001 * student


@pytest.mark.long
@given(paired)
def test_swapping_inverts(pairs: list[tuple[float, float]]) -> None:
    of, to = zip(*pairs, strict=True)
    there, back = paired_ratio(of, to), paired_ratio(to, of)
    assert there.estimate * back.estimate == pytest.approx(1)
    # The bootstrap draws the same resamples both ways, so its tails are exchanged.
    assert there.low * back.high == pytest.approx(1, rel=1e-6)


@pytest.mark.long
@given(paired, st.floats(1e-3, 1e3))
def test_scaling_both_changes_nothing(pairs: list[tuple[float, float]], factor: float) -> None:
    of, to = np.array(pairs).T
    assert close(paired_ratio(of, to), paired_ratio(of * factor, to * factor))


@pytest.mark.long
@given(paired, st.floats(1e-3, 1e3))
def test_scaling_one_scales_the_ratio(pairs: list[tuple[float, float]], factor: float) -> None:
    of, to = np.array(pairs).T
    plain, scaled = paired_ratio(of, to), paired_ratio(of * factor, to)
    assert scaled.estimate == pytest.approx(plain.estimate * factor)
    assert scaled.high == pytest.approx(plain.high * factor)


@pytest.mark.long
@given(speeds)
def test_an_estimate_lies_in_its_interval(values: list[float]) -> None:
    interval = geometric_mean(values)
    assert interval.low <= interval.estimate <= interval.high
    assert interval.n == len(values)


@settings(max_examples=30)
@given(speeds)
def test_higher_confidence_gives_a_wider_interval(values: list[float]) -> None:
    wide, narrow = geometric_mean(values, 0.99), geometric_mean(values, 0.9)
    assert wide.low <= narrow.low and narrow.high <= wide.high


def test_the_seed_fixes_the_result_and_is_kept() -> None:
    samples = noise(12)[np.newaxis]
    assert mean_intervals(samples, seed=1) == mean_intervals(samples, seed=1)
    assert mean_intervals(samples, seed=1) != mean_intervals(samples, seed=2)


def test_one_start_gives_no_interval() -> None:
    assert paired_ratio([4.0], [2.0]) == Interval(2.0, 0.0, math.inf, 0.95, 1)


@pytest.mark.parametrize("n", [2, 5, 10])
def test_equal_values_give_an_interval_of_no_width(n: int) -> None:
    ratio = paired_ratio([3.0] * n, [2.0] * n)
    assert (ratio.low, ratio.estimate, ratio.high) == pytest.approx((1.5, 1.5, 1.5))


@pytest.mark.parametrize(
    ("of", "to"), [([], []), ([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([-1.0], [1.0]), ([math.nan], [1.0])]
)
def test_values_without_a_ratio_are_refused(of: list[float], to: list[float]) -> None:
    with pytest.raises(ValueError):
        paired_ratio(of, to)
