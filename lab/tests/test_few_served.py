"""Requests that wait inside for one another are seen where light threads wait, which sleep in no lock."""

from dataclasses import replace

import pytest
from crumple.cause import rules
from crumple.cause.at_load import Light, Peer, Stage
from crumple.cause.cpu_time import CpuTime, File, Named, Process
from crumple.cause.finding import Facts, Finding, Out, Unclear
from crumple.cause.observed import Observed
from crumple.machine.at_rest import AtRest
from crumple.machine.process_tree import Tree
from made_at_load import IN, facts, threads, under_load
from made_observed import GREEN, HELD, LOOP, THREAD_EACH, THREADS, alone, many

# Light threads on five of the kernel's: 64 requests are inside, and one of them waits 10 ms in a lock.
JVM = (File("libjvm.so", 10, 0),)
HUNDREDS = replace(GREEN, work=alone(10), waiting=(many(512, 512, 0.1),))
LIGHT = under_load(
    HUNDREDS,
    0.01,
    per_s=99,
    mean_s=0.64,
    cores=0.04,
    stage=IN,
    threads=threads(number=5, places={"futex_wait_queue": 0.8, "ep_poll": 0.2}),
)


def test_one_request_at_a_time_is_as_behind_a_lock() -> None:
    said = rules.judged(LIGHT)[0]
    assert isinstance(said, Finding) and said.cause == "one-lock" and said.sure == "consistent"
    assert "64 requests are inside, of which 0.99 are served at a time" in said.evidence


@pytest.mark.parametrize(
    ("waiting", "unknown", "cause"),
    [
        (6.0, 0.0, "connection-pool"),
        (3.2, 2.8, "connection-pool"),
        (0.2, 5.8, "?"),
        (3.2, 9.0, "?"),
        (3.0, 0.5, "?"),
    ],
)
def test_as_many_connections_to_a_dependency_as_are_served_are_a_pool(
    waiting: float, unknown: float, cause: str
) -> None:
    # Half of the time a free one is not told from one whose answer is on its way.
    peer = Peer("127.0.0.1:9", "database", connections=7, waiting=waiting, most=7, unknown=unknown)
    said = rules.judged(facts(LIGHT, per_s=600, mean_s=0.107, peers=(peer,)))[0]
    assert (said.cause if isinstance(said, Finding) and said.cause != "workers" else "?") == cause
    if cause == "connection-pool":
        assert isinstance(said, Finding) and said.sure == "consistent"
        assert "7.0 connections to database (127.0.0.1:9)" in said.evidence


@pytest.mark.parametrize(
    ("waiting", "at_a_time", "causes"),
    [(4.3, 205.0, ["connection-pool"]), (4.3, 5.2, ["one-lock"]), (0.0, 205.0, ["one-lock"])],
    ids=["held", "as many workers", "never waits"],
)
def test_a_pool_whose_connections_are_held_while_answers_are_worked_on_is_used_up(
    waiting: float, at_a_time: float, causes: list[str]
) -> None:
    # 200 threads, most of which sleep where those that wait for a lock would, and a pool of five connections.
    peer = Peer("127.0.0.1:9", "database", connections=5, waiting=waiting, most=5)
    seen = replace(THREADS, work=alone(35), waiting=(many(512, at_a_time, 0.1, most=Tree(1, 235)),))
    given = under_load(
        seen,
        0.035,
        per_s=156,
        mean_s=0.41,
        stage=IN,
        peers=(peer,),
        threads=threads(number=235, places={"futex_wait_queue": 0.94}),
    )
    assert [each.cause for each in rules.judged(given) if isinstance(each, Finding)] == causes


# Workers behind a proxy that takes all requests in; idle threads of theirs sleep in a futex.
ASLEEP = AtRest(cores=0.0, disk=0.0, burning=(), places={"futex_wait_queue": 100})
SIX = replace(THREADS, work=alone(50), waiting=(many(32, 6.1, 0.1),), rest=ASLEEP)
BEHIND = under_load(
    SIX,
    0.05,
    per_s=124,
    mean_s=0.516,
    stage=IN,
    threads=threads(number=180, places={"futex_wait_queue": 0.5, "unix_stream_read_generic": 0.3}),
)


