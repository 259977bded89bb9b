"""Disturbance: how much others used the machine in the window of a trial, whatever the trial's results."""

from typing import Any

import documents
import made_inside
import pytest
from crumple import contract
from crumple.record import disturbance, validity
from crumple.record.disturbance import Disturbance
from crumple.run import database_part

SECOND = 1_000_000_000


@pytest.fixture(autouse=True)
def others_may_work() -> None:
    """Keep the real limits in this module."""


def record(
    busy_s: float, steal_s: float = 0.0, cores: int = 2, kernel_s: float = 0.0, **changes: Any
) -> contract.TrialRecord:
    """A record of two seconds, in which the engine used one second of CPU time and the server 1.8."""
    window = contract.MachineWindow(
        busy_ns=round(busy_s * SECOND),
        steal_ns=round(steal_s * SECOND),
        cores=cores,
        kernel_threads_ns=round(kernel_s * SECOND),
    )
    machine = contract.MachineRecord(window=window, programs=(), unread=())
    probes = documents.record().probes.model_copy(update={"machine": machine, **changes})
    return documents.record(probes=probes)


def test_cpu_time_that_none_of_our_processes_used_counts_as_others() -> None:
    found = disturbance.disturbance(record(3.4), None, 200_000_000)
    assert found.others_share == pytest.approx((3.4 - 1.0 - 1.8 - 0.2) / 4)
    assert found.steal_share == 0.0 and found.unread == ""


def behind(serving_s: float | None, further_s: float | None = 0.0) -> dict[str, Any]:
    """Those who serve the dependencies: their CPU time, and what further ones may have used."""
    named = contract.Unread(field=disturbance.SERVING, why="who serves 127.0.0.1:9 could not be found")
    served = made_inside.dependencies(
        documents.record(),
        {},
        serving_cpu_ns=None if serving_s is None else round(serving_s * SECOND),
        unfound_cpu_ns=None if further_s is None else round(further_s * SECOND),
        unread=(named,) if further_s != 0.0 else (),
    )
    return {"dependencies": served}


def program(pid: int, name: str, used_s: float) -> contract.OtherProgram:
    return contract.OtherProgram(pid=pid, name=name, cpu_ns=round(used_s * SECOND))


CC1, RUSTC = program(7, "cc1", 0.4), program(8, "rustc", 0.2)
# Those that serve a dependency, and one that may.
SERVES, HELPS, MAY = program(9, "postgres", 0.5), program(10, "sh", 0.45), program(11, "mariadbd", 1.6)


@pytest.mark.parametrize(
    ("programs", "further_s", "by"),
    [
        # Others used 0.6 s.
        ((CC1, RUSTC), 0.0, ", most of it cc1 (pid 7)"),
        ((program(5, "a", 0.2), program(6, "b", 0.2)), 0.0, ", most of it a (pid 5) and b (pid 6)"),
        (tuple(program(at, "a", 0.1) for at in range(5)), 0.0, ""),
        ((SERVES, HELPS, CC1), 0.0, ", most of it cc1 (pid 7)"),
        ((MAY, CC1), 1.6, ", most of it cc1 (pid 7)"),
        ((MAY, CC1), 0.0, ", most of it mariadbd (pid 11)"),
        ((), 0.0, ""),
    ],
)
def test_programs_that_used_most_of_it_are_named(
    programs: tuple[contract.OtherProgram, ...], further_s: float, by: str
) -> None:
    busy = record(3.4 + further_s, **served(further_s))
    machine = busy.probes.machine.model_copy(update={"programs": programs})
    probes = busy.probes.model_copy(update={"machine": machine})
    found = disturbance.disturbance(busy.model_copy(update={"probes": probes}))
    assert found.why == f"other programs used 15.0% of the CPU time while measured (limit 10.0%){by}"


def served(further_s: float) -> dict[str, Any]:
    """A dependency that processes serve which used nothing; further ones may have used so much."""
    found = made_inside.dependencies(
        documents.record(),
        {},
        serving_cpu_ns=0,
        serving_pids=(SERVES.pid, HELPS.pid),
        unfound_cpu_ns=round(further_s * SECOND),
        unfound_pids=(MAY.pid,),
    )
    return {"dependencies": found}


def test_who_serves_a_dependency_is_none_of_the_others() -> None:
    busy = record(3.9, **behind(1.0))
    assert disturbance.disturbance(record(3.9)).disturbed
    assert disturbance.disturbance(busy).others_share == pytest.approx((3.9 - 2.8 - 1.0) / 4)
    # A burner beside it still is.
    assert disturbance.disturbance(record(3.9, **behind(0.5))).disturbed


