"""Servers whose figures look like another cause at first sight: pools, runtimes, idle threads, the kernel."""

from dataclasses import replace

import pytest
from crumple.cause import rules
from crumple.cause.at_load import Peer, Stage
from crumple.cause.cpu_time import CpuTime, File, Function
from crumple.cause.finding import Facts, Finding, Unclear
from crumple.machine.at_rest import AtRest
from crumple.machine.process_tree import Tree
from made_at_load import (
    ACCEPT_QUEUE,
    CONNECTION_POOL,
    CPU,
    IN,
    LOCK,
    NEAR,
    ONE_LOCK,
    POOL,
    facts,
    threads,
    under_load,
)
from made_observed import GREEN, HELD, HYBRID, LOOP, LOOPS, PROCESSES, THREADS, alone, many


def causes(given: Facts) -> list[tuple[str, str]]:
    """What is found, and how sure."""
    return [(each.cause, each.sure) for each in rules.judged(given) if isinstance(each, Finding)]


def asleep(**places: int) -> AtRest:
    """Threads that sleep there while nobody asks."""
    return AtRest(cores=0.0, disk=0.0, burning=(), places=places)


def test_threads_that_a_runtime_adds_to_compile_are_no_pool_that_grows() -> None:
    # Eight at a time before and now; three compiler threads came, and requests are quicker in the end.
    seen = replace(THREADS, work=alone(50))
    given = under_load(
        seen,
        0.05,
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
    given = under_load(
        seen,
        0.055,
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
    given = under_load(
        SIX,
        0.05,
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
    given = under_load(
        seen,
        0.05,
        per_s=205,
        mean_s=0.312,
        stage=IN,
        peers=(),
        threads=threads(number=204, sharing=64, places={"futex_wait_queue": 0.66, place: 0.32}),
    )
    assert "one-lock" not in dict(causes(given))


def test_cpu_time_of_the_kernel_is_no_garbage_collection() -> None:
    # select() over ever more descriptors: a request takes more than thrice its CPU time alone.
    given = under_load(
        replace(HYBRID, work=alone(2, 1)),
        0.002,
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
    given = under_load(
        replace(LOOP, work=alone(5, 5), rest=rest),
        0.005,
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


QUEUE = Peer("127.0.0.1:6379", "redis-server", connections=2, waiting=2, most=2)


def beside_a_queue(served: int, queue: Peer) -> Facts:
    """The process also takes jobs from a queue. So many requests are let in at a time by something else."""
    seen = replace(GREEN, work=alone(10), waiting=(many(512, 512, 0.1),))
    return under_load(
        replace(seen, asks_at_rest={queue.address: queue.waiting}),
        0.01,
        per_s=100 * served,
        mean_s=0.64 / served,
        stage=IN,
        peers=(queue,),
        threads=threads(number=7, places={"ep_poll": 0.3, "futex_wait_queue": 0.7}),
    )


def test_connections_that_wait_while_nobody_asks_are_no_pool() -> None:
    assert causes(beside_a_queue(4, QUEUE)) == [("workers", "consistent")]
    one = replace(QUEUE, connections=1, waiting=1, most=1)
    assert causes(beside_a_queue(1, one)) == [("one-lock", "consistent")]
    # Connections whose exchange ends without an answer look the same, and may be waited for under load.
    assert causes(beside_a_queue(2, QUEUE)) == []
    unclear = [each for each in rules.judged(beside_a_queue(2, QUEUE)) if isinstance(each, Unclear)]
    assert any("redis-server (127.0.0.1:6379) while nobody asks" in each.why for each in unclear)


def test_a_pool_of_which_some_connections_wait_at_rest_is_not_sure() -> None:
    given = CONNECTION_POOL
    assert causes(given) == [("connection-pool", "shown")]
    rests = {NEAR.address: 1.0}
    resting = replace(given, seen=replace(given.seen, asks_at_rest=rests))
    found = rules.judged(resting)[0]
    assert isinstance(found, Finding) and (found.cause, found.sure) == ("connection-pool", "consistent")
    assert found.evidence.endswith("; 1.0 more wait while nobody asks")


def test_connections_that_wait_while_nobody_asks_are_waited_for_by_no_request() -> None:
    rest = replace(LOCK.seen, asks_at_rest={QUEUE.address: 2.0})
    assert causes(replace(facts(LOCK, peers=(QUEUE,)), seen=rest)) == causes(LOCK)
    # Of twelve connections ten are the requests'.
    more = replace(QUEUE, connections=12, waiting=12, most=12)
    given = replace(facts(LOCK, peers=(more,)), seen=rest)
    assert given.peers == (replace(QUEUE, connections=10, waiting=10, most=10),)


def test_a_pool_of_connections_that_cannot_be_read_is_told_by_the_threads() -> None:
    # What listens sends before it is asked, so that nothing tells what a connection waits for.
    peer = Peer("127.0.0.1:3306", "mariadbd", connections=25.4, waiting=0.0, most=30, unknown=22.4)
    places = {"futex_do_wait": 0.667, "wait_woken": 0.282, "hrtimer_nanosleep": 0.042}
    seen = replace(LOOPS, work=alone(102), rest=asleep(futex_do_wait=5, do_epoll_wait=1))
    given = under_load(
        seen,
        0.102,
        per_s=205,
        mean_s=0.326,
        stage=IN,
        peers=(peer,),
        threads=threads(number=72, sharing=3.5, places=places),
    )
    assert causes(given) == [("connection-pool", "consistent")]


def test_a_pool_is_used_up_though_its_connections_are_not_always_waited_for() -> None:
    # A client of HTTP that takes a while to hand one on: 5.5 of 8.9 wait, and 7.8 requests are served.
    peer = Peer("127.0.0.1:9", "python3", connections=8.9, waiting=5.5, most=10)
    seen = replace(LOOP, work=alone(185), waiting=(many(512, 512, 0.1),))
    given = under_load(
        seen,
        0.185,
        per_s=42,
        mean_s=1.51,
        stage=IN,
        peers=(peer,),
        threads=threads(number=1, sharing=1.0, places={"do_epoll_wait": 0.7}, busiest=0.3),
    )
    assert causes(given) == [("connection-pool", "consistent")]


def test_requests_that_ask_a_service_one_after_the_other_wait_for_a_lock() -> None:
    # Twelve threads log each request by a handler that sends it over a new connection, under its lock.
    there = Tree(1, 13)
    seen = replace(
        THREADS,
        work=alone(15),
        waiting=(many(32, 12.2, 0.1, at_rest=there, most=there),),
        rest=asleep(poll_schedule_timeout=1, futex_do_wait=12),
    )
    peer = Peer(
        "127.0.0.1:9",
        "python3",
        connections=1.0,
        waiting=0.51,
        most=1,
        unknown=0.49,
        missed="387 were closed",
    )
    given = under_load(
        seen,
        0.0154,
        per_s=64.6,
        mean_s=0.99,
        stage=IN,
        peers=(peer,),
        threads=threads(
            number=13, sharing=9.6, places={"futex_do_wait": 0.85, "poll_schedule_timeout": 0.13}
        ),
    )
    assert causes(given)[0] == ("one-lock", "consistent")


def test_a_limit_of_connections_that_idle_ones_had_reached_is_told_of_a_loop_as_well() -> None:
    # It accepts twenty connections at most. Others held twenty while requests came one at a time, in vain.
    held = replace(LOOP.held or HELD, accepted=20, most=20, answered=False)
    seen = replace(
        LOOP, work=None, held=held, failed={"work": "no answer within 12 s"}, waiting=(many(32, 20.3, 0.04),)
    )
    given = facts(
        Facts(seen=seen, beyond=POOL, alone_s=0.041, others=0, others_before=20),
        per_s=456,
        mean_s=0.044,
        in_flight=81,
        unanswered=61,
        stage=Stage(not_accepted=62, unread=0, inside=19, other=0),
    )
    assert causes(given)[0][0] == "idle-connections"


def test_idle_connections_that_kept_single_requests_waiting_come_before_what_a_load_waits_for() -> None:
    # The server has closed the idle ones since. The load that follows keeps both cores busy.
    seen = replace(PROCESSES, work=alone(25, 12), failed={"work": "no answer within 1.2 s"})
    given = replace(CPU, seen=seen, alone_s=0.025, others=0, others_before=12)
    assert [cause for cause, _ in causes(given)][:2] == ["idle-connections", "cpu"]
    # With most of them still open they are not what kept it from answering: it began just then, for instance.
    assert [cause for cause, _ in causes(replace(given, others=11))] == ["cpu"]


def test_processes_that_are_added_one_by_one_make_the_rate_rise_by_little() -> None:
    # Two are added to fourteen: from the first third to the last the rate rises by 7 %.
    there = Tree(14, 14)
    seen = replace(PROCESSES, work=alone(57), waiting=(many(32, 8, 0.1, at_rest=there, most=there),))
    grows = {"grew": 2, "grew_from": 14, "threads": threads(number=15, sharing=15)}
    given = under_load(seen, 0.057, per_s=225, answers=1125, mean_s=0.28, rates=(220.0, 235.0), **grows)
    # That may be chance: a third of the load has 375 answers.
    assert ("slow-pool", "consistent") in causes(given)
    sure = replace(given.beyond, rates=(200.0, 240.0))
    assert ("slow-pool", "shown") in causes(replace(given, beyond=sure))
    # So may be that it rose at all where there are few answers. Where there are many, it did not rise.
    few = replace(given.beyond, per_s=20, mean_s=2.0, rates=(20.0, 20.1), answers=100)
    assert ("slow-pool", "shown") not in causes(replace(given, beyond=few))
    flat = replace(given.beyond, per_s=22_500, rates=(22_500.0, 22_510.0), answers=112_500)
    assert "slow-pool" not in dict(causes(replace(given, beyond=flat)))
    # On average over the load it serves no more than the slow requests showed, from three processes to six.
    doubled = {"grew": 3, "grew_from": 3, "answers": 110, "rates": (16.9, 26.9)}
    seen = replace(PROCESSES, work=alone(150), waiting=(many(32, 3.4, 0.1),))
    doubles = under_load(seen, 0.15, per_s=22, mean_s=2.7, **doubled)
    assert causes(doubles) == [("slow-pool", "consistent")]
    # Requests may start processes that serve nothing.
    few = facts(doubles, grew_from=5, rates=(20.0, 20.2), per_s=20, answers=100)
    assert "workers" in dict(causes(few)) and "slow-pool" not in dict(causes(few))
    # Workers that began together end together: many of them scatter more than answers at random do.
    waves = facts(doubles, grew=8, grew_from=40, per_s=40, rates=(38.0, 58.0), answers=200)
    assert ("slow-pool", "shown") not in causes(replace(waves, alone_s=1.25))


def test_where_little_is_garbage_a_lock_shares_a_core_though_others_work_beside() -> None:
    alike = facts(
        ONE_LOCK, threads=threads(number=20, sharing=16, places={"futex_wait_queue": 0.9}), stage=IN
    )
    alike = replace(alike, seen=replace(THREADS, work=alone(5, 5.2), waiting=(many(512, 512, 0.1),)))
    assert "one-lock" not in dict(causes(alike))
    names = CpuTime(
        samples=146,
        functions=(Function("tariff", "server", 146),),
        files=(File("server", 146, 146),),
        stands_for=1.0,
    )
    assert causes(facts(alike, cpu_time=names))[0] == ("one-lock", "consistent")


def test_a_dependency_that_takes_no_longer_than_alone_keeps_nobody_in_front_of_the_server() -> None:
    peer = Peer("127.0.0.1:9", "python3", connections=19, waiting=19, most=20)
    given = under_load(
        replace(LOOP, work=alone(153)),
        0.153,
        per_s=114,
        mean_s=0.169,
        in_flight=40,
        unanswered=30,
        stage=Stage(not_accepted=8, unread=13, inside=18, other=1),
        peers=(peer,),
    )
    assert "dependency" not in dict(causes(given))
    # Where most are inside, they wait for it.
    inside = facts(given, stage=Stage(not_accepted=1, unread=3, inside=18, other=18))
    assert "dependency" in dict(causes(inside))


def test_a_dependency_that_got_slower_keeps_most_in_front_of_workers_with_idle_connections() -> None:
    # Eight processes have five connections each, and ask over one at a time, which takes five times as long.
    nine = Tree(9, 9)
    held = replace(PROCESSES.held or HELD, accepted=8, holders=8, before=nine, after=nine)
    seen = replace(PROCESSES, work=alone(50), waiting=(many(32, 8, 0.1, at_rest=nine, most=nine),), held=held)
    peer = Peer("127.0.0.1:5432", "postgres", connections=40, waiting=7.8, most=40)
    given = under_load(
        seen,
        0.05,
        per_s=32,
        mean_s=2,
        stage=Stage(not_accepted=0, unread=56, inside=8, other=0),
        peers=(peer,),
        threads=threads(number=9, sharing=8, places={"do_epoll_wait": 0.1, "wait_woken": 0.87}),
    )
    assert causes(given)[0] == ("dependency", "shown")


def test_workers_whose_connections_cannot_be_read_are_no_pool_because_other_threads_sleep() -> None:
    peer = Peer("127.0.0.1:3306", "mariadbd", connections=6, waiting=0, most=6, unknown=5.7)
    given = under_load(
        SIX,
        0.05,
        per_s=120,
        mean_s=0.53,
        stage=IN,
        peers=(peer,),
        threads=threads(number=180, sharing=6, places={"futex_wait_queue": 0.5, "sk_wait_data": 5.6 / 180}),
    )
    assert "connection-pool" not in dict(causes(given))


def test_a_pool_that_had_shrunk_grows_slowly_again() -> None:
    # It had been full under the slow requests; idle processes ended since, and it grows from 6 to 26.
    there = Tree(33, 33)
    seen = replace(PROCESSES, work=alone(50), waiting=(many(512, 32, 0.1, at_rest=there, most=there),))
    given = under_load(
        seen,
        0.05,
        per_s=240,
        mean_s=0.27,
        stage=Stage(not_accepted=0, unread=50, inside=14, other=0),
        grew=20,
        grew_from=6,
        rates=(120.0, 400.0),
        threads=threads(number=16, sharing=14),
    )
    assert causes(given) == [("slow-pool", "shown")]


def test_a_runtime_with_few_threads_has_no_pool_that_had_shrunk() -> None:
    # A listener lets in 40 connections, whose requests wait in light threads; the runtime adds two threads.
    there = Tree(1, 10)
    seen = replace(GREEN, work=alone(50), waiting=(many(512, 40, 0.1, at_rest=there, most=there),))
    given = under_load(
        seen,
        0.05,
        per_s=800,
        mean_s=0.2,
        stage=Stage(not_accepted=120, unread=0, inside=40, other=0),
        grew=2,
        grew_from=10,
        rates=(760.0, 837.0),
        threads=threads(number=12),
    )
    assert causes(given)[0][0] == "workers"


@pytest.mark.parametrize("place", ["ep_poll", "hrtimer_nanosleep"])
def test_threads_that_sleep_elsewhere_are_none_of_those_that_wait_for_a_lock(place: str) -> None:
    there = Tree(1, 66)
    seen = replace(
        THREADS,
        work=alone(5),
        waiting=(many(512, 40, 0.1, at_rest=there, most=there),),
        rest=asleep(futex_wait_queue=40, **{place: 24}),
    )
    given = under_load(
        seen,
        0.005,
        per_s=200,
        mean_s=0.2,
        in_flight=40,
        stage=Stage(not_accepted=0, unread=0, inside=40, other=0),
        peers=(),
        threads=threads(number=66, sharing=30, places={"futex_wait_queue": 39 / 66, place: 24 / 66}),
    )
    assert causes(given) == [("one-lock", "consistent")]
