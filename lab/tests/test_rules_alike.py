"""Servers whose figures look like another cause at first sight: pools, runtimes, idle threads, the kernel."""

from dataclasses import replace

import pytest
from crumple.cause import rules
from crumple.cause.at_load import Peer, Stage
from crumple.cause.finding import Facts, Finding
from crumple.machine.at_rest import AtRest
from crumple.machine.process_tree import Tree
from made_at_load import ACCEPT_QUEUE, IN, POOL, facts, threads
from made_observed import HYBRID, LOOP, THREADS, alone, many


def causes(given: Facts) -> list[tuple[str, str]]:
    """What is found, and how sure."""
    return [(each.cause, each.sure) for each in rules.judged(given) if isinstance(each, Finding)]


def asleep(**places: int) -> AtRest:
    """Threads that sleep there while nobody asks."""
    return AtRest(cores=0.0, disk=0.0, burning=(), places=places)


def test_threads_that_a_runtime_adds_to_compile_are_no_pool_that_grows() -> None:
    # Eight at a time before and now; three compiler threads came, and requests are quicker in the end.
    seen = replace(THREADS, work=alone(50))
    given = facts(
        Facts(seen=seen, beyond=POOL, alone_s=0.05),
        grew=3,
        grew_from=26,
        rates=(148.0, 170.0),
        threads=threads(number=28),
    )
    assert causes(given) == [("workers", "shown")]


def test_a_request_that_was_slower_alone_makes_no_pool_that_has_grown() -> None:
    # By the mean without load 8.8 are served at a time, by the quickest 8.0; the runtime has a thread more.
    work = replace(alone(55), least_s=0.05)
    there = Tree(1, 30)
    seen = replace(THREADS, work=work, waiting=(many(32, 8, 0.1, at_rest=there, most=there),))
    given = facts(
        Facts(seen=seen, beyond=POOL, alone_s=0.055),
        per_s=160,
        grew=0,
        grew_from=31,
        threads=threads(number=31),
    )
    assert causes(given) == [("workers", "shown")]


THERE = Tree(9, 180)
SIX = replace(
    THREADS,
    work=alone(50),
    waiting=(many(32, 6.0, 0.1, at_rest=THERE, most=THERE),),
    rest=asleep(futex_wait_queue=100, unix_stream_read_generic=6),
)


@pytest.mark.parametrize(("connections", "waiting"), [(6.0, 5.6), (5.7, 4.6)], ids=["kept", "for each"])
def test_workers_with_a_connection_each_are_no_pool_because_other_threads_sleep(
    connections: float, waiting: float
) -> None:
    # A proxy and agents of the same tree have a hundred threads that sleep in a futex, with and without load.
    peer = Peer("127.0.0.1:5432", "postgres", connections=connections, waiting=waiting, most=6)
    given = facts(
        Facts(seen=SIX, beyond=POOL, alone_s=0.05),
        per_s=120,
        mean_s=0.53,
        stage=IN,
        peers=(peer,),
        threads=threads(number=180, sharing=6, places={"futex_wait_queue": 0.5, "do_poll": waiting / 180}),
    )
    assert causes(given) == [("workers", "consistent")]


@pytest.mark.parametrize("place", ["do_poll", "hrtimer_nanosleep"])
def test_idle_threads_of_a_large_pool_wait_for_no_lock(place: str) -> None:
    # 64 of 200 threads have a request, and wait for something else.
    there = Tree(1, 204)
    seen = replace(
        THREADS,
        work=alone(50),
        waiting=(many(512, 200, 0.1, at_rest=there, most=there),),
        rest=asleep(futex_wait_queue=200, ep_poll=1),
    )
    given = facts(
        Facts(seen=seen, beyond=POOL, alone_s=0.05),
        per_s=205,
        mean_s=0.312,
        stage=IN,
        peers=(),
        threads=threads(number=204, sharing=64, places={"futex_wait_queue": 0.66, place: 0.32}),
    )
    assert "one-lock" not in dict(causes(given))


def test_cpu_time_of_the_kernel_is_no_garbage_collection() -> None:
    # select() over ever more descriptors: a request takes more than thrice its CPU time alone.
    given = facts(
        Facts(seen=replace(HYBRID, work=alone(2, 1)), beyond=POOL, alone_s=0.002),
        per_s=600,
        mean_s=0.106,
        cores=1.95,
        kernel_cores=1.7,
        stage=IN,
        threads=threads(sharing=12, runnable=14),
    )
    assert causes(given) == [("cpu", "shown")]


def test_of_a_loop_that_is_busy_at_rest_it_is_not_said_that_a_lock_holds_it_up() -> None:
    rest = AtRest(cores=1.0, disk=0.0, burning=(7,), places={"futex_wait_queue": 10})
    given = facts(
        Facts(seen=replace(LOOP, work=alone(5, 5), rest=rest), beyond=POOL, alone_s=0.005),
        per_s=200,
        mean_s=0.32,
        cores=1.0,
        stage=IN,
        threads=threads(number=11, saturated=(), places={"futex_wait_queue": 0.9}, busiest=0.01),
    )
    assert "one-lock" not in dict(causes(given))


def test_connections_that_were_not_accepted_wait_for_no_loop() -> None:
    given = facts(ACCEPT_QUEUE, stage=Stage(not_accepted=60, unread=0, inside=1.0, other=3))
    assert [cause for cause, _ in causes(given)] == ["accept-queue"]
