"""The interval of the difference of two shares: published values, and how often it holds the truth."""

import numpy as np
import pytest
from crumple.stats import shares


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        # Newcombe (Statistics in Medicine 17, 1998), table II, method 10.
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((5, 56, 0, 29), -0.0381, 0.1926),
        ((0, 10, 0, 20), -0.1611, 0.2775),
        ((10, 10, 0, 10), 0.6075, 1.0000),
    ],
)
def test_the_interval_is_newcombes(counts: tuple[int, int, int, int], low: float, high: float) -> None:
    assert shares.difference(*counts) == pytest.approx((low, high), abs=1e-4)


def test_swapped_the_difference_changes_its_sign() -> None:
    low, high = shares.difference(49, 100, 3, 40)
    assert shares.difference(3, 40, 49, 100) == pytest.approx((-high, -low))


@pytest.mark.parametrize("share", [0.02, 0.3, 0.97])
def test_it_holds_the_truth_in_about_95_of_100(share: float) -> None:
    drawn = np.random.default_rng(7)
    held = 0
    for found, other in zip(
        drawn.binomial(2_000, share, 2_000), drawn.binomial(50, share, 2_000), strict=True
    ):
        low, high = shares.difference(int(found), 2_000, int(other), 50)
        held += low <= 0 <= high
    assert held >= 0.93 * 2_000
