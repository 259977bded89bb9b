"""The breaking point: what levels say of it. How often its interval is right: test_find_simulation."""

import math

import pytest
from crumple.find.breaking_point import Judged, Posterior, narrowed


def levels(held: list[float], broke: list[float], start: int = 0) -> list[Judged]:
    """Levels on one start."""
    return [*(Judged(load, start, True) for load in held), *(Judged(load, start, False) for load in broke)]


def test_it_lies_between_what_held_and_what_broke() -> None:
    interval = Posterior(levels([900, 960, 980, 985], [1_015, 1_020, 1_040, 1_100])).interval()
    assert 900 < interval.low < interval.estimate < interval.high < 1_020
    assert (interval.confidence, interval.n) == (0.95, 1)


def test_the_unit_of_the_load_does_not_matter() -> None:
    small = Posterior(levels([9, 9.6], [10.2, 11])).interval()
    large = Posterior(levels([9_000, 9_600], [10_200, 11_000])).interval()
    assert large.estimate == pytest.approx(1_000 * small.estimate, rel=1e-3)
    assert large.high == pytest.approx(1_000 * small.high, rel=2e-3)


def test_more_levels_narrow_it_and_contradictions_widen_it() -> None:
    few = Posterior(levels([950], [1_050])).interval()
    many = Posterior(levels([950, 980, 990, 985, 992], [1_050, 1_012, 1_020, 1_008, 1_010])).interval()
    torn = Posterior(levels([950, 980, 1_030, 985, 1_020], [1_050, 970, 1_040, 960, 1_010])).interval()

    def width(interval: object) -> float:
        return math.log(interval.high / interval.low)  # type: ignore[attr-defined]

    assert width(many) < width(few) and width(many) < 0.4 * width(torn)


def test_a_load_at_which_half_of_the_levels_hold_does_not_last() -> None:
    torn = levels([900, 940, 980, 1_000, 1_030], [970, 1_000, 1_020, 1_060, 1_100])
    assert Posterior(torn).interval().estimate < 970
    (half,) = Posterior(torn).of_start(0, [0.5], lasting=False)
    assert half == pytest.approx(1_000, rel=0.02)


def test_one_slip_does_not_move_it() -> None:
    clear = levels([900, 950, 980, 985, 990], [1_010, 1_015, 1_020, 1_050])
    slipped = [*clear, Judged(700, 0, False)]
    clean, with_slip = Posterior(clear).interval(), Posterior(slipped).interval()
    assert with_slip.estimate == pytest.approx(clean.estimate, rel=0.02)


def test_starts_that_break_elsewhere_widen_it() -> None:
    alike = [level for start in range(3) for level in levels([980, 990], [1_010, 1_020], start)]
    apart = [
        level
        for start, factor in enumerate((0.95, 1.0, 1.05))
        for level in levels([980 * factor, 990 * factor], [1_010 * factor, 1_020 * factor], start)
    ]
    near, far = Posterior(alike).interval(), Posterior(apart).interval()
    assert far.n == near.n == 3
    assert far.high / far.low > 2 * (near.high / near.low) - 1
    assert far.low < 950 and far.high > 1_000


def test_of_a_start_not_seen_less_is_known_than_of_one_that_was() -> None:
    posterior = Posterior(levels([980, 990, 985], [1_010, 1_020, 1_015]))
    ends = {start: posterior.of_start(start, (0.1, 0.9), lasting=False) for start in (0, 1)}
    assert ends[1][0] < ends[0][0] and ends[1][1] > ends[0][1]


def test_the_load_to_try_next_halves_the_bracket() -> None:
    low, middle, high = narrowed(levels([500], [800]), 0.9)
    assert 500 < low < middle < high < 800
    assert middle == pytest.approx(math.sqrt(500 * 800), rel=0.05)
