"""Servers on which two causes look alike: neither hides the other without a better reason."""

from dataclasses import replace
from types import SimpleNamespace

from crumple.cause import loaded, rules
from crumple.cause.at_load import Saturated, Stage
from crumple.cause.finding import Facts, Finding, Out
from made_at_load import CPU, IN, LOCK, NEAR, WORKERS, facts, threads, under_load
from made_observed import LOOP, PROCESSES, alone, many


def found(given: Facts) -> dict[str, str]:
    """Each cause that is found, in order, and how sure it is."""
    return {said.cause: said.sure for said in rules.judged(given) if isinstance(said, Finding)}


def ruled_out(given: Facts) -> set[str]:
    return {said.cause for said in rules.judged(given) if isinstance(said, Out)}


def test_what_may_be_garbage_does_not_hide_that_all_cores_are_busy() -> None:
    # A request computes on two threads, and four of ten are answered from a cache. There is no collector.
    work = replace(alone(7.3, 14.5), least_s=0.0002)
    given = replace(CPU, seen=replace(CPU.seen, work=work), alone_s=0.0073)
    said = found(facts(given, per_s=135, mean_s=0.47, cores=1.95))
    assert said == {"memory": "consistent", "cpu": "shown"}


def test_switches_of_a_fifth_of_the_cpu_time_do_not_hide_the_rest() -> None:
    said = found(replace(facts(CPU, switches_per_s=205_000), switch_s=2e-6))
    assert said["cpu"] == "shown" and said["switches"] == "shown"
    most = found(replace(facts(CPU, switches_per_s=900_000), switch_s=2e-6))
    assert "cpu" not in most


def behind_a_pool(asked_alone_ms: float | None) -> Facts:
    """A pool of six, over which each request asks for 30 ms, after 30 ms of waiting."""
    waits = {} if asked_alone_ms is None else {"database": asked_alone_ms / 1e3}
    given = facts(
        LOCK,
        per_s=200,
        mean_s=0.32,
        peers=(replace(NEAR, connections=6, waiting=6, most=6),),
        threads=threads(
            number=66, places={"futex_wait_queue": 0.5, "hrtimer_nanosleep": 0.1, "sk_wait_data": 0.09}
        ),
    )
    work = replace(alone(35), waits_s=waits)
    return replace(given, alone_s=0.035, seen=replace(given.seen, work=work))


def test_a_dependency_that_got_six_times_slower_is_the_limit_and_not_the_pool() -> None:
    assert found(behind_a_pool(5)) == {"dependency": "shown"}


def test_a_dependency_as_quick_as_alone_leaves_the_pool() -> None:
    assert found(behind_a_pool(28)) == {"connection-pool": "shown"}
    assert found(behind_a_pool(20)) == {"connection-pool": "consistent"}


def test_a_pool_is_not_shown_where_the_time_of_the_dependency_alone_is_not_known() -> None:
    assert found(behind_a_pool(None)) == {"connection-pool": "consistent"}


def test_what_was_not_read_of_places_does_not_show_a_pool() -> None:
    # Five workers wait for a database.
    seen = replace(PROCESSES, work=replace(alone(50), waits_s={"database": 0.048}))
    peers = (replace(NEAR, connections=5, waiting=5, most=5),)
    for places in ({"": 1.0}, {}):
        given = under_load(
            seen,
            0.05,
            per_s=100,
            mean_s=0.64,
            grew_from=5,
            stage=IN,
            peers=peers,
            threads=threads(number=8, places=places),
        )
        assert found(given) == {"connection-pool": "consistent"}


def test_a_pool_whose_connections_nobody_uses_is_held_by_no_request() -> None:
    # A semaphore of four, and four connections that this path never asks.
    given = facts(LOCK, per_s=800, mean_s=0.08, peers=(replace(NEAR, connections=4, waiting=0, most=4),))
    assert "connection-pool" not in found(given)


def test_one_connection_without_an_answer_does_not_harm_a_load_of_hundreds() -> None:
    def with_unanswered(number: int) -> Facts:
        return under_load(
            replace(LOOP, work=alone(50)),
            0.05,
            per_s=10_200,
            mean_s=0.0502,
            in_flight=512,
            stage=Stage(0, 0, 511, 1),
            unanswered=number,
            answers=51_000,
        )

    assert found(with_unanswered(1)) == {"none": "shown"}
    assert found(with_unanswered(5)) == {"none": "shown"}
    assert "none" not in found(with_unanswered(7))


def test_workers_that_compute_each_on_a_core_of_many_are_no_loop() -> None:
    busy = tuple(Saturated(0.99, "worker", True) for _ in range(8))
    seen = replace(WORKERS.seen, work=alone(50, 50), waiting=(many(32, 8, 0.1),))
    given = facts(
        replace(WORKERS, seen=seen),
        all_cores=16,
        cores=8.0,
        engine_cores=0.5,
        per_s=160,
        mean_s=0.4,
        threads=threads(number=9, sharing=8, saturated=busy),
    )
    assert next(iter(found(given))) == "workers"
    assert "one-loop" not in found(given)


def test_connections_that_wait_for_one_that_is_kept_are_short_of_workers_and_of_no_queue() -> None:
    # A server with one thread answers one connection until that closes; nine others come late, or not at all.
    def of_ten(unanswered: int, answers: int) -> Facts:
        return under_load(
            replace(LOOP, work=alone(0.3), held=None),
            0.0003,
            per_s=answers / 4,
            mean_s=0.0003,
            in_flight=10,
            answers=answers,
            spent_s=4.0,
            unanswered=unanswered,
            late_connects=3,
            stage=Stage(9, 0, 1, 0),
            threads=threads(number=1, sharing=1.0, places={"sk_wait_data": 1.0}),
        )

    assert found(of_ten(9, 12_000))["workers"] == "shown"
    assert "accept-queue" in ruled_out(of_ten(9, 12_000))
    # A few answers each do not tell whom a slow server has left out.
    assert "accept-queue" not in ruled_out(of_ten(5, 99)) and "accept-queue" in ruled_out(of_ten(5, 101))


def test_a_pool_that_ended_one_thread_has_grown_from_its_threads() -> None:
    samples = SimpleNamespace(at_ns=[0, 1, 2], processes=[1, 1, 1], threads=[31, 31, 30])
    record = SimpleNamespace(warm_up_ns=0, probes=SimpleNamespace(server=SimpleNamespace(samples=samples)))
    assert loaded._grew(record) == (-1, 31)  # type: ignore[arg-type]
