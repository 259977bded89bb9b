"""What is seen of a share while a level runs: bunches, crowds, and dispersion."""

import numpy as np
import pytest
from crumple.find import seen
from crumple.find.seen import PartEvidence, Tick
from crumple.stats import shares

Counts = tuple[int, int]


def ticks(*counts: Counts, known: int | None = None) -> list[Tick]:
    """Ticks of a tenth of a second; for each how many requests ended, and how many of these were slow."""
    return [
        Tick(round((number + 1) / 10, 1), ended, known or ended, slow, slow)
        for number, (ended, slow) in enumerate(counts)
    ]


def evidence(of: list[Tick], limit_s: float | None = 0.25) -> PartEvidence:
    """The evidence for a limit of 1 %, after a second of the load."""
    return seen.evidence("p99<250ms", 0.01, of, limit_s=limit_s, settled_s=1.0)


def drawn(bunch: int, seed: int, seconds: float = 600.0) -> list[Tick]:
    """A hundred answers a tick, of which 5 % are slow, in bunches of that size within one tick."""
    noise = np.random.default_rng(seed)
    number = round(10 * seconds)
    slow = bunch * noise.binomial(100 // bunch, 0.05, number)
    return ticks(*((100, int(each)) for each in slow))


QUIET, ALL_SLOW, SOME = (10, 0), (10, 10), (10, 1)


def test_slow_answers_close_together_are_one_occasion() -> None:
    of = ticks(SOME, SOME, QUIET, QUIET, QUIET, QUIET, SOME, QUIET)
    assert seen.counted(of, 0.5) == shares.AnswerCount(80, 3, 2)
    assert seen.counted(of, 0.0).occasions == 3
    assert seen.counted(of, 10.0).occasions == 1
    assert seen.counted([], 0.5) == shares.AnswerCount(0, 0, 0)


def test_an_occasion_ends_even_if_slow_answers_continue() -> None:
    some = (10, 3)
    assert seen.counted(ticks(*[QUIET] * 60, *[some] * 20), 0.5).occasions == 4


def test_evenly_spaced_slow_answers_are_an_occasion_each() -> None:
    assert seen.counted(ticks(*[(100, 2)] * 20), 0.5) == shares.AnswerCount(2_000, 40, 38)
    # Independent slow answers are even in most levels, and bunches of twenty are even in none.
    alone, bunched = ([seen.counted(drawn(bunch, seed, 3.0), 0.5) for seed in range(50)] for bunch in (1, 20))
    assert sum(each.occasions > 0.8 * each.against for each in alone) > 40
    assert all(each.occasions <= 6 for each in bunched if each.against > 20)


def test_a_stall_is_not_evenly_spaced_even_if_each_tick_has_one_answer() -> None:
    # Ten answers a second, and for half a second all are slow: their number never varies by more.
    stall = [(1, 0)] * 30 + [(1, 1)] * 5 + [(1, 0)] * 65
    assert seen.counted(ticks(*stall), 1.0).occasions == 1
    assert seen.counted(ticks(*([(1, 0)] * 9 + [(1, 1)]) * 20), 0.5) == shares.AnswerCount(200, 20, 20)


def test_the_ends_of_a_level_do_not_decide_evenness() -> None:
    # A slow answer is known a tick before others that were due with it, and the record is not late.
    lines = [
        Tick(0.1, 0, 25, 25),
        Tick(0.2, 500, 475, 25),
        *(Tick(n / 10, 500, 500, 25) for n in range(3, 20)),
    ]
    told = seen.counted([*lines, Tick(2.0, 500, 1_000, 25)], 0.5)
    assert told == shares.AnswerCount(10_000, 500, 452)
    # A stall at the end is one occasion.
    assert seen.counted(ticks(*[(100, 2)] * 20, (100, 90)), 0.5).occasions == 40


def test_too_few_answers_do_not_decide_evenness() -> None:
    assert seen.counted(ticks(*[SOME] * 9), 0.5).occasions == 2
    assert seen.counted(ticks(*[(4, 1)] * 20), 0.5).occasions == 4


def test_within_a_crowd_half_of_the_limit_separates_occasions() -> None:
    some, half = ([QUIET] * 60 + [(10, slow)] * 20 for slow in (4, 5))
    assert seen.counted(ticks(*some), 1.0).occasions == 2
    assert seen.counted(ticks(*half), 1.0).occasions == 4


def test_evidence_says_how_much_slow_answers_vary() -> None:
    of = drawn(5, seed=3, seconds=30.0)
    for limit_s in (0.25, None):
        assert evidence(of, limit_s).dispersion == seen.dispersion(of, limit_s) != seen.Dispersion()


def test_a_bunch_continues_while_half_of_a_tick_is_slow() -> None:
    assert seen.bunches(ticks(SOME, SOME, QUIET, SOME)) == 3
    assert seen.bunches(ticks(QUIET, ALL_SLOW, ALL_SLOW, SOME, QUIET)) == 1
    # A tick in which nothing became known does not separate two bunches.
    assert seen.bunches(ticks(ALL_SLOW, (0, 0), ALL_SLOW)) == 1
    assert seen.bunches(ticks(QUIET, QUIET)) == 0


@pytest.mark.parametrize("bunch", [1, 5, 20])
def test_dispersion_equals_the_size_of_bunches(bunch: int) -> None:
    varied = seen.dispersion(drawn(bunch, seed=bunch), 0.25)
    # The dispersion is 1 where answers are independent, and the size of the bunches otherwise.
    assert varied.freedom == pytest.approx(1_199)
    assert varied.excess / varied.freedom == pytest.approx(bunch, rel=0.15)


def test_independent_answers_have_no_dispersion_even_if_half_are_slow() -> None:
    half = np.random.default_rng(4).binomial(100, 0.5, 6_000)
    varied = seen.dispersion(ticks(*((100, int(each)) for each in half)), 0.25)
    assert varied.excess / varied.freedom == pytest.approx(1.0, abs=0.15)


def test_blocks_are_as_long_as_bunches() -> None:
    of = drawn(1, seed=1)
    assert seen.dispersion(of, 0.25).freedom == 1_199
    assert seen.dispersion(of, 2.0).freedom == 149
    assert seen.dispersion(of, None).freedom == 1_199
    # With one answer a second, a block of ten known answers takes ten seconds.
    sparse = [Tick(float(second), 1, 1, second % 2, 0) for second in range(1, 101)]
    assert seen.dispersion(sparse, 0.25).freedom == 9


def test_if_none_or_all_are_slow_there_is_no_dispersion() -> None:
    assert seen.dispersion(ticks(*[QUIET] * 20), 0.25) == seen.Dispersion()
    assert seen.dispersion(ticks(*[ALL_SLOW] * 20), 0.25) == seen.Dispersion()
    assert seen.dispersion([], 0.25) == seen.Dispersion()


def test_runs_of_slow_answers_are_crowds_with_their_ends() -> None:
    crowd = evidence(ticks(QUIET, SOME, ALL_SLOW, ALL_SLOW, SOME, QUIET, SOME, QUIET))
    assert (crowd.against, crowd.crowded) == (23, 22)


def test_single_slow_answers_are_no_crowd() -> None:
    assert evidence(ticks(QUIET, SOME, SOME, QUIET)).crowded == 0
    # All three answers of a tick are slow, but three are fewer than a crowd.
    assert evidence(ticks(QUIET, (3, 3), QUIET)).crowded == 0
    assert evidence(ticks(QUIET, (4, 4), QUIET)).crowded == 4


def test_failures_count_against_the_limit_and_belong_to_no_crowd() -> None:
    failed = [Tick(tick.end_s, 10, 10, 10, 0) for tick in ticks(*[ALL_SLOW] * 5)]
    told = evidence(failed)
    assert (told.against, told.crowded, told.passed_s) == (50, 0, None)
    # Some of them are slow, but not most.
    mixed = [Tick(tick.end_s, 10, 10, 10, 4) for tick in failed]
    assert evidence(mixed).crowded == 0


def test_a_queue_passed_the_limit_before_the_first_slow_answers() -> None:
    late = evidence(ticks(*[QUIET] * 10, SOME, ALL_SLOW, ALL_SLOW))
    assert late.passed_s == pytest.approx(1.0 - 0.25)
    at_once = evidence(ticks(ALL_SLOW, ALL_SLOW))
    assert at_once.passed_s == pytest.approx(-0.25)
    assert evidence(ticks(*[QUIET] * 10, SOME, QUIET, QUIET, SOME)).passed_s is None


def test_the_throughput_at_capacity_is_that_of_the_inner_ticks_of_crowds() -> None:
    # The first tick is before the crowd; the crowd begins in the second and may end in the last.
    told = evidence(ticks((10, 0), (20, 12), (7, 7), (8, 8), (9, 9), (5, 3)))
    assert told.pace is not None and told.pace[0] == 7 + 8 + 9
    assert told.pace[1] == pytest.approx(0.3)
    assert evidence(ticks((10, 0), (20, 12), (7, 7), (8, 8), (5, 3))).pace is None


def test_without_an_ended_request_there_is_no_throughput() -> None:
    # Requests are known to be slow, and no request that was due while measuring has been answered.
    waiting = [Tick(number / 10, 0, 10, 10, 10) for number in range(1, 6)]
    after = [Tick(number / 10, 10, 10, 10, 10) for number in range(6, 12)]
    told = evidence([*waiting, *after])
    assert told.pace is not None and told.pace[0] == 40


def test_for_failures_only_numbers_are_given() -> None:
    told = evidence(ticks(QUIET, ALL_SLOW, ALL_SLOW), limit_s=None)
    assert (told.known, told.against, told.bunches) == (30, 20, 1)
    assert (told.crowded, told.passed_s, told.pace, told.limit_s) == (0, None, None, None)


def test_a_share_above_the_limit_tends_to_break() -> None:
    assert evidence(ticks(*[QUIET] * 9, SOME)).leans_against is False
    assert evidence(ticks(*[QUIET] * 8, SOME, SOME)).leans_against is True
    assert PartEvidence("p99", 0.01, 0, 0, 0).share == 0
