"""Student's t, the beta and the gamma functions, and what follows from them, against scipy."""

import math

import pytest
from crumple.stats import beta, gamma, shares, student
from crumple.verdict import comparison
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from scipy.stats import binom, fisher_exact


@pytest.mark.long
@given(st.floats(0.5, 1e4), st.floats(1e-6, 1 - 1e-6))
def test_quantiles_of_student_are_those_of_scipy(freedom: float, probability: float) -> None:
    known = float(special.stdtrit(freedom, probability))
    assert student.quantile(freedom, probability) == pytest.approx(known, rel=1e-8, abs=1e-8)


def test_student_is_symmetric_and_its_middle_is_0() -> None:
    assert student.quantile(4, 0.5) == 0.0
    assert student.quantile(4, 0.025) == -student.quantile(4, 0.975)
    # With one degree of freedom it is Cauchy's distribution: tan(π/4) = 1.
    assert student.quantile(1, 0.75) == pytest.approx(math.tan(math.pi / 4))


def test_with_endless_freedom_it_is_the_normal_distribution() -> None:
    assert student.quantile(math.inf, 0.975) == pytest.approx(float(special.ndtri(0.975)))
    assert student.quantile(1e9, 0.975) == pytest.approx(float(special.ndtri(0.975)), rel=1e-6)


def test_an_interval_reaches_to_the_quantile_beyond_which_half_of_the_rest_lies() -> None:
    assert student.of_interval(4) == student.quantile(4, 0.975) == pytest.approx(2.776, abs=5e-4)
    assert student.of_interval(4, 0.99) == pytest.approx(4.604, abs=5e-4)


@pytest.mark.long
@given(st.floats(0.5, 1e6), st.floats(0.5, 1e6), st.floats(1e-4, 1 - 1e-4))
def test_the_inverse_of_the_beta_function_is_that_of_scipy(a: float, b: float, share: float) -> None:
    known = float(special.betaincinv(a, b, share))
    assert beta.inverse(a, b, share) == pytest.approx(known, rel=1e-7)
    assert beta.incomplete(a, b, known) == pytest.approx(share, rel=1e-6)


@given(st.floats(0.01, 1e6))
def test_the_derivatives_of_the_gamma_function_are_those_of_scipy(x: float) -> None:
    assert gamma.digamma(x) == pytest.approx(float(special.digamma(x)), rel=1e-12, abs=1e-13)
    assert gamma.trigamma(x) == pytest.approx(float(special.polygamma(1, x)), rel=1e-12)
    assert gamma.tetragamma(x) == pytest.approx(float(special.polygamma(2, x)), rel=1e-12)


@given(st.integers(0, 60), st.integers(1, 60))
def test_the_chance_at_half_is_that_of_a_fair_coin(times: int, of: int) -> None:
    known = float(binom.sf(times - 1, of, 0.5))
    assert shares.chance_at_half(times, of) == pytest.approx(known, rel=1e-9, abs=1e-15)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_the_chance_of_lost_starts_is_fishers(
    lost: int, kept: int, lost_before: int, kept_before: int
) -> None:
    table = [[lost, kept], [lost_before, kept_before]]
    known = float(fisher_exact(table, alternative="greater").pvalue)
    found = comparison._lost_by_chance(lost, lost + kept, lost_before, lost_before + kept_before)
    assert found == pytest.approx(known, rel=1e-9)


def test_newtons_method_does_not_leave_the_interval_of_the_root() -> None:
    # A step from the flat end would lead far beyond it.
    assert beta.root(
        lambda x: (math.tanh(x) - 0.5, 1 / math.cosh(x) ** 2), -20.0, 20.0, 9.0
    ) == pytest.approx(math.atanh(0.5))
