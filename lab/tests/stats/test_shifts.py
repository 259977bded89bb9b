"""Shifts of a series: how often one is found where there is none, and that those there are are found."""

from collections.abc import Callable

import numpy as np
import pytest
from crumple.stats.interval import SEVERAL
from crumple.stats.shifts import ERROR, ORDERS_MAX, fewest, shifts
from numpy.typing import NDArray

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
LAWS: dict[str, Draw] = {
    "normal": lambda random, n: random.normal(size=n),
    "skewed": lambda random, n: random.lognormal(0, 1.5, size=n),
    "heavy-tailed": lambda random, n: random.standard_t(1.5, size=n),
    "a few values": lambda random, n: random.integers(0, 3, size=n).astype(float),
}
SERIES = 1_000


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("number", [8, 20, 60])
@pytest.mark.parametrize("error", [ERROR, 0.005])
def test_a_series_that_does_not_change_seldom_has_a_shift(law: str, number: int, error: float) -> None:
    random = np.random.default_rng(1)
    # Equal values in another number each time would be compared with random orders of their own.
    series = 100 if law == "a few values" else SERIES
    found = sum(bool(shifts(LAWS[law](random, number).tolist(), error)) for _ in range(series))
    # Allows for three standard deviations over the series.
    assert found / series <= error + 3 * (error * (1 - error) / series) ** 0.5


@pytest.mark.long
def test_the_error_is_used_where_values_are_many() -> None:
    random = np.random.default_rng(2)
    found = sum(bool(shifts(random.normal(size=60).tolist())) for _ in range(SERIES))
    assert found / SERIES > ERROR / 2


@pytest.mark.long
@pytest.mark.parametrize(("law", "found_share"), [("normal", 0.95), ("skewed", 0.75), ("heavy-tailed", 0.75)])
def test_a_shift_by_one_and_a_half_widths_is_found_where_it_is(law: str, found_share: float) -> None:
    random, found = np.random.default_rng(3), []
    for _ in range(200):
        values = LAWS[law](random, 30)
        low, _, high = np.quantile(LAWS[law](random, 10_000), (0.16, 0.5, 0.84))
        values[18:] += 1.5 * (high - low)
        found.append([each.at for each in shifts(values.tolist(), 0.01)])
    assert sum(any(abs(at - 18) <= 2 for at in places) for places in found) > found_share * len(found)


def test_two_shifts_are_found_one_in_the_stretch_of_the_other() -> None:
    random = np.random.default_rng(4)
    values = random.normal(size=45)
    values[15:] += 10
    values[30:] += 10
    assert [each.at for each in shifts(values.tolist())] == [15, 30]


def test_a_single_value_that_is_far_off_is_no_shift() -> None:
    values = np.random.default_rng(5).normal(size=30).tolist()
    for at in (0, 15, 29):
        assert shifts([*values[:at], 1e6, *values[at + 1 :]], 0.01) == shifts(values, 0.01) == ()


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 1.0, 1.0], [7.0] * 40])
def test_few_values_or_equal_ones_have_no_shift(values: list[float]) -> None:
    assert shifts(values) == ()


@pytest.mark.parametrize("error", [ERROR, 0.01, 0.002, ERROR / 501, ERROR / 3_000])
def test_a_shift_takes_the_number_of_values_that_is_stated(error: float) -> None:
    number = fewest(error)
    assert number is not None and number > 2 * SEVERAL and shifts(range(number), error)
    assert not shifts(range(number - 1), error)


def test_no_number_of_values_shows_a_shift_with_an_error_below_the_least_chance() -> None:
    assert fewest(0.5 / ORDERS_MAX) is None and shifts(range(60), 0.5 / ORDERS_MAX) == ()


def test_the_same_values_have_the_same_shifts() -> None:
    values = np.random.default_rng(6).normal(size=20)
    values[10:] += 3
    found = shifts(values.tolist())
    assert found == shifts(values.tolist()) != ()
    assert [each.at for each in shifts((-values).tolist())] == [each.at for each in found]
