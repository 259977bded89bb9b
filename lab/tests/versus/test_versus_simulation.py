"""Seeded simulations: alike versions are told apart in 5 % of comparisons at most, and a tenth is seen.

Blocks, figures and looks are those of a comparison of two minutes; only the figures of each turn are made up.
"""

from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest
from crumple.stats.sequential import Looks
from crumple.versus import lengths, standing
from crumple.versus.calibrating import Calibrated
from crumple.versus.standing import Figure, Ratio, Rows, Rule
from crumple.versus.versus_plan import ALIKE
from simulated_versions import NOISE, QUICK, SLOW_START, SPREAD, WATCHED, drawn, planned

pytestmark = pytest.mark.long

# A tenth more CPU time for each answer also lengthens the queue at a rate.
SLOWER: Mapping[Figure, float] = {"p50": 1.1, "p90": 1.1, "p99": 1.1, "throughput": 1 / 1.1, "cpu": 1.1}
GIVEN_UP_STUDIES = 40
STUDIES_OF_TWINS = 400


def compared(rule: Rule, rows: Rows) -> tuple[Ratio, ...]:
    """What a comparison comes to that looks after every block, and ends as `versus_course` ends it."""
    seen = []
    for blocks in range(rule.looks.least, rule.looks.most + 1):
        seen.append(standing.look(rule, rows, blocks))
        if not standing.goes_on(standing.standing(seen)):
            break
    return standing.standing(seen)


def share(
    kind: str,
    looks: Looks,
    figures: tuple[Figure, ...],
    studies: int,
    *,
    slower: bool,
    times_as_noisy: float = 1.0,
) -> float:
    """The share of comparisons in which B is called different in any figure."""
    rule = Rule(figures, ("B",), looks, ALIKE)
    random = np.random.default_rng([looks.most, len(figures), *kind.encode()])
    called = 0
    for _ in range(studies):
        ratios = compared(rule, drawn(random, kind, rule, SLOWER if slower else {}, times_as_noisy))
        called += any(each.answer == "different" for each in ratios)
    return called / studies


def given_up_wrongly(rule: Rule, rows: Rows) -> bool | None:
    """Whether it ends early, and would have decided more had it gone on; None: it does not end early."""
    seen, ended = [], None
    for blocks in range(rule.looks.least, rule.looks.most + 1):
        seen.append(standing.look(rule, rows, blocks))
        ratios = standing.standing(seen)
        if all(each.is_decided for each in ratios):
            break
        if ended is None and blocks < rule.looks.most and not standing.goes_on(ratios):
            ended = ratios
    if ended is None:
        return None
    last = standing.standing(seen)
    return any(late.is_decided and not early.is_decided for early, late in zip(ended, last, strict=True))


@pytest.mark.parametrize("kind", NOISE)
def test_it_ends_early_only_where_going_on_would_have_decided_nothing(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng([1, *kind.encode()])
    found: list[bool | None] = []
    for most, noisier, slower in product((6, 12), (1.0, 2.5), (False, True)):
        rule = Rule(WATCHED, ("B",), Looks(lengths.LEAST, most), ALIKE)
        spreads = {figure: noisier * spread for figure, spread in SPREAD.items()}
        with monkeypatch.context() as changed:
            changed.setattr("test_versus_simulation.SPREAD", spreads)
            found += [
                given_up_wrongly(rule, drawn(random, kind, rule, SLOWER if slower else {}, 1.0))
                for _ in range(GIVEN_UP_STUDIES)
            ]
    ended = [each for each in found if each is not None]
    assert len(ended) > 0.1 * len(found), "it still ends early where going on is of no use"
    assert sum(ended) <= 0.01 * len(found)


@pytest.mark.parametrize("known", [QUICK, SLOW_START], ids=["quick", "slow start"])
@pytest.mark.parametrize("kind", NOISE)
def test_a_server_is_told_from_itself_in_five_per_cent_at_most(kind: str, known: Calibrated) -> None:
    assert share(kind, planned(known), WATCHED, 300, slower=False) <= 0.05


@pytest.mark.parametrize("kind", ["normal", "odd turns"])
def test_that_holds_where_one_of_them_is_three_times_as_noisy(kind: str) -> None:
    assert share(kind, planned(QUICK), WATCHED, 300, slower=False, times_as_noisy=3.0) <= 0.05


@pytest.mark.parametrize("figures", [WATCHED, WATCHED[:-1]], ids=["watched", "not watched"])
@pytest.mark.parametrize("kind", NOISE)
def test_a_tenth_is_seen_in_nine_of_ten_comparisons_of_two_minutes(
    kind: str, figures: tuple[Figure, ...]
) -> None:
    assert share(kind, planned(QUICK), figures, 100, slower=True) >= 0.9


def test_a_server_that_warms_up_for_long_leaves_fewer_blocks() -> None:
    assert planned(SLOW_START).most == lengths.LEAST < planned(QUICK).most


# In turns of half a second figures differ this many times as much: a quarter of the requests is counted, and
# others use the machine, too.
SHORT_TIMES_AS_NOISY = 3.0
SHORT: Mapping[Figure, float] = {name: SHORT_TIMES_AS_NOISY * each for name, each in SPREAD.items()}
FOUR = Looks(lengths.LEAST, lengths.LEAST)


def answers_of_short(kind: str, times: float, studies: int, looks: Looks = FOUR) -> list[tuple[Ratio, ...]]:
    """What comparisons in a short budget come to, if B takes `times` as long as A at the median."""
    rule = Rule(("p50", "throughput", "cpu"), ("B",), looks, ALIKE)
    random = np.random.default_rng([round(10 * times), looks.most, *kind.encode()])
    differs: Mapping[Figure, float] = {"p50": times, "throughput": 1 / times}
    return [compared(rule, drawn(random, kind, rule, differs, 1.0, SHORT)) for _ in range(studies)]


@pytest.mark.parametrize("kind", NOISE)
def test_in_the_shortest_budget_twins_are_seldom_called_different(kind: str) -> None:
    found = answers_of_short(kind, 1.0, STUDIES_OF_TWINS)
    called = sum(any(each.answer == "different" for each in ratios) for ratios in found)
    assert called / len(found) <= 0.05


@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize("times", [7.0, 30.0])
def test_in_the_shortest_budget_a_large_difference_is_decided(kind: str, times: float) -> None:
    found = answers_of_short(kind, times, 100)
    decided = sum(
        all(each.answer == "different" for each in ratios if each.figure != "cpu") for ratios in found
    )
    assert decided / len(found) >= 0.97


def test_over_two_blocks_a_large_difference_is_not_decided() -> None:
    found = answers_of_short("normal", 7.0, 100, Looks(2, 2))
    assert sum(any(each.answer == "different" for each in ratios) for ratios in found) < 60
