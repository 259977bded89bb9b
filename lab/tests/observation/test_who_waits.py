"""Whether a process or a thread waits with each request, and how many there are."""

from dataclasses import replace

import pytest
from crumple.machine.process_tree import Tree
from crumple.observation import who_waits
from crumple.observation.observed import Observed
from crumple.observation.outcome import Crowd, ExperimentOutcomes, LoadPairs
from crumple.observation.unknown import Unknown
from crumple.observation.who_waits import WhoWaits
from made_observed import FIVE, GREEN, HELD, HYBRID, LOOP, MODELS, PROCESSES, THREADS, alone, many

TRUE = {
    "event-loop": ("nobody", None, False),
    "event-loop-per-core": ("nobody", None, False),
    "green-threads": ("nobody", None, False),
    "hybrid": ("nobody", None, False),
    "thread-per-connection": ("threads", None, True),
    "process-per-connection": ("processes", None, True),
    "thread-pool": ("threads", 8, False),
    "process-pool": ("processes", 4, False),
}
# Who may be named instead where less was observed, or with less certainty.
MAY_BE = {"processes": {"processes", "either"}, "threads": {"threads", "either"}, "nobody": {"nobody"}}


def found(seen: Observed) -> tuple[str, int | None, bool] | None:
    """Who waits, how many, and whether they grow; None: it cannot be told."""
    told = who_waits.of(seen)
    return (told.who, told.number, told.grows) if isinstance(told, WhoWaits) else None


@pytest.mark.parametrize("name", MODELS)
def test_of_each_model_it_is_known_who_waits(name: str) -> None:
    assert found(MODELS[name]) == TRUE[name], who_waits.of(MODELS[name])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("left_out", ["held", "waiting", "computing", "slow"])
def test_without_one_observation_nobody_else_is_named(name: str, left_out: str) -> None:
    less = replace(MODELS[name], **{left_out: () if left_out == "waiting" else None})  # type: ignore[arg-type]
    told = found(less)
    assert told is None or told[0] in MAY_BE[TRUE[name][0]]


@pytest.mark.parametrize("name", MODELS)
def test_without_its_process_it_cannot_be_told(name: str) -> None:
    seen = MODELS[name]
    without = [replace(each, cores=None, at_rest=None, most=None) for each in seen.waiting]
    assert found(replace(seen, held=None, waiting=tuple(without))) is None


def test_of_nothing_nothing_follows_and_the_answer_says_what_would_tell() -> None:
    told = who_waits.of(Observed(cores=2))
    assert isinstance(told, Unknown) and told.why.endswith("name its path: --slow PATH")


@pytest.mark.parametrize(
    ("runtime", "where"), [("Go", "green threads"), ("Erlang", "green threads"), ("JavaScript", "a loop")]
)
def test_the_runtime_tells_where_nothing_else_does(runtime: str, where: str) -> None:
    held = replace(HELD, runtime=runtime)
    told = who_waits.of(Observed(cores=2, held=held))
    assert isinstance(told, WhoWaits) and told.who == "nobody" and told.evidence.endswith(where)
    # What it does counts first: a program may wait in threads whatever its runtime is.
    assert found(replace(THREADS, held=held)) == ("threads", 8, False)
    assert found(Observed(cores=2, held=HELD)) is None


@pytest.mark.parametrize(
    ("there", "who"), [(Tree(1, 9), "threads"), (Tree(5, 5), "processes"), (Tree(5, 15), "either")]
)
def test_half_sent_requests_that_take_places_show_who_waits_by_the_url_alone(there: Tree, who: str) -> None:
    crowd = Crowd(1, 32, LoadPairs(0.75, 0.02, 4))
    held = replace(HELD, before=there, after=there)
    seen = Observed(cores=2, held=held, outcomes=ExperimentOutcomes(half_sent=crowd))
    assert found(seen) == (who, 4, False)
    # Where all places are taken, there may be fewer than were taken.
    all_taken = replace(crowd, others=4, paired=LoadPairs(0.0, 0.02, 4))
    assert found(replace(seen, outcomes=ExperimentOutcomes(half_sent=all_taken))) == (who, None, False)
    # A limit of connections takes them as well, without a thread for each.
    few = replace(seen, held=replace(held, after=Tree(1, 2)))
    assert found(few) is None
    assert (
        found(
            replace(
                seen, outcomes=ExperimentOutcomes(half_sent=replace(crowd, paired=LoadPairs(1.0, 0.02, 4)))
            )
        )
        is None
    )


@pytest.mark.parametrize(("there", "who"), [(Tree(1, 7), "threads"), (Tree(3, 3), "processes")])
def test_where_one_request_waits_at_a_time_one_process_or_thread_waits_with_it(there: Tree, who: str) -> None:
    one = replace(LOOP, waiting=(many(32, 1, 0.1, at_rest=there, most=there),))
    assert found(one) == (who, 1, False)


@pytest.mark.parametrize(("number", "threads"), [(8, 10), (32, 80)])
def test_a_limit_that_the_threads_of_a_runtime_happen_to_fit_shows_no_pool(number: int, threads: int) -> None:
    # Eight connections to a database, say, and ten threads: nothing that computes was asked for.
    there = Tree(1, threads)
    waiting = (many(512, number, 0.1, at_rest=there, most=there),)
    assert found(Observed(cores=2, light=alone(0.2), slow=alone(100), held=HELD, waiting=waiting)) is None
    # Requests compute on two threads of a runtime that lets eight wait.
    limited = replace(GREEN, waiting=(many(32, 8, 0.1, most=Tree(1, 10)),))
    assert found(limited) is None


def test_as_many_threads_as_wait_are_a_pool() -> None:
    there = Tree(1, 210)
    waiting = (many(512, 200, 0.1, at_rest=there, most=there),)
    pool = Observed(cores=2, light=alone(0.2), slow=alone(100), held=HELD, waiting=waiting)
    assert found(pool) == ("threads", 200, False)


def test_a_pool_that_is_still_being_filled_adds_a_thread_for_each_request() -> None:
    # An executor of Java starts a thread for each request until it has 200.
    filling = replace(HELD, before=Tree(1, 111), after=Tree(1, 135), grown=90, asked=111)
    assert found(Observed(cores=2, held=filling)) == ("threads", None, True)
    there = Tree(1, 223)
    full = replace(THREADS, held=filling, waiting=(many(512, 206, 0.1, at_rest=there, most=there),))
    assert found(full) == ("threads", 206, False)


def test_processes_that_hold_one_connection_each_wait_with_its_requests() -> None:
    held = replace(HELD, accepted=20, holders=20, most=1, before=Tree(65, 65), after=Tree(65, 65))
    assert found(Observed(cores=2, held=held)) == ("processes", None, False)
    two = replace(HELD, connections=2, accepted=2, holders=2, most=1)
    assert found(Observed(cores=2, held=two)) is None


def test_a_load_that_cpu_time_limited_leaves_it_to_the_one_before() -> None:
    few = many(32, 32, 0.1, at_rest=Tree(5, 40), most=Tree(5, 74))
    most = many(512, 34, 0.1, cores=1.6, at_rest=Tree(5, 124), most=Tree(5, 134))
    assert found(replace(HYBRID, waiting=(few, most))) == ("threads", None, True)


def test_processes_of_several_threads_may_be_either() -> None:
    eight = replace(PROCESSES, waiting=(many(32, 4, 0.1, at_rest=Tree(5, 40), most=Tree(5, 40)),))
    assert found(eight) == ("either", 4, False) and FIVE.threads == FIVE.processes
