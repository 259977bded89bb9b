"""A loop that a call stops is told from a pool of one, from one worker, and from a lock in the program."""

from dataclasses import replace

import pytest
from crumple.cause import rules
from crumple.cause.at_load import Light, Peer, Stage
from crumple.cause.cpu_time import CpuTime
from crumple.cause.finding import Facts, Finding
from crumple.cause.observed import Observed
from crumple.machine.at_rest import AtRest
from made_at_load import facts, threads, under_load
from made_observed import LOOP, LOOPS, THREADS, alone, many

# An event loop whose handlers wait 20 ms for an answer, in a call that blocks: it reads what has come in
# between.
NEAR = Peer(address="127.0.0.1:9", listener="mysqld", connections=1, waiting=1, most=1)
STOPPED = under_load(
    replace(LOOP, work=alone(20)),
    0.02,
    per_s=49,
    mean_s=1.3,
    cores=0.1,
    stage=Stage(not_accepted=0, unread=20, inside=44, other=0),
    peers=(NEAR,),
    threads=threads(number=1, sharing=1.0, places={"wait_woken": 0.97}, busiest=0.1),
)


def resting(given: Facts, at: str, **places: int) -> Facts:
    """The same, of which it is known where its busiest thread sleeps, and where all do without a load."""
    assert given.beyond.threads is not None
    seen = replace(given.seen, rest=AtRest(0.0, 0.0, (), places))
    return facts(replace(given, seen=seen), threads=replace(given.beyond.threads, busiest_at=at))


def first(given: Facts) -> tuple[str, str]:
    said = rules.judged(given)[0]
    return (said.cause, said.sure) if isinstance(said, Finding) else ("?", said.why)


def test_a_loop_that_waits_for_an_answer_in_a_call_is_no_pool_of_one_connection() -> None:
    assert first(STOPPED) == ("one-loop", "consistent")
    known = resting(STOPPED, "wait_woken", do_epoll_wait=1)
    assert first(known) == ("one-loop", "shown")
    said = rules.judged(known)[0]
    assert isinstance(said, Finding)
    assert said.evidence.startswith(
        "the one thread that serves sleeps in a call (wait_woken), and not waiting for"
    )
    assert "mysqld at 127.0.0.1:9 is to answer meanwhile" in said.evidence
    assert {each.cause for each in rules.judged(known) if isinstance(each, Finding)} == {"one-loop"}


def test_a_loop_with_a_pool_of_one_connection_waits_for_events() -> None:
    events = threads(number=1, sharing=1.0, places={"do_epoll_wait": 0.97}, busiest_at="do_epoll_wait")
    assert first(facts(STOPPED, threads=events))[0] == "connection-pool"


def test_a_call_that_polls_its_socket_is_told_by_what_the_loop_does_without_a_load() -> None:
    polls = facts(STOPPED, threads=threads(number=1, sharing=1.0, places={"poll_schedule_timeout": 0.97}))
    assert first(polls)[0] == "connection-pool"
    assert first(resting(polls, "poll_schedule_timeout", do_epoll_wait=1))[0] == "one-loop"
    # A loop that polls does so without a load as well.
    assert first(resting(polls, "poll_schedule_timeout", poll_schedule_timeout=1))[0] == "connection-pool"


def test_other_threads_that_wait_for_events_hide_no_loop_that_does_not() -> None:
    node = threads(number=11, sharing=1.05, places={"do_epoll_wait": 0.09, "futex_do_wait": 0.9})
    asleep = facts(STOPPED, peers=(), stage=Stage(not_accepted=0, unread=63, inside=1, other=0), threads=node)
    assert first(resting(asleep, "futex_do_wait", do_epoll_wait=2, futex_do_wait=9))[0] == "one-loop"
    # Without what threads do at rest, that all lie unread in front of the loop is less than to show it.
    assert first(asleep)[:2] == ("one-loop", "consistent")


def test_several_loops_that_are_stopped_are_workers() -> None:
    two = replace(facts(STOPPED, per_s=98, mean_s=0.65, peers=()), seen=replace(LOOPS, work=alone(20)))
    asleep = threads(number=2, sharing=2.0, places={"hrtimer_nanosleep": 0.97}, busiest=0.1)
    assert first(facts(two, threads=asleep))[0] == "workers"
    # Where loops use little CPU time, others share it. Two of four threads wait for events no more.
    rest = AtRest(cores=0.0, disk=0.0, burning=(), places={"do_epoll_wait": 4, "futex_do_wait": 18})
    futexes = {"do_epoll_wait": 0.1, "futex_do_wait": 0.9}
    asleep = threads(number=22, sharing=3.0, places=futexes, busiest=0.02, busiest_at="futex_do_wait")
    asked = replace(two, seen=replace(two.seen, rest=rest))
    found = rules.judged(facts(asked, threads=asleep))[0]
    assert isinstance(found, Finding) and found.evidence.startswith(
        "the 2 threads that serve sleep in a call"
    )


