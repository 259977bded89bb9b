"""What operational laws say of a server at a point, and the costs that they rest on."""

import math
import random
from typing import Any

import made_maps
import pytest
from crumple.model_map import map_laws
from crumple.model_map.map_laws import Costs
from made_maps import point

# A pool of 150 whose requests cost 100 µs beside what they compute, on two cores.
POOL = Costs(own_s=100e-6, load_s=10e-6, computes_on=1.9, cores=2, places=150, keeps_places=False)
LOOP = Costs(own_s=50e-6, load_s=10e-6, computes_on=1.0, cores=2, places=math.inf, keeps_places=False)


def test_few_users_ask_no_more() -> None:
    found = map_laws.at(POOL, point(200, 0, 60))
    assert (found.limit, found.per_s) == ("users", pytest.approx(60 / 0.2001))
    assert found.response_s == pytest.approx(0.2001)


def test_a_pool_answers_what_its_workers_can_wait_for() -> None:
    found = map_laws.at(POOL, point(500, 300, 2_000))
    assert (found.limit, found.per_s) == ("workers", pytest.approx(150 / 0.5004))
    assert found.response_s == pytest.approx(2_000 * 0.5004 / 150)


def test_a_loop_answers_what_one_core_computes_and_a_pool_what_all_do() -> None:
    assert map_laws.at(LOOP, point(0, 10_000, 60)).limit == "one-core"
    assert map_laws.at(LOOP, point(0, 10_000, 60)).per_s == pytest.approx(1 / 0.01005)
    assert map_laws.at(POOL, point(0, 10_000, 60)).limit == "cores"
    assert map_laws.at(POOL, point(0, 10_000, 60)).per_s == pytest.approx(1.9 / 0.0101)


def test_where_requests_cost_little_the_load_needs_a_part_of_the_cores() -> None:
    dear = Costs(own_s=20e-6, load_s=20e-6, computes_on=1.9, cores=2, places=math.inf, keeps_places=False)
    assert map_laws.at(dear, point(0, 0, 60)).per_s == pytest.approx(2 / 40e-6)


@pytest.mark.parametrize(("cores", "limit"), [(1.5, "one-core"), (1.51, "cores")])
def test_one_core_is_up_to_one_and_a_half(cores: float, limit: str) -> None:
    given = Costs(own_s=1e-4, load_s=0, computes_on=cores, cores=2, places=math.inf, keeps_places=False)
    assert map_laws.at(given, point(0, 10_000, 60)).limit == limit


def test_the_surface_bends_where_two_limits_meet() -> None:
    # 150 workers and 150 users allow the same.
    assert map_laws.at(POOL, point(200, 0, 150)).bend == pytest.approx(1.0)
    assert map_laws.at(POOL, point(200, 0, 300)).bend == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("asked", "doubt"),
    [
        # Users who wait: their number is known.
        (point(200, 0, 8), 0.1),
        # Nearly as many as there are workers: 0.6 of them.
        (point(200, 0, 90), 2 * 0.6**2),
        # One user who only computes, on two cores.
        (point(0, 10_000, 1), 1.0),
        # All cores compute, and far more users ask.
        (point(0, 10_000, 2_000), 1.0),
        # They compute nothing that was asked for.
        (point(0, 0, 100_000), 3.0),
    ],
)
def test_a_law_is_doubtful_where_limits_meet_and_where_requests_compute(asked: Any, doubt: float) -> None:
    assert map_laws.at(POOL, asked).doubt == pytest.approx(doubt, abs=0.03)


def test_users_beyond_the_workers_that_connections_keep_get_no_answer() -> None:
    keeps = Costs(own_s=1e-4, load_s=0, computes_on=1.9, cores=2, places=150, keeps_places=True)
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


def test_a_server_whose_cpu_time_was_not_read_has_no_costs() -> None:
    nature = made_maps.NATURES[0]
    unread = made_maps.trial(nature, point(0, 0, 60), random.Random(1)).model_copy(update={"cpu_us": None})
    assert map_laws.costs(nature.server, [unread], 2) is None


def test_where_requests_only_computed_a_third_of_the_least_is_its_own() -> None:
    nature = made_maps.NATURES[0]
    seen = made_maps.trial(nature, point(0, 10_000, 60), random.Random(1), noise=0.0)
    found = map_laws.costs(nature.server, [seen], 2)
    assert found is not None
    assert found.own_s == pytest.approx((10e-3 + nature.own_s) / 3)
