"""What limits a server is found where it is, and not where another cause looks like it."""

from dataclasses import astuple, replace
from typing import get_args

import pytest
from crumple.cause import rules
from crumple.cause.at_load import Peer, Saturated, Stage, Threads
from crumple.cause.finding import Cause, Facts, Finding, Out, Unclear
from crumple.cause.observed import Observed, Tried
from crumple.machine.at_rest import AtRest
from crumple.machine.process_tree import Tree
from made_at_load import (
    BUSY,
    CAUSES,
    CPU,
    IN,
    LOCK,
    NOTHING,
    ONE_LOCK,
    ONE_LOOP,
    STOPPED,
    WORKERS,
    facts,
    threads,
)
from made_observed import GREEN, LOOP, THREADS, alone, many


def first(given: Facts) -> str:
    said = rules.judged(given)[0]
    return said.cause if isinstance(said, Finding) else "?"


def test_every_cause_has_a_server() -> None:
    assert set(CAUSES) == {*get_args(Cause)} - {"engine"}


@pytest.mark.parametrize("cause", CAUSES)
def test_the_cause_comes_first(cause: str) -> None:
    assert first(CAUSES[cause]) == cause, rules.judged(CAUSES[cause])


@pytest.mark.parametrize("cause", sorted({*CAUSES} - {"none", "idle-connections", "limiter"}))
def test_without_harm_there_is_no_cause(cause: str) -> None:
    given = CAUSES[cause]
    calm = facts(given, mean_s=1.1 * given.alone_s, unanswered=0)
    assert first(calm) == "none"


@pytest.mark.parametrize("cause", sorted({*CAUSES} - {"limiter"}))
def test_where_the_engine_was_at_its_limit_nothing_is_found(cause: str) -> None:
    said = rules.judged(facts(CAUSES[cause], engine_limited=True))
    assert [type(each) for each in said] == [Unclear]


@pytest.mark.parametrize("cause", sorted({*CAUSES} - {"limiter"}))
def test_where_others_used_the_machine_nothing_is_found(cause: str) -> None:
    said = rules.judged(facts(CAUSES[cause], disturbed="other programs used 40 % of the CPU time"))
    assert [type(each) for each in said] == [Unclear]


@pytest.mark.parametrize("cause", CAUSES)
def test_what_could_not_be_read_is_no_finding_of_another_kind(cause: str) -> None:
    blind = facts(
        CAUSES[cause],
        cores=None,
        stage=None,
        threads=None,
        peers=None,
        descriptors=None,
        throttled_share=None,
    )
    assert first(blind) in ("?", "none", cause)
    unclear = {said.cause for said in rules.judged(blind) if isinstance(said, Unclear)}
    assert cause in ("none", "limiter") or {"cpu", "workers", "dependency"} <= unclear


def test_a_stopped_server_is_throttled() -> None:
    assert first(STOPPED) == "throttled"


def test_idle_cores_rule_out_cpu_and_a_busy_core_does_not_make_a_loop_of_two() -> None:
    out = {said.cause: said.why for said in rules.judged(WORKERS) if isinstance(said, Out)}
    assert out["cpu"] == "it uses 0.10 of 2 cores"
    assert first(facts(ONE_LOOP, cores=1.9)) != "one-loop"


def test_threads_that_share_a_core_while_the_load_uses_the_other_are_no_lock() -> None:
    given = facts(ONE_LOCK, cores=1.1, engine_cores=0.9)
    assert first(given) == "cpu"
    (said, *_) = rules.judged(given)
    assert isinstance(said, Finding) and "the engine 0.90" in said.evidence


def test_a_busy_core_that_nobody_waits_for_is_no_cause() -> None:
    assert first(facts(NOTHING, cores=1.0, threads=threads(saturated=(BUSY,), sharing=1.0))) == "none"


def test_threads_asleep_at_a_lock_while_all_requests_are_served_are_no_lock() -> None:
    pooled = replace(LOCK, alone_s=0.3)
    assert "one-lock" not in [each.cause for each in rules.judged(pooled) if isinstance(each, Finding)]


