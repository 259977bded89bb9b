"""The rules where something is not known, or known in part: no number stands for what was not read."""

from dataclasses import replace

import pytest
from crumple.cause import cpu_rules, in_short, lock_rules, model, rules
from crumple.cause.at_load import Stage
from crumple.cause.finding import Facts, Finding, Out, Said, Unclear
from crumple.cause.observed import Observed, Tried
from crumple.diagnose import diagnosis
from crumple.drawing.numerals import NARROW
from crumple.load.report import cause_sentences
from crumple.machine.at_rest import AtRest
from crumple.machine.process_tree import Tree
from made_at_load import (
    ACCEPT_QUEUE,
    BUSY,
    CAUSES,
    CONNECTION_POOL,
    CPU,
    DEPENDENCY,
    DISK,
    IDLE_CONNECTIONS,
    IN,
    LOCK,
    MEMORY,
    NEAR,
    ONE_LOOP,
    POOL,
    SLOW_POOL,
    SWITCHES,
    THROTTLED,
    WORK,
    WORKERS,
    facts,
    threads,
    under_load,
)
from made_observed import HELD, HYBRID, LOOP, PROCESSES, alone, many


def said(given: Facts, cause: str) -> Said | None:
    return next((each for each in rules.judged(given) if each.cause == cause), None)


def first(given: Facts) -> str:
    each = rules.judged(given)[0]
    return each.cause if isinstance(each, Finding) else "?"


# How long a request takes alone is not known.


@pytest.mark.parametrize("given", [LOCK, CPU, DISK, DEPENDENCY], ids=["lock", "cpu", "disk", "dependency"])
def test_without_the_time_alone_a_long_time_is_no_harm(given: Facts) -> None:
    calm = facts(replace(given, alone_s=None), threads=threads(runnable=0.1), stage=IN)
    said_all = rules.judged(calm)
    assert isinstance(said_all[0], Unclear) and "alone" in said_all[0].why
    assert not [each for each in said_all if isinstance(each, Finding)]


def test_without_the_time_alone_a_queue_in_front_or_for_a_core_is_harm() -> None:
    assert replace(WORKERS, alone_s=None).is_harmed is True
    assert replace(CPU, alone_s=None).is_harmed is True
    assert first(replace(CPU, alone_s=None)) == "cpu"


def test_a_request_that_takes_longer_than_the_load_lasts_is_no_harm() -> None:
    slow = facts(replace(WORKERS, alone_s=4.0), mean_s=4.1, unanswered=60, answers=4)
    assert slow.is_harmed is False
    assert facts(slow, spent_s=9.0).is_harmed is True


def test_a_load_without_an_answer_is_no_load_at_which_all_is_well() -> None:
    # Each request takes ten seconds alone, and the load lasted five.
    silent = facts(replace(CPU, alone_s=10.0), answers=0, per_s=0.0, mean_s=0.0, unanswered=64, stage=IN)
    silent = facts(silent, threads=threads(runnable=0.0))
    assert silent.is_harmed is None
    found = rules.judged(silent)[0]
    assert isinstance(found, Unclear) and "no request was answered" in found.why


def test_one_failure_in_a_thousand_is_no_harm() -> None:
    calm = facts(WORKERS, mean_s=0.05, answers=10_000, failed=10)
    assert calm.is_harmed is False and facts(calm, failed=5_000).is_harmed is True


# The server is not watched.


def test_a_server_that_is_not_watched_adds_an_unknown_number_of_workers() -> None:
    unwatched = facts(WORKERS, cores=None, threads=None, peers=None, grew=None, grew_from=None)
    assert isinstance(said(unwatched, "slow-pool"), Unclear)
    assert {"cpu", "one-loop", "memory", "switches", "slow-pool"} <= {
        each.cause for each in rules.judged(unwatched) if isinstance(each, Unclear)
    }


def test_connections_of_others_that_cannot_be_counted_are_not_none() -> None:
    assert isinstance(said(replace(IDLE_CONNECTIONS, others=None), "idle-connections"), Unclear)


def test_the_reason_why_something_could_not_be_read_is_said() -> None:
    denied = facts(WORKERS, threads=None, unread={"threads": "ptrace is not permitted"})
    found = said(denied, "disk")
    assert isinstance(found, Unclear) and found.why.endswith("ptrace is not permitted")


def test_connections_of_which_a_part_could_not_be_read_are_not_none() -> None:
    hidden = facts(WORKERS, peers=(), unread={"peers": "Unix-domain sockets cannot be read here"})
    assert isinstance(said(hidden, "dependency"), Unclear)


