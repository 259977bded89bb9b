"""Threads of which each serves one connection, or one request, and that share the time of one core."""

from dataclasses import replace

import made_results
import pytest
from crumple.cause import rules
from crumple.cause.at_load import Stage
from crumple.cause.finding import Facts, Finding
from crumple.cause.observed import Observed
from crumple.cause.parallelism import Parallelism
from crumple.diagnose.report import diagnose_output, diagnose_sentences
from crumple.machine.process_tree import Tree
from made_at_load import (
    BUSY,
    CPU,
    IDLE_CONNECTIONS,
    IN,
    LOCK,
    NEAR,
    ONE_LOOP,
    POOL,
    SLOW_POOL,
    WORKERS,
    facts,
    threads,
    under_load,
)
from made_observed import HELD, LOOP, LOOPS, THREAD_EACH, THREADS, alone, many

BRIEF = "threads that ended before they were read used 74% of its CPU time"


def causes(given: Facts) -> list[str]:
    return [each.cause for each in rules.judged(given) if isinstance(each, Finding)]


def test_threads_that_end_before_they_are_read_are_not_taken_for_one_thread() -> None:
    asleep = {"futex_wait_queue": 0.6, "poll_schedule_timeout": 0.4}
    seen = replace(ONE_LOOP, seen=Observed(cores=2, work=alone(5, 5)))
    each_ends = facts(
        seen,
        threads=threads(saturated=(), sharing=None, places=asleep, busiest=0.3),
        unread={"switches": BRIEF},
    )
    assert causes(each_ends) == ["one-lock"]
    assert "one-loop" in causes(facts(each_ends, unread={}))


def test_a_server_that_adds_threads_late_for_want_of_its_lock_has_no_slow_pool() -> None:
    asleep = {"futex_wait_queue": 0.9}
    computes = replace(SLOW_POOL, seen=replace(SLOW_POOL.seen, work=alone(50, 6)))
    starved = facts(computes, cores=1.0, threads=threads(number=60, sharing=40, places=asleep))
    assert causes(SLOW_POOL) == ["slow-pool"] and causes(starved) == ["one-lock"]


def test_a_thread_for_each_accepted_connection_is_no_pool_that_grows_slowly() -> None:
    # 40 connections took a second or more, as the listen queue was too short.
    late = facts(SLOW_POOL, late_connects=40)
    own = replace(late, seen=replace(THREAD_EACH, work=late.seen.work))
    assert "slow-pool" in causes(late) and causes(own) == ["accept-queue"]


def test_a_server_with_a_thread_for_each_connection_has_no_workers() -> None:
    each = Facts(seen=replace(THREAD_EACH, work=alone(20)), beyond=LOCK.beyond, alone_s=0.02)
    late = facts(
        each,
        per_s=49,
        mean_s=1.1,
        late_connects=50,
        stage=Stage(not_accepted=27, unread=0, inside=37, other=0),
        threads=threads(number=40, places={"inet_csk_accept": 0.9}),
    )
    assert causes(late) == ["one-lock"]


def test_what_the_kernel_takes_for_hundreds_of_switches_per_request_counts() -> None:
    # 400 requests per second, of 600 switches each, which take 3.6 times as long as on one core.
    many_ = replace(facts(CPU, switches_per_s=240_000, kernel_cores=0.86), switch_s=1e-6)
    found = rules.judged(many_)[0]
    assert isinstance(found, Finding) and (found.cause, found.sure) == ("switches", "consistent")
    assert causes(facts(many_, kernel_cores=None))[0] == "cpu"
    # Ten per request: the kernel has enough else to do for each.
    assert causes(facts(many_, switches_per_s=4_000))[0] == "cpu"
    # With the calls that wait and wake one takes longer, where that is most of what is done.
    assert causes(facts(many_, kernel_cores=1.3))[0] == "switches"
    assert causes(facts(many_, kernel_cores=0.97))[0] == "cpu"
    # What takes so long is no switch, and a hundred answers of a database are none.
    assert causes(facts(many_, kernel_cores=1.6))[0] == "cpu"
    asks = (replace(NEAR, connections=64, waiting=20, most=64),)
    assert "switches" not in causes(facts(many_, peers=asks))


def test_a_loop_that_is_busy_with_garbage_beside_its_collector_lacks_memory() -> None:
    # Node.js, whose requests replace some of 200 MiB of live objects: 0.56 ms of CPU time each.
    quick = replace(alone(0.69, 0.33), least_s=0.0002)
    loop = replace(BUSY, share=0.77)
    collects = facts(
        replace(ONE_LOOP, seen=replace(ONE_LOOP.seen, work=quick), alone_s=0.00069),
        per_s=2_200,
        mean_s=0.029,
        cores=1.24,
        engine_cores=0.09,
        threads=threads(saturated=(loop,), sharing=2.4, busiest=0.93),
    )
    assert causes(collects) == ["memory"]
    # Threads that hash for a request of which the quickest takes as long.
    hashes = replace(collects, seen=replace(collects.seen, work=replace(quick, least_s=0.0005)))
    assert causes(hashes) == ["one-loop"]
    assert causes(facts(collects, cores=0.9)) == ["one-loop"]
    # A loop that uses most of the CPU time is shown to be the limit.
    most = facts(collects, cores=1.3, threads=threads(saturated=(BUSY,), sharing=1.6, busiest=0.99))
    assert causes(most) == ["one-loop"]


