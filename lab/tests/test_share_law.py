"""The law of independent slow answers: what a level says about the breaking point."""

import numpy as np
import pytest
from crumple.find.likelihood import POWERS, ShareLaw, together
from crumple.find.seen import Dispersion, Evidence
from made_levels import LIMIT, counted

# Breaking points from 100 to 10,000 per second; the level is at 1,000.
LOGS = np.linspace(np.log(100), np.log(10_000), 401)
PLAIN = ShareLaw(LIMIT, together=1.0)


def likelihood(law: ShareLaw, known: int, against: int) -> np.ndarray:
    """The likelihood of a level at 1,000 per second: curves × breaking points."""
    level = counted(1_000.0, known, against)
    return law.likelihood(level, level.evidence[0], LOGS)


def likely(law: ShareLaw, known: int, against: int) -> np.ndarray:
    """That likelihood, averaged over all curves."""
    return law.prior @ likelihood(law, known, against)


@pytest.mark.long
@pytest.mark.long
def test_the_prior_is_uniform_over_curves() -> None:
    assert PLAIN.prior.sum() == pytest.approx(1.0) and np.ptp(PLAIN.prior) == 0


def test_slow_answers_lower_the_breaking_point_and_their_absence_raises_it() -> None:
    held, broke = likely(PLAIN, 308, 0), likely(PLAIN, 50, 25)
    assert (np.diff(held) >= -1e-12).all() and held[-1] > 3 * held[0]
    assert (np.diff(broke) <= 1e-12).all() and broke[0] > 10 * broke[-1]


def test_every_curve_has_the_limit_at_the_breaking_point() -> None:
    # So a level there does not distinguish curves, and a share at the limit fits each of them perfectly.
    here = int(np.argmin(np.abs(LOGS - np.log(1_000))))
    there = likelihood(PLAIN, 10_000, 100)[:, here]
    assert there == pytest.approx(1.0, abs=1e-6)
    assert np.argmax(likely(PLAIN, 10_000, 100)) == here


def test_shares_far_beyond_the_limit_count_equally() -> None:
    # If the breaking point is a tenth of the load, all answers are slow by the steepest curve; here half
    # were.
    assert likelihood(PLAIN, 1_000, 500)[-1, 0] == pytest.approx(1.0)
    assert likelihood(PLAIN, 1_000, 20)[-1, 0] < 1e-6


def test_answers_that_count_as_one_have_the_weight_of_one() -> None:
    assert likely(ShareLaw(LIMIT, together=10.0), 3_080, 50) == pytest.approx(likely(PLAIN, 308, 5))


def test_if_levels_may_hold_above_the_lasting_load_the_breaking_point_may_be_lower() -> None:
    wide = ShareLaw(LIMIT, 1.0, gap=0.5)
    held, plain = likely(wide, 308, 0), likely(PLAIN, 308, 0)
    assert (held > plain)[np.log(950) > LOGS].all()
    assert len(wide.prior) == 3 * len(PLAIN.prior) and wide.prior.sum() == pytest.approx(1.0)


def test_the_most_informative_level_has_twice_the_limit_of_slow_answers() -> None:
    reach = PLAIN.reach(np.zeros(1))
    curve, power = reach[0, 0], POWERS[0]
    odds = 2 * LIMIT / (1 - LIMIT)
    # The first curve has no floor: -ln(1 - share) rises with this power of the load.
    share = -np.expm1(np.log1p(-LIMIT) * np.exp(power * curve))
    assert share / (1 - share) == pytest.approx(odds)
    # The steeper the curve, the nearer to the breaking point.
    assert reach.min() > 0 and reach[-1, 0] < 0.01 < reach[0, 0]


def test_a_level_that_fits_no_load_may_show_any_share() -> None:
    for known, against in ((308, 0), (308, 30), (308, 308)):
        blind = PLAIN.blind(counted(1.0, known, against).evidence[0])
        assert 0.01 < blind < 1


def varied(excess: float, freedom: int) -> Evidence:
    """Evidence with this dispersion of the slow answers."""
    return Evidence("p99", LIMIT, 1_000, 20, 5, Dispersion(excess, freedom))


def test_dispersion_is_of_all_levels_and_at_least_one() -> None:
    assert together([varied(49.0, 9), varied(50.0, 10)]) == pytest.approx(100 / 20)
    assert together([varied(3.0, 20)]) == 1.0
    assert together([]) == together([varied(0.0, 0)]) == 1.0


def test_bunched_answers_have_less_weight() -> None:
    bunched = ShareLaw(LIMIT, together([varied(199.0, 19)]))
    assert np.ptp(np.log(likely(bunched, 1_000, 30))) < 0.5 * np.ptp(np.log(likely(PLAIN, 1_000, 30)))


def test_the_unit_of_the_load_does_not_matter() -> None:
    level = counted(10.0, 308, 3)
    small = PLAIN.likelihood(level, level.evidence[0], LOGS - np.log(100))
    assert small == pytest.approx(likelihood(PLAIN, 308, 3))