def test_a_dependency_whose_connections_were_too_brief_to_be_found_is_not_ruled_out() -> None:
    brief = replace(NEAR, address="127.0.0.1:3", connections=0.1, waiting=0.07, most=1)
    assert isinstance(said(facts(LOCK, peers=(brief,)), "dependency"), Out)
    brief = replace(brief, missed="900 connections with it were closed")
    for peers in ((brief,), (replace(NEAR, waiting=0.0), brief)):
        found = said(facts(LOCK, peers=peers), "dependency")
        assert isinstance(found, Unclear) and "127.0.0.1:3" in found.why and "900" in found.why
    # What was shown of another one is not in doubt.
    assert DEPENDENCY.beyond.peers is not None
    beside = facts(DEPENDENCY, peers=(*DEPENDENCY.beyond.peers, brief))
    assert isinstance(said(beside, "dependency"), Finding)


def test_what_no_connection_leads_to_is_not_ruled_out() -> None:
    unread = {"dependencies": "it has UDP sockets open", "peers": "it has UDP sockets open"}
    for peers in ((), (replace(NEAR, waiting=0.0),)):
        found = said(facts(LOCK, peers=peers, unread=unread), "dependency")
        assert isinstance(found, Unclear) and found.why == "it has UDP sockets open"
    assert isinstance(said(facts(DEPENDENCY, unread=unread), "dependency"), Finding)


# The engine, and other programs.


def test_cores_that_the_load_took_were_not_idle_and_not_the_servers() -> None:
    crowded = facts(CPU, cores=0.7, engine_cores=1.25)
    found = said(crowded, "cpu")
    assert isinstance(found, Unclear) and "the engine may have left it too few" in found.why


def test_cores_that_a_database_uses_are_not_idle() -> None:
    # A pool of 8 waits for a database on the same machine, which uses nearly all of its two cores.
    crowded = facts(WORKERS, idle_most=0.1)
    assert crowded.idle_cores == 0.1 and not crowded.has_idle_cores
    assert first(WORKERS) == "workers" and first(crowded) == "?"
    found = said(crowded, "cpu")
    assert isinstance(found, Unclear) and "other programs of this machine 1.8" in found.why
    assert "other programs may have left it too few" in found.why
    # What the machine has idle elsewhere is not the server's.
    assert facts(WORKERS, idle_most=60.0).idle_cores == WORKERS.idle_cores


def test_whom_a_database_on_the_same_machine_asks_may_be_who_disturbs() -> None:
    far = replace(NEAR, address="10.0.0.9:5432", listener=None)
    found = [
        rules.judged(facts(DEPENDENCY, peers=peers, disturbed="other programs used 40 %"))[0]
        for peers in ((NEAR,), (far,), None)
    ]
    why = [each.why for each in found if isinstance(each, Unclear)]
    assert "whom database (127.0.0.1:9) asks in turn may be among them" in why[0]
    assert why[1] == why[2] == "other programs used 40 %; repeat it on a calm machine"


def test_a_program_in_front_of_the_server_is_one_of_those_that_disturb() -> None:
    listens = "another program than process 7 listens at 127.0.0.1:9; watch that one"
    unread = {"stage": listens, "in_front": listens}
    found = rules.judged(facts(WORKERS, disturbed="other programs used 15 %", stage=None, unread=unread))[0]
    assert isinstance(found, Unclear)
    assert found.why.startswith(f"other programs used 15 %; one of them is in front of it: {listens}")


def test_where_it_is_not_known_what_others_used_the_finding_stands_and_the_doubt_is_named() -> None:
    found = rules.judged(facts(DEPENDENCY, unread={"others": "who serves 127.0.0.1:9 could not be found"}))
    assert isinstance(found[0], Finding)
    why = "whether other programs disturbed it: who serves 127.0.0.1:9 could not be found"
    assert found[-1] == Unclear("none", why)
    assert cause_sentences.in_short(found)[-1] == ("cannot tell", why)
    assert all(label != "cannot tell" for label, _ in cause_sentences.in_short(found[:-1]))


def test_cores_that_were_idle_while_the_load_rose_do_not_show_that_requests_did_not_wait_for_them() -> None:
    ramp = facts(WORKERS, rose=True)
    (found, *_) = rules.judged(ramp)
    assert isinstance(found, Unclear) and "the load rose" in found.why
    assert isinstance(said(ramp, "cpu"), Unclear)
    # Cores that were busy on average were so at the end.
    assert first(facts(CPU, rose=True)) == "cpu"


def test_what_the_engine_used_is_unknown_and_not_0() -> None:
    blind = facts(CPU, engine_cores=None)
    assert blind.idle_cores is None and isinstance(said(blind, "cpu"), Unclear)


def test_the_thread_of_a_program_that_serves_nobody_is_only_consistent() -> None:
    other = facts(ONE_LOOP, threads=threads(saturated=(replace(BUSY, serves=False),), sharing=1.0))
    found = said(other, "one-loop")
    assert (
        isinstance(found, Finding)
        and found.sure == "consistent"
        and "none of the connections" in found.evidence
    )


# Machines of more than two cores.


