"""Servers on which two causes look alike: neither hides the other without a better reason."""

from dataclasses import replace
from types import SimpleNamespace

from crumple.cause import loaded, rules
from crumple.cause.at_load import Saturated, Stage
from crumple.cause.finding import Facts, Finding, Out
from made_at_load import WORKERS, facts, threads, under_load
from made_observed import LOOP, alone, many


def found(given: Facts) -> dict[str, str]:
    """Each cause that is found, in order, and how sure it is."""
    return {said.cause: said.sure for said in rules.judged(given) if isinstance(said, Finding)}


def ruled_out(given: Facts) -> set[str]:
    return {said.cause for said in rules.judged(given) if isinstance(said, Out)}


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


def test_a_pool_that_ended_one_thread_has_grown_from_its_threads() -> None:
    samples = SimpleNamespace(at_ns=[0, 1, 2], processes=[1, 1, 1], threads=[31, 31, 30])
    record = SimpleNamespace(warm_up_ns=0, probes=SimpleNamespace(server=SimpleNamespace(samples=samples)))
    assert loaded._grew(record) == (-1, 31)  # type: ignore[arg-type]