def test_workers_behind_a_proxy_that_all_wait_for_a_lock_of_a_file_wait_for_it() -> None:
    # 64 requests are inside, of which the proxy holds all but those of the 8 workers.
    place = "locks_lock_inode_wait"
    behind = facts(WORKERS, per_s=20.0, stage=IN, threads=threads(number=10, places={place: 0.7}))
    assert first(behind) == "one-lock"
    # Workers that have nothing to do sleep in a futex, too. In one process all requests are for them.
    idle = facts(behind, threads=threads(number=10, places={"futex_wait_queue": 0.7}))
    assert first(idle) == "one-lock"
    nine = (many(32, 8, 0.1, at_rest=Tree(9, 10), most=Tree(9, 10)),)
    assert first(replace(idle, seen=replace(idle.seen, waiting=nine))) != "one-lock"


def test_all_cores_busy_are_no_lock() -> None:
    asleep = threads(number=66, places={"futex_wait_queue": 0.9})
    assert first(facts(CPU, threads=asleep)) == "cpu"


def test_the_share_of_a_finding_is_no_longer_than_the_response_time() -> None:
    for cause, given in CAUSES.items():
        for each in rules.judged(given):
            if isinstance(each, Finding) and cause != "none":
                assert each.share_s is None or each.share_s <= given.beyond.mean_s


@pytest.mark.parametrize("cause", CAUSES)
def test_large_figures_are_written_without_an_exponent(cause: str) -> None:
    load = CAUSES[cause].beyond
    assert load.stage is not None
    peers = tuple(
        replace(each, connections=100 * each.connections, waiting=100 * each.waiting, most=100 * each.most)
        for each in load.peers or ()
    )
    large = facts(
        CAUSES[cause],
        per_s=100 * load.per_s,
        in_flight=100 * load.in_flight,
        stage=Stage(*(100 * number for number in astuple(load.stage))),
        peers=peers,
    )
    said = [each.evidence if isinstance(each, Finding) else each.why for each in rules.judged(large)]
    assert said and [each for each in said if "e+" in each] == []


def test_a_cheap_switch_is_no_cause() -> None:
    assert first(replace(facts(CPU, switches_per_s=20_000), switch_s=1e-6)) == "cpu"


def node_files(cores: float, inside: float, busiest: float, *saturated: Saturated) -> Facts:
    """Node.js that writes a file and reads it back, as two starts were seen: 200 connections, two cores.

    The loop makes the file's content; four threads of its pool write and read, and others collect garbage.
    """
    load = replace(
        WORKERS.beyond,
        per_s=1_150.0,
        mean_s=0.17,
        in_flight=200.0,
        cores=cores,
        engine_cores=0.08,
        idle_most=0.65,
        stage=Stage(not_accepted=180.0, unread=2.0, inside=inside, other=0.6),
        threads=Threads(
            number=11.0,
            sharing=2.2,
            saturated=saturated,
            runnable=0.79,
            disk=0.0,
            stopped=0.0,
            places={"futex_do_wait": 0.69, "do_epoll_wait": 0.09},
            busiest=busiest,
        ),
    )
    return Facts(seen=Observed(cores=2), beyond=load, alone_s=None)


def test_the_pool_of_a_loop_for_files_is_not_taken_for_workers() -> None:
    loop = Saturated(share=0.87, program="node", serves=None)
    (found, *others) = rules.judged(node_files(1.29, 19.9, 0.92, loop))
    assert isinstance(found, Finding) and (found.cause, found.sure) == ("one-loop", "consistent")
    assert found.evidence.endswith("its other threads use 0.42")
    # In the other start the loop waited for those that collect garbage, and used less of a core.
    said = rules.judged(node_files(1.23, 13.3, 0.86))
    assert not [each for each in (*others, *said) if isinstance(each, Finding)]
    why = {each.cause: each.why for each in said if isinstance(each, Unclear)}
    assert "one thread runs, or is ready to, for 86\u202f% of the time" in why["workers"]
    assert "for 86\u202f%" in why["one-loop"]


def test_a_thread_that_computes_beside_a_known_pool_does_not_hide_that_its_workers_are_busy() -> None:
    burner = Saturated(share=0.95, program="statistics", serves=None)
    beside = facts(
        WORKERS, cores=1.5, all_cores=4, threads=threads(saturated=(burner,), busiest=0.95, sharing=2.0)
    )
    assert first(beside) == "workers"