def test_several_threads_that_use_a_core_each_are_found_where_more_cores_are_idle() -> None:
    each = threads(saturated=(BUSY,) * 4, sharing=4.1)
    four = facts(ONE_LOOP, all_cores=16, cores=4.1, per_s=800, mean_s=0.08, threads=each)
    found = rules.judged(four)[0]
    assert isinstance(found, Finding) and found.cause == "one-loop"
    assert found.evidence.startswith("4 threads use 4.0 cores while another core is idle")


def test_one_thread_is_found_where_others_help_it() -> None:
    helped = facts(ONE_LOOP, all_cores=8, cores=1.3, threads=threads(saturated=(BUSY,), sharing=1.6))
    assert first(helped) == "one-loop"


def test_fifteen_idle_cores_of_sixty_four_are_idle() -> None:
    most = facts(CPU, all_cores=64, cores=48.0, engine_cores=1.0)
    assert most.has_idle_cores and isinstance(said(most, "cpu"), Out)


def test_workers_that_use_one_core_together_by_chance_wait_for_no_lock() -> None:
    chance = facts(WORKERS, all_cores=8, cores=1.0, threads=threads(sharing=8.0))
    assert first(chance) == "workers" and not isinstance(said(chance, "one-lock"), Finding)


def test_where_the_busy_thread_cannot_be_named_it_is_not_shown() -> None:
    brief = facts(ONE_LOOP, threads=threads(sharing=None, saturated=()))
    found = said(brief, "one-loop")
    assert isinstance(found, Finding) and found.sure == "consistent"


def test_one_thread_that_others_stand_in_for_is_no_lock() -> None:
    # A runtime that may use one core has two threads that take turns, one of them mostly.
    turns = facts(ONE_LOOP, threads=threads(sharing=1.4, saturated=()))
    found = rules.judged(turns)[0]
    assert isinstance(found, Finding) and (found.cause, found.sure) == ("one-loop", "consistent")


# Shares of the response time.


@pytest.mark.parametrize("cause", sorted({*CAUSES} - {"none", "idle-connections"}))
def test_no_share_exceeds_the_mean_where_connections_starve(cause: str) -> None:
    starving = facts(CAUSES[cause], answers=40, per_s=8.0, mean_s=0.3, unanswered=56)
    for each in rules.judged(starving):
        if isinstance(each, Finding):
            assert each.share_s is None or each.share_s <= 0.3


def test_where_nothing_was_answered_the_share_is_not_known() -> None:
    found = said(IDLE_CONNECTIONS, "idle-connections")
    assert isinstance(found, Finding) and found.share_s is None


# Single rules.


def test_a_thread_that_waits_for_a_disk_while_nobody_asks_is_no_cause() -> None:
    logs = replace(DISK.seen, rest=AtRest(cores=0.0, disk=3.0))
    assert not isinstance(said(replace(DISK, seen=logs), "disk"), Finding)


IN_KERNEL = "threads sleep so that no signal wakes them, and no thread of this machine waited for a disk"


def test_threads_that_wait_for_a_lock_in_the_kernel_wait_for_no_disk() -> None:
    in_kernel = facts(DISK, unread={"disk": IN_KERNEL})
    found = said(in_kernel, "disk")
    assert isinstance(found, Unclear) and found.why == f"3.0 {IN_KERNEL}"
    assert not [each for each in rules.judged(in_kernel) if isinstance(each, Finding)]


def test_a_request_that_computes_less_than_the_server_at_rest_may_take_any_cpu_time() -> None:
    # Alone a request took 5 ms, in which the server computed 1 ms for nobody, and 1.1 ms in all.
    noisy = replace(CPU.seen, work=alone(5, 1.1), rest=AtRest(cores=0.2, disk=0.0))
    found = said(replace(CPU, seen=noisy), "memory")
    assert isinstance(found, Unclear) and "while nobody asks" in found.why


def test_a_thread_that_burns_a_core_hides_no_loop_and_makes_no_lock() -> None:
    four = facts(ONE_LOOP, all_cores=4, cores=2.0)
    burns = replace(four, seen=replace(four.seen, rest=AtRest(cores=1.0, disk=0.0, burning=(7,))))
    assert first(burns) == "one-loop"
    # Its eight workers are idle nearly all of the time, asleep in a lock, while another thread burns a core.
    idle = threads(sharing=8, places={"futex_wait_queue": 0.9})
    calm = facts(WORKERS, cores=1.0, threads=idle, stage=IN)
    burns = replace(calm, seen=replace(calm.seen, rest=AtRest(cores=0.95, disk=0.0, burning=(7,))))
    assert not isinstance(said(burns, "one-loop"), Finding) and first(burns) != "one-lock"


def test_a_thread_that_burns_a_core_while_nobody_asks_is_no_collector() -> None:
    burns = replace(MEMORY.seen, rest=AtRest(cores=1.0, disk=0.0, burning=(7,)))
    assert not isinstance(said(replace(MEMORY, seen=burns), "memory"), Finding)


