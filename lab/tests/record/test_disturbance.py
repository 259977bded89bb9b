"""Disturbance: what others took from a trial, and by which factor that slowed it at most."""

import math
from typing import Any

import documents
import made_inside
import pytest
from crumple import contract
from crumple.record import disturbance, validity
from crumple.record.disturbance import Disturbance
from crumple.run import database_part

SECOND = 1_000_000_000
# Of the golden record: two seconds on two cores, in which the engine used one second and the server 1.8.
MEASURED_S, CORES, OURS_S = 2.0, 2, 2.8


@pytest.fixture(autouse=True)
def others_may_work() -> None:
    """Keep the real limits in this module."""


def record(
    busy_s: float,
    steal_s: float = 0.0,
    *,
    kernel_s: float = 0.0,
    waited_s: float | None = None,
    **changes: Any,
) -> contract.TrialRecord:
    """Return the golden record. `waited_s`: how long the server's threads had no core; None: not read."""
    plain = documents.record()
    machine = documents.machine(
        round(busy_s * SECOND), round(steal_s * SECOND), CORES, round(kernel_s * SECOND)
    )
    threads = tuple(each.model_copy(update={"window": thread(0.0)}) for each in plain.probes.threads)
    made = {"machine": machine, "threads": threads, "dependencies": None, **changes}
    if waited_s is not None:
        made = {"server": server(waited_s), **made}
    return documents.record(probes=plain.probes.model_copy(update=made))


def thread(waited_s: float) -> contract.ThreadWindow:
    return contract.ThreadWindow(
        span_ns=round(MEASURED_S * SECOND), cpu_ns=1, run_queue_ns=round(waited_s * SECOND)
    )


def server(
    waited_s: float, seen_s: float = 1.8, over_s: float = MEASURED_S, used_s: float = 1.8
) -> contract.ProcessRecord:
    """What was read of the server: how long its threads had no core, and the CPU time seen of them."""
    plain = documents.probe(used_s / MEASURED_S)
    assert plain.window is not None
    read = {
        "run_queue_ns": round(waited_s * SECOND),
        "run_queue_cpu_ns": round(seen_s * SECOND),
        "threads_span_ns": round(over_s * SECOND),
    }
    return plain.model_copy(update={"window": plain.window.model_copy(update=read)})


def taken_s(found: Disturbance) -> float:
    return found.taken_share * MEASURED_S


def test_cpu_time_that_none_of_our_processes_used_counts_as_others() -> None:
    found = disturbance.disturbance(record(3.4), None, 200_000_000)
    assert found.others_share == pytest.approx((3.4 - OURS_S - 0.2) / 4)
    assert found.steal_share == 0.0 and found.unread == ""