def test_a_limit_that_more_requests_exceed_is_no_limit_of_workers() -> None:
    # Half of the 32 connections that asked for what waits were never accepted, so ten at a time were served.
    # Of the work, seventeen are.
    few = many(32, 10.2, 0.1, at_rest=Tree(1, 1), most=Tree(1, 13), unanswered=15)
    short = replace(THREAD_EACH, work=alone(51), waiting=(few,))
    overflows = under_load(
        short,
        0.051,
        per_s=332,
        mean_s=0.1,
        late_connects=99,
        stage=Stage(not_accepted=46, unread=0, inside=18, other=0),
        grew=12,
        grew_from=5,
    )
    assert causes(overflows) == ["accept-queue"]
    assert "workers" in causes(facts(overflows, per_s=200, grew=0))
    # Of what takes 0.1 ms alone, most is the engine's and the network's: one worker seems to serve 1.6.
    quick = replace(THREAD_EACH, work=alone(0.1), waiting=(many(32, 1, 0.1),))
    assert Facts(seen=quick, beyond=replace(POOL, per_s=16_000), alone_s=0.0001).workers == pytest.approx(1)


def test_a_pool_behind_a_loop_is_found_by_its_threads_that_wait() -> None:
    # A loop hands requests to six threads, each of which waits 50 ms.
    place = {"hrtimer_nanosleep": 0.84, "do_epoll_wait": 0.13}
    handed = under_load(
        replace(LOOP, work=alone(51), waiting=()),
        0.051,
        per_s=119,
        mean_s=0.54,
        stage=IN,
        threads=threads(number=7, sharing=1.6, places=place),
    )
    assert causes(handed) == ["workers"]
    assert "as threads of it that wait for something: 5.9" in rules.judged(handed)[0].evidence
    # Two loops that block: what they have not come to lies unread.
    unread = Stage(not_accepted=0, unread=62, inside=2, other=0)
    blocked = threads(number=3, sharing=2, places={"hrtimer_nanosleep": 0.66, "futex_do_wait": 0.33})
    loops = replace(handed, seen=replace(LOOPS, work=alone(20)), alone_s=0.02)
    assert causes(facts(loops, per_s=99, mean_s=0.65, stage=unread, threads=blocked)) == ["workers"]
    # Some of the pool are free: what lets in no more is something else, in front of it.
    free = threads(number=13, sharing=1.6, places={"hrtimer_nanosleep": 0.45, "futex_wait_queue": 0.46})
    assert "a semaphore" in rules.judged(facts(handed, threads=free))[0].evidence
    assert causes(facts(handed, per_s=245)) == []


@pytest.mark.parametrize("place", ["futex_wait_queue", "locks_lock_inode_wait", "rwsem_down_write_slowpath"])
def test_locks_of_threads_files_and_folders_are_locks(place: str) -> None:
    asleep = threads(number=66, places={place: 0.95})
    assert causes(facts(LOCK, threads=asleep)) == ["one-lock"]


def test_connections_that_got_no_answer_are_told_with_those_that_hold_the_workers() -> None:
    said = rules.judged(IDLE_CONNECTIONS)[0]
    assert isinstance(said, Finding) and said.evidence.endswith("; 64 of 64 got no answer")


def test_a_limit_that_idle_connections_lower_is_said_to_be_so() -> None:
    found = made_results.diagnosis()
    held = replace(found, seen=THREADS, said=tuple(rules.judged(IDLE_CONNECTIONS)))
    assert isinstance(diagnose_sentences.parallelism.waits(THREADS), Parallelism)
    assert "idle connections of others may hold more workers" in diagnose_sentences.waiting(held)
    assert "idle connections" not in diagnose_sentences.waiting(replace(held, said=()))


def test_one_line_of_evidence_says_what_would_tell_more() -> None:
    grown = replace(HELD, after=Tree(1, 34))
    found = replace(made_results.diagnosis(), seen=Observed(cores=2, held=grown))
    said = diagnose_output.text(found, 200, styled=False)
    assert "by one sign only; " in said and "give --slow PATH" in said


# php-fpm behind nginx: from 11 processes, four of which serve nothing, to 16.
GROWS_BEHIND = facts(
    Facts(
        seen=replace(THREADS, work=alone(100), waiting=(many(32, 5, 0.1),)),
        beyond=SLOW_POOL.beyond,
        alone_s=0.1,
    ),
    per_s=98,
    mean_s=0.65,
    grew=5,
    grew_from=11,
    stage=IN,
    threads=threads(number=13, places={"hrtimer_nanosleep": 0.7, "do_epoll_wait": 0.15}),
    peers=None,
)