def test_requests_that_wait_for_several_are_not_found_to_wait_for_none() -> None:
    near = replace(NEAR, address="127.0.0.1:8", connections=40, waiting=29, most=60)
    far = replace(near, address="127.0.0.1:9")
    both = facts(DEPENDENCY, peers=(near, far))
    found = said(both, "dependency")
    assert isinstance(found, Finding) and found.sure == "consistent"
    assert near.address in found.evidence and far.address in found.evidence
    few = facts(DEPENDENCY, peers=(replace(near, waiting=10), replace(far, waiting=10)))
    assert isinstance(said(few, "dependency"), Out)


def test_a_pool_that_shrinks_adds_none() -> None:
    found = said(facts(WORKERS, grew=-3), "slow-pool")
    assert isinstance(found, Out) and found.why == "it added no processes or threads while it was loaded"


def test_a_server_that_can_have_all_waiting_has_no_workers_to_run_out_of() -> None:
    loop = facts(Facts(seen=replace(LOOP, work=alone(50)), beyond=POOL, alone_s=0.05))
    assert isinstance(said(loop, "workers"), Out)


def test_half_of_the_workers_are_not_all_of_them() -> None:
    half = facts(WORKERS, per_s=100, stage=Stage(not_accepted=0, unread=59, inside=5, other=0))
    found = said(half, "workers")
    assert isinstance(found, Finding) and found.sure == "consistent" and "5.0 of 8 workers" in found.evidence


def test_a_runtime_that_adds_two_of_its_own_threads_is_no_pool_that_grows() -> None:
    runtime = facts(WORKERS, grew=2, grew_from=30)
    assert first(runtime) == "workers" and not isinstance(said(runtime, "slow-pool"), Finding)


def test_a_server_that_is_woken_for_each_request_has_no_queue() -> None:
    # 150 requests per second, of which each takes 0.28 ms, and 0.13 ms of it until the server is awake.
    awake = facts(
        SLOW_POOL,
        per_s=150,
        mean_s=2.8e-4,
        in_flight=0.042,
        stage=Stage(not_accepted=0, unread=0.02, inside=0.02, other=0.002),
    )
    awake = replace(awake, alone_s=5.4e-5)
    assert not awake.is_queued_outside
    assert not isinstance(said(awake, "slow-pool"), Finding)


def test_a_pool_that_grew_under_slow_requests_grows_by_two_as_well() -> None:
    assert first(facts(SLOW_POOL, grew=2, grew_from=30)) == "slow-pool"


def test_idle_connections_that_a_pool_behind_a_loop_has_accepted_hold_it_as_well() -> None:
    held = replace(HELD, answered=False)
    seen = Observed(cores=2, held=held, failed={"light": "no answer", "slow": "no answer"})
    unread = replace(IDLE_CONNECTIONS, seen=seen, others=16)
    unread = facts(unread, stage=Stage(not_accepted=0, unread=60, inside=4, other=0))
    found = said(unread, "idle-connections")
    # A loop that something else stops may look the same.
    assert isinstance(found, Finding) and found.sure == "consistent"
    assert "few further ones are read" in found.evidence
    answered = replace(unread, seen=replace(seen, held=replace(held, answered=True)))
    assert not isinstance(said(answered, "idle-connections"), Finding)


@pytest.mark.parametrize("light_ms", [50, 2_000])
def test_workers_that_are_busy_with_requests_are_not_held_by_idle_connections(light_ms: float) -> None:
    # A light request that takes long gets no answer in time, whoever else is connected.
    seen = replace(WORKERS.seen, held=replace(HELD, answered=False), light=alone(light_ms))
    busy = replace(WORKERS, seen=seen, others=20)
    assert not isinstance(said(busy, "idle-connections"), Finding)
    assert first(busy) == "workers"


def test_a_loop_that_accepts_so_many_connections_is_held_by_idle_ones_too() -> None:
    there = Tree(1, 1)
    held = replace(HELD, accepted=2, before=there, after=there, answered=False)
    full = replace(IDLE_CONNECTIONS, seen=replace(LOOP, held=held, waiting=(many(32, 2, 0.1),)), others=4)
    found = said(full, "idle-connections")
    assert isinstance(found, Finding) and found.sure == "shown"


def test_idle_connections_that_were_seen_to_keep_nobody_waiting_are_not_shown() -> None:
    kept = replace(IDLE_CONNECTIONS, seen=replace(WORK, work=None, held=HELD))
    found = said(kept, "idle-connections")
    assert not isinstance(found, Finding) or found.sure == "consistent"
    loop = replace(IDLE_CONNECTIONS, seen=replace(LOOP, work=None))
    assert model.named(loop.seen).known == "event-loop"
    assert not isinstance(said(loop, "idle-connections"), Finding)


