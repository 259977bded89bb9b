"""The map of made-up servers, of which the truth is known: who is said to be best, and how often it is."""

import random
from functools import cache
from typing import Any

import made_maps
import pytest
from crumple.model_map import next_points
from crumple.model_map.model_map import ALIKE_WITHIN, ModelMap, Spot
from crumple.study.map_points import MapPoint
from made_maps import LOADED, NATURES, begun, point

pytestmark = pytest.mark.long

# More than half of a quick run, so that the tests take less time.
MEASURED_S = 500.0
OF = {nature.server.label: nature for nature in NATURES}


@cache
def drawn(seed: int) -> ModelMap:
    return made_maps.measured(seed, MEASURED_S)


def shares(spot: Spot) -> dict[str, float]:
    """Return server → what it really answers, as a share of the most."""
    most = made_maps.best(spot.point)
    return {label: made_maps.truth(nature, spot.point) / most for label, nature in OF.items()}


@pytest.mark.parametrize("seed", [1, 2])
def test_who_is_said_to_be_alike_or_behind_is(seed: int) -> None:
    wrong = [
        (spot.point, each.server.label, each.rank)
        for spot in drawn(seed).spots
        for each in spot.servers
        if (each.rank == "behind" and shares(spot)[each.server.label] > 0.999)
        or (each.rank == "alike" and shares(spot)[each.server.label] < 1 - 1.5 * ALIKE_WITHIN)
    ]
    said = sum(each.rank in ("behind", "alike") for spot in drawn(seed).spots for each in spot.servers)
    assert len(wrong) <= 0.02 * said, wrong


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_measured_decides_cells(seed: int) -> None:
    assert drawn(seed).decided >= 0.4 * len(drawn(seed).cells)
    assert drawn(seed).decided > begun().decided


def agree(one: Spot, other: Spot) -> bool:
    """Whether neither map says of the other's best server that it is behind."""
    fronts = [{each.server.label for each in spot.front} for spot in (one, other)]
    return one.servers[0].server.label in fronts[1] and other.servers[0].server.label in fronts[0]


def test_two_runs_do_not_contradict_each_other() -> None:
    both = [*zip(drawn(1).spots, drawn(2).spots, strict=True)]
    agreeing = sum(agree(a, b) or not (a.is_decided and b.is_decided) for a, b in both)
    assert agreeing >= 0.9 * len(both)


@pytest.mark.parametrize("seed", [1, 2])
def test_intervals_of_what_was_not_measured_hold(seed: int) -> None:
    within = [
        each.per_s.low <= made_maps.truth(OF[each.server.label], spot.point) <= each.per_s.high
        for spot in drawn(seed).spots
        for each in spot.servers
        if not each.measured
    ]
    assert sum(within) >= 0.85 * len(within)


def test_predictions_are_checked_by_trials_that_were_left_out() -> None:
    found = drawn(1).left_out
    assert len(found) == len(drawn(1).data.trials)
    assert sum(each.is_within for each in found) >= 0.85 * len(found)


def test_a_point_that_was_measured_is_told_from_one_that_is_predicted() -> None:
    here, elsewhere = begun().at([point(80, 3_000, 500), point(81, 3_000, 500)])
    assert {each.measured for each in here.servers} == {1}
    assert {each.measured for each in elsewhere.servers} == {0}


def test_a_pool_whose_connections_keep_its_workers_keeps_no_p99() -> None:
    (crowded,) = begun().at([point(20, 0, 500)])
    found = {each.server.label: each for each in crowded.servers}
    assert found["process-per-connection"].p99_ms is None
    assert found["process-per-connection"].is_kept == "no"
    assert found["green-threads"].is_kept == "yes"


def test_where_all_compute_for_long_nobody_keeps_p99() -> None:
    (crowded,) = begun().at([point(0, 50_000, 2_000)])
    assert {each.is_kept for each in crowded.servers} == {"no"}


def with_trials(label: str, *changed: tuple[MapPoint, dict[str, Any]]) -> ModelMap:
    """The map begun, with further trials of a server."""
    rng = random.Random(1)
    further = [made_maps.trial(OF[label], at, rng).model_copy(update=seen) for at, seen in changed]
    return ModelMap(made_maps.data([*begun().data.trials, *further]))


