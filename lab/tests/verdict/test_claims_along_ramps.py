"""Claims about a ramp along its load: flatness, knees and growth, each with figures that decide it."""

from dataclasses import replace
from typing import Any

import pytest
from crumple.record.figures import Figures
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import judge
from made_claims import CONTRADICTED, OPEN, SUPPORTED, UNTESTABLE, answer, claim
from made_figures import kneed, ramp, server, times


@pytest.mark.parametrize(
    ("p50_ns", "wanted"),
    [
        (lambda users: 1e6, SUPPORTED),
        (lambda users: 1e6 * (1 + 0.1 * users / 500), SUPPORTED),
        (lambda users: 1e6 * users, CONTRADICTED),
        (lambda users: 1e6 * (1 + 0.32 * users / 500), OPEN),
    ],
)
def test_flatness(p50_ns: Any, wanted: VerdictWord) -> None:
    meant = claim("flatness", experiment="ramp", servers=["node"], tolerance=0.25)
    assert answer(meant, ramp("node", p50_ns)) is wanted


def test_a_fall_may_count_as_flat() -> None:
    falling, rising = (
        ramp("node", lambda users: 2e6 - users * 2_000),
        ramp("node", lambda users: 1e6 + users * 2_000),
    )
    strict = claim("flatness", experiment="ramp", servers=["node"])
    meant = claim("flatness", experiment="ramp", servers=["node"], may_fall=True)
    assert judge(strict, falling).answer is VerdictWord.CONTRADICTED
    assert judge(meant, falling).answer is VerdictWord.SUPPORTED
    assert judge(meant, rising).answer is VerdictWord.CONTRADICTED
    assert judge(meant, rising).effects[0].bound == "at most 1.25 times"


@pytest.mark.parametrize(
    "p50_ns",
    [
        # One falls to a third at 350 users and rises to six times that at 500; the other falls until 400,
        # then stays high.
        lambda users: 3e6 - 2e6 * users / 350 if users < 350 else 1e6 + 5e6 * (users - 350) / 150,
        lambda users: 3e6 - 2e6 * users / 400 if users < 400 else 3e6,
    ],
)
def test_a_fall_followed_by_a_rise_is_not_flat(p50_ns: Any) -> None:
    meant = claim("flatness", experiment="ramp", servers=["php"], may_fall=True)
    assert answer(meant, ramp("php", p50_ns)) is CONTRADICTED


def test_a_knee_is_not_flat_even_if_answers_take_no_longer() -> None:
    """Users that hold a worker are answered; the others wait, and are part of no quantile."""
    pool = ramp("php", lambda users: 1e6, ok=lambda users: round(1e4 * min(users, 250)))
    assert all(each.knee for each in pool)
    verdict = judge(claim("flatness", experiment="ramp", servers=["php"]), pool)
    assert verdict.answer is CONTRADICTED
    assert "in 5 of 5 blocks the time of a round leaves its plateau" in verdict.sentence


def test_flatness_may_be_claimed_for_a_range_of_users() -> None:
    figures = ramp("php", kneed(340))
    whole = claim("flatness", experiment="ramp", servers=["php"])
    calm = claim("flatness", experiment="ramp", servers=["php"], users=[20, 300])
    assert (answer(whole, figures), answer(calm, figures)) == (CONTRADICTED, SUPPORTED)


def test_a_ramp_that_did_not_reach_the_users_is_not_flat() -> None:
    meant = claim("flatness", experiment="ramp", servers=["node"], users=[20, 3_000])
    verdict = judge(meant, ramp("node", lambda users: 1e6))
    assert verdict.answer is UNTESTABLE
    assert "not read from the first to the last of these users" in verdict.sentence


def test_a_server_that_stops_answering_is_not_flat() -> None:
    """No request has failed when the ramp ends, because the timeout comes later."""
    meant = claim("flatness", experiment="ramp", metric="response_p50", servers=["node"])
    assert answer(meant, stuck(250)) is UNTESTABLE
    assert answer(meant, ramp("node", lambda users: 1e6)) is SUPPORTED


def stuck(at: int) -> list[Figures]:
    """Ramps in which no request is answered while more than `at` users are connected."""
    figures = []
    for each in ramp("node", lambda users: 1e6):
        whole = [replace(p, ok=0, times=times(1, 0)) if p.connections > at else p for p in each.curve]
        figures.append(replace(each, curve=tuple(whole)))
    return figures


def test_without_a_ramp_flatness_is_not_testable() -> None:
    verdict = judge(claim("flatness", experiment="shared", servers=["go"]), server("go", 1_000))
    assert verdict.answer is UNTESTABLE
    assert "it was not read from the first to the last" in verdict.sentence


@pytest.mark.parametrize(("at", "wanted"), [(340, SUPPORTED), (150, CONTRADICTED)])
def test_a_knee(at: int, wanted: VerdictWord) -> None:
    verdict = judge(claim("knee", experiment="ramp", servers=["php"], published=340), ramp("php", kneed(at)))
    assert verdict.answer is wanted
    value = verdict.effects[0].value
    assert value is not None
    assert value.low <= at <= value.high
    assert "users, 95 % interval, 5 blocks)" in verdict.sentence


def test_ramps_without_a_knee_contradict_a_knee() -> None:
    verdict = judge(
        claim("knee", experiment="ramp", servers=["node"], published=340), ramp("node", lambda users: 1e6)
    )
    assert verdict.answer is CONTRADICTED
    assert "in none of 5 blocks it leaves its plateau, up to 500 users" in verdict.sentence
    assert len(verdict.trials) == 5


