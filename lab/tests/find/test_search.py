"""The search: which load comes next, and how it ends, on servers that are functions of the load."""

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from crumple.find.next_level import Aim, NextLevel, Stop, Tried, next_step
from crumple.find.seen import LEAST_S, LevelOutcome
from made_levels import counted, tried

pytestmark = pytest.mark.weighs

# 1 % of the requests may be slow, and nothing is known about a queue.
AIM = Aim(
    first=500.0, lowest=1.0, highest=math.inf, step_up=1.6, whole=False, answers_needed=308, level_s=3.0,
    level_most_s=9.0, around_s=1.0, start_s=None, arrivals=None, calm=None, limit_s=0.25, seed=7,
)  # fmt: skip
CONNECTIONS = replace(AIM, first=8.0, highest=10_000.0, step_up=4.0, whole=True)
BUDGET_S = 90.0
Server = Callable[[float], LevelOutcome]


def below(edge: float) -> Server:
    """A server that holds below `edge`."""
    return lambda load: "held" if load < edge else "broke"


def at_level(number: int, outcome: LevelOutcome, otherwise: Server) -> Server:
    """A server whose level of that number, counted from 1, has `outcome`; others are those of `otherwise`."""
    count = 0

    def server(load: float) -> LevelOutcome:
        nonlocal count
        count += 1
        return outcome if count == number else otherwise(load)

    return server


def searched(
    server: Server, aim: Aim = AIM, budget_s: float = BUDGET_S
) -> tuple[str, list[Tried], list[NextLevel]]:
    """Run a search: its ending, the levels tried, the steps. Fails if a step goes beyond the time left."""
    levels: list[Tried] = []
    steps: list[NextLevel] = []
    left_s, start = budget_s, 0
    while True:
        step = next_step(levels, left_s, aim)
        if isinstance(step, Stop):
            return step.ending, levels, steps
        left_s -= step.measure_s + aim.around_s
        if step.afresh:
            start += 1
            left_s -= aim.start_s or 0.0
        assert left_s >= 0 and len(steps) < 200
        assert aim.lowest <= step.load <= aim.highest
        steps.append(step)
        levels.append(tried(step.load, server(step.load), step.purpose, start=start))


def top(levels: list[Tried]) -> float:
    """The highest load that held."""
    return max(each.load for each in levels if each.judged.outcome == "held")


def step_after(*levels: Tried, left_s: float = BUDGET_S, aim: Aim = AIM) -> NextLevel:
    """The step that follows these levels; the search must not be over."""
    step = next_step(levels, left_s, aim)
    assert isinstance(step, NextLevel)
    return step


def test_it_begins_with_the_first_guess_and_rises_by_its_step() -> None:
    assert step_after() == NextLevel(500.0, 3.0, "bracket", least_s=LEAST_S + 0.25)
    assert step_after(tried(500.0, "held")).load == pytest.approx(800)


def test_its_steps_are_squared_if_the_guess_was_far_off() -> None:
    held = [tried(load, "held") for load in (500.0, 800.0, 1_280.0)]
    assert step_after(*held[:2]).load == pytest.approx(1_280)
    assert step_after(*held).load == pytest.approx(1_280 * 1.6**2)


@pytest.mark.long
@pytest.mark.parametrize("edge", [30.0, 470.0, 510.0, 4_000.0, 60_000.0])
def test_it_finds_the_breaking_point_from_any_first_guess(edge: float) -> None:
    ending, levels, _ = searched(below(edge))
    broke = min(each.load for each in levels if each.judged.outcome == "broke")
    assert ending == "found" and 0.93 * edge < top(levels) < edge <= broke < 1.07 * edge


@pytest.mark.long
@pytest.mark.long
def test_its_phases_are_in_order_and_repeated_levels_are_not_sorted() -> None:
    _, _, steps = searched(below(1_000))
    purposes = [step.purpose for step in steps]
    assert purposes[:2] == ["bracket", "bracket"] and purposes[-1] == "repeat"
    assert purposes.index("bisect") < purposes.index("repeat")
    repeats = [step.load for step in steps if step.purpose == "repeat"]
    assert len(repeats) > 5 and repeats not in (sorted(repeats), sorted(repeats, reverse=True))


@pytest.mark.long
def test_the_same_levels_and_seed_have_the_same_answer() -> None:
    assert searched(below(1_000))[2] == searched(below(1_000))[2]
    assert searched(below(1_000), replace(AIM, seed=8))[2] != searched(below(1_000))[2]


@pytest.mark.long
@pytest.mark.parametrize("slip", [1, 2, 3, 4, 6, 9])
def test_one_level_that_broke_by_chance_costs_levels_and_not_the_result(slip: int) -> None:
    ending, levels, _ = searched(at_level(slip, "broke", below(1_000)))
    assert ending == "found" and 930 < top(levels) < 1_000