def test_users_left_without_an_answer_are_a_p99_that_is_not_kept() -> None:
    at, near = point(20, 0, 500), point(20, 0, 420)
    left = with_trials("event-loop", (at, {"p99_ms": None, "leaves_users": True}))
    found = [
        next(each for each in spot.servers if each.server.label == "event-loop")
        for spot in left.at([at, near, point(200, 0, 500)])
    ]
    assert [each.is_kept for each in found] == ["no", "open", "yes"]
    assert [each.p99_ms is None for each in found] == [True, False, False]
    (before,) = (each for each in begun().at([at])[0].servers if each.server.label == "event-loop")
    assert before.is_kept == "yes"


def test_what_was_measured_overrules_a_law_that_lacks_something() -> None:
    # Five trials are as the laws say; at another point it answers 30 % less.
    at = point(500, 0, 60)
    lower = 0.7 * made_maps.truth(OF["hybrid"], at)
    (spot,) = with_trials("hybrid", (at, {"per_s": lower}), (at, {"per_s": lower * 1.01})).at([at])
    found = next(each for each in spot.servers if each.server.label == "hybrid")
    assert found.per_s.low < lower * 1.01 and lower < found.per_s.high
    assert (found.rank, found.limit) == ("behind", None)


def test_where_requests_compute_nothing_laws_may_be_far_off_without_doubt_elsewhere() -> None:
    rng, trials = random.Random(1), []
    for users, reached in ((8, 1.0), (22, 1.0), (500, 0.4), (2_000, 0.4)):
        for nature in NATURES:
            seen = made_maps.trial(nature, point(0, 0, users), rng)
            trials.append(seen.model_copy(update={"per_s": seen.per_s * reached}))
    wild = ModelMap(made_maps.data([*begun().data.trials, *trials]))
    assert {each.costs.own_doubt for each in begun().beliefs} == {3.0}
    assert {each.costs.own_doubt for each in wild.beliefs} == {4.5}
    (computing,) = wild.at([point(0, 50_000, 2_000)])
    assert all(each.per_s.high < 1.3 * each.per_s.low for each in computing.servers)


def test_no_estimate_exceeds_what_users_and_cores_allow() -> None:
    at, near = point(5, 0, 60), point(0, 0, 60)
    (spot,) = with_trials("hybrid", (near, {"per_s": 60_000.0}), (near, {"per_s": 60_000.0})).at([at])
    found = next(each for each in spot.servers if each.server.label == "hybrid")
    assert (found.per_s.estimate, found.per_s.high) == pytest.approx((60 / 0.005,) * 2)
    assert found.per_s.low < 0.95 * found.per_s.high
    for spot in begun().spots:
        most = 2 / (spot.point.compute_us / 1e6) if spot.point.compute_us else float("inf")
        assert all(each.per_s.high <= most for each in spot.servers)


def test_p99_is_longer_than_the_mean_also_where_it_was_not_read() -> None:
    unread = [each.model_copy(update={"p99_ms": None}) for each in begun().data.trials]
    read = [each for each in begun().data.trials if each.server != "hybrid"]
    hybrid = [each for each in unread if each.server == "hybrid"]
    (spot,) = ModelMap(made_maps.data([*read, *hybrid])).at([point(20, 0, 500)])
    found = next(each for each in spot.servers if each.server.label == "hybrid")
    assert found.p99_ms is not None
    # That of the made servers is 1.2 times the mean.
    assert found.p99_ms.estimate == pytest.approx(1.2 * 500 / found.per_s.estimate * 1e3, rel=0.1)


def test_what_is_chosen_next_is_undecided_and_fits_into_the_time() -> None:
    found = next_points.choose(begun(), LOADED, 60.0)
    assert found is not None
    assert found.undecided == len(begun().cells) - begun().decided
    assert str(found) == f"as {found.undecided} cells of the map are undecided"
    assert len(found.servers) >= 2
    assert next_points.choose(begun(), LOADED, 0.5) is None


def test_points_that_are_left_out_and_servers_that_are_spared_are_not_chosen() -> None:
    first = next_points.choose(begun(), LOADED, 60.0)
    assert first is not None
    other = next_points.choose(begun(), LOADED, 60.0, without=[first.point])
    assert other is not None and other.point != first.point
    spared = next_points.choose(begun(), LOADED, 60.0, spared=first.servers[:1])
    assert spared is not None and first.servers[0] not in spared.servers


def test_points_lie_also_between_the_middles_of_cells() -> None:
    found = next_points.candidates_of(begun())
    assert {each.wait_ms for each in found} == {0, 2, 5, 10, 20, 40, 80, 127, 200, 316, 500}
    assert {each.users for each in found} == {8, 22, 60, 173, 500, 1_000, 2_000}