def test_as_many_as_of_the_slow_requests_are_let_in_by_workers() -> None:
    said = rules.judged(BEHIND)[0]
    assert isinstance(said, Finding) and (said.cause, said.sure) == ("workers", "consistent")
    assert "of which 6.2 are served at a time" in said.evidence
    assert "as many as of the slow requests (6.1)" in said.evidence
    # Another number, light requests that do not wait, threads for all requests, or no pool: it may be a lock.
    awake = replace(SIX, rest=replace(ASLEEP, places={"poll_schedule_timeout": 100}))
    for other in (
        facts(BEHIND, per_s=82, mean_s=0.78),
        facts(BEHIND, light=Light(asked=40, waited=1)),
        replace(BEHIND, seen=awake),
        replace(BEHIND, seen=replace(SIX, held=None, computing=None, beside_one=None, beside_many=None)),
    ):
        assert [each.cause for each in rules.judged(other) if isinstance(each, Finding)] == ["one-lock"]


def test_a_lock_of_a_file_that_half_of_the_workers_wait_for_is_one() -> None:
    # Six workers behind a proxy, of which three wait for the lock of a session.
    places = {"locks_lock_inode_wait": 0.32, "hrtimer_nanosleep": 0.3, "do_epoll_wait": 0.4}
    rest = AtRest(cores=0.0, disk=0.0, burning=(), places={"inet_csk_accept": 6})
    given = under_load(
        replace(SIX, rest=rest),
        0.06,
        per_s=50,
        mean_s=1.28,
        stage=IN,
        threads=threads(number=10, places=places),
    )
    said = rules.judged(given)[0]
    assert isinstance(said, Finding) and said.cause == "one-lock"


@pytest.mark.parametrize(
    ("at_rest", "served", "cause"),
    [
        (24, 8.0, "workers"),
        (0, 8.0, "one-lock"),
        # As many slept there before. A pool or a semaphore lets in a whole number, a lock another one.
        (33, 7.9, "workers"),
        (33, 7.5, "one-lock"),
    ],
)
def test_threads_of_a_jvm_that_sleep_for_a_time_sleep_in_no_lock(
    at_rest: int, served: float, cause: str
) -> None:
    # Eight threads more than at rest sleep in a futex, and eight requests are served at a time.
    asleep = AtRest(cores=0.0, disk=0.0, burning=(), places={"futex_wait_queue": at_rest})
    given = under_load(
        replace(HUNDREDS, work=alone(80), rest=asleep),
        0.08,
        per_s=served / 0.08,
        mean_s=64 * 0.08 / served,
        stage=IN,
        threads=threads(number=39, places={"futex_wait_queue": 0.83}),
    )
    said = rules.judged(given)[0]
    assert isinstance(said, Finding) and said.cause == cause


@pytest.mark.parametrize(
    ("waiting", "connections", "cause"),
    [(7.9, 9.7, "connection-pool"), (5.0, 9.7, "?"), (7.9, 10.0, "connection-pool")],
    ids=["they come and go", "half of them wait", "they stay, and hundreds can wait at a time"],
)
def test_a_connection_for_each_request_that_is_let_in_is_a_pool(
    waiting: float, connections: float, cause: str
) -> None:
    peer = Peer("127.0.0.1:9", "database", connections=connections, waiting=waiting, most=10)
    said = rules.judged(facts(LIGHT, per_s=940, mean_s=0.068, peers=(peer,)))[0]
    assert (said.cause if isinstance(said, Finding) else "?") == cause


def test_light_requests_that_do_not_wait_are_said_of_a_lock() -> None:
    said = rules.judged(facts(LIGHT, light=Light(asked=40, waited=1)))[0]
    assert isinstance(said, Finding) and said.cause == "one-lock"
    assert said.evidence.endswith("; light requests do not wait meanwhile")


