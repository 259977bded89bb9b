"""Whether a load does harm: each bound, by servers a little on either side of it."""

from dataclasses import replace

import pytest
from crumple.cause import judged
from crumple.cause.hypotheses import cpu
from crumple.limit.finding import Unclear
from crumple.observation import crowding
from crumple.observation.at_load import Stage
from crumple.observation.cpu_time import CpuTime, File, Function
from crumple.observation.garbage import by_functions
from crumple.observation.observed import FailuresAlone
from crumple.observation.outcome import Crowd, LoadPairs
from crumple.observation.server_facts import ServerFacts
from made_at_load import CPU, POOL, WORKERS, facts, threads

ALONE_S = 0.05
# Nothing waits anywhere, nothing fails, and a request takes as long as alone.
CALM = facts(WORKERS, mean_s=ALONE_S, stage=Stage(0, 0, 8, 0), answers=1_000)
UNTIMED = replace(CALM, alone_s=None)


@pytest.mark.parametrize(("times", "is_harmed"), [(1.2, False), (1.4, True)])
def test_requests_wait_if_they_take_clearly_longer_than_alone(times: float, is_harmed: bool) -> None:
    assert facts(CALM, mean_s=times * ALONE_S).is_harmed is is_harmed


@pytest.mark.parametrize(("failed", "fails"), [(9, False), (11, True)])
def test_one_of_a_hundred_requests_may_fail(failed: int, fails: bool) -> None:
    assert facts(CALM, answers=1_000 - failed, failed=failed).fails is fails


@pytest.mark.parametrize(("asked", "by_load"), [(21, False), (16, None)])
def test_failures_are_not_the_loads_if_it_is_shown_to_account_for_less_than_half(
    asked: int, by_load: bool | None
) -> None:
    failed = round(0.4 * asked)
    tried = replace(CALM, seen=replace(CALM.seen, tried=FailuresAlone(asked - failed, failed)))
    assert facts(tried, answers=6_000, failed=4_000).fails_by_load is by_load


@pytest.mark.parametrize(("times", "is_harmed"), [(1.8, False), (2.2, True)])
def test_a_connection_without_an_answer_waits_if_the_load_lasted_long_enough(
    times: float, is_harmed: bool
) -> None:
    assert facts(CALM, unanswered=2, spent_s=times * ALONE_S).is_harmed is is_harmed


@pytest.mark.parametrize(("runnable", "is_harmed"), [(0.9, None), (1.1, True)])
def test_requests_wait_for_a_core_if_a_thread_does(runnable: float, is_harmed: bool | None) -> None:
    assert facts(UNTIMED, threads=threads(runnable=runnable)).is_harmed is is_harmed


@pytest.mark.parametrize(
    ("in_flight", "unread", "is_harmed"),
    [(64, 15.0, None), (64, 17.0, True), (0.2, 0.09, None), (0.2, 0.11, True)],
)
def test_a_queue_in_front_of_a_server_holds_a_quarter_of_the_requests(
    in_flight: float, unread: float, is_harmed: bool | None
) -> None:
    changed = facts(UNTIMED, in_flight=in_flight, stage=Stage(0, unread, 8, 0))
    assert changed.is_harmed is is_harmed


def served(at_a_time: float, alone_s: float) -> ServerFacts:
    """A server whose slow requests showed eight workers, with as many requests served at a time."""
    return replace(facts(WORKERS, per_s=at_a_time / alone_s), alone_s=alone_s)


@pytest.mark.parametrize(
    ("at_a_time", "alone_s", "are_known"),
    [(9.6, 0.05, True), (10.5, 0.05, False), (16, 0.0055, False), (16, 0.0045, True)],
)
def test_workers_are_no_limit_if_clearly_more_requests_are_served_at_a_time(
    at_a_time: float, alone_s: float, are_known: bool
) -> None:
    assert (served(at_a_time, alone_s).workers is not None) is are_known


@pytest.mark.parametrize(("failed", "is_said"), [(450, False), (550, True)])
def test_that_a_server_refuses_requests_is_said_if_it_fails_most(failed: int, is_said: bool) -> None:
    tried = replace(WORKERS, seen=replace(WORKERS.seen, tried=FailuresAlone(1_000, 0)))
    said = judged.judged(facts(tried, answers=1_000 - failed, failed=failed))
    assert (Unclear("none", judged.REFUSES) in said) is is_said


@pytest.mark.parametrize(("fall", "are_known"), [(0.025, False), (0.035, True)])
def test_half_sent_requests_take_places_if_the_throughput_falls(fall: float, are_known: bool) -> None:
    found = crowding.places(Crowd(others=2, connections=32, paired=LoadPairs(1 - fall, 0.0, 4)))
    assert (found is not None) is are_known


@pytest.mark.parametrize(("samples", "are_enough"), [(45, False), (55, True)])
def test_few_samples_say_nothing_of_garbage(samples: int, are_enough: bool) -> None:
    collects = Function("runtime.gcDrain", "server", samples)
    cpu = CpuTime(
        samples=samples, functions=(collects,), files=(File("server", samples, samples),), stands_for=1.0
    )
    assert (by_functions(cpu) is not None) is are_enough


@pytest.mark.parametrize(("engine_cores", "is_named"), [(0.18, False), (0.22, True)])
def test_what_the_engine_takes_is_named_if_it_is_much(engine_cores: float, is_named: bool) -> None:
    said = cpu.used(judged.scene_of(facts(CPU, engine_cores=engine_cores)))
    assert ("the engine" in said) is is_named


def test_the_servers_here_begin_without_harm() -> None:
    assert CALM.is_harmed is False and UNTIMED.is_harmed is None and POOL.in_flight == 64


@pytest.mark.parametrize(("at_server", "is_named"), [(40, False), (32, True)])
def test_what_a_program_in_between_holds_most_of_is_no_limit_of_the_server(
    at_server: float, is_named: bool
) -> None:
    # 64 requests, each of which takes 0.4 s, wait for 0.35 s: of 0.25 s or of 0.2 s they are at the server.
    passed = facts(WORKERS, in_flight=at_server, passed_on="docker-proxy, which passes connections on to a:1")
    (first, *_) = judged.judged(passed)
    assert isinstance(first, Unclear) is is_named
    if isinstance(first, Unclear):
        assert first.why.replace("\u202f", " ") == (
            "of 400 ms a request is 200 ms with docker-proxy, which passes connections on to a:1: "
            "load that address, which leaves it out"
        )
    assert not isinstance(judged.judged(facts(passed, passed_on=""))[0], Unclear)
