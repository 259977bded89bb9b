"""The points of a map: experiments that a study has at first, and those that a run adds."""

import copy
from typing import Any

import documents
import pytest
from crumple.study import map_points, study
from crumple.study.map_points import MapPoint
from crumple.study.study import Study
from made_studies import FILE, KNOWN, problems

MAP = {
    "experiment": "shared",
    "wait_ms": [0, 80],
    "compute_us": [0, 10_000],
    "users": [8, 500],
    "first": [[0, 0, 8], [80, 10_000, 500]],
}
QUICK = {
    "blocks": 1,
    "twin": False,
    "warm_up": {"duration_s": 0.5},
    "warm_up_of": {"node-http": {"duration_s": 1.5}},
    "stop": {"duration_s": 1.2},
}
POINT = MapPoint(wait_ms=500, compute_us=300, users=2_000)


def written(**changes: Any) -> dict[str, Any]:
    """A study with a map of its experiment `shared`."""
    found = copy.deepcopy(documents.STUDY)
    del found["claims"], found["experiments"]["separate"]
    found["experiments"]["shared"] |= {"scales": {"quick": copy.deepcopy(QUICK)}}
    return {**found, "map": {**MAP, **changes}}


def begun() -> Study:
    return map_points.with_first_points(study.parse(written(), FILE, KNOWN).at("quick"), "quick")


def test_a_run_begins_with_an_experiment_for_each_of_the_first_points() -> None:
    assert [*begun().experiments] == ["wait0-compute0-users8", "wait80-compute10000-users500"]
    last = begun().experiments["wait80-compute10000-users500"]
    assert last.title == "80 ms of waiting, 10 ms of computing, 500 users"
    assert last.parameters == {"wait_ms": 80, "spin_us": 10_000}
    assert last.shape.most == 500
    assert map_points.point_of(last) == MapPoint(wait_ms=80, compute_us=10_000, users=500)


def test_a_study_without_a_map_stays_as_it_is() -> None:
    plain = documents.study()
    assert map_points.with_first_points(plain, "quick") is plain


def test_a_point_added_in_a_run_survives_run_json() -> None:
    more = map_points.with_point(begun(), POINT, "quick")
    assert [*more.experiments][-1] == "wait500-compute300-users2000"
    assert Study.model_validate_json(more.model_dump_json(by_alias=True)) == more


def test_long_waits_lengthen_what_is_measured() -> None:
    scale = map_points.with_point(begun(), POINT, "quick").experiments[POINT.name].scales["quick"]
    # A round takes 1.1 s: one is the warm-up, and two are measured; a longer warm-up stays.
    assert (scale.warm_up and scale.warm_up.duration_s, scale.stop.duration_s) == (1.1, 2.2)
    assert scale.warm_up_of["node-http"].duration_s == 1.5
    short = begun().experiments["wait0-compute0-users8"].scales["quick"]
    assert (short.warm_up and short.warm_up.duration_s, short.stop.duration_s) == (0.5, 1.2)


def test_users_who_wait_for_a_core_lengthen_what_is_measured() -> None:
    crowded = MapPoint(wait_ms=100, compute_us=10_000, users=200)
    scale = map_points.with_point(begun(), crowded, "quick").experiments[crowded.name].scales["quick"]
    # On one core a round takes 2.1 s: one for the warm-up, and two.
    assert (scale.warm_up and scale.warm_up.duration_s, scale.stop.duration_s) == (2.1, 4.2)


@pytest.mark.parametrize(("server", "seconds"), [("go-nethttp", 3.3), ("node-http", 3.7)])
def test_how_long_a_server_is_loaded_is_known_before(server: str, seconds: float) -> None:
    template = study.parse(written(), FILE, KNOWN).experiments["shared"]
    assert map_points.load_s(template, POINT, "quick", server) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"experiment": "other"}, "other is no experiment with a closed shape"),
        ({"first": []}, "map.first"),
        ({"users": [0]}, "map.users"),
    ],
)
def test_a_map_that_cannot_be_is_refused(changes: dict[str, Any], said: str) -> None:
    (problem,) = problems(written(**changes))
    assert said in f"{problem.key}: {problem.message}"


def test_a_map_of_an_experiment_that_requests_end_is_refused() -> None:
    by_number = written()
    by_number["experiments"]["shared"]["scales"]["quick"]["stop"] = {"requests": 100, "within_s": 9}
    (problem,) = problems(by_number)
    assert problem.remedy == "write stop = { duration_s = … } and twin = false"
