"""Looks: the error each may spend, and that all together err no more often than one look. Seeded."""

import math

import numpy as np
import pytest
from crumple.stats.sequential import ONCE, Look, Looks
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
STUDIES = 40_000


def missed(random: np.random.Generator, looks: Looks, overall: float) -> float:
    """The share of studies in which any look's interval of Student's t misses the truth, 0."""
    blocks = random.normal(size=(STUDIES, looks.most))
    any_missed = np.zeros(STUDIES, dtype=bool)
    for n in range(looks.least, (looks.ended or looks.most) + 1):
        first = blocks[:, :n]
        reach = stats.t.ppf((1 + looks.confidence(n, overall)) / 2, n - 1) * stats.sem(first, axis=1)
        any_missed |= np.abs(first.mean(axis=1)) > reach
    return float(any_missed.mean())


@pytest.mark.parametrize("overall", [0.95, 0.99, 0.8])
@pytest.mark.parametrize("looks", [
    Looks(2, 4), Looks(2, 5), Looks(2, 6), Looks(2, 12), Looks(4, 9),
    *(Looks(3, most) for most in range(4, 13)),
    *(Looks(2, most, ended) for most, ended in ((5, 3), (6, 4), (12, 3), (12, 6), (12, 11))),
    *(Looks(3, most, ended) for most, ended in ((6, 4), (6, 5), (10, 4), (10, 9), (12, 11))),
], ids=str)  # fmt: skip
def test_all_looks_together_err_no_more_often_than_one_look(looks: Looks, overall: float) -> None:
    share = missed(np.random.default_rng([looks.most, looks.least]), looks, overall)
    # Allows for three standard deviations over this number of studies.
    assert share <= 1 - overall + 3 * math.sqrt(overall * (1 - overall) / STUDIES)


@pytest.mark.parametrize("most", [4, 5, 6, 12])
def test_little_of_the_error_is_unused(most: int) -> None:
    """A union bound over twelve blocks would spend 3 %."""
    assert missed(np.random.default_rng(most), Looks(2, most), 0.95) >= 0.045


def test_a_fixed_design_has_the_full_error() -> None:
    assert ONCE.confidence(5, 0.95) == Looks(5, 5).confidence(5, 0.95) == 0.95
    assert Look(0.95).level() == 0.95
    assert Look(0.95).level(5) == pytest.approx(0.99)


@pytest.mark.parametrize("most", [3, 4, 5, 6, 12, 40, 1_000])
def test_no_look_exceeds_the_whole_error_and_the_last_has_the_most(most: int) -> None:
    looks = Looks(2, most)
    spent = [1 - looks.confidence(n, 0.95) for n in range(2, most + 1)]
    assert all(0 < each <= 0.05 for each in spent)
    assert max(spent) == spent[-1]
    assert sum(spent) >= 0.05


@pytest.mark.parametrize("most", [4, 6, 8, 12])
def test_a_first_look_at_three_blocks_has_a_quarter_of_the_error(most: int) -> None:
    looks = Looks(3, most)
    first, last = (1 - looks.confidence(n, 0.95) for n in (3, most))
    assert first >= 0.25 * 0.05 and last >= 0.25 * 0.05
    assert missed(np.random.default_rng(most), looks, 0.95) >= 0.045


@pytest.mark.parametrize("looks", [Looks(2, 6), Looks(3, 6), Looks(3, 10)], ids=str)
def test_the_look_at_the_end_of_the_time_has_the_error_left_by_those_before(looks: Looks) -> None:
    for ended in range(looks.least, looks.most):
        over = Looks(looks.least, looks.most, ended)
        before = [1 - over.confidence(n, 0.95) for n in range(looks.least, ended)]
        assert before == [1 - looks.confidence(n, 0.95) for n in range(looks.least, ended)]
        left = 1 - over.confidence(ended, 0.95)
        assert left >= 0.05 - sum(before) - 1e-12
        assert 1 - looks.confidence(ended, 0.95) < left <= 0.05 + 1e-12
    # If the time ends before the first look or after the last one, nothing changes.
    for ended in (looks.least - 1, looks.most):
        over = Looks(looks.least, looks.most, ended)
        assert [over.confidence(n, 0.95) for n in range(2, 11)] == [
            looks.confidence(n, 0.95) for n in range(2, 11)
        ]


def test_with_few_looks_the_last_one_has_nine_tenths() -> None:
    assert 1 - Looks(2, 5).confidence(5, 0.95) >= 0.9 * 0.05


def test_a_look_at_another_number_of_blocks_counts_as_the_nearest() -> None:
    looks = Looks(3, 6)
    assert looks.confidence(2, 0.95) == looks.confidence(3, 0.95)
    assert looks.confidence(9, 0.95) == looks.confidence(6, 0.95)
    assert looks.confidence(4, 0.95) != looks.confidence(3, 0.95)


def test_several_comparisons_share_the_error_of_all_looks() -> None:
    look = Look(0.95, 3, Looks(2, 6))
    assert look.level(5) == look.looks.confidence(3, 0.99)
    assert look.at(6).level() == look.looks.confidence(6, 0.95)
    assert (look.most, Look(0.95).most) == (6, None)