@pytest.mark.parametrize(
    ("empty_share", "found"), [(1.0, "accept-queue"), (0.0, "workers"), (None, "workers")]
)
def test_connections_that_come_late_though_none_waits_to_be_accepted_overflowed_the_queue(
    empty_share: float | None, found: str
) -> None:
    """With a queue of one, few connections get through at a time, as if there were so few workers."""
    held_back = Stage(not_accepted=56, unread=0, inside=8, other=0)
    late = facts(WORKERS, late_connects=40, queue_empty_share=empty_share, stage=held_back)
    assert late.are_workers_busy and first(late) == found


def test_a_queue_of_connections_that_was_full_in_the_search_is_not_ruled_out() -> None:
    assert isinstance(said(WORKERS, "accept-queue"), Out)
    found = said(replace(WORKERS, late_in_search=425), "accept-queue")
    assert isinstance(found, Unclear) and "425 did in the search" in found.why


def test_where_requests_wait_unread_the_queue_of_connections_is_empty_though_workers_are_busy() -> None:
    assert WORKERS.stage is not None and WORKERS.stage.unread > WORKERS.stage.not_accepted
    assert first(facts(WORKERS, late_connects=1, queue_empty_share=1.0)) == "workers"


def test_connections_that_others_have_closed_since_may_have_held_the_workers() -> None:
    """Six idle ones held all six workers, until the server closed them: now those of the load hold them."""
    seen = replace(PROCESSES, work=alone(10), failed={"work": "no answer within 12 s"})
    now = facts(replace(WORKERS, seen=seen, alone_s=0.01, others=0), unanswered=58)
    assert first(now) == "workers"
    before = replace(now, others_before=6)
    found = rules.judged(before)[0]
    assert isinstance(found, Finding) and (found.cause, found.sure) == ("idle-connections", "consistent")
    assert "while 6 connections of others were open" in found.evidence and "10.0" in found.evidence
    # Nothing was answered before the load: they were closed while it lasted.
    late = replace(before, seen=replace(seen, work=None), alone_s=None)
    found = rules.judged(late)[0]
    assert isinstance(found, Finding) and found.cause == "idle-connections"
    assert found.evidence.endswith(" under load")
    # Fewer than the workers hold not all of them.
    assert first(replace(before, others_before=1)) == "workers"
    # They are still open, requests were answered all the time, or no connection can hold a worker.
    assert first(replace(before, others=6)) == "workers"
    assert first(replace(before, seen=replace(seen, failed={}))) == "workers"
    loop = replace(LOOP, work=alone(10), failed=seen.failed)
    assert not isinstance(said(replace(before, seen=loop), "idle-connections"), Finding)


def test_connections_whose_opening_was_not_measured_may_have_been_late() -> None:
    assert isinstance(said(facts(ACCEPT_QUEUE, late_connects=None), "accept-queue"), Unclear)


def test_a_switch_whose_cost_could_not_be_measured_is_not_free() -> None:
    for switch_s in (None, 0.0):
        found = said(replace(SWITCHES, switch_s=switch_s), "switches")
        assert isinstance(found, Unclear) and "what one costs" in found.why


def test_a_lock_that_two_rules_find_is_one_finding() -> None:
    # Its threads share the time of one core, and most sleep in the lock that the requests inside wait for.
    both = facts(
        LOCK,
        cores=1.0,
        threads=threads(number=66, sharing=8.0, places={"futex_wait_queue": 0.9, "ep_poll": 0.1}),
    )
    assert [rule(both) is not None for rule in (cpu_rules.one_core, lock_rules.lock)] == [True, True]
    found = [each for each in rules.judged(both) if isinstance(each, Finding)]
    assert [each.cause for each in found].count("one-lock") == 1


def test_switches_that_are_missing_are_not_ruled_out_and_enough_of_them_are_shown() -> None:
    brief = {"switches": "threads that ended before they were read used 89% of its CPU time"}
    few = facts(SWITCHES, switches_per_s=10.0, unread=brief)
    found = said(few, "switches")
    assert isinstance(found, Unclear) and found.why.endswith(f"at least: {brief['switches']}")
    assert isinstance(said(facts(few, unread={}), "switches"), Out)
    assert isinstance(said(facts(SWITCHES, unread=brief), "switches"), Finding)


def test_switches_of_threads_that_ended_are_no_fewer_than_were_counted() -> None:
    """Each connection has a thread, which hands its work to and fro: it ends with the load."""
    ended = facts(SWITCHES, switches_per_s=None, switches_least_per_s=395_000, kernel_cores=1.7)
    found = rules.judged(ended)[0]
    assert isinstance(found, Finding) and (found.cause, found.sure) == ("switches", "shown")
    assert found.evidence.endswith(" at least")
    # A fifth of the CPU time is counted. The rest may be work.
    assert [each.cause for each in rules.judged(ended) if isinstance(each, Finding)] == ["switches", "cpu"]


