"""Variances, quantiles and the like of short rows, against numpy."""

import numpy as np
import pytest
from crumple.stats import averages
from hypothesis import given
from hypothesis import strategies as st

numbers = st.floats(-1e9, 1e9)
rows = st.lists(numbers, min_size=1, max_size=20)
NEAR = {"rel": 1e-9, "abs": 1e-3}


@pytest.mark.long
@given(st.lists(numbers, min_size=2, max_size=20))
def test_a_variance_is_that_of_a_sample(values: list[float]) -> None:
    assert averages.variance(values) == pytest.approx(np.var(values, ddof=1), **NEAR)


def test_one_value_has_no_variance() -> None:
    assert averages.variance([3.0]) == 0.0


@pytest.mark.long
@given(rows, st.floats(0, 1))
def test_a_quantile_lies_between_the_values_around_it(values: list[float], q: float) -> None:
    assert averages.quantile(values, q) == pytest.approx(np.quantile(values, q), **NEAR)


@pytest.mark.long
@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=20, unique=True), st.floats(-1100, 1100))
def test_a_value_is_interpolated_between_its_neighbours(places: list[int], at: float) -> None:
    places.sort()
    values = [float(place * place) for place in places]
    assert averages.interpolate(at, places, values) == pytest.approx(np.interp(at, places, values))


@pytest.mark.parametrize("number", [2, 3, 50])
def test_even_values_reach_from_end_to_end(number: int) -> None:
    assert averages.even(-1.0, 7.0, number) == pytest.approx(np.linspace(-1.0, 7.0, number))
    assert averages.even_on_logarithms(0.1, 7.0, number) == pytest.approx(np.geomspace(0.1, 7.0, number))
    assert averages.even(0.1, 0.7, number)[-1] == 0.7