@pytest.mark.parametrize(("per_s", "number"), [(400, "4.0"), (1_203, "12")])
def test_a_whole_number_at_a_time_is_as_a_semaphore_lets_in(per_s: float, number: str) -> None:
    said = rules.judged(facts(LIGHT, per_s=per_s, mean_s=64 / per_s))[0]
    assert isinstance(said, Finding) and (said.cause, said.sure) == ("workers", "consistent")
    assert f"of which {number} are served at a time" in said.evidence and "a lock" in said.evidence


@pytest.mark.parametrize("per_s", [2_540, 2_860])
def test_not_every_great_number_is_whole(per_s: float) -> None:
    # A lock that is held for 1/25 of a request's time, for instance.
    said = rules.judged(facts(LIGHT, per_s=per_s, mean_s=64 / per_s))[0]
    assert isinstance(said, Unclear)


@pytest.mark.parametrize("per_s", [370, 450, 650])
def test_any_other_number_at_a_time_is_said_without_naming_what_lets_them_in(per_s: float) -> None:
    # A lock that is held for a part of a request's time lets in such a number.
    few = facts(LIGHT, per_s=per_s, mean_s=64 / per_s)
    said = rules.judged(few)
    assert isinstance(said[0], Unclear) and f"{per_s / 100} are served at a time" in said[0].why
    assert "--slow PATH" not in said[0].why
    blind = rules.judged(replace(few, seen=Observed(cores=2, work=alone(10))))[0]
    assert isinstance(blind, Unclear) and blind.why.endswith("crumple diagnose with --slow PATH tells more")
    assert not [each for each in said if isinstance(each, Finding) or each.cause == "one-lock"]


def test_a_whole_number_names_no_workers_while_something_else_may_be_waited_for() -> None:
    given = facts(LIGHT, per_s=400, mean_s=0.16, peers=None, unread={"peers": "it is of another user"})
    assert not [each for each in rules.judged(given) if isinstance(each, Finding)]


@pytest.mark.parametrize(
    "given",
    [
        replace(LIGHT, seen=Observed(cores=2, work=alone(10))),
        facts(LIGHT, threads=threads(number=1, places={"hrtimer_nanosleep": 1.0})),
        facts(LIGHT, peers=None, unread={"peers": "it is of another user"}),
        facts(
            LIGHT, peers=(Peer("127.0.0.1:9", "database", 4, 0, 4, missed="closed before they were found"),)
        ),
    ],
    ids=["how many can wait is not known", "one thread", "connections unread", "connections missed"],
)
def test_where_another_cause_is_not_ruled_out_a_lock_is_not_named(given: Facts) -> None:
    said = rules.judged(given)
    assert not [each for each in said if isinstance(each, Finding)]
    assert "served at a time" in next(
        each.why for each in said if each.cause == "none" and not isinstance(each, Finding)
    )


@pytest.mark.parametrize(
    "given",
    [
        facts(LIGHT, per_s=20, mean_s=3.2),
        facts(LIGHT, stage=Stage(not_accepted=0, unread=62, inside=1, other=1), peers=None),
        facts(LIGHT, cores=1.9),
        facts(LIGHT, rose=True),
    ],
    ids=["far less than one at a time", "unread", "no idle core", "a load that rises"],
)
def test_otherwise_nothing_is_said_of_it(given: Facts) -> None:
    said = [each for each in rules.judged(given) if each.cause == "none"]
    assert not [each for each in said if "served at a time" in getattr(each, "why", "")]
    assert "one-lock" not in [each.cause for each in rules.judged(given) if isinstance(each, Finding)]


def test_a_socket_of_udp_that_may_only_be_written_to_hides_no_lock() -> None:
    why = "it has UDP sockets open"
    by_udp = facts(LIGHT, peers=(), unread={"udp": why, "dependencies": why, "peers": why})
    said = rules.judged(by_udp)[0]
    assert isinstance(said, Finding) and said.cause == "one-lock" and said.evidence.endswith(f"; {why}")
    unix = f"{why}; Unix-domain sockets cannot be read here"
    more = facts(LIGHT, peers=(), unread={"dependencies": unix, "peers": unix})
    assert isinstance(rules.judged(more)[0], Unclear)


