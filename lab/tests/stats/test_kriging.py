"""Surfaces between points: what they say there, elsewhere, of what was left out, and what readings give."""

import math
from typing import Any

import numpy as np
import pytest
from crumple.stats import kriging
from crumple.stats.kriging import Manner, Places, Readings, Surface

MANNER = Manner(amplitude=0.2, length=0.4, noise=0.01)
AT = [(0.1, 0.2, 0.3), (0.5, 0.5, 0.5), (0.9, 0.1, 0.6), (0.4, 0.8, 0.2)]
VALUES = (0.1, -0.2, 0.15, 0.05)


def places(*at: tuple[float, float, float], doubt: float = 1.0) -> Places:
    return Places.of(at, [doubt] * len(at))


def readings(at: Places, values: Any) -> Readings:
    return Readings(at, np.array(values, dtype=float), np.zeros(len(values)))


def surface(values: tuple[float, ...] = VALUES, manner: Manner = MANNER) -> Surface:
    return Surface(readings(places(*AT[: len(values)]), values), manner)


def test_a_surface_goes_through_what_was_read() -> None:
    assert surface().mean(places(*AT)) == pytest.approx(VALUES, abs=0.005)
    assert surface().error(places(*AT)) == pytest.approx([0.01] * 4, rel=0.05)


def test_a_reading_that_may_be_off_counts_less() -> None:
    doubtful = Readings(places(*AT), np.array(VALUES), np.array([0.0, 0.2, 0.0, 0.0]))
    found = Surface(doubtful, MANNER)
    assert found.mean(places(AT[0])) == pytest.approx([VALUES[0]], abs=0.01)
    assert -0.15 < found.mean(places(AT[1]))[0] < 0.0
    assert 0.08 < found.error(places(AT[1]))[0] < 0.15


def test_far_from_all_readings_it_is_the_law_and_off_as_much_as_laws_are() -> None:
    far = places((9.0, 9.0, 9.0))
    assert surface().mean(far) == pytest.approx([0.0], abs=1e-12)
    assert surface().error(far) == pytest.approx([0.2])
    assert surface().error(places((9.0, 9.0, 9.0), doubt=2.0)) == pytest.approx([0.4])


def test_without_readings_it_is_the_law() -> None:
    empty = Surface(readings(places(), []), MANNER)
    assert [*empty.mean(places(*AT))] == [0.0] * 4
    assert empty.error(places(*AT)) == pytest.approx([0.2] * 4)
    assert empty.log_likelihood == 0.0
    assert empty.widening == 1.0


def test_what_is_said_of_a_reading_left_out_is_what_the_others_say() -> None:
    for number, found in enumerate(surface().left_out):
        others = [at for at in range(4) if at != number]
        rest = Surface(readings(places(*(AT[at] for at in others)), [VALUES[at] for at in others]), MANNER)
        here = places(AT[number])
        error = math.hypot(rest.error(here)[0], MANNER.noise)
        assert found.off == pytest.approx(VALUES[number] - rest.mean(here)[0])
        assert found.error == pytest.approx(error)


def test_the_gain_of_a_reading_is_by_how_much_it_lessens_the_variances() -> None:
    cells, candidate = places((0.3, 0.3, 0.3), (0.7, 0.4, 0.5)), places((0.35, 0.4, 0.3), doubt=1.5)
    weights = np.array([1.0, 3.0])
    with_it = Places(
        np.vstack([places(*AT).at, candidate.at]), np.concatenate([np.ones(4), candidate.doubts])
    )
    then = Surface(readings(with_it, [*VALUES, 0.0]), MANNER)
    before, after = surface().error(cells) ** 2, then.error(cells) ** 2
    assert surface().gain(candidate, cells, weights) == pytest.approx([weights @ (before - after)])


def test_intervals_widen_if_readings_left_out_lie_further_off_than_was_said() -> None:
    at = [(x / 8, 0.5, 0.5) for x in range(kriging.OWN_FROM)]
    jagged = np.array([0.1 * (-1) ** number for number in range(len(at))])
    found = Surface(readings(places(*at), jagged), MANNER)
    assert found.widening > 3
    few = Surface(readings(places(*at[:-1]), jagged[:-1]), MANNER)
    assert few.widening == 1.0


@pytest.mark.long
def test_the_likeliest_manner_is_near_the_true_one_and_its_intervals_hold() -> None:
    rng, within = np.random.default_rng(1), []
    true = Manner(amplitude=0.1, length=0.4, noise=0.02)
    for _ in range(12):
        at = Places(rng.random((40, 3)), np.ones(40))
        covariance = Surface(readings(at, np.zeros(40)), true)._alike(at, at)
        values = rng.multivariate_normal(np.zeros(40), covariance + 1e-10 * np.eye(40))
        read = values[:25] + rng.normal(0, true.noise, 25)
        seen = readings(Places(at.at[:25], at.doubts[:25]), read)
        found = Surface(seen, kriging.likeliest([seen], usual=0.1))
        rest = Places(at.at[25:], at.doubts[25:])
        within += [*(np.abs(found.mean(rest) - values[25:]) <= kriging.Z * found.error(rest))]
    assert np.mean(within) >= 0.88