def test_the_busy_time_of_cores_is_what_they_were_not_idle() -> None:
    # By its ticks the kernel has missed 0.3 s of what others used.
    plain = record(3.1, 0.2, waited_s=5.0)
    window = plain.probes.machine.window
    assert window is not None

    def others_share(cores: dict[str, tuple[int, ...]]) -> float | None:
        read = window.model_copy(update={"per_core": contract.CoreColumns(**cores)})
        machine = plain.probes.machine.model_copy(update={"window": read})
        probes = plain.probes.model_copy(update={"machine": machine})
        return disturbance.disturbance(plain.model_copy(update={"probes": probes})).others_share

    both = {
        "core": (0, 1),
        "busy_ns": (SECOND, SECOND),
        "steal_ns": (SECOND // 10, SECOND // 10),
        "idle_ns": (SECOND // 5, SECOND // 5),
    }
    assert others_share(both) == pytest.approx((3.4 - OURS_S) / 4)
    # Of a core that was not there all the time nothing is known but its ticks.
    assert others_share({name: each[:1] for name, each in both.items()}) == pytest.approx((3.1 - OURS_S) / 4)


def test_what_nobody_missed_was_not_taken() -> None:
    # Others used half a second of cores, and threads of the server waited for 0.02 s.
    found = disturbance.disturbance(record(3.3, waited_s=0.02))
    assert found.others_share == pytest.approx(0.125)
    assert taken_s(found) == pytest.approx(0.02) and found.slowdown == pytest.approx(1.0101)
    assert not found.is_mentioned and not found.disturbed and found.sentence == ""


def test_threads_that_wait_for_each_other_were_not_disturbed() -> None:
    # A hundred threads waited for nine seconds together, and others used 0.02 s.
    found = disturbance.disturbance(record(OURS_S + 0.02, waited_s=9.0))
    assert taken_s(found) == pytest.approx(0.02) and found.slowdown == pytest.approx(1.0101)


def test_the_hypervisor_takes_what_no_thread_counts() -> None:
    found = disturbance.disturbance(record(OURS_S, 0.3, waited_s=0.0))
    assert taken_s(found) == pytest.approx(0.3) and found.slowdown == pytest.approx(2 / 1.7, abs=1e-4)
    assert found.sentence == (
        "the hypervisor took up to 15% of the time: on a calm machine throughput is at most 1.18 times as "
        "high, and long response times may be much shorter"
    )


def test_a_trial_that_used_all_cores_cannot_gain_more_than_what_was_taken() -> None:
    # Nothing was idle, so a second more of CPU time is all that it can have had beside its 2.8 s.
    assert disturbance.disturbance(record(4.0, waited_s=5.0)).slowdown == pytest.approx(4.0 / 2.8, abs=1e-4)
    # Half a second was idle: it may have used that as well, as it may have stood still in between.
    found = disturbance.disturbance(record(3.5, waited_s=5.0))
    assert found.slowdown == pytest.approx(min(2.0 / 1.3, 1 + (0.7 + 0.5) / 2.8), abs=1e-4)


@pytest.mark.parametrize(
    ("taken_s", "ours_s", "further_s", "factor"),
    [
        (0.0, 1.0, 1.0, 1.0),
        (0.5, 0.1, 1.4, 4 / 3),
        (0.5, 3.5, 0.5, 8 / 7),
        (2.0, 1.0, 3.0, 4.0),
        (3.0, 0, 1, math.inf),
    ],
)
def test_the_smaller_of_two_bounds_counts(
    taken_s: float, ours_s: float, further_s: float, factor: float
) -> None:
    assert disturbance.slowdown(taken_s, MEASURED_S, ours_s, further_s) == pytest.approx(factor)


def test_a_server_that_used_its_quota_cannot_have_used_more() -> None:
    """Its threads were ready without a core for most of the time, since the quota stopped them."""
    stopped = record(4.0, server=server(9.0, 1.0, used_s=1.0))
    assert disturbance.disturbance(stopped).slowdown == pytest.approx(2.0)
    assert disturbance.disturbance(stopped, quota_cores=0.5).slowdown == pytest.approx(1.0)
    assert disturbance.disturbance(stopped, quota_cores=0.75).slowdown == pytest.approx(1.5)


def test_what_others_used_of_cores_that_the_trial_left_idle_may_be_used_on_a_calm_machine() -> None:
    # Two threads work side by side for each request, and others preempt one for a tenth of the time. The
    # other waits for it then, and a program of low priority uses its core.
    work_s, late_s = 10.0, 1.0
    taken = disturbance.slowdown(late_s, work_s + late_s, 2 * work_s, 2 * late_s)
    assert taken == pytest.approx((work_s + late_s) / work_s)


def test_a_phase_of_which_a_part_was_not_read_may_have_been_others() -> None:
    plain = record(OURS_S * 0.9, waited_s=0.0)
    window = plain.probes.machine.window
    assert window is not None

    def found(span_s: float) -> Disturbance:
        read = window.model_copy(update={"span_ns": round(span_s * SECOND)})
        machine = plain.probes.machine.model_copy(update={"window": read})
        probes = plain.probes.model_copy(update={"machine": machine})
        return disturbance.disturbance(plain.model_copy(update={"probes": probes}))

    # Its readings lie 1.8 s apart, of two.
    assert taken_s(found(1.8)) == pytest.approx(0.2) and found(1.8).unread == ""
    assert taken_s(found(1.95)) == 0.0 and taken_s(found(2.2)) == 0.0


def test_how_many_requests_were_delayed_depends_on_the_busiest_thread() -> None:
    plain = made_inside.tasks(documents.record(), [(0, 0, 0)])
    half = plain.threads_seen[0].model_copy(update={"cpu_ns": round(0.75 * plain.window_ns)})
    read = record(OURS_S + 0.02, waited_s=5.0, tasks=plain.model_copy(update={"threads_seen": (half,)}))
    paused = documents.spec(shape=contract.ClosedShapeSpec(connections=32, pause_ms=5))
    of_pauses = [
        disturbance.disturbance(each.model_copy(update={"spec": paused})).delayed_share
        # If threads were not read, one may have used all CPU time of the server, which is 0.9 cores.
        for each in (read, record(OURS_S + 0.02, waited_s=5.0))
    ]
    assert of_pauses == [pytest.approx(5 * 0.01), pytest.approx(11 * 0.01)]
    # Users without a pause keep a server busy, but nothing piles up behind them, nor before their canary.
    assert disturbance.disturbance(read).delayed_share == pytest.approx(3 * 0.01)


def test_threads_that_were_not_seen_waited_as_the_others_did() -> None:
    # Two thirds of the CPU time were seen, in threads that waited for 0.2 s.
    assert taken_s(disturbance.disturbance(record(3.6, server=server(0.2, 1.2)))) == pytest.approx(0.3)
    # They were read over a part of the window only.
    assert taken_s(disturbance.disturbance(record(3.6, server=server(0.2, 1.8, 1.6)))) == pytest.approx(0.25)
    # A server with a thread for each connection has ended most of them before they are read.
    assert taken_s(disturbance.disturbance(record(3.6, server=server(0.05, 0.3)))) == pytest.approx(0.3)
    assert taken_s(disturbance.disturbance(record(3.6, server=server(0.01, 0.19)))) < 0.1
    # Of a server of whose threads hardly any was seen, all that others used may have been taken.
    assert taken_s(disturbance.disturbance(record(3.6, server=server(0.01, 0.17)))) == pytest.approx(0.8)
    assert taken_s(disturbance.disturbance(record(3.6))) == pytest.approx(0.8)


def test_what_the_engines_threads_waited_is_part_of_it() -> None:
    plain = record(3.6, waited_s=0.1)
    (first, *others) = plain.probes.threads
    waits = (first.model_copy(update={"window": thread(0.2)}), *others)
    of_engine = plain.model_copy(update={"probes": plain.probes.model_copy(update={"threads": waits})})
    assert taken_s(disturbance.disturbance(of_engine)) == pytest.approx(0.3)
    # That of the engine that sends light requests as well; its CPU time is none of the others'.
    beside = disturbance.disturbance(record(4.0, waited_s=0.1), of_engine)
    assert taken_s(beside) == pytest.approx(0.2)


def behind(serving_s: float | None, further_s: float | None = 0.0, **changes: Any) -> dict[str, Any]:
    """Those who serve the dependencies: their CPU time, and what further ones may have used."""
    named = contract.Unread(field=disturbance.SERVING, why="who serves 127.0.0.1:9 could not be found")
    served = made_inside.dependencies(
        documents.record(),
        {},
        serving_cpu_ns=None if serving_s is None else round(serving_s * SECOND),
        unfound_cpu_ns=None if further_s is None else round(further_s * SECOND),
        serving_pids=(SERVES.pid, HELPS.pid),
        unfound_pids=(MAY.pid,),
        unread=(named,) if further_s != 0.0 else (),
        **changes,
    )
    return {"dependencies": served}


def test_what_those_waited_who_serve_a_dependency_is_part_of_it() -> None:
    # Half of their CPU time was seen, in threads that waited for 0.1 s.
    seen = {"serving_run_queue_ns": SECOND // 10, "serving_run_queue_cpu_ns": SECOND // 4}
    served = record(4.0, waited_s=0.1, **behind(0.5, **seen))
    assert taken_s(disturbance.disturbance(served)) == pytest.approx(0.3)
    # If it was not read, all that others used may have been taken.
    assert taken_s(disturbance.disturbance(record(4.0, waited_s=0.1, **behind(0.5)))) == pytest.approx(0.7)


def program(pid: int, name: str, used_s: float) -> contract.OtherProgram:
    return contract.OtherProgram(pid=pid, name=name, cpu_ns=round(used_s * SECOND))


CC1, RUSTC = program(7, "cc1", 0.4), program(8, "rustc", 0.2)
# Those that serve a dependency, and one that may.
SERVES, HELPS, MAY = program(9, "postgres", 0.5), program(10, "sh", 0.45), program(11, "mariadbd", 1.6)


@pytest.mark.parametrize(
    ("programs", "further_s", "by"),
    [
        # Others used 0.6 s.
        ((CC1, RUSTC), 0.0, "cc1 (pid 7)"),
        ((program(5, "a", 0.2), program(6, "b", 0.2)), 0.0, "a (pid 5) and b (pid 6)"),
        (tuple(program(at, "a", 0.1) for at in range(5)), 0.0, ""),
        ((SERVES, HELPS, CC1), 0.0, "cc1 (pid 7)"),
        ((MAY, CC1), 0.4, "cc1 (pid 7)"),
        ((MAY, CC1), 0.0, "mariadbd (pid 11)"),
        ((), 0.0, ""),
    ],
)
def test_programs_that_used_most_of_it_are_named(
    programs: tuple[contract.OtherProgram, ...], further_s: float, by: str
) -> None:
    busy = record(3.4 + further_s, waited_s=5.0, **behind(0.0, further_s))
    everybody = busy.probes.machine.all_processes
    assert everybody is not None
    machine = busy.probes.machine.model_copy(
        update={"all_processes": everybody.model_copy(update={"programs": programs})}
    )
    probes = busy.probes.model_copy(update={"machine": machine})
    found = disturbance.disturbance(busy.model_copy(update={"probes": probes}))
    assert found.by == by
    named = f"other programs ({by})" if by else "other programs"
    assert found.why.startswith(f"{named} took up to ")


@pytest.mark.parametrize(
    ("address", "others_s"), [("10.88.0.2:80", 3.9 - OURS_S - 0.4), (None, 3.9 - OURS_S)]
)
def test_what_passes_connections_on_to_a_container_is_none_of_the_others(
    address: str | None, others_s: float
) -> None:
    busy = record(3.9)
    everybody = busy.probes.machine.all_processes
    assert everybody is not None
    programs = (CC1, program(12, "docker-proxy", 0.4))
    machine = busy.probes.machine.model_copy(
        update={"all_processes": everybody.model_copy(update={"programs": programs})}
    )
    probe = busy.spec.probe.model_copy(update={"server_address": address})
    changed = busy.model_copy(
        update={
            "probes": busy.probes.model_copy(update={"machine": machine}),
            "spec": busy.spec.model_copy(update={"probe": probe}),
        }
    )
    assert disturbance.disturbance(changed).others_share == pytest.approx(others_s / 4, abs=1e-3)


def test_who_serves_a_dependency_is_none_of_the_others() -> None:
    assert disturbance.disturbance(record(3.9)).others_share == pytest.approx((3.9 - OURS_S) / 4)
    served = disturbance.disturbance(record(3.9, **behind(1.0)))
    assert served.others_share == pytest.approx((3.9 - OURS_S - 1.0) / 4)


def test_a_database_that_is_also_a_dependency_is_counted_once() -> None:
    busy = record(3.9, **behind(1.0))
    shares = {disturbance.disturbance(busy, None, ns).others_share for ns in (0, 900_000_000, SECOND)}
    assert shares == {0.025}
    assert disturbance.disturbance(busy, None, None).others_share == pytest.approx(0.025)
    # Nobody was found that serves the database whose time was not read.
    assert disturbance.disturbance(record(3.9, **behind(0.0)), None, None).others_share is None


def test_who_may_serve_a_dependency_does_not_count_as_another_program_and_is_said() -> None:
    found = disturbance.disturbance(record(3.5, **behind(0.0, 0.5)))
    assert found.others_share == pytest.approx(0.05)
    assert found.unread == (
        "the CPU time of its dependencies was not read: who serves 127.0.0.1:9 could not be found"
    )
    assert disturbance.disturbance(record(3.5, **behind(0.0, None))).others_share == 0.0


def test_the_canarys_cpu_time_is_not_others() -> None:
    assert disturbance.disturbance(record(3.8), documents.record()).others_share == 0.0


def test_what_the_kernel_writes_for_the_server_is_not_others() -> None:
    found = disturbance.disturbance(record(3.8, kernel_s=0.9))
    assert found.others_share == pytest.approx((3.8 - OURS_S - 0.9) / 4)


def test_who_could_not_be_read_in_time_is_one_of_the_others() -> None:
    # On a busy machine the readings of all processes may come too late in a short trial.
    plain = record(3.8, kernel_s=0.9, waited_s=0.1, **behind(0.3))
    late = plain.probes.dependencies
    assert late is not None
    unread = {
        "machine": plain.probes.machine.model_copy(update={"all_processes": None}),
        "dependencies": late.model_copy(update={"serving_span_ns": None, "serving_cpu_ns": None}),
    }
    found = disturbance.disturbance(
        plain.model_copy(update={"probes": plain.probes.model_copy(update=unread)})
    )
    assert found.others_share == pytest.approx((3.8 - OURS_S) / 4) and taken_s(found) == pytest.approx(1.0)


def test_a_trial_counts_unless_more_may_have_been_taken_than_was_left() -> None:
    harmed = record(4.0, waited_s=0.9)
    found = disturbance.disturbance(harmed)
    assert 1.3 < found.slowdown < 2 and not found.disturbed and not found.against
    judged = validity.assess(harmed, disturbance=found)
    assert judged.word == "valid" and found.sentence in judged.warnings
    # The server got 0.2 s, and others the rest.
    starved = record(4.0, server=server(1.7, 0.2, used_s=0.2))
    found = disturbance.disturbance(starved)
    assert found.slowdown > 2 and found.disturbed and found.against == found.why
    # In a study figures that do not depend on the speed count all the same.
    by_figure = validity.assess(starved, disturbance=found, by_figure=True)
    assert by_figure.word == "valid" and found.sentence in by_figure.warnings
    judged = validity.assess(starved, disturbance=found)
    assert judged.word == "disturbed" and judged.problems[0] == f"disturbed: {found.sentence}"


def test_that_others_are_not_known_of_a_server_that_was_watched_is_said() -> None:
    unknown = record(3.5, **behind(0.0, None))
    judged = validity.assess(unknown, disturbance=disturbance.disturbance(unknown))
    assert any(
        each.startswith("what other programs took is not known: the CPU time of its dependencies")
        for each in judged.warnings
    )
    unwatched = record(3.5, server=None)
    judged = validity.assess(unwatched, disturbance=disturbance.disturbance(unwatched))
    assert not any("not known" in each for each in judged.warnings)


def test_the_results_of_a_trial_do_not_matter() -> None:
    one, other = record(3.5), record(3.5).model_copy(update={"outcomes": documents.outcomes(timeout=7)})
    assert disturbance.disturbance(one) == disturbance.disturbance(other)


def test_a_share_that_could_not_be_read_is_a_reason_and_not_zero() -> None:
    none = disturbance.disturbance(documents.record())
    assert (none.others_share, none.steal_share, none.slowdown) == (None, None, 1.0)
    assert none.unread == "the CPU time of the whole machine was not read"
    unseen = disturbance.disturbance(record(4.0, server=None), None, None)
    assert unseen.others_share is None and unseen.steal_share == 0.0 and not unseen.disturbed
    assert unseen.unread == "the CPU time of the server and the database was not read"


@pytest.mark.parametrize(
    ("from_s", "to_s", "used"),
    [(1, 3, 250), (0.5, 1, 50), (3, 9, 50), (0, 4, 400), (-1, 3, None)],
)
def test_the_databases_time_is_that_of_the_window(from_s: float, to_s: float, used: int | None) -> None:
    looks = [(0, 0), (SECOND, 100), (2 * SECOND, 250), (3 * SECOND, 350), (4 * SECOND, 400)]
    found = database_part.used_between(looks, round(from_s * SECOND), round(to_s * SECOND))
    assert found == used


def test_one_look_at_the_database_is_not_enough() -> None:
    assert database_part.used_between([(0, 0)], 0, 1) is None


@pytest.mark.parametrize("used_s", [1.0, 0.0])
def test_a_disturbance_is_stored(used_s: float) -> None:
    idle = documents.record().probes.engine.model_copy(update={"window": documents.probe(0.0).window})
    stood = {"server": server(9.0, used_s, used_s=used_s), **({} if used_s else {"engine": idle})}
    found = disturbance.disturbance(record(4.0, **stood))
    assert used_s or found.slowdown == disturbance.SLOWDOWN_TOLD
    stored = documents.stored(disturbance=found)
    again = type(stored).model_validate_json(stored.model_dump_json(by_alias=True))
    assert again.disturbance == found and isinstance(again.disturbance, Disturbance)


def elsewhere(
    here_s: float,
    there_s: float,
    *,
    server_waited_s: float = 5.0,
    engine_waited_s: float = 5.0,
    **changes: Any,
) -> contract.TrialRecord:
    """Return a record whose load came from another machine.

    `here_s`, `there_s`: what all used on the server's machine, and on the one that the load came from;
    `server_waited_s`, `engine_waited_s`: how long their threads had no core.
    """
    made = {
        "machine": documents.machine(round(there_s * SECOND), 0, CORES),
        "server_machine": documents.machine(round(here_s * SECOND), 0, CORES),
        "watch": documents.probe(0.1),
        "dependencies": None,
        **changes,
    }
    plain = record(0.0, waited_s=server_waited_s, **made)
    first = plain.probes.threads[0].model_copy(update={"window": thread(engine_waited_s)})
    probes = plain.probes.model_copy(update={"threads": (first,)})
    return plain.model_copy(update={"probes": probes, "load_host": "loader"})


def test_what_others_used_is_told_for_each_machine_by_what_the_trial_used_there() -> None:
    # The server used 1.8 s and the engine that watches it 0.2 s here; the engine 1 s there.
    found = disturbance.disturbance(elsewhere(2.4, 2.2))
    assert found.load_host is not None
    assert found.others_share == pytest.approx(0.4 / 4)
    assert found.load_host.others_share == pytest.approx(1.2 / 4)
    assert taken_s(found) == pytest.approx(1.6)
    assert found.load_host.taken_share == pytest.approx(0.6)
    assert disturbance.disturbance(elsewhere(2.0, 1.0)).taken_share == 0.0


def test_what_others_used_harms_only_the_program_that_waited_on_that_machine() -> None:
    calm = disturbance.disturbance(elsewhere(2.4, 2.2, server_waited_s=0.0, engine_waited_s=0.3))
    assert taken_s(calm) == pytest.approx(0.3)
    calm = disturbance.disturbance(elsewhere(2.4, 2.2, server_waited_s=0.1, engine_waited_s=0.0))
    assert taken_s(calm) == pytest.approx(0.1)


def test_no_machine_can_have_given_more_than_all_its_cores() -> None:
    # By the load host, of which the engine used a quarter, it may have been four times as fast; by the
    # server's machine, of which it used half, twice.
    found = disturbance.disturbance(elsewhere(4.0, 1.0))
    assert found.slowdown == pytest.approx(2.0)


def test_who_took_it_is_named_with_the_machine() -> None:
    def why(here_s: float, there_s: float) -> str:
        return disturbance.disturbance(elsewhere(here_s, there_s)).why

    assert why(2.0, 1.6).startswith("other programs on loader took")
    assert why(2.6, 1.0).startswith("other programs on the server's machine took")
    both = why(2.6, 1.6)
    assert both.startswith("other programs on the server's machine and other programs on loader took")
    assert "server" not in why(2.2, 1.5) and "loader" not in why(2.5, 1.2)


def test_a_load_host_whose_cpu_time_was_not_read_is_said() -> None:
    unread = documents.machine(0, 0, CORES).model_copy(update={"window": None})
    found = disturbance.disturbance(elsewhere(2.4, 0.0, machine=unread))
    assert found.load_host is None and found.unread == "the CPU time of the load host was not read"
    assert found.others_share == pytest.approx(0.4 / 4)


def test_of_one_kernel_both_engines_and_the_server_are_no_others() -> None:
    made = elsewhere(0.0, 3.4, server_machine=None)
    found = disturbance.disturbance(made)
    assert found.load_host is None
    assert found.others_share == pytest.approx((3.4 - OURS_S - 0.2) / 4)