def test_that_no_thread_sleeps_in_a_lock_is_what_rules_a_lock_out() -> None:
    near = Peer(address="127.0.0.1:9", listener="database", connections=64, waiting=62, most=64)
    said = rules.judged(facts(LIGHT, peers=(near,)))
    lock = next(each for each in said if each.cause == "one-lock")
    assert isinstance(lock, Out) and lock.why == "64 requests are inside, and 4.0 threads sleep in a lock"


def test_where_each_connection_has_a_thread_a_lock_is_told_without_slow_requests() -> None:
    # Threads that come and go with their connections are seldom seen asleep. No slow request was named.
    seen = replace(THREAD_EACH, work=alone(9), waiting=(), computing=None)
    given = under_load(
        seen,
        0.009,
        per_s=122,
        mean_s=0.52,
        stage=IN,
        threads=threads(number=65, sharing=None, places={"futex_do_wait": 0.14}),
    )
    said = rules.judged(given)[0]
    assert isinstance(said, Finding) and (said.cause, said.sure) == ("one-lock", "consistent")


def test_slow_requests_are_not_asked_for_where_there_were_some() -> None:
    def why(**seen: object) -> str:
        given = under_load(
            replace(LOOP, work=alone(80), waiting=(), **seen),  # type: ignore[arg-type]
            0.08,
            per_s=47,
            mean_s=1.36,
            stage=IN,
            threads=threads(number=7, places={"ep_poll": 0.9}),
        )
        said = rules.judged(given)[0]
        assert isinstance(said, Unclear)
        return said.why

    assert "--slow" in why(slow=None) and "--slow" not in why(slow=alone(100))


def test_light_threads_are_many_also_where_slow_requests_were_disturbed() -> None:
    disturbed = many(512, 512, 0.1, disturbed="other programs used 15 % of the CPU time")
    few = (many(32, 32, 0.1), disturbed)
    seen = replace(LIGHT.seen, waiting=few, held=replace(HELD, runtime="Erlang"))
    said = rules.judged(replace(LIGHT, seen=seen))[0]
    assert isinstance(said, Finding) and (said.cause, said.sure) == ("one-lock", "consistent")


def test_threads_that_slept_in_a_lock_at_rest_may_wait_there_under_load() -> None:
    # A pool of 220 threads, all of which sleep in a futex at rest, too. Two requests are served at a time:
    # half of each is behind a lock. How many can wait at a time is not known.
    asleep = AtRest(cores=0.0, disk=0.0, burning=(), places={"futex_do_wait": 220})
    given = under_load(
        Observed(cores=2, work=alone(20), rest=asleep),
        0.02,
        per_s=100,
        mean_s=0.64,
        stage=IN,
        threads=threads(number=224, places={"futex_do_wait": 0.965}),
    )
    assert not [each for each in rules.judged(given) if isinstance(each, Out) and each.cause == "one-lock"]
    said = rules.judged(given)[0]
    assert isinstance(said, Finding) and said.cause == "one-lock"


def test_as_many_as_of_the_slow_requests_are_workers_though_they_share_the_time_of_one_core() -> None:
    # Eight workers that wait and compute use the time of one core together by chance.
    given = under_load(
        replace(THREADS, work=alone(50, 50), waiting=(many(32, 8, 0.1),), rest=ASLEEP),
        0.05,
        per_s=160,
        mean_s=0.4,
        cores=0.95,
        threads=threads(number=40, sharing=10, places={"futex_do_wait": 0.77}),
        cpu_time=CpuTime(
            threads=(Named("C2 CompilerThre", 0.38), Named("GC Thread#0", 0.02)),
            files=JVM,
            processes=(Process(("C2 CompilerThre", "GC Thread#0"), 1.0),),
        ),
        stage=IN,
    )
    said = [each for each in rules.judged(given) if isinstance(each, Finding)]
    assert [each.cause for each in said] == ["workers"]
    # Where requests that compute do so on one core, a lock lets one run at a time, however many wait.
    one = replace(given.seen, computing=many(16, 1.0, 0.02, cores=1.0, busy=8.0))
    said = rules.judged(replace(given, seen=one))
    assert next(each.cause for each in said if isinstance(each, Finding)) == "one-lock"