@pytest.mark.long
@pytest.mark.long
def test_one_level_that_held_by_chance_costs_levels_and_not_the_result() -> None:
    _, levels, _ = searched(at_level(3, "held", below(1_000)))
    last = [each for each in levels if each.purpose == "repeat"][-5:]
    assert all(900 < each.load < 1_100 for each in last)


@pytest.mark.parametrize(("outcome", "above"), [("held", True), ("broke", False)])
def test_levels_with_equal_outcomes_are_followed_by_one_beyond_them(
    outcome: LevelOutcome, above: bool
) -> None:
    bracket = [tried(500.0, "held"), tried(800.0, "broke")]
    bracket = bracket if above else bracket[::-1]
    alike = [tried(load, outcome, "repeat") for load in (640.0, 645.0, 650.0, 655.0, 660.0)]
    step = step_after(*bracket, *alike)
    assert step.purpose == "bracket"
    assert step.load == pytest.approx(660 * 1.1 if above else 640 / 1.1)
    farther = step_after(*bracket, *alike, tried(step.load, outcome))
    assert farther.load == pytest.approx(step.load * 1.1**2 if above else step.load / 1.1**2)


@pytest.mark.long
def test_it_starts_a_new_process_after_every_few_levels_if_it_can() -> None:
    ending, levels, steps = searched(below(1_000), replace(AIM, start_s=4.0))
    starts = [each.judged.start for each in levels]
    assert ending == "found" and starts == sorted(starts) and max(starts) >= 3
    assert all(starts.count(start) >= 3 for start in range(max(starts)))
    assert all(step.purpose == "repeat" for step in steps if step.afresh)


def test_never_holds_means_broken_twice_at_the_lowest_load() -> None:
    ending, levels, _ = searched(lambda _: "broke", replace(AIM, lowest=20.0))
    assert ending == "never" and [each.load for each in levels[-2:]] == [20.0, 20.0]


def test_it_holds_at_the_highest_load_allowed() -> None:
    ending, levels, _ = searched(lambda _: "held", replace(AIM, highest=3_000.0))
    assert ending == "highest" and levels[-1].load == 3_000.0


def test_an_undecided_level_at_the_highest_load_is_repeated() -> None:
    aim = replace(AIM, highest=800.0)
    undecided = [tried(500.0, "held"), tried(800.0, "undecided")]
    step = step_after(*undecided, aim=aim)
    assert (step.load, step.purpose) == (800.0, "repeat")
    assert next_step([*undecided, tried(800.0, "held")], BUDGET_S, aim) == Stop("highest")
    # A search whose levels are never decided lasts as long as there is time.
    ending, levels, _ = searched(lambda load: "held" if load < 800 else "undecided", aim)
    assert ending == "budget" and len(levels) > 10


def test_the_engine_reaches_its_limit_first() -> None:
    ending, levels, _ = searched(lambda load: "held" if load < 2_000 else "limited")
    assert ending == "engine" and top(levels) > 1_900


def test_the_engine_reaches_its_limit_at_every_load() -> None:
    ending, levels, _ = searched(lambda _: "limited", replace(AIM, lowest=20.0))
    assert ending == "engine" and [each.load for each in levels[-2:]] == [20.0, 20.0]


def test_a_disturbance_of_the_engine_may_end_some_levels_later() -> None:
    count = 0

    def server(load: float) -> LevelOutcome:
        nonlocal count
        count += 1
        return "limited" if count <= 9 and load > 700 else below(1_000)(load)

    ending, levels, _ = searched(server)
    assert ending == "found" and top(levels) > 900


@pytest.mark.long
def test_an_engine_limit_just_above_the_breaking_point_does_not_hide_it() -> None:
    ending, levels, _ = searched(lambda load: "limited" if load > 1_300 else below(1_000)(load))
    assert ending == "found" and not any(each.is_limited for each in levels[-5:])


@pytest.mark.long
def test_single_levels_that_are_not_valid_do_not_stop_it() -> None:
    for seed in range(10):
        draws = random.Random(seed)

        def server(load: float, draws: random.Random = draws) -> LevelOutcome:
            return "limited" if draws.random() < 0.1 else below(1_000)(load)

        ending, levels, _ = searched(server)
        assert ending == "found" and 900 < top(levels) < 1_000


def test_an_engine_limited_level_is_repeated_before_it_counts() -> None:
    once = [tried(500.0, "held"), tried(800.0, "limited")]
    assert step_after(*once).load == 800.0
    assert step_after(*once, tried(800.0, "held")).load > 800
    assert 500 < step_after(*once, once[1]).load < 800


def test_two_engine_limited_levels_around_the_breaking_point_are_a_limit_and_one_is_not() -> None:
    levels = [tried(load, "held" if load < 1_000 else "broke") for load in (850.0, 900.0, 1_100.0, 1_150.0)]
    limited = tried(930.0, "limited", "repeat")
    assert step_after(*levels, limited).load > 950
    assert 900 < step_after(*levels, limited, limited).load < 930