def test_a_database_that_is_also_a_dependency_is_counted_once() -> None:
    busy = record(3.9, **behind(1.0))
    shares = {disturbance.disturbance(busy, None, ns).others_share for ns in (0, 900_000_000, SECOND)}
    assert shares == {0.025}
    assert disturbance.disturbance(busy, None, None).others_share == pytest.approx(0.025)
    # Nobody was found that serves the database whose time was not read.
    assert disturbance.disturbance(record(3.9, **behind(0.0)), None, None).others_share is None
    assert disturbance.disturbance(record(3.9, **behind(None)), None, 0).disturbed


@pytest.mark.parametrize(
    ("busy_s", "further_s", "share"),
    [
        # Others used 0.1 s of 4 s whoever these were, or 0.5 s without those who cannot be found.
        (2.9, 0.2, 0.025),
        (3.5, 0.2, 0.125),
        # It may be that all of it was theirs.
        (3.5, 0.5, None),
        (3.5, None, None),
        (2.9, None, 0.025),
    ],
)
def test_of_dependencies_that_could_not_be_found_it_is_known_how_much_they_used_at_most(
    busy_s: float, further_s: float | None, share: float | None
) -> None:
    found = disturbance.disturbance(record(busy_s, **behind(0.0, further_s)))
    assert found.others_share == (None if share is None else pytest.approx(share))
    why = "the CPU time of its dependencies was not read: who serves 127.0.0.1:9 could not be found"
    assert found.unread == ("" if share is not None else why)
    assert found.disturbed is (share is not None and share > 0.1)


def test_the_canarys_cpu_time_is_not_others() -> None:
    found = disturbance.disturbance(record(3.8), documents.record())
    assert found.others_share == 0.0


def test_what_the_kernel_writes_for_the_server_is_not_others() -> None:
    found = disturbance.disturbance(record(3.8, kernel_s=0.9))
    assert found.others_share == pytest.approx((3.8 - 1.0 - 1.8 - 0.9) / 4)


@pytest.mark.parametrize(
    ("busy_s", "steal_s", "said"),
    [
        (3.19, 0.0, ""),
        (3.22, 0.0, "other programs used 10.5% of the CPU time while measured (limit 10.0%)"),
        (2.8, 0.099, ""),
        (2.8, 0.11, "the hypervisor took 2.8% of the CPU time while measured (limit 2.5%)"),
    ],
)
def test_a_share_above_its_limit_is_a_reason(busy_s: float, steal_s: float, said: str) -> None:
    found = disturbance.disturbance(record(busy_s, steal_s))
    assert (found.why, found.disturbed) == (said, bool(said))
    judged = validity.assess(record(busy_s, steal_s), disturbance=found)
    assert (judged.word == "disturbed") is bool(said)
    assert (found.sentence in judged.problems) is bool(said)


def test_limits_are_tighter_for_longer_windows() -> None:
    limits = [disturbance.others_limit(ticks) for ticks in (100, 400, 2_000, 12_000)]
    assert limits == [0.15, 0.1, 0.0724, 0.0591]
    assert [disturbance.steal_limit(ticks) for ticks in (100, 400, 2_000)] == [0.04, 0.025, 0.021]


def test_in_slices_steal_is_rounded_in_each_window() -> None:
    assert [disturbance.steal_limit(400, windows) for windows in (1, 4, 9)] == [0.025, 0.03, 0.035]
    stolen = record(2.8, 0.11)
    assert disturbance.disturbance(stolen).disturbed
    assert not disturbance.disturbance(stolen, windows=4).disturbed
    assert disturbance.disturbance(record(2.8, 0.13), windows=4).disturbed


def test_the_results_of_a_trial_do_not_matter() -> None:
    one, other = record(3.5), record(3.5).model_copy(update={"outcomes": documents.outcomes(timeout=7)})
    assert disturbance.disturbance(one) == disturbance.disturbance(other)


def test_a_share_that_could_not_be_read_is_a_reason_and_not_zero() -> None:
    none = disturbance.disturbance(documents.record())
    assert (none.others_share, none.steal_share, none.disturbed) == (None, None, False)
    assert none.unread == "the CPU time of the whole machine was not read"
    unseen = disturbance.disturbance(record(4.0, server=None), None, None)
    assert unseen.others_share is None and unseen.steal_share == 0.0
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


def test_a_disturbance_is_stored_with_its_limits() -> None:
    found = disturbance.disturbance(record(3.0))
    stored = documents.stored(disturbance=found)
    again = type(stored).model_validate_json(stored.model_dump_json(by_alias=True))
    assert again.disturbance == found and isinstance(again.disturbance, Disturbance)
    assert not again.disturbed
