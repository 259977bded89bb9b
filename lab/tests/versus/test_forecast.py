"""The probability that blocks to come decide something: it is right as often as it says."""

import numpy as np
import pytest
from crumple.stats.estimate import Estimate, of_values
from crumple.versus import forecast
from crumple.versus.forecast import Floats
from numpy.typing import NDArray

SEED = 7


def above(low: Floats, _: Floats) -> NDArray[np.bool_]:
    """Decided by an interval that lies above 0."""
    return low > 0


def estimate(*values: float) -> Estimate:
    return of_values(values)


def test_nothing_to_come_decides_nothing() -> None:
    four = estimate(0.1, 0.2, 0.3, 0.4)
    assert forecast.chance(four, [], above) == 0.0
    assert forecast.chance(four, [None, None], above) == 0.0
    assert forecast.chance(estimate(0.1), [0.95] * 5, above) == 0.0


def test_more_blocks_and_a_larger_difference_make_it_more_probable() -> None:
    near, far = estimate(-0.1, 0.1, 0.0, 0.12), estimate(0.0, 0.2, 0.1, 0.22)
    of_near, of_far = (
        [forecast.chance(each, [0.98] * blocks, above) for blocks in (1, 4, 20)] for each in (near, far)
    )
    assert of_near == sorted(of_near) and of_far == sorted(of_far) and of_near[-1] > 0.1
    assert all(less <= more for less, more in zip(of_near, of_far, strict=True)) and of_far[-1] > 0.9
    assert forecast.chance(near, [0.98] * 4, above) == forecast.chance(near, [0.98] * 4, above)


def test_only_looks_count() -> None:
    four = estimate(0.0, 0.2, 0.1, 0.22)
    assert forecast.chance(four, [None, None, 0.98], above) < forecast.chance(four, [0.98] * 3, above)


def test_values_without_spread_stay_where_they_are() -> None:
    assert forecast.chance(estimate(0.1, 0.1, 0.1), [0.98], above) == 1.0
    assert forecast.chance(estimate(-0.1, -0.1, -0.1), [0.98], above) == 0.0


@pytest.mark.long
@pytest.mark.parametrize("known", [2, 4, 8])
def test_it_is_right_as_often_as_it_says(known: int) -> None:
    """Truths as the prior has them, as far as that can be drawn: wide in the mean, and in the variance."""
    random = np.random.default_rng([SEED, known])
    said, came = [], []
    for _ in range(3_000):
        truth, deviation = random.uniform(-4, 4), float(np.exp(random.uniform(-1.5, 1.5)))
        values = random.normal(truth, deviation, known + 6)
        chance = forecast.chance(estimate(*values[:known]), [0.95] * 6, above)
        later = [estimate(*values[:blocks]).interval(0.95).low > 1 for blocks in range(known + 1, known + 7)]
        said.append(chance)
        came.append(any(later))
    for low, high in ((0.0, 0.05), (0.05, 0.3), (0.3, 0.7), (0.7, 1.01)):
        within = [at for at, each in enumerate(said) if low <= each < high]
        mean = np.mean([said[at] for at in within])
        assert np.mean([came[at] for at in within]) == pytest.approx(mean, abs=0.07)
