"""Levels that broke before the server got faster do not count, and others do."""

from dataclasses import replace

import pytest
from crumple.find import next_level, outgrown
from crumple.find.breaking_point import binding
from crumple.find.seen import Base, Judged, PartEvidence

CALM = Base(median_s=0.0004, variation=1.7, pace=(4_338, 1.0))
LIMIT_S = 0.25


def level(load: float, broke_at_s: float | None = None, start: int = 0) -> Judged:
    """A level of 1.3 s with p99 within 250 ms; or a queue had grown beyond that at `broke_at_s`."""
    against = 0 if broke_at_s is None else round(load)
    pace = None if broke_at_s is None else (3_500, 1.0)
    seen = PartEvidence(
        "p99", 0.01, round(load), against, bunches=int(against > 0), crowded=against, settled_s=1.0,
        watched_s=1.3, passed_s=broke_at_s, pace=pace, limit_s=LIMIT_S,
    )  # fmt: skip
    return Judged(load, start, "broke" if against else "held", (seen,), CALM)


# A JVM that compiles while it is searched: the second level broke, and far higher loads held later.
WARMS = [level(3_254), level(5_206, 0.1), *(level(load) for load in (4_120, 4_332, 4_285, 4_772))]
WARM = [*WARMS, level(5_774), level(7_685)]


def test_a_level_that_broke_before_higher_loads_held_does_not_count() -> None:
    assert outgrown.outgrown(WARM) == [False, True, *[False] * 6]
    levels, calm = outgrown.now(WARM, CALM)
    assert [each.load for each in levels][-2:] == [5_774, 7_685]
    assert binding(WARM, 1.0, CALM) is None
    assert calm == replace(CALM, pace=None)


def test_one_level_beyond_may_hold_by_chance() -> None:
    assert not any(outgrown.outgrown(WARM[:-1]))
    assert not any(outgrown.outgrown([*WARMS, level(5_300), level(5_400), level(5_600)]))
    assert outgrown.now(WARMS, CALM)[1] == CALM


@pytest.mark.weighs
def test_who_breaks_again_has_not_got_faster() -> None:
    assert not any(outgrown.outgrown([*WARM, level(6_000, 0.2)]))
    # Beyond what held it may break, and a search looks for the edge there.
    for edge in (
        [level(9_000, 0.2)],
        [level(8_200, 0.2)],
        [level(8_200, 0.2), level(7_900)],
        [level(9_000, 0.2), level(8_300), level(8_600, 0.2)],
        [level(9_000, 0.2), level(8_300), level(8_200, 0.2)],
    ):
        assert sum(outgrown.outgrown([*WARM, *edge])) == 1
        tried = [*WARM, *edge]
        found = binding(tried, 1.0, CALM)
        assert found is not None and found.point(tried).estimate > 6_500


def test_more_levels_than_broke_have_to_hold() -> None:
    # Near its limit a server breaks and holds by chance: five of eight broke between 990 and 1,130.
    noisy = [
        level(900),
        *(level(load, 0.5) for load in (1_000, 1_000, 1_005, 990)),
        level(1_110),
        level(1_120),
    ]
    assert not any(outgrown.outgrown(noisy))
    two = [level(900), level(1_000, 0.5), level(1_110), level(1_120)]
    assert sum(outgrown.outgrown(two)) == 1
    assert not any(outgrown.outgrown([*two, level(1_130, 0.5)]))


def test_a_level_that_is_outgrown_does_not_keep_an_earlier_one() -> None:
    tried = [level(700), level(1_000, 0.5), level(1_150), level(1_100, 0.5), level(1_300), level(1_320)]
    assert outgrown.outgrown(tried) == [False, True, False, True, False, False]
    assert outgrown.outgrown(outgrown.now(tried, CALM)[0]) == [False] * 4


def test_another_start_says_nothing_of_this_one() -> None:
    assert not any(outgrown.outgrown([level(5_206, 0.1), level(5_774, start=1), level(7_685, start=1)]))


@pytest.mark.weighs
def test_the_search_goes_on_upwards() -> None:
    aim = next_level.Aim(
        first=3_254, lowest=1, highest=100_000, step_up=1.6, whole=False, answers_needed=500, level_s=1.25,
        level_most_s=3.0, around_s=1.0, start_s=None, arrivals=1.0, calm=CALM, limit_s=LIMIT_S, seed=1,
    )  # fmt: skip
    tried = [next_level.Tried(each, "bracket", each.load) for each in WARM]
    step = next_level.next_step(tried, 20.0, aim)
    assert isinstance(step, next_level.NextLevel) and step.load > 7_685
    before = next_level.next_step(tried[:-2], 20.0, aim)
    assert isinstance(before, next_level.NextLevel) and before.load == pytest.approx(4_772, rel=0.2)