def test_a_pool_that_grows_behind_a_proxy_is_seen_by_the_requests_that_it_answers() -> None:
    said = rules.judged(GROWS_BEHIND)[0]
    assert isinstance(said, Finding) and (said.cause, said.sure) == ("slow-pool", "consistent")
    assert said.evidence.endswith("inside; 9.8 are served at a time, and 5 were before")
    rises = rules.judged(facts(GROWS_BEHIND, rates=(80.0, 115.0)))[0]
    assert isinstance(rises, Finding) and (rises.cause, rises.sure) == ("slow-pool", "shown")
    assert "slow-pool" not in causes(facts(GROWS_BEHIND, rates=(98.0, 98.0)))
    # A runtime of many threads, or one that serves as many as before, adds some for other reasons.
    assert "slow-pool" not in causes(facts(GROWS_BEHIND, grew_from=40))
    before = replace(GROWS_BEHIND.seen, waiting=(many(32, 10, 0.1),))
    assert "slow-pool" not in causes(replace(GROWS_BEHIND, seen=before))


def test_a_pool_that_has_nearly_grown_enough_is_seen_by_the_rate_that_rises() -> None:
    # From 52 threads to 84: 62 of 105 requests are served at a time, others wait inside and in front of it.
    given = under_load(
        replace(THREADS, work=alone(200), waiting=(many(32, 26, 0.1),)),
        0.2,
        per_s=307,
        mean_s=0.37,
        in_flight=105,
        answers=1535,
        grew=32,
        grew_from=52,
        rates=(255.0, 340.0),
        stage=Stage(not_accepted=10, unread=11, inside=84, other=0),
        threads=threads(number=58, sharing=25, places={"futex_do_wait": 0.98}),
    )
    said = rules.judged(given)[0]
    assert isinstance(said, Finding) and (said.cause, said.sure) == ("slow-pool", "consistent")
    assert "slow-pool" not in causes(facts(given, rates=(300.0, 335.0)))


def test_threads_that_are_added_in_vain_make_no_pool_that_grows_slowly() -> None:
    assert causes(facts(SLOW_POOL, rates=(80.0, 120.0))) == ["slow-pool"]
    assert causes(facts(SLOW_POOL, rates=(100.0, 101.0))) == ["workers"]


def grown(served: float, threads_then: int, threads_now: int) -> Facts:
    """Eight workers under slow requests; so many requests are served at a time now."""
    tree = Tree(1, threads_then)
    seen = replace(WORKERS.seen, waiting=(many(32, 8, 0.1, at_rest=tree, most=tree),))
    asleep = threads(number=threads_now, places={"futex_do_wait": 0.95})
    stage = Stage(not_accepted=40, unread=6, inside=18, other=0)
    given = facts(
        replace(WORKERS, seen=seen),
        per_s=served / 0.05,
        mean_s=64 * 0.05 / served,
        threads=asleep,
        stage=stage,
    )
    return facts(given, grew=0, grew_from=threads_now)


def test_a_pool_that_has_grown_since_the_slow_requests_grows_slowly() -> None:
    # A runtime adds a thread now and then, and none in the seconds of this load.
    found = [each for each in rules.judged(grown(9.0, 20, 21)) if isinstance(each, Finding)]
    assert [(each.cause, each.sure) for each in found] == [("slow-pool", "consistent"), ("workers", "shown")]
    assert found[0].evidence == (
        "9.0 are served at a time by 21 threads, and 8.0 were by 20 of the requests that only wait"
    )
    # No thread was added, no more are served, or more than the threads that were added serve.
    for each in (grown(9.0, 20, 20), grown(8.2, 20, 21), grown(9.9, 20, 21)):
        causes = {said.cause for said in rules.judged(each) if isinstance(said, Finding)}
        assert "slow-pool" not in causes and causes


def test_of_requests_that_are_not_alike_no_pool_is_said_to_have_grown() -> None:
    # One in ten takes 500 ms: the mean of fifty that were sent alone may be a fifth off.
    given = grown(9.8, 10, 12)
    work = given.seen.work
    assert work is not None
    mixed = replace(given, seen=replace(given.seen, work=replace(work, alike=False, least_s=0.001)))
    assert causes(mixed)[0] == "workers"


def test_so_does_a_pool_behind_a_proxy_that_takes_all_requests_in() -> None:
    inside = facts(grown(9.0, 20, 21), stage=IN)
    found = [each for each in rules.judged(inside) if isinstance(each, Finding)]
    assert [(each.cause, each.sure, each.share_s) for each in found] == [
        ("slow-pool", "consistent", inside.waited_s)
    ]
    assert "slow-pool" not in causes(facts(inside, stage=replace(IN, inside=10, other=54)))