def test_workers_of_which_none_computes_much_are_named_without_knowing_how_many() -> None:
    pool = node_files(0.4, 8.0, 0.2)
    (found, *_) = rules.judged(pool)
    assert isinstance(found, Finding) and (found.cause, found.sure) == ("workers", "consistent")


def lock_and_workers(workers: int, alone_ms: float, per_s: float, **changed: object) -> Facts:
    """A pool with one lock, under 64 connections: but for those who are served, its workers wait for it."""
    held = per_s * alone_ms / 1e3
    work = replace(alone(alone_ms), waits_s={"database": 0.02})
    seen = replace(THREADS, work=work, waiting=(many(32, workers, 0.1),))
    asleep = threads(number=workers + 1, places={"futex_do_wait": (workers - held) / (workers + 1)})
    given = facts(
        Facts(seen=seen, beyond=WORKERS.beyond, alone_s=alone_ms / 1e3),
        per_s=per_s,
        mean_s=64 / per_s,
        stage=Stage(not_accepted=0, unread=64 - workers, inside=workers, other=0),
        threads=asleep,
    )
    return facts(given, **changed)


def found(given: Facts) -> dict[str, Finding]:
    return {said.cause: said for said in rules.judged(given) if isinstance(said, Finding)}


def test_a_lock_and_workers_are_both_named_if_each_makes_requests_wait() -> None:
    # Each request takes 40 ms, and holds the lock for 12 of them: 8 workers without it would answer 200/s.
    both = lock_and_workers(8, 40, 83)
    said = found(both)
    assert list(said) == ["one-lock", "workers"]
    assert {each.sure for each in said.values()} == {"consistent"}
    assert "without the lock they would serve 200\u202f/s" in said["workers"].evidence
    shares = [each.share_s for each in said.values()]
    assert shares == pytest.approx([64 / 83 - 64 / 200, 64 / 200 - 0.04])
    assert sum(share or 0.0 for share in shares) == pytest.approx(both.waited_s)


def test_workers_that_only_wait_for_the_lock_are_no_second_cause() -> None:
    assert list(found(lock_and_workers(32, 5, 200))) == ["one-lock"]


def test_workers_that_would_use_all_cores_without_the_lock_are_no_second_cause() -> None:
    computing = lock_and_workers(8, 40, 83, cores=0.7, engine_cores=0.0)
    computing = replace(computing, seen=replace(computing.seen, work=alone(40, 8.4)))
    assert list(found(computing)) == ["one-lock"]
    assert list(found(facts(computing, all_cores=4))) == ["one-lock", "workers"]


def collected(mean_ms: float, least_ms: float, cpu_ms: float, **changed: object) -> Facts:
    """Go that marks a large heap after every sixty requests, as it was seen under 64 connections."""
    work = replace(alone(mean_ms, cpu_ms), least_s=least_ms / 1e3)
    given = facts(
        Facts(seen=replace(GREEN, work=work), beyond=WORKERS.beyond, alone_s=mean_ms / 1e3),
        per_s=177.2,
        mean_s=0.365,
        cores=1.14,
        idle_most=0.8,
        stage=Stage(not_accepted=0, unread=0.2, inside=63.8, other=0),
        threads=threads(number=6, sharing=4.0, places={"futex_do_wait": 0.44}),
    )
    return facts(given, **changed)


def test_requests_that_take_far_more_than_the_quickest_show_a_collector_of_garbage() -> None:
    said = found(collected(6.43, 0.364, 6.80))
    assert list(said) == ["memory"] and said["memory"].sure == "consistent"
    assert "the quickest took 364\u202fµs in all" in said["memory"].evidence


def test_requests_that_differ_are_no_collector_of_garbage() -> None:
    given = collected(6.43, 0.364, 6.80)
    # Their own thread does all of the work, they are not the same, or no core is idle.
    own = collected(6.43, 0.364, 6.42)
    assert given.seen.work is not None
    unlike = replace(given, seen=replace(given.seen, work=replace(given.seen.work, alike=False)))
    busy = facts(given, cores=1.95, idle_most=0.0)
    # Or the quickest takes about as long as the others.
    even = collected(6.43, 5.9, 6.80)
    for each in (own, unlike, busy, even):
        assert "memory" not in found(each)


