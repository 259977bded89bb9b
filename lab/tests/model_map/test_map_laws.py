"""What operational laws say of a server at a point, and the costs that they rest on."""

import math
import random
from dataclasses import replace
from typing import Any

import made_maps
import pytest
from crumple.model_map import map_laws
from crumple.model_map.map_laws import Costs
from made_maps import point

# A pool of 150 whose requests cost 100 µs beside what they compute, on two cores.
POOL = Costs(
    own_s=100e-6,
    own_computing_s=100e-6,
    load_s=10e-6,
    computes_on=1.9,
    cores=2,
    places=150,
    keeps_places=False,
)
LOOP = replace(POOL, own_s=50e-6, own_computing_s=50e-6, computes_on=1.0, places=math.inf)


def most(of: Costs, asked: Any) -> tuple[str | None, float]:
    """The upper bound, and which limit it is."""
    found = map_laws.bounds(of, asked)
    return found.limit(found.most), found.most


def test_few_users_ask_no_more() -> None:
    assert most(POOL, point(200, 0, 60)) == ("users", pytest.approx(60 / 0.2001))
    assert map_laws.at(POOL, point(200, 0, 60)).response_s == pytest.approx(0.2001, rel=0.02)


def test_a_pool_answers_what_its_workers_can_wait_for() -> None:
    assert most(POOL, point(500, 300, 2_000)) == ("workers", pytest.approx(150 / 0.5004))
    assert map_laws.at(POOL, point(500, 300, 2_000)).response_s == pytest.approx(6.8, rel=0.05)


def test_a_loop_answers_what_one_core_computes_and_a_pool_what_all_do() -> None:
    assert most(LOOP, point(0, 10_000, 60)) == ("one-core", pytest.approx(1 / 0.01005))
    assert most(POOL, point(0, 10_000, 60)) == ("cores", pytest.approx(1.9 / 0.0101))


def test_helpers_of_a_loop_do_a_part_of_what_a_request_costs_and_nothing_of_what_it_asks() -> None:
    helped = replace(LOOP, computes_on=1.25)
    assert most(helped, point(0, 10_000, 60))[1] == pytest.approx(1 / 0.01004)
    assert most(helped, point(0, 0, 60))[1] == pytest.approx(1 / 40e-6)


def test_where_requests_cost_little_the_load_needs_a_part_of_the_cores() -> None:
    dear = replace(POOL, own_s=20e-6, load_s=20e-6, places=math.inf)
    assert most(dear, point(0, 0, 60))[1] == pytest.approx(2 / 40e-6)


def test_users_who_keep_in_step_wait_together_and_then_compute_one_after_the_other() -> None:
    # 8 users wait for 20 ms; then a loop computes 3 ms and 50 µs for each of them.
    found = map_laws.bounds(LOOP, point(20, 3_000, 8))
    assert found.least == pytest.approx(8 / (0.020 + 8 * 0.00305))
    assert found.most == pytest.approx(1 / 0.00305)
    in_step, free = (map_laws.at(replace(LOOP, in_step=each), point(20, 3_000, 8)) for each in (1.0, 0.0))
    assert (in_step.per_s, free.per_s) == (pytest.approx(found.least), pytest.approx(found.most))


def test_where_all_are_busy_the_bounds_are_one() -> None:
    found = map_laws.bounds(POOL, point(0, 10_000, 2_000))
    assert found.apart == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize(("reached", "limit"), [(0.89, None), (0.91, "one-core")])
def test_a_limit_is_named_where_nine_tenths_of_it_are_reached(reached: float, limit: str | None) -> None:
    assert map_laws.bounds(LOOP, point(0, 10_000, 60)).limit(reached / 0.01005) == limit


@pytest.mark.parametrize(("cores", "limit"), [(1.5, "one-core"), (1.51, "cores")])
def test_one_core_is_up_to_one_and_a_half(cores: float, limit: str) -> None:
    given = replace(LOOP, computes_on=cores)
    assert most(given, point(0, 10_000, 60))[0] == limit


@pytest.mark.parametrize(
    ("asked", "doubt"),
    [
        # Users who wait: their number is known.
        (point(200, 0, 8), 0.3),
        # One user who only computes, on two cores.
        (point(0, 10_000, 1), 0.5),
        # All cores compute, and far more users ask.
        (point(0, 10_000, 2_000), 0.5),
        # Bounds that are apart by a factor of 1.5.
        (point(20, 3_000, 8), 0.71),
        # They compute nothing that was asked for.
        (point(0, 0, 100_000), 3.0),
    ],
)
def test_laws_are_doubtful_where_bounds_are_apart_and_requests_compute(asked: Any, doubt: float) -> None:
    assert map_laws.at(POOL, asked).doubt == pytest.approx(doubt, abs=0.03)