@pytest.mark.parametrize(
    "given",
    [
        replace(STOPPED, seen=replace(THREADS, work=alone(20), waiting=(many(32, 1, 0.1),))),
        facts(STOPPED, per_s=20),
        facts(STOPPED, cores=1.9),
        facts(STOPPED, mean_s=0.02),
    ],
    ids=["a pool of one thread", "less than one at a time", "no idle core", "no request waits"],
)
def test_it_is_no_stopped_loop_otherwise(given: Facts) -> None:
    said = [each for each in rules.judged(given) if isinstance(each, Finding)]
    assert "one-loop" not in [each.cause for each in said]


def test_a_call_that_polls_as_the_loop_does_is_told_by_what_the_loop_leaves_unread() -> None:
    polls = facts(STOPPED, threads=threads(number=1, sharing=1.0, places={"poll_schedule_timeout": 0.97}))
    unread = facts(polls, stage=Stage(not_accepted=0, unread=62, inside=2, other=0))
    assert first(resting(unread, "poll_schedule_timeout", poll_schedule_timeout=1)) == (
        "one-loop",
        "consistent",
    )
    assert first(resting(polls, "poll_schedule_timeout", poll_schedule_timeout=1))[0] == "connection-pool"


def test_of_a_loop_that_sleeps_it_is_not_told_where_it_computes() -> None:
    denied = CpuTime(why="kernel.perf_event_paranoid is 4: sysctl kernel.perf_event_paranoid=2 allows it")
    said = rules.judged(facts(resting(STOPPED, "wait_woken", do_epoll_wait=1), cpu_time=denied))[0]
    assert isinstance(said, Finding) and said.cause == "one-loop" and "paranoid" not in said.evidence


# Its handlers wait in a call that waits for events of its own, as for the end of another program.
NESTED = facts(
    STOPPED,
    peers=(),
    stage=Stage(not_accepted=40, unread=23, inside=1, other=0),
    threads=threads(number=7, sharing=None, places={"do_epoll_wait": 0.3, "futex_do_wait": 0.7}, busiest=0.1),
    light=Light(asked=40, waited=40),
)


def test_light_requests_that_wait_in_front_of_a_loop_tell_that_it_is_stopped_wherever_it_sleeps() -> None:
    assert first(NESTED) == ("one-loop", "shown")
    said = rules.judged(NESTED)[0]
    assert isinstance(said, Finding) and "40 of 40 light ones wait, too" in said.evidence


def test_where_the_model_is_not_known_one_worker_looks_like_a_loop_that_is_stopped() -> None:
    unsure = replace(NESTED, seen=Observed(cores=2, work=alone(20)))
    assert first(unsure) == ("one-loop", "consistent")
    said = rules.judged(unsure)[0]
    assert isinstance(said, Finding) and said.evidence.endswith("a pool of one worker looks the same")
    assert "workers" not in [each.cause for each in rules.judged(unsure) if isinstance(each, Finding)]


@pytest.mark.parametrize(
    "changed",
    [
        {"light": None},
        {"light": Light(40, 0)},
        {"light": Light(40, 20)},
        {"light": Light(5, 5)},
        {"stage": Stage(not_accepted=0, unread=1, inside=63, other=0)},
        {"per_s": 400, "mean_s": 0.16},
        {"threads": threads(number=1, sharing=1.0, busiest=0.95)},
    ],
    ids=["not asked", "none waits", "some wait", "too few", "all are read", "many at a time", "busy"],
)
def test_otherwise_light_requests_show_no_loop_that_is_stopped(changed: dict[str, object]) -> None:
    said = rules.judged(facts(NESTED, **changed))
    assert not [each for each in said if isinstance(each, Finding) and "light ones" in each.evidence]


def test_a_loop_that_answers_light_requests_meanwhile_is_not_stopped() -> None:
    known = resting(STOPPED, "wait_woken", do_epoll_wait=1)
    free = facts(known, light=Light(asked=40, waited=0))
    assert first(known)[0] == "one-loop" and first(free)[0] != "one-loop"


def test_in_front_of_a_loop_with_one_request_inside_no_worker_is_missing() -> None:
    # It computes and writes to the disk in turn, so it neither sleeps in a call nor keeps its core busy.
    stage = Stage(not_accepted=20, unread=43, inside=1, other=0)
    load = {"per_s": 320, "mean_s": 0.2, "cores": 0.8, "stage": stage}
    turns = threads(number=7, sharing=3.0, disk=0.34, busiest=0.56, busiest_at="submit_bio_wait")
    seen = replace(LOOP, work=alone(3.8, 2.5))
    given = under_load(seen, 0.0038, **load, threads=turns)
    found = [each for each in rules.judged(given) if isinstance(each, Finding)]
    assert [(each.cause, each.sure) for each in found] == [("one-loop", "consistent")]
    assert "63 wait to be accepted or read in front of a loop" in found[0].evidence
    # More are inside, or it may be a pool: then it may be workers.
    several = facts(given, stage=replace(stage, unread=40, inside=4))
    pool = replace(given, seen=replace(given.seen, held=None, waiting=(), computing=None, beside_one=None))
    for other in (several, pool):
        assert "one-loop" not in [each.cause for each in rules.judged(other) if isinstance(each, Finding)]