# Four threads behind a loop wait 50 ms for an answer each, and 60 more requests are queued for one.
DATABASE = Peer(address="127.0.0.1:9", listener="database", connections=4, waiting=4, most=4)
BEHIND_A_LOOP = facts(
    Facts(seen=replace(LOOP, work=alone(50)), beyond=WORKERS.beyond, alone_s=0.05),
    per_s=80,
    mean_s=0.8,
    stage=IN,
    peers=(DATABASE,),
    threads=threads(number=5, places={"wait_woken": 0.8, "do_epoll_wait": 0.2}),
)


def test_threads_that_each_wait_for_an_answer_are_workers_and_no_pool_of_connections() -> None:
    assert first(BEHIND_A_LOOP) == "workers"
    # A client with a timeout polls its socket, as an idle thread may.
    polls = facts(BEHIND_A_LOOP, threads=threads(number=5, places={"poll_schedule_timeout": 0.8}))
    assert first(polls) == "workers"
    idle = replace(polls.seen, rest=AtRest(0.0, 0.0, (), {"poll_schedule_timeout": 4}))
    assert first(replace(polls, seen=idle)) == "connection-pool"


def test_requests_that_wait_for_a_connection_do_so_in_threads_or_in_a_loop() -> None:
    others_wait = threads(number=65, places={"wait_woken": 4 / 65, "futex_do_wait": 60 / 65})
    in_a_loop = threads(number=1, places={"do_epoll_wait": 1.0})
    for each in (others_wait, in_a_loop):
        assert first(facts(BEHIND_A_LOOP, threads=each)) == "connection-pool"


def test_what_is_shown_and_small_comes_after_what_is_most_of_the_wait() -> None:
    # Eight workers, of which it is not known how many there are, wait 40 of 50 ms for a database.
    asks = (replace(DATABASE, connections=8, waiting=6.4, most=8),)
    seen = replace(WORKERS.seen, slow=None, waiting=())
    said = found(replace(facts(WORKERS, peers=asks), seen=seen))
    assert next(iter(said)) == "workers" and said["workers"].sure == "consistent"
    # One that is slower under load is what requests wait for.
    slower = replace(
        facts(WORKERS, peers=(replace(DATABASE, connections=8, waiting=8, most=8),), per_s=20), seen=seen
    )
    assert next(iter(found(facts(slower, mean_s=3.2)))) == "dependency"


def test_a_quota_that_is_reached_now_and_then_explains_no_worker() -> None:
    now_and_then = facts(WORKERS, throttled_share=0.06)
    assert list(found(now_and_then)) == ["workers", "throttled"]
    assert list(found(facts(WORKERS, throttled_share=0.5))) == ["throttled"]


def test_a_few_late_connections_are_no_more_than_the_time_that_they_wait() -> None:
    late = facts(LOCK, late_connects=3, stage=Stage(not_accepted=0.5, unread=0, inside=63, other=0))
    assert list(found(late)) == ["one-lock"]
    # Nor are they the limit where those that are inside wait for something else.
    many_late = facts(late, late_connects=57, stage=Stage(not_accepted=27, unread=0, inside=37, other=0))
    calm = facts(many_late, threads=threads(number=66, places={"hrtimer_nanosleep": 0.1, "accept": 0.9}))
    assert "accept-queue" not in found(calm)


def test_threads_that_wait_for_a_program_to_begin_wait_for_no_disk() -> None:
    starts = facts(
        CPU, threads=threads(number=50, disk=2.4, places={"kernel_clone": 2.4 / 50, "do_wait": 0.5})
    )
    assert list(found(starts)) == ["cpu"]
    reads = facts(CPU, threads=threads(number=50, disk=2.4, places={"io_schedule": 2.4 / 50, "do_wait": 0.5}))
    assert "disk" in found(reads)


def test_workers_that_only_wait_for_a_connection_are_no_second_cause() -> None:
    # Tomcat with 64 threads and 3 connections, whose threads wait for one otherwise than in a lock.
    waits = threads(number=64, places={"hrtimer_nanosleep": 0.9, "wait_woken": 0.05})
    pool = facts(
        lock_and_workers(64, 22, 138, threads=waits),
        in_flight=261.0,
        mean_s=1.79,
        stage=Stage(not_accepted=0, unread=198, inside=63, other=0),
        peers=(replace(DATABASE, connections=3, waiting=2.9, most=3),),
    )
    assert list(found(pool)) == ["connection-pool"]


