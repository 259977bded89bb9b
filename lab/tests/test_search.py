"""The search: which load comes next, and how it ends, on servers that are functions of a load."""

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from crumple.find.search import Aim, Outcome, Step, Stop, Tried, next_step

AIM = Aim(
    first=500.0, lowest=1.0, highest=math.inf, step_up=1.6, whole=False, requests_needed=1_000,
    level_s=3.0, around_s=1.0, start_s=None, seed=7,
)  # fmt: skip
BUDGET_S = 90.0
Server = Callable[[float], Outcome]


def below(edge: float) -> Server:
    """It holds below that load."""
    return lambda load: "held" if load < edge else "broke"


def searched(
    server: Server, aim: Aim = AIM, budget_s: float = BUDGET_S
) -> tuple[str, list[Tried], list[Step]]:
    """How it ends, what was tried, and the steps to it. Fails where it plans beyond its time."""
    tried: list[Tried] = []
    steps: list[Step] = []
    left_s, start = budget_s, 0
    while True:
        step = next_step(tried, left_s, aim)
        if isinstance(step, Stop):
            return step.ending, tried, steps
        left_s -= step.measure_s + aim.around_s
        if step.afresh:
            start += 1
            left_s -= aim.start_s or 0.0
        assert left_s >= 0 and len(steps) < 200
        assert aim.lowest <= step.load <= aim.highest
        steps.append(step)
        tried.append(Tried(step.load, start, step.purpose, server(step.load), step.load))


def test_it_begins_with_the_first_guess_and_rises_by_its_step() -> None:
    first = next_step([], BUDGET_S, AIM)
    assert first == Step(500.0, 3.0, "bracket")
    second = next_step([Tried(500.0, 0, "bracket", "held", 500.0)], BUDGET_S, AIM)
    assert isinstance(second, Step) and second.load == pytest.approx(800)


@pytest.mark.parametrize("edge", [30.0, 470.0, 510.0, 4_000.0, 60_000.0])
def test_it_closes_in_on_the_edge_from_any_first_guess(edge: float) -> None:
    ending, tried, _ = searched(below(edge), replace(AIM, requests_needed=20))
    held = max(each.load for each in tried if each.outcome == "held")
    broke = min(each.load for each in tried if each.outcome == "broke")
    assert ending == "found" and 0.97 * edge < held < edge <= broke < 1.03 * edge


def test_its_phases_come_in_order_and_repeats_are_not_sorted() -> None:
    _, _, steps = searched(below(1_000))
    purposes = [step.purpose for step in steps if step.purpose != "bracket"]
    assert purposes == sorted(purposes) and purposes[0] == "bisect" and purposes[-1] == "repeat"
    repeats = [step.load for step in steps if step.purpose == "repeat"]
    assert len(repeats) > 5 and repeats not in (sorted(repeats), sorted(repeats, reverse=True))


def test_the_same_levels_and_seed_have_the_same_answer() -> None:
    assert searched(below(1_000))[2] == searched(below(1_000))[2]
    other = searched(below(1_000), replace(AIM, seed=8))[2]
    assert other != searched(below(1_000))[2]


@pytest.mark.parametrize("slip", [1, 2, 3, 4, 6, 9])
def test_a_hiccup_costs_levels_and_not_the_answer(slip: int) -> None:
    edge, count = 1_000.0, 0

    def hiccup(load: float) -> Outcome:
        nonlocal count
        count += 1
        return "broke" if count == slip else below(edge)(load)

    ending, tried, _ = searched(hiccup)
    held = sorted(each.load for each in tried if each.outcome == "held")
    assert ending == "found" and 0.96 * edge < held[-1] < edge


def test_one_lucky_level_above_the_edge_costs_levels_and_not_the_answer() -> None:
    count = 0

    def lucky(load: float) -> Outcome:
        nonlocal count
        count += 1
        return "held" if count == 3 else below(1_000)(load)

    _, tried, _ = searched(lucky)
    last = [each for each in tried if each.purpose == "repeat"][-5:]
    assert all(900 < each.load < 1_100 for each in last)


def test_it_takes_a_fresh_start_for_every_few_levels_where_it_can() -> None:
    ending, tried, steps = searched(below(1_000), replace(AIM, start_s=4.0))
    starts = [each.start for each in tried]
    assert ending == "found" and starts == sorted(starts) and max(starts) >= 3
    assert all(starts.count(start) >= 3 for start in range(max(starts) + 1))
    assert all(step.purpose == "repeat" for step in steps if step.afresh)


def test_it_never_holds_means_twice_at_the_lowest() -> None:
    ending, tried, _ = searched(lambda _: "broke", replace(AIM, lowest=20.0, requests_needed=20))
    assert ending == "never" and [each.load for each in tried[-2:]] == [20.0, 20.0]