def test_cpu_is_not_shown_where_switches_that_were_not_counted_may_take_it() -> None:
    ended = facts(SWITCHES, switches_per_s=None, switches_least_per_s=1_000, kernel_cores=1.7)
    found = rules.judged(ended)[0]
    assert isinstance(found, Finding) and (found.cause, found.sure) == ("cpu", "consistent")
    assert "could not be counted" in found.evidence
    assert isinstance(said(ended, "switches"), Unclear)
    # Also where nothing was counted.
    assert rules.judged(facts(ended, switches_least_per_s=None))[0] == found


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"kernel_cores": 0.2}, "the kernel takes"),
        ({"kernel_cores": 1.7, "switches_most_per_s": 15_000}, "the machine has 15,000"),
    ],
)
def test_switches_that_cannot_be_many_are_ruled_out(changed: dict[str, float], why: str) -> None:
    ended = facts(SWITCHES, switches_per_s=None, switches_least_per_s=1_000, **changed)
    assert rules.judged(ended)[0] == rules.judged(CPU)[0]
    out = said(ended, "switches")
    assert isinstance(out, Out) and out.why.startswith(why)
    # The machine has more than would be few: one that wakes another core costs several times as much.
    for number in (150_000, 500_000):
        more = facts(ended, kernel_cores=1.7, switches_most_per_s=number)
        assert isinstance(said(more, "switches"), Unclear)


def test_switches_of_the_machine_are_the_servers_where_hardly_anything_else_ran() -> None:
    ended = facts(SWITCHES, switches_per_s=None, switches_least_per_s=1_000, kernel_cores=1.7)
    alone_here = facts(ended, switches_most_per_s=500_000, idle_most=0.05, others_most=0.02)
    found = rules.judged(alone_here)[0]
    assert isinstance(found, Finding) and (found.cause, found.sure) == ("switches", "consistent")
    assert "500,000 context switches per second" in found.evidence and "whole machine" in found.evidence
    few = facts(alone_here, switches_most_per_s=15_000)
    assert isinstance(said(few, "switches"), Out) and rules.judged(few)[0] == rules.judged(CPU)[0]


@pytest.mark.parametrize(
    "changed",
    [{"others_most": 0.3}, {"others_most": None}, {"cores": 1.2, "idle_most": 0.7}],
    ids=["others used 0.3 cores", "what others used is not known", "a core is idle"],
)
def test_switches_of_the_machine_may_be_those_of_others(changed: dict[str, float]) -> None:
    ended = facts(SWITCHES, switches_per_s=None, switches_least_per_s=1_000, kernel_cores=1.1)
    given = facts(ended, switches_most_per_s=500_000, **{"idle_most": 0.0, "others_most": 0.0, **changed})
    assert isinstance(said(given, "switches"), Unclear)


def test_so_few_switches_that_they_take_little_are_ruled_out_though_their_cost_is_not_known() -> None:
    ended = facts(SWITCHES, switches_per_s=None, switches_least_per_s=500, kernel_cores=1.7)
    few = replace(facts(ended, switches_most_per_s=1_000), switch_s=None)
    assert isinstance(said(few, "switches"), Out) and rules.judged(few)[0] == rules.judged(CPU)[0]
    many = replace(facts(ended, switches_most_per_s=500_000), switch_s=None)
    found = rules.judged(many)[0]
    assert isinstance(found, Finding) and (found.cause, found.sure) == ("cpu", "consistent")


def test_threads_of_which_the_kernel_does_not_say_where_they_sleep_may_wait_for_a_lock() -> None:
    silent = facts(LOCK, threads=threads(number=66, places={"": 0.9, "ep_poll": 0.1}))
    assert isinstance(said(silent, "one-lock"), Unclear)


def test_a_group_that_stops_the_server_for_a_moment_does_not_throttle_it() -> None:
    moment = facts(CPU, throttled_share=0.01)
    assert first(moment) == "cpu" and isinstance(said(moment, "throttled"), Out)


def test_a_group_that_stops_it_is_told_though_its_threads_cannot_be_read() -> None:
    assert first(facts(THROTTLED, threads=None)) == "throttled"


def test_nothing_is_ruled_out_that_is_found_or_cannot_be_told() -> None:
    for given in (*CAUSES.values(), facts(WORKERS, cores=None, threads=None), facts(LOCK, cores=1.0)):
        said_all = rules.judged(given)
        out = [each.cause for each in said_all if isinstance(each, Out)]
        assert not {*out} & {each.cause for each in said_all if not isinstance(each, Out)}, said_all


def test_connections_that_come_and_go_are_no_pool() -> None:
    brief = facts(CONNECTION_POOL, peers=(replace(NEAR, most=12),))
    assert not isinstance(said(brief, "connection-pool"), Finding)


def test_a_pool_before_something_that_got_slower_is_not_the_limit() -> None:
    slower = facts(CONNECTION_POOL, per_s=200, mean_s=0.32)
    found = rules.judged(slower)[0]
    assert isinstance(found, Finding) and found.cause == "dependency", found
    assert found.share_s == slower.waited_s


