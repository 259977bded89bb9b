"""The I/O model on machines of one core and of many, under a quota, and from loads that tell little."""

from dataclasses import replace

import pytest
from crumple.cause import model, parallelism
from crumple.cause.observed import Observed
from crumple.cause.parallelism import Parallelism
from crumple.cause.unknown import Unknown
from crumple.machine.at_rest import AtRest
from crumple.machine.process_tree import Tree
from made_observed import GREEN, HELD, HYBRID, LOOP, LOOPS, MODELS, REST, THREADS, alone, beside, many


def left(seen: Observed) -> set[str]:
    return set(model.named(seen).left)


def test_as_many_busy_threads_as_cores_are_no_thread_for_each_request() -> None:
    # 16 loops on 16 cores, and 16 requests: a thread computes for each, and none of them was made for it.
    wide = replace(
        LOOPS,
        cores=16,
        computing=many(16, 15.5, 0.02, cores=15.5, busy=15.8),
        beside_one=None,
        beside_many=None,
    )
    assert "event-loop-per-core" in left(wide)


@pytest.mark.parametrize("loops", [8, 16])
def test_of_many_loops_one_that_is_busy_is_hardly_met(loops: int) -> None:
    met = 0.75 / loops
    wide = replace(
        LOOPS,
        cores=loops,
        computing=many(4 * loops, loops, 0.02, cores=0.97 * loops, busy=float(loops)),
        beside_one=beside(1, min(met, 0.08)),
        beside_many=beside(4 * loops, 0.95),
    )
    assert "event-loop-per-core" in left(wide)


def test_heavy_requests_no_more_than_cores_keep_nobody_waiting() -> None:
    wide = replace(LOOPS, cores=8, beside_one=None, beside_many=beside(8, 0.2))
    assert not [line for line in model.named(wide).lines if "8 heavy requests" in line.says]


@pytest.mark.parametrize("name", MODELS)
def test_on_one_core_no_wrong_model_is_named(name: str) -> None:
    seen = MODELS[name]
    computing = seen.computing and replace(seen.computing, cores=0.99)
    one = replace(seen, cores=1, computing=computing, beside_one=beside(1, 0.6), beside_many=beside(8, 0.9))
    assert model.named(one).known in (None, name)


@pytest.mark.parametrize("name", MODELS)
def test_under_a_quota_no_wrong_model_is_named(name: str) -> None:
    seen = MODELS[name]
    computing = seen.computing and replace(seen.computing, cores=0.25)
    stopped = replace(
        seen, quota_cores=0.25, computing=computing, beside_one=beside(1, 0.7), beside_many=beside(8, 0.9)
    )
    assert model.named(stopped).known in (None, name)
    assert isinstance(parallelism.computes(stopped), Unknown)


def test_two_connections_of_which_each_loop_holds_one_are_no_process_for_each() -> None:
    few = replace(HELD, connections=2, accepted=2, holders=2, most=1, answered=True)
    assert model.named(replace(LOOPS, held=few)).left >= {"event-loop-per-core"}
    grown = replace(few, holders=1, most=2, after=Tree(REST.processes, REST.threads + 1))
    assert not [line for line in model.named(replace(LOOP, held=grown)).lines if "idle" in line.says]


def test_a_runtime_that_lets_few_wait_at_a_time_is_no_pool_because_it_has_threads() -> None:
    limited = replace(GREEN, waiting=(many(32, 8, 0.1, most=Tree(1, 10)),))
    assert model.named(limited).known in (None, "green-threads")


@pytest.mark.parametrize(("number", "threads_"), [(8, 10), (32, 80)])
def test_a_limit_that_the_threads_of_a_runtime_happen_to_fit_names_no_pool(
    number: int, threads_: int
) -> None:
    # Eight connections to a database, say, and ten threads: nothing that computes was asked for.
    there = Tree(1, threads_)
    waiting = (many(512, number, 0.1, at_rest=there, most=there),)
    limited = Observed(cores=2, light=alone(0.2), slow=alone(100), held=HELD, waiting=waiting)
    assert model.named(limited).known is None


def test_as_many_threads_as_wait_are_a_pool() -> None:
    there = Tree(1, 210)
    waiting = (many(512, 200, 0.1, at_rest=there, most=there),)
    pool = Observed(cores=2, light=alone(0.2), slow=alone(100), held=HELD, waiting=waiting)
    assert model.named(pool).known == "thread-pool"


def test_a_thread_that_computes_while_nobody_asks_is_no_request_that_does() -> None:
    burns = replace(LOOP, rest=AtRest(1.0, 0.0, (7,)), computing=many(16, 1, 0.02, cores=1.95, busy=1.02))
    found = parallelism.computes(burns)
    assert isinstance(found, Parallelism) and found.value == pytest.approx(0.95)
    assert model.named(burns).known in (None, "event-loop")


def test_a_load_that_took_the_other_core_does_not_make_two_of_one() -> None:
    crowded = replace(LOOP, computing=many(16, 1, 0.02, cores=1.0, engine_cores=0.9, busy=1.02))
    assert model.named(crowded).known in (None, "event-loop")


def test_without_its_cpu_time_a_limit_may_be_that_of_the_cores() -> None:
    found = parallelism.waits(replace(THREADS, waiting=(many(32, 8, 0.1, cores=None),)))
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "unread")


def test_one_busy_thread_that_takes_in_requests_is_no_limit_of_how_many_wait() -> None:
    # Twisted with ten threads that compute on both cores: its loop is busy with 3,500 answers per second.
    loop = many(512, 355, 0.1, cores=0.99, busy=1.0)
    found = parallelism.waits(replace(HYBRID, waiting=(many(32, 32, 0.1), loop)))
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "cpu")
    idle = replace(loop, cores=0.3)
    found = parallelism.waits(replace(HYBRID, waiting=(many(32, 32, 0.1), idle)))
    assert isinstance(found, Parallelism) and found.kind == "limit"


def test_a_disturbed_load_that_computed_does_not_make_a_limit_of_the_cores() -> None:
    disturbed = replace(THREADS, computing=many(16, 0.3, 0.02, cores=0.3, disturbed="others used 40 %"))
    found = parallelism.waits(disturbed)
    assert isinstance(found, Parallelism) and found.kind == "limit"


def test_requests_that_take_next_to_no_time_tell_nothing() -> None:
    quick = parallelism.waits(replace(THREADS, slow=alone(2.0)))
    assert isinstance(quick, Unknown) and "takes 2 ms" in quick.why
    light = parallelism.computes(replace(THREADS, heavy=alone(1.0, 0.9)))
    assert isinstance(light, Unknown) and "takes 1 ms" in light.why


def test_a_request_that_failed_was_given_all_the_same() -> None:
    failed = replace(LOOP, slow=None, heavy=None, failed={"slow": "status 404 × 20", "heavy": "no answer"})
    waits, computes = parallelism.waits(failed), parallelism.computes(failed)
    assert isinstance(waits, Unknown) and waits.why.endswith("status 404 × 20")
    assert isinstance(computes, Unknown) and computes.why.endswith("no answer")


def test_a_load_without_an_answer_has_no_rate() -> None:
    dead = replace(many(32, 8, 0.1), per_s=0.0, per_s_low=0.0, per_s_high=0.0)
    assert isinstance(parallelism.waits(replace(THREADS, waiting=(dead,))), Unknown)
    assert isinstance(parallelism.computes(replace(THREADS, computing=replace(dead, cores=0.0))), Unknown)