def test_users_beyond_the_workers_that_connections_keep_get_no_answer() -> None:
    keeps = replace(POOL, keeps_places=True)
    assert map_laws.at(keeps, point(20, 0, 151)).response_s == math.inf
    assert map_laws.at(keeps, point(20, 0, 150)).response_s < math.inf


def test_trials_show_what_a_server_costs_and_on_how_many_cores_it_computes() -> None:
    rng = random.Random(1)
    for nature in made_maps.NATURES:
        trials = [made_maps.trial(nature, point(*where), rng, noise=0.0) for where in made_maps.FIRST]
        found = map_laws.costs(nature.server, trials, made_maps.CORES)
        assert found is not None
        assert found.own_s == pytest.approx(nature.own_s, rel=0.2)
        assert found.load_s == pytest.approx(made_maps.LOAD_S)
        assert found.computes_on == pytest.approx(nature.computes_on, rel=0.2)
        assert found.places == (nature.places or math.inf)


def test_what_a_request_costs_is_read_where_cores_are_busy() -> None:
    server = made_maps.NATURES[7].server
    busy, idle = (
        made_maps.trial(made_maps.NATURES[7], at, random.Random(1)).model_copy(update=seen)
        for at, seen in (
            (point(0, 0, 60), {"per_s": 20_000.0, "cpu_us": 80.0, "engine_cpu_us": 10.0}),
            (point(20, 0, 8), {"per_s": 400.0, "cpu_us": 240.0, "engine_cpu_us": 40.0}),
        )
    )
    found = map_laws.costs(server, [busy, idle, idle], 2)
    assert found is not None and (found.own_s, found.load_s) == (80e-6, 10e-6)
    # Cores that are eight tenths as busy show it, too.
    nearly = idle.model_copy(update={"per_s": 0.81 * 20_000 * 90 / 280})
    found = map_laws.costs(server, [busy, nearly, nearly], 2)
    assert found is not None and found.own_s == 240e-6


@pytest.mark.parametrize(("share", "in_step"), [(0.0, 0.1), (1.0, 0.9), (0.5, 0.5)])
def test_trials_show_whether_users_keep_in_step(share: float, in_step: float) -> None:
    nature = made_maps.NATURES[4]
    asked = [point(20, 3_000, users) for users in (6, 8, 10, 12)]
    known = map_laws.costs(nature.server, [made_maps.trial(nature, point(0, 0, 60), random.Random(1))], 2)
    assert known is not None
    trials = [made_maps.trial(nature, point(0, 0, 60), random.Random(1))]
    for each in asked:
        both = map_laws.bounds(known, each)
        seen = made_maps.trial(nature, each, random.Random(1))
        trials.append(seen.model_copy(update={"per_s": both.most * math.exp(-share * both.apart)}))
    found = map_laws.costs(nature.server, trials, 2)
    assert found is not None and found.in_step == pytest.approx(in_step, abs=0.02)


def test_a_server_whose_cpu_time_was_not_read_has_no_costs() -> None:
    nature = made_maps.NATURES[0]
    unread = made_maps.trial(nature, point(0, 0, 60), random.Random(1)).model_copy(update={"cpu_us": None})
    assert map_laws.costs(nature.server, [unread], 2) is None


def test_what_a_request_costs_that_computes_is_read_apart() -> None:
    nature, rng = made_maps.NATURES[5], random.Random(1)
    plain, computing = (made_maps.trial(nature, at, rng) for at in (point(0, 0, 60), point(0, 1_000, 60)))
    dear = computing.model_copy(update={"cpu_us": 1_240.0})
    found = map_laws.costs(nature.server, [plain, dear], 2)
    assert found is not None and plain.cpu_us is not None
    assert (found.own_s, found.own_computing_s) == (
        pytest.approx(plain.cpu_us / 1e6), pytest.approx(240e-6)
    )  # fmt: skip
    # A window that may cut off a fifth does not show a sixth.
    cut = dear.model_copy(update={"off": 0.2})
    found = map_laws.costs(nature.server, [plain, cut], 2)
    assert found is not None and found.own_computing_s == found.own_s


def test_where_requests_only_computed_a_tenth_of_the_least_is_its_own() -> None:
    nature = made_maps.NATURES[0]
    seen = made_maps.trial(nature, point(0, 10_000, 60), random.Random(1), noise=0.0)
    found = map_laws.costs(nature.server, [seen], 2)
    assert found is not None
    assert found.own_s == pytest.approx((10e-3 + nature.own_s) / 10)