@pytest.mark.long
def test_numbers_of_connections_are_whole_and_small_ones_differ() -> None:
    levels: list[Tried] = []
    while isinstance(step := next_step(levels, 60.0, CONNECTIONS), NextLevel) and len(levels) < 30:
        assert step.load == round(step.load)
        levels.append(tried(step.load, "held" if step.load <= 5 else "broke", step.purpose, per_s=1_000.0))
    assert {5.0, 6.0} <= {each.load for each in levels}
    assert len([each for each in levels if each.purpose == "bisect"]) <= 6


def test_a_levels_duration_follows_from_its_answers_and_the_limit_within_bounds() -> None:
    assert step_after(aim=replace(AIM, first=100.0)).measure_s == pytest.approx(6.41)
    assert step_after(aim=replace(AIM, first=10.0)).measure_s == AIM.level_most_s
    assert step_after(aim=replace(AIM, first=10_000.0)).measure_s == AIM.level_s


def test_by_connections_answers_are_estimated_from_the_nearest_level() -> None:
    slow = step_after(tried(8.0, "held", per_s=100.0), aim=CONNECTIONS)
    fast = step_after(tried(8.0, "held", per_s=10_000.0), aim=CONNECTIONS)
    assert (slow.measure_s, fast.measure_s) == (pytest.approx(6.41), AIM.level_s)


def test_a_level_that_holds_lasts_until_a_queue_would_be_in_balance() -> None:
    # Six times the square of the limit times half the load, if that is not too long.
    by_rate = replace(AIM, arrivals=1.0)
    assert step_after(aim=replace(by_rate, first=20.0)).least_s == pytest.approx(6 * 0.25**2 * 20 / 2)
    # Otherwise a second plus the limit, within which no answer is known to be slow.
    assert step_after(aim=by_rate).least_s == LEAST_S + 0.25
    assert step_after(aim=replace(AIM, first=20.0)).least_s == LEAST_S + 0.25
    assert step_after(aim=replace(AIM, limit_s=2.0)).least_s == LEAST_S + 2.0


def test_an_undecided_level_counts_by_its_tendency() -> None:
    # 4 of 400 are no more than the limit allows.
    assert step_after(tried(500.0, "undecided")).load == pytest.approx(800)
    slow = Tried(counted(500.0, known=400, against=9), "bracket", 500.0)
    assert step_after(slow).load < 500


def test_on_the_way_down_it_stops_where_a_level_can_decide_nothing() -> None:
    # If 8 % are slow, 47 answers show it; at 10.5 per second, twice as many take the longest level.
    levels: list[Tried] = []
    while isinstance(step := next_step(levels, 1e6, replace(AIM, lowest=0.1)), NextLevel):
        levels.append(Tried(counted(step.load, 1_000, 81, "broke"), step.purpose, step.load))
    assert step.ending == "never"
    assert levels[-1].load == levels[-2].load == pytest.approx(10.49, rel=0.01)


@pytest.mark.parametrize(
    ("slow", "lowest"),
    [
        # With 50 % slow, few answers are enough far below; with 2 %, a sixteenth of the first needs many.
        (50, 500.0 / 64),
        (2, 500.0 / 16),
    ],
)
def test_it_goes_down_to_between_a_16th_and_a_64th_of_the_first_load(slow: int, lowest: float) -> None:
    levels: list[Tried] = []
    while isinstance(step := next_step(levels, 1e6, replace(AIM, lowest=0.1)), NextLevel):
        levels.append(Tried(counted(step.load, 100, slow, "broke"), step.purpose, step.load))
    assert step.ending == "never" and levels[-1].load == levels[-2].load == pytest.approx(lowest)


def test_on_the_way_down_it_halves_twice_and_then_quarters() -> None:
    _, levels, _ = searched(below(0.0), budget_s=1e6)
    assert [each.load for each in levels] == pytest.approx([500, 250, 125, 31.25, 7.8125, 7.8125])


@pytest.mark.parametrize(("budget_s", "ending"), [(2.0, "budget"), (5.0, "budget"), (20.0, "found")])
def test_it_keeps_its_budget(budget_s: float, ending: str) -> None:
    assert searched(below(1_000), budget_s=budget_s)[0] == ending


def test_the_last_level_may_be_shortened() -> None:
    assert step_after(left_s=2.5).measure_s == pytest.approx(1.5)
    assert next_step([], 2.1, AIM) == Stop("budget")


@pytest.mark.long
def test_it_ends_early_if_enough_is_known_on_enough_starts() -> None:
    def clear(starts: int) -> list[Tried]:
        loads = ((997.0, "held"), (1_003.0, "broke"))
        return [
            tried(load, outcome, "repeat", start=number % starts)
            for number in range(40)
            for load, outcome in loads
        ]

    afresh = replace(AIM, start_s=4.0)
    assert next_step(clear(1), BUDGET_S, AIM) == next_step(clear(5), BUDGET_S, afresh) == Stop("found")
    assert isinstance(next_step(clear(1)[:6], BUDGET_S, AIM), NextLevel)
    assert isinstance(next_step(clear(4), BUDGET_S, afresh), NextLevel)