def test_it_holds_at_the_highest_it_may_try() -> None:
    ending, tried, _ = searched(lambda _: "held", replace(AIM, highest=3_000.0))
    assert ending == "highest" and tried[-1].load == 3_000.0


def test_the_engine_gives_in_first() -> None:
    ending, tried, _ = searched(lambda load: "held" if load < 2_000 else "limited")
    assert ending == "engine"
    assert max(each.load for each in tried if each.outcome == "held") > 1_900


def test_what_disturbed_the_engine_may_be_over_some_levels_later() -> None:
    count = 0

    def server(load: float) -> Outcome:
        nonlocal count
        count += 1
        return "limited" if count <= 9 and load > 700 else below(1_000)(load)

    ending, tried, _ = searched(server)
    assert ending == "found" and max(each.load for each in tried if each.outcome == "held") > 900


def test_the_engine_gives_in_little_above_the_edge_which_is_found_all_the_same() -> None:
    def server(load: float) -> Outcome:
        return "limited" if load > 1_300 else below(1_000)(load)

    ending, tried, _ = searched(server)
    assert ending == "found" and all(each.outcome != "limited" for each in tried[-5:])


def test_levels_that_were_not_valid_by_chance_do_not_stop_it() -> None:
    tops = []
    for seed in range(20):
        draws = random.Random(seed)

        def server(load: float, draws: random.Random = draws) -> Outcome:
            return "limited" if draws.random() < 0.1 else below(1_000)(load)

        ending, tried, _ = searched(server)
        assert ending == "found"
        tops.append(max(each.load for each in tried if each.outcome == "held"))
    assert all(900 < top < 1_000 for top in tops)


def test_a_limited_level_is_tried_again_before_it_counts() -> None:
    once = [Tried(500.0, 0, "bracket", "held", 500.0), Tried(800.0, 0, "bracket", "limited", 800.0)]
    again = next_step(once, BUDGET_S, AIM)
    assert isinstance(again, Step) and again.load == 800.0
    held = next_step([*once, Tried(800.0, 0, "bracket", "held", 800.0)], BUDGET_S, AIM)
    limited = next_step([*once, once[1]], BUDGET_S, AIM)
    assert isinstance(held, Step) and held.load > 800
    assert isinstance(limited, Step) and 500 < limited.load < 800


def test_connections_are_whole_and_few_of_them_are_told_apart() -> None:
    aim = replace(AIM, first=8.0, lowest=1.0, highest=10_000.0, step_up=4.0, whole=True)

    def server(connections: float) -> Outcome:
        return "held" if connections <= 5 else "broke"

    tried: list[Tried] = []
    while isinstance(step := next_step(tried, 60.0, aim), Step) and len(tried) < 30:
        assert step.load == round(step.load)
        tried.append(Tried(step.load, 0, step.purpose, server(step.load), 1_000.0))
    loads = {each.load for each in tried}
    assert {5.0, 6.0} <= loads and len([each for each in tried if each.purpose == "bisect"]) <= 6


def test_a_level_lasts_until_the_objective_can_be_known() -> None:
    slow = next_step([], BUDGET_S, replace(AIM, first=100.0))
    assert isinstance(slow, Step) and slow.measure_s == pytest.approx(12.0)
    fast = next_step([], BUDGET_S, replace(AIM, first=10_000.0))
    assert isinstance(fast, Step) and fast.measure_s == 3.0


def test_too_few_answers_extend_the_level_and_never_count_as_holding() -> None:
    unknown = Tried(500.0, 0, "bracket", "unknown", 100.0)
    again = next_step([unknown], BUDGET_S, AIM)
    assert isinstance(again, Step) and again.load == 500.0 and again.measure_s == pytest.approx(12.0)
    longer = next_step([unknown, unknown], BUDGET_S, AIM)
    assert isinstance(longer, Step) and longer.measure_s > again.measure_s
    assert next_step([unknown, unknown, unknown], BUDGET_S, AIM) == Stop("unknown")
    assert next_step([unknown], 5.0, AIM) == Stop("unknown")
    assert next_step([replace(unknown, answers_per_s=0.0)], BUDGET_S, AIM) == Stop("unknown")


@pytest.mark.parametrize(("budget_s", "ending"), [(3.0, "budget"), (9.0, "budget"), (20.0, "found")])
def test_it_keeps_to_its_time(budget_s: float, ending: str) -> None:
    assert searched(below(1_000), budget_s=budget_s)[0] == ending


def test_it_ends_before_its_time_where_enough_is_known() -> None:
    ending, tried, _ = searched(below(1_000), budget_s=2_000.0)
    assert ending == "found" and len(tried) < 100