@pytest.mark.usefixtures("real_limits")
@pytest.mark.parametrize("harm", [{"late": (0.5,)}, {"slowdown": 3.0}], ids=["late", "disturbed"])
def test_ramps_whose_times_are_not_the_servers_do_not_contradict_a_knee(harm: dict[str, Any]) -> None:
    seen = [replace(each, **harm) for each in ramp("node", lambda users: 1e6)]
    verdict = judge(claim("knee", experiment="ramp", servers=["node"], published=340), seen)
    assert verdict.answer is UNTESTABLE


def test_a_ramp_that_ends_too_soon_decides_nothing_about_the_knee() -> None:
    meant = claim("knee", experiment="ramp", servers=["node"], published=480)
    assert answer(meant, ramp("node", lambda users: 1e6)) is UNTESTABLE


def test_the_knee_is_where_answers_stop() -> None:
    verdict = judge(claim("knee", experiment="ramp", servers=["node"], published=250), stuck(250))
    assert verdict.answer is SUPPORTED


def test_failures_from_the_beginning_on_are_no_plateau() -> None:
    failing = ramp(
        "php", lambda users: 1e6, ok=lambda users: 5 * users, failed=lambda users: 500 if users > 40 else 0
    )
    meant = claim("knee", experiment="ramp", servers=["php"], published=50)
    assert answer(meant, failing) is UNTESTABLE


def test_a_knee_in_a_minority_of_starts_does_not_count() -> None:
    flat, bent = ramp("php", lambda users: 1e6), ramp("php", kneed(340))
    meant = claim("knee", experiment="ramp", servers=["php"], published=340)
    verdict = judge(meant, [*bent[:2], *flat[2:]])
    assert verdict.answer is UNTESTABLE
    assert "no figure for the knee of the response time in blocks 3, 4 and 5" in verdict.sentence
    assert answer(meant, [*bent[:3], *flat[3:]]) is SUPPORTED


def test_starts_without_a_knee_do_not_stand_for_starts_that_failed() -> None:
    alive = [each for each in ramp("php", lambda users: 1e6) if each.block > 3]
    failed = {f"ramp/b{block:02}/php": "it ended" for block in (1, 2, 3)}
    verdict = judge(claim("knee", experiment="ramp", servers=["php"], published=340), alive, failed)
    assert verdict.answer is UNTESTABLE
    assert "php failed in blocks 1, 2 and 3 (it ended)" in verdict.sentence


def test_the_knee_is_where_requests_begin_to_fail() -> None:
    failing = ramp(
        "php", lambda users: 1e6, ok=lambda users: 5 * users, failed=lambda users: 500 if users > 250 else 0
    )
    value = judge(claim("knee", experiment="ramp", servers=["php"], published=250), failing).effects[0].value
    assert value is not None
    assert value.low <= 250 <= value.high


def test_more_workers_move_the_knee_up() -> None:
    figures = ramp("php[workers=256]", kneed(340), seed=1) + ramp("php", kneed(190), seed=2)
    up = claim("order", experiment="ramp", metric="knee", tiers=[["php[workers=256]"], ["php"]])
    down = claim("order", experiment="ramp", metric="knee", tiers=[["php"], ["php[workers=256]"]])
    assert (answer(up, figures), answer(down, figures)) == (SUPPORTED, CONTRADICTED)


def growing(name: str, per_connection: float, cap: float = 1e9) -> list[Figures]:
    return ramp(name, lambda users: 1e6, processes=lambda users: 5 + per_connection * min(users, cap))


@pytest.mark.parametrize(("grows", "per_connection", "wanted"), [
    (True, 1.0, SUPPORTED), (True, 0.0, CONTRADICTED), (False, 0.0, SUPPORTED), (False, 1.0, CONTRADICTED),
])  # fmt: skip
def test_growth(grows: bool, per_connection: float, wanted: VerdictWord) -> None:
    meant = claim("growth", experiment="ramp", metric="processes", servers=["php"], grows=grows)
    assert answer(meant, growing("php", per_connection)) is wanted


def test_growth_may_be_claimed_for_a_range_of_users() -> None:
    pool = ramp("php", lambda users: 1e6, processes=lambda users: min(users, 150))
    whole = claim("growth", experiment="ramp", metric="processes", servers=["php"], per_connection=0.5)
    few = whole.model_copy(update={"users": (8, 150)})
    assert (answer(whole, pool), answer(few, pool)) == (CONTRADICTED, SUPPORTED)
    assert "from 8 to at most 150 connections" in judge(few, pool).sentence


def test_a_constant_metric_has_no_growth() -> None:
    meant = claim("growth", experiment="ramp", metric="processes", servers=["go"], grows=False)
    assert "was 0 processes in all 5 blocks" in judge(meant, growing("go", 0.0)).sentence


def test_growth_up_to_a_pools_size() -> None:
    meant = claim("growth", experiment="ramp", metric="processes", servers=["php"], up_to=200)
    assert answer(meant, growing("php", 1.0, cap=200)) is SUPPORTED
    assert answer(meant, growing("php", 1.0)) is CONTRADICTED
    assert answer(meant, growing("php", 0.0)) is CONTRADICTED


def test_growth_over_experiments_of_different_load() -> None:
    def at(experiment: str, connections: float, threads: int) -> list[Figures]:
        return server("java", 1_000, experiment=experiment, connections=connections, threads_max=threads)

    meant = claim("growth", experiments=["few", "many"], metric="threads", servers=["java"])
    assert answer(meant, at("few", 10, 20) + at("many", 300, 210)) is SUPPORTED
    assert answer(meant, at("few", 10, 20) + at("many", 300, 20)) is CONTRADICTED
    assert answer(meant, at("few", 10, 20)) is UNTESTABLE
