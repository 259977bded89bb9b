"""How versions are told apart: known answers. test_versus_simulation.py tests how often they are right."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from crumple.stats.sequential import Looks
from crumple.versus import standing
from crumple.versus.letters import FIRST, TWIN
from crumple.versus.standing import LookResult, Ratio, Rows, Rule
from scipy.stats import t

ONE_LOOK = Rule(("p50",), ("B",), Looks(5, 5), 0.05, confidence=0.95)
NOISE = (0.98, 1.01, 1.0, 1.03, 0.99, 1.02)
TWIN_NOISE = (1.01, 0.99, 1.02, 0.98, 1.0, 0.99)
OTHER_NOISE = (1.0, 1.02, 0.98, 1.0, 1.01, 0.97)


def rows(times: float, noise: Sequence[float] = OTHER_NOISE, twin: float = 1.0) -> Rows:
    """Blocks in which B takes so many times as long as A, and its twin so many times."""

    def of(factor: float, values: Sequence[float]) -> dict[int, float]:
        return {block: 5e6 * factor * each for block, each in enumerate(values, 1)}

    return {"p50": {FIRST: of(1, NOISE), TWIN: of(twin, TWIN_NOISE), "B": of(times, noise)}}


def ratio(rule: Rule, times: float, blocks: int = 5, **changes: object) -> Ratio:
    (found,) = standing.look(rule, rows(times, **changes), blocks).ratios  # type: ignore[arg-type]
    return found


def test_a_ratio_is_that_to_the_mean_of_a_and_its_twin_with_students_interval() -> None:
    logs = [
        math.log(b) - (math.log(a) + math.log(twin)) / 2
        for a, twin, b in zip(NOISE[:5], TWIN_NOISE[:5], OTHER_NOISE[:5], strict=True)
    ]
    mean = sum(logs) / 5
    error = math.sqrt(sum((each - mean) ** 2 for each in logs) / 4 / 5)
    reach = t.ppf(0.975, 4) * error
    found = ratio(ONE_LOOK, 1.2).interval
    assert found is not None and found.n == 5
    ends = (math.exp(mean + math.log(1.2) + sign * reach) for sign in (-1, 1))
    assert (found.low, found.high) == pytest.approx((*ends,))


@pytest.mark.parametrize(
    ("times", "answer"), [(1.2, "different"), (0.8, "different"), (1.0, "alike"), (1.01, "alike")]
)
def test_it_is_decided_where_the_whole_interval_lies(times: float, answer: str) -> None:
    assert ratio(ONE_LOOK, times).answer == answer


def test_the_tolerance_says_what_is_alike() -> None:
    assert ratio(ONE_LOOK, 1.02).answer == "alike"
    assert ratio(replace(ONE_LOOK, tolerance=0.03), 1.02).answer == "undecided"


def test_more_comparisons_widen_each_interval() -> None:
    one = ratio(ONE_LOOK, 1.1).interval
    several = replace(ONE_LOOK, figures=("p50", "p90", "p99", "throughput"))
    of_four = standing.look(several, rows(1.1), 5).ratios[0].interval
    assert one is not None and of_four is not None
    assert of_four.confidence == pytest.approx(1 - 0.05 / 4)
    assert of_four.low < one.low < one.high < of_four.high


def test_earlier_looks_have_wider_intervals_than_a_single_one() -> None:
    several = ratio(replace(ONE_LOOK, looks=Looks(4, 12)), 1.1).interval
    once = ratio(ONE_LOOK, 1.1).interval
    assert several is not None and once is not None and several.low < once.low


def test_when_the_time_is_over_the_look_has_the_error_that_is_left() -> None:
    rule = replace(ONE_LOOK, looks=Looks(4, 12))
    seen = standing.look(rule, rows(1.1), 6).ratios[0].interval
    last = standing.look(rule, rows(1.1), 6, time_is_over=True).ratios[0].interval
    assert seen is not None and last is not None and seen.low < last.low


def test_when_the_time_is_over_before_the_first_look_there_is_one() -> None:
    # Turns that had to be repeated leave three blocks of four.
    rule = replace(ONE_LOOK, looks=Looks(4, 4))
    (early,), (last,) = (
        standing.look(rule, rows(3.0), 3, time_is_over=over).ratios for over in (False, True)
    )
    assert (early.answer, early.why) == ("undecided", "it takes 4 blocks")
    assert last.answer == "different" and last.interval is not None
    assert last.interval.confidence == pytest.approx(0.95)
    alike = standing.look(rule, rows(1.0), 3, time_is_over=True)
    assert alike.ratios[0].answer == "undecided" and not alike.is_early


def test_nothing_is_said_of_a_figure_in_which_a_differs_from_its_twin() -> None:
    found = ratio(ONE_LOOK, 1.5, twin=1.3)
    assert (found.answer, found.why) == ("undecided", "A differs from its own twin in it, too")


def test_before_the_first_look_nothing_is_decided() -> None:
    found = ratio(replace(ONE_LOOK, looks=Looks(4, 12)), 3.0, blocks=3)
    assert found.answer == "undecided" and found.interval is not None


def test_blocks_in_which_a_turn_does_not_count_are_left_out() -> None:
    made = rows(1.2)
    own = dict(made["p50"])
    twin = {block: value for block, value in own[TWIN].items() if block not in (2, 3)}
    (found,) = standing.look(ONE_LOOK, {"p50": {**own, TWIN: twin}}, 5).ratios
    assert found.interval is not None and found.interval.n == 3
    (found,) = standing.look(ONE_LOOK, {"p50": {**own, TWIN: {1: 1.0}}}, 5).ratios
    assert found.interval is None and found.answer == "undecided" and found.chance == 1.0
    (found,) = standing.look(ONE_LOOK, {}, 5).ratios
    assert found.interval is None


def test_what_a_look_has_decided_stays_decided() -> None:
    rule = replace(ONE_LOOK, looks=Looks(4, 12))
    decided, later = (standing.look(rule, rows(times), 5) for times in (1.3, 1.02))
    (found,) = standing.standing([decided, later])
    assert found is decided.ratios[0]
    (found,) = standing.standing([later, replace_blocks(later)])
    assert found.blocks == 6
    assert standing.standing([]) == ()


def replace_blocks(seen: LookResult) -> LookResult:
    return LookResult(tuple(replace(each, blocks=each.blocks + 1) for each in seen.ratios), seen.blocks + 1)


def test_it_goes_on_as_long_as_a_further_block_may_decide() -> None:
    rule = replace(ONE_LOOK, looks=Looks(4, 30))
    near = standing.look(rule, rows(1.03), 5).ratios
    assert near[0].needed is not None and near[0].needed > 5
    assert near[0].chance > 0.9 and standing.goes_on(near)
    (soon,) = standing.look(replace(rule, looks=Looks(4, 6)), rows(1.03), 5).ratios
    assert soon.chance < near[0].chance
    (last,) = standing.look(replace(rule, looks=Looks(4, 5)), rows(1.03), 5).ratios
    assert last.chance == 0.0 and not standing.goes_on([last])
    assert not standing.goes_on(standing.look(rule, rows(1.3), 5).ratios)


def test_small_chances_of_several_figures_add_up() -> None:
    (found,) = standing.look(replace(ONE_LOOK, looks=Looks(4, 30)), rows(1.03), 5).ratios
    small = replace(found, chance=0.6 * standing.NO_USE)
    assert not standing.goes_on([small]) and standing.goes_on([small, small])


def test_a_figure_of_which_no_block_counts_is_given_up_in_the_end() -> None:
    rule = replace(ONE_LOOK, looks=Looks(4, 30))
    assert standing.goes_on(standing.look(rule, {}, 7).ratios)
    assert not standing.goes_on(standing.look(rule, {}, 8).ratios)


def test_a_bound_stays_open_while_the_interval_includes_it() -> None:
    rule = replace(ONE_LOOK, bounds={"p50": (1.1, 1.5)})
    found = ratio(rule, 1.1)
    assert [(each.at, each.is_open) for each in found.bounds] == [(1.1, True), (1.5, False)]


def test_a_bound_stays_open_where_the_twin_differs_or_blocks_are_few() -> None:
    rule = replace(ONE_LOOK, bounds={"p50": (1.5,)})
    assert ratio(rule, 1.1, twin=1.3).bounds[0].is_open
    assert ratio(rule, 1.1, blocks=4).bounds[0].is_open
    (without,) = standing.look(rule, {}, 5).ratios
    assert without.bounds[0].is_open


def test_a_bound_that_a_look_has_closed_stays_closed() -> None:
    rule = replace(ONE_LOOK, looks=Looks(4, 12), bounds={"p50": (1.2,)})
    noisy = rows(1.1, (*OTHER_NOISE[:5], 1.6))
    seen = [standing.look(rule, noisy, blocks) for blocks in (5, 6)]
    assert [each.ratios[0].bounds[0].is_open for each in seen] == [False, True]
    assert standing.open_bounds(seen) == []
    assert standing.at_bound(seen, "B", "p50", 1.2) == (seen[0].ratios[0], True)
    assert standing.at_bound(seen[1:], "B", "p50", 1.2) == (seen[1].ratios[0], False)
    assert standing.at_bound(seen, "C", "p50", 1.2) is None


def test_it_goes_on_while_an_open_bound_could_be_closed() -> None:
    rule = replace(ONE_LOOK, looks=Looks(5, 30), bounds={"p50": (1.21,)})
    seen = [standing.look(rule, rows(1.2), 5)]
    (bound,) = standing.open_bounds(seen)
    ratios = standing.standing(seen)
    assert ratios[0].answer == "different" and bound.chance > standing.NO_USE
    assert not standing.goes_on(ratios) and standing.goes_on(ratios, [bound])
    assert not standing.goes_on(ratios, [replace(bound, chance=0.0)])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["a later look", "an earlier look"])
def test_nothing_is_decided_where_any_look_sees_a_differ_from_its_twin(order: tuple[int, int]) -> None:
    rule = replace(ONE_LOOK, looks=Looks(2, 6), bounds={"p50": (1.1,)})
    calm = standing.look(rule, rows(1.5), 5)
    assert [each.answer for each in standing.standing([calm])] == ["different"]
    shown = standing.at_bound([calm], "B", "p50", 1.1)
    assert shown is not None and shown[1] and standing.open_bounds([calm]) == []
    odd = standing.look(rule, rows(1.5, twin=1.3), 6)
    both = [(calm, odd)[at] for at in order]
    (found,) = standing.standing(both)
    assert found.answer == "undecided" and found.why == standing.VETOED and found.twin_differs
    assert standing.at_bound(both, "B", "p50", 1.1) == (found, False)
    bounds = standing.open_bounds(both)
    assert [each.at for each in bounds] == [1.1]
    assert not standing.goes_on([found], bounds)


def test_a_look_that_is_too_early_to_decide_is_no_veto() -> None:
    rule = replace(ONE_LOOK, looks=Looks(4, 6))
    early = standing.look(rule, rows(1.5, twin=1.3), 3)
    assert early.ratios[0].twin_differs
    (found,) = standing.standing([early, standing.look(rule, rows(1.5), 5)])
    assert found.answer == "different"


@pytest.mark.parametrize(
    ("letter", "answers"),
    [
        ("B", ["different", "undecided", "undecided"]),
        (FIRST, ["undecided", "undecided", "different"]),
        (TWIN, ["undecided", "undecided", "different"]),
    ],
)
def test_a_version_of_which_a_value_is_only_a_bound_is_not_called_faster_or_alike(
    letter: str, answers: list[str]
) -> None:
    rule = replace(ONE_LOOK, bounds={"p50": (1.1,)})
    bounded = {"p50": {letter: [2]}}
    seen = [standing.look(rule, rows(times), 5, bounded=bounded).ratios[0] for times in (1.4, 1.0, 0.7)]
    assert [each.answer for each in seen] == answers
    assert {each.why for each in seen if each.answer == "undecided"} == {standing.UNREACHED}
    assert [each.bounds[0].is_open for each in seen[::2]] == [each != "different" for each in answers[::2]]
    assert not standing.goes_on([each for each in seen if each.answer == "undecided"])


@pytest.mark.parametrize(
    ("letters", "reachable"),
    [([], {0.97, 1.03}), (["B"], {1.03}), ([FIRST], {0.97}), ([TWIN], {0.97}), ([FIRST, "B"], set())],
)
def test_it_does_not_go_on_for_what_an_open_end_makes_unreachable(
    letters: list[str], reachable: set[float]
) -> None:
    """Where B is only bounded it can be shown to be slower, and where A is, B can be shown to be faster."""
    rule = replace(ONE_LOOK, looks=Looks(4, 30), bounds={"p50": (1.0,)})
    bounded = {"p50": {letter: [2] for letter in letters}}
    for times in (0.97, 1.03):
        (found,) = standing.look(rule, rows(times), 5, bounded=bounded).ratios
        assert (found.answer, found.why) == ("undecided", "the interval includes 1")
        assert standing.goes_on([found]) == (times in reachable)
        (bound,) = found.bounds
        assert bound.is_open and (bound.chance > standing.NO_USE) == (times in reachable)
        assert (found.needed is None) == (times not in reachable)


def test_what_is_shown_of_a_figure_after_a_veto_is_the_look_that_vetoes() -> None:
    rule = replace(ONE_LOOK, looks=Looks(2, 6), bounds={"p50": (1.1,)})
    odd = standing.look(rule, rows(1.5, twin=1.3), 4)
    both = [odd, standing.look(rule, rows(1.5), 6)]
    (found,) = standing.standing(both)
    assert (found.blocks, found.why) == (4, standing.VETOED) and found.twin_differs
    assert standing.at_bound(both, "B", "p50", 1.1) == (found, False)


def test_a_bound_of_a_later_block_says_nothing_of_an_earlier_look() -> None:
    seen = standing.look(ONE_LOOK, rows(0.7), 5, bounded={"p50": {"B": [6]}})
    assert seen.ratios[0].answer == "different"