def test_workers_and_their_connections_are_both_named_if_each_makes_requests_wait() -> None:
    waits = threads(number=16, places={"hrtimer_nanosleep": 0.7, "wait_woken": 0.25})
    both = facts(
        lock_and_workers(16, 47, 182, threads=waits),
        peers=(replace(DATABASE, connections=4, waiting=3.7, most=4),),
    )
    said = found(both)
    assert set(said) == {"connection-pool", "workers"} and {each.sure for each in said.values()} == {"shown"}
    assert "with connections enough they would serve 340" in said["workers"].evidence


def test_a_pool_is_found_beside_another_dependency_that_more_requests_wait_for() -> None:
    cache = Peer(address="127.0.0.1:8", listener="cache", connections=30, waiting=12, most=40)
    waits = facts(
        BEHIND_A_LOOP, peers=(cache, DATABASE), threads=threads(number=1, places={"do_epoll_wait": 1.0})
    )
    assert first(waits) == "connection-pool"


def test_connections_that_overflow_since_the_only_worker_is_busy_are_the_workers() -> None:
    busy = facts(
        WORKERS,
        late_connects=30,
        queue_empty_share=0.0,
        per_s=49.0,
        mean_s=1.3,
        stage=Stage(not_accepted=62, unread=0, inside=1, other=1),
    )
    unknown = replace(busy, seen=replace(busy.seen, slow=None, waiting=()), alone_s=0.02)
    assert list(found(unknown)) == ["workers", "accept-queue"]
    assert list(found(facts(unknown, queue_empty_share=0.8))) == ["accept-queue"]


def test_workers_that_use_the_time_of_one_core_by_chance_wait_for_no_lock() -> None:
    # Java with eight threads, each of which sleeps 35 ms for a request and computes 5 ms.
    work = alone(45, 5.5)
    pool = facts(
        Facts(seen=Observed(cores=2, work=work), beyond=WORKERS.beyond, alone_s=0.045),
        per_s=190,
        mean_s=0.336,
        cores=1.1,
        idle_most=0.84,
        stage=Stage(not_accepted=0, unread=47, inside=8.9, other=8),
        threads=threads(number=30, sharing=9.1, places={"futex_do_wait": 0.93}),
    )
    assert list(found(pool)) == ["workers"]
    # Where a request inside takes far longer than alone, it waits for the others.
    assert first(facts(pool, stage=Stage(not_accepted=0, unread=20, inside=44, other=0))) == "one-lock"


def test_a_pool_of_one_connection_may_be_a_lock() -> None:
    one = replace(DATABASE, listener="mariadbd", connections=1, waiting=1, most=1)
    events = threads(number=5, places={"do_epoll_wait": 0.2, "futex_do_wait": 0.8})
    said = found(facts(BEHIND_A_LOOP, per_s=20, mean_s=3.2, peers=(one,), threads=events))
    assert said["connection-pool"].sure == "consistent"
    assert "a lock that is held while it is asked would look the same" in said["connection-pool"].evidence


def test_who_asks_another_service_over_one_connection_holds_a_lock_most_likely() -> None:
    # Clients of HTTP have more than one connection, unless something lets one request after the other ask.
    events = threads(number=5, places={"do_epoll_wait": 0.2, "futex_do_wait": 0.8})
    for listener, address in (("python3", "127.0.0.1:9"), (None, "10.0.0.5:8080")):
        one = Peer(address=address, listener=listener, connections=1, waiting=1, most=1)
        said = found(facts(BEHIND_A_LOOP, per_s=20, mean_s=3.2, peers=(one,), threads=events))
        assert list(said) == ["one-lock"]
        assert said["one-lock"].sure == "consistent"
        assert "a client of one connection would look the same" in said["one-lock"].evidence
    # Ten are served at a time, so they may ask at the same time over that connection.
    several = facts(BEHIND_A_LOOP, per_s=200, mean_s=0.32, peers=(one,), threads=events)
    assert several.at_a_time is not None and several.at_a_time > 9
    assert "requests share (HTTP/2, gRPC, pipelines)" in found(several)["one-lock"].evidence
    assert "HTTP/2" not in said["one-lock"].evidence
    remote = replace(one, address="10.0.0.5:5432")
    said = found(facts(BEHIND_A_LOOP, per_s=20, mean_s=3.2, peers=(remote,), threads=events))
    assert list(said) == ["connection-pool"]