def test_a_server_that_hands_requests_on_is_said_to() -> None:
    proxy = facts(DEPENDENCY, cores=0.02)
    (found, *_) = rules.judged(proxy)
    assert isinstance(found, Finding) and found.cause == "dependency"
    assert (
        "hand requests on" in found.evidence and found.remedy == "diagnose what it hands them to: 127.0.0.1:9"
    )
    computes = rules.judged(facts(DEPENDENCY, cores=0.4))[0]
    assert isinstance(computes, Finding) and "hand requests on" not in computes.evidence
    assert computes.remedy.endswith(
        "if the server is a proxy, diagnose what it hands requests to: 127.0.0.1:9"
    )


def test_a_pool_of_workers_whose_growth_is_unknown_is_still_a_pool() -> None:
    assert first(facts(SLOW_POOL, grew=None, grew_from=None)) in ("workers", "slow-pool")


@pytest.mark.parametrize(("cpu_ms", "kind"), [(5.3, Unclear), (4.9, Finding)])
def test_a_core_that_other_threads_share_with_a_request_shows_no_lock(
    cpu_ms: float, kind: type[Finding | Unclear]
) -> None:
    asleep = threads(saturated=(), sharing=4, places={"futex_wait_queue": 0.9})
    shared = facts(replace(ONE_LOOP, seen=replace(HYBRID, work=alone(5, cpu_ms))), threads=asleep, stage=None)
    assert isinstance(said(shared, "one-lock"), kind)


# Requests that fail.


def failing(failed: int, of: int, failed_alone: int, of_alone: int, mean_s: float = 0.05) -> Facts:
    """A load of which some requests fail, as some of those did that were sent one at a time."""
    work = replace(alone(50), answers=of_alone - failed_alone, failed=failed_alone)
    given = facts(WORKERS, mean_s=mean_s, answers=of - failed, failed=failed)
    return replace(given, seen=replace(given.seen, work=work))


def test_requests_that_fail_as_often_without_load_are_no_harm_of_it() -> None:
    given = failing(4_900, 10_000, 25, 50)
    assert given.fails_by_load is False and given.is_harmed is False
    (found, *_) = rules.judged(given)
    assert isinstance(found, Finding) and found.cause == "none"
    assert "answers fail as often without load (4,900 of 10,000 under load, and 25 of 50" in found.evidence


def test_requests_that_fail_more_often_under_load_are_harm() -> None:
    assert failing(4_900, 10_000, 0, 50).is_harmed is True
    assert failing(9_000, 10_000, 25, 50).is_harmed is True
    assert first(failing(4_900, 10_000, 0, 50)) == "workers"


def test_where_too_few_were_sent_alone_to_tell_harm_is_not_known() -> None:
    # One of 20 may be a share of 1 % or of 20 %.
    given = failing(500, 10_000, 1, 20)
    assert given.fails_by_load is None and given.is_harmed is None
    (found, *others) = [each for each in rules.judged(given) if not isinstance(each, Out)]
    assert isinstance(found, Unclear)
    assert [each for each in others if each.cause == "workers" and "whether that harms" in each.why]
    assert found.why.startswith("whether the load makes requests fail: 500 of 10,000 under load, and 1 of 20")


def test_requests_that_wait_longer_are_harm_whatever_makes_others_fail() -> None:
    given = failing(4_900, 10_000, 25, 50, mean_s=0.4)
    assert given.is_harmed is True and first(given) == "workers"
    why = [each.why for each in rules.judged(given) if isinstance(each, Unclear) and each.cause == "none"]
    assert why[0].startswith("why requests fail: answers fail as often without load")


def test_a_url_that_always_answers_with_errors_is_not_harmed_by_the_load() -> None:
    calm = facts(WORKERS, answers=0, failed=9_000, per_s=0.0, mean_s=0.0, stage=IN)
    beyond = facts(calm, threads=threads(runnable=0.1)).beyond
    found = [each for each in in_short.of_load(beyond, Tried(0, 40)) if not isinstance(each, Out)]
    first, *others = found
    assert isinstance(first, Unclear) and "answers fail as often without load (9,000 of 9,000" in first.why
    assert all(isinstance(each, Unclear) and each.cause != "none" for each in others)
    (blind, *_) = in_short.of_load(beyond, None)
    assert isinstance(blind, Unclear) and "it is not known how many fail without it" in blind.why


def test_more_connections_are_tried_where_the_failures_show_no_limit() -> None:
    assert diagnosis.may_be_too_few(failing(4_900, 10_000, 25, 50))
    assert diagnosis.may_be_too_few(failing(500, 10_000, 1, 20))
    assert not diagnosis.may_be_too_few(failing(4_900, 10_000, 0, 50))