def test_what_waits_to_be_acknowledged_is_not_served() -> None:
    late = replace(alone(90), first_byte_s=0.049)
    given = replace(WORKERS, seen=replace(WORKERS.seen, work=late), alone_s=0.09)
    assert given.at_a_time == pytest.approx(160 * 0.049)
    assert found(given)["workers"].sure == "shown"


def test_a_pool_of_connections_over_unix_sockets_is_no_lock() -> None:
    why = {"peers": "of a Unix-domain socket the kernel says what lies in it, not when something was sent"}
    asleep = threads(number=66, places={"unix_stream_read_generic": 5 / 66, "futex_do_wait": 59 / 66})
    given = facts(Facts(seen=LOCK.seen, beyond=LOCK.beyond, alone_s=0.05), per_s=100, mean_s=0.64, peers=())
    pool = facts(given, threads=asleep, unread=why)
    assert [(each.cause, each.sure) for each in found(pool).values()] == [("connection-pool", "consistent")]
    assert first(facts(pool, unread={})) == "one-lock"
    of_unix = Peer(
        address="unix:/run/database", listener="database", connections=5, waiting=0, most=5, unknown=5
    )
    assert first(facts(pool, peers=(of_unix,), unread={})) == "connection-pool"
    # One thread that waits for an answer while it holds a lock.
    held = threads(number=66, places={"unix_stream_read_generic": 1 / 66, "futex_do_wait": 63 / 66})
    assert first(facts(pool, per_s=20, mean_s=3.2, threads=held)) == "one-lock"


def test_requests_that_compute_on_several_cores_each_are_no_collector_of_garbage() -> None:
    # Each takes 5 ms alone, on both cores.
    parallel = replace(CPU, seen=replace(CPU.seen, work=alone(5, 9.5)))
    assert list(found(facts(parallel, per_s=200, mean_s=0.32))) == ["cpu"]
    why = {each.cause: each.why for each in rules.judged(parallel) if isinstance(each, Unclear)}
    assert "a request may compute on several threads" in why["memory"]


def test_a_limiter_says_so_itself_whatever_others_did() -> None:
    for changes in ({"engine_limited": True}, {"disturbed": "other programs used 40 % of the CPU time"}):
        (said,) = rules.judged(facts(CAUSES["limiter"], **changes))
        assert isinstance(said, Finding) and said.cause == "limiter"
        assert "429 with Retry-After: 1" in said.evidence and "200" in said.evidence


def test_a_503_by_number_is_a_limiter_unless_what_limits_the_server_is_shown() -> None:
    seen = CAUSES["limiter"].beyond.limiter
    assert seen is not None
    unnamed = {"failed": 9_000, "limiter": replace(seen, status=503, retry_after=None, is_named=False)}
    disturbed = facts(CAUSES["none"], **unnamed, disturbed="other programs took up to 69 % of the time")
    (said,) = rules.judged(disturbed)
    assert isinstance(said, Finding) and (said.cause, said.sure) == ("limiter", "consistent")
    shown = rules.judged(facts(CAUSES["descriptors"], **unnamed))
    assert any(isinstance(each, Finding) and each.cause == "descriptors" for each in shown)


def test_what_is_turned_away_only_under_load_is_by_a_limiter() -> None:
    seen = CAUSES["limiter"]
    assert seen.beyond.limiter is not None
    maybe = replace(seen.beyond.limiter, is_shown=False)
    load = facts(seen, answers=1_000, failed=9_000, limiter=maybe)

    def causes(failed: int) -> set[str]:
        tried = replace(load, seen=replace(load.seen, work=None, tried=Tried(40 - failed, failed)))
        return {each.cause for each in rules.judged(tried) if isinstance(each, Finding)}

    assert "limiter" in causes(0)
    assert "limiter" not in causes(36)