def test_who_disturbed_the_requests_alone_is_named_where_it_is_not_known_whether_any_wait() -> None:
    work = replace(alone(50), disturbed="other programs used 50 % of the CPU time")
    given = under_load(replace(LOOP, work=work), None, per_s=100, mean_s=0.6, stage=IN)
    assert given.is_harmed is None
    why = rules.judged(given)[0]
    assert isinstance(why, Unclear) and "(other programs used 50 % of the CPU time)" in why.why
    assert not any("do not wait" in str(each) for each in rules.judged(given))
    busy = rules.judged(facts(given, cores=1.0))
    assert not any(isinstance(each, Out) and each.cause == "one-loop" for each in busy)


@pytest.mark.parametrize("cause", sorted(CAUSES.keys() - {"none"}))
def test_what_may_be_the_cause_is_not_ruled_out_where_harm_is_unknown(cause: str) -> None:
    # Others used the machine while requests were sent alone, and no queue is seen: the stages were not read.
    plain = CAUSES[cause]
    seen = replace(plain.seen, work=None)
    given = replace(facts(plain, unanswered=0, failed=0, answers=800), seen=seen, alone_s=None)
    loaded = given.beyond.threads and replace(given.beyond.threads, runnable=0.0)
    quiet = Stage(not_accepted=0, unread=0, inside=64, other=0)
    given = facts(given, threads=loaded, stage=quiet)
    assert given.is_harmed is None
    said = rules.judged(given)
    assert not [each for each in said if isinstance(each, Finding)]
    needs = {"workers", "one-lock", "accept-queue", "idle-connections", "slow-pool"}
    out = {each.cause for each in said if isinstance(each, Out)}
    # These are told by the stages, which are others here.
    assert cause not in out - needs


def test_a_busy_server_is_said_to_be_so_where_harm_is_unknown() -> None:
    given = replace(facts(CPU, threads=threads(runnable=0.6)), seen=Observed(cores=2), alone_s=None)
    assert given.is_harmed is None
    why = {each.cause: each.why for each in rules.judged(given) if isinstance(each, Unclear)}
    assert why["cpu"].startswith("it uses 1.9")
    assert why["cpu"].endswith(", but whether that harms requests is not known")


def test_what_one_rule_cannot_tell_is_not_ruled_out_by_another_where_harm_is_unknown() -> None:
    given = replace(
        facts(
            WORKERS,
            stage=IN,
            cores=0.97,
            threads=threads(sharing=8, places={"wait_woken": 0.9}),
        ),
        seen=Observed(cores=2),
        alone_s=None,
    )
    assert given.is_harmed is None
    of_lock = [each for each in rules.judged(given) if each.cause == "one-lock"]
    assert of_lock and all(isinstance(each, Unclear) for each in of_lock)


def test_a_server_that_refuses_most_requests_beyond_its_limit_collects_no_garbage_for_that() -> None:
    # It answers 500 at once to all but ten at a time. Of its CPU time nearly all is for those.
    given = facts(
        ONE_LOOP,
        answers=1_230,
        failed=600_000,
        per_s=246,
        mean_s=0.0015,
        cores=1.0,
        stage=Stage(not_accepted=0, unread=52, inside=12, other=0),
        threads=threads(sharing=1.0),
    )
    given = replace(given, seen=replace(given.seen, work=replace(alone(40, 0.6), failed=0)), alone_s=0.04)
    assert given.fails_by_load
    said = rules.judged(given)
    assert not [each for each in said if isinstance(each, Finding) and each.cause == "memory"]
    busy = facts(given, threads=threads(saturated=(BUSY,), sharing=1.0))
    (loop,) = [each for each in rules.judged(busy) if isinstance(each, Finding)]
    assert (loop.cause, loop.sure) == ("one-loop", "consistent")
    assert loop.evidence.endswith("most requests fail meanwhile, and to refuse them takes CPU time as well")
    assert [each for each in rules.judged(busy) if isinstance(each, Unclear) and each.why == rules.REFUSES]
    idle = [each.why for each in rules.judged(facts(given, cores=0.3)) if each.cause == "none"]
    assert idle and "it may refuse more than so many at a time" in idle[0]


@pytest.mark.parametrize(
    ("idle", "others"), [(0.2, "other programs, with those that it asks, used 1.7 of 2"), (1.8, "")]
)
def test_where_others_left_no_core_idle_that_is_why_it_cannot_be_told(idle: float, others: str) -> None:
    calm = facts(LOCK, idle_most=idle, threads=threads(places={"poll": 64.0}), stage=None)
    none = rules.judged(calm)[0]
    assert isinstance(none, Unclear) and none.why.startswith(
        "requests wait, and nothing that was measured is used up"
    )
    assert others in none.why and ("other programs" in none.why) == bool(others)


def test_that_nothing_limits_it_has_no_share_of_the_time() -> None:
    (_, words), *_ = cause_sentences.limits(rules.judged(facts(WORKERS, mean_s=0.051)))
    assert words.replace(NARROW, " ") == "nothing: a request takes 51.0 ms under load and 50.0 ms alone"
