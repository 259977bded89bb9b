"""What several load hosts read of themselves is added up; a machine that two of them share counts once."""

from typing import Any

import documents
from crumple import contract
from crumple.contract import Probes
from crumple.record import engine_limits, invariants, probes_together

SECOND_NS = 1_000_000_000


def probes(**changes: Any) -> Probes:
    """The probes of an engine with one thread that used half of a core for two seconds."""
    plain = documents.record().probes.model_copy(
        update={"server": None, "machine": documents.machine(SECOND_NS, cores=4)}
    )
    return plain.model_copy(update=changes)


def test_engines_are_added_up_and_their_threads_stand_side_by_side() -> None:
    busy = documents.thread(0.9, 0.05)
    found = probes_together.probes([(probes(), "k1"), (probes(threads=(busy,)), "k2")])
    assert found.engine.window is not None and found.engine.window.cpu_ns == 2 * SECOND_NS
    assert found.engine.window.span_ns == 2 * SECOND_NS and found.engine.window.threads_max == 4
    assert found.threads == (*probes().threads, busy)
    assert len(found.engine.unread) == 1, "each reason once"


def test_machines_are_added_up_once_each() -> None:
    two = probes_together.machines([(probes(), "k1"), (probes(), "k2"), (probes(), "k2")])
    assert two.window is not None and (two.window.cores, two.window.busy_ns) == (8, 2 * SECOND_NS)
    one = probes_together.machines([(probes(), "k1"), (probes(), "k1")])
    assert one == probes().machine
    # Of hosts that say nothing of their kernels each is a machine of its own.
    unknown = probes_together.machines([(probes(), None), (probes(), None)])
    assert unknown.window is not None and unknown.window.cores == 8


def test_other_programs_of_all_machines_are_named_those_that_used_most_first() -> None:
    def with_program(name: str, cpu_ns: int) -> Probes:
        program = contract.OtherProgram(pid=7, name=name, cpu_ns=cpu_ns)
        return probes(machine=documents.machine(SECOND_NS, programs=(program,)))

    found = probes_together.machines([(with_program("a", 5), "k1"), (with_program("b", 9), "k2")])
    assert found.all_processes is not None
    assert [program.name for program in found.all_processes.programs] == ["b", "a"]


def test_what_is_not_known_of_one_is_not_known_of_all() -> None:
    unread = contract.Unread(field="window", why="gone")
    bare = probes(
        machine=contract.MachineRecord(window=None, unread=(unread,)),
        engine=probes().engine.model_copy(update={"window": None}),
    )
    found = probes_together.probes([(probes(), "k1"), (bare, "k2")])
    assert found.machine.window is None and found.engine.window is None
    assert unread in found.machine.unread


def test_rows_are_added_up_as_far_as_all_have_them() -> None:
    three, two = documents.sockets([1, 5, 9]), documents.sockets([2, 4])
    found = probes_together.probes([(probes(sockets=three), "k1"), (probes(sockets=two), "k2")])
    assert found.sockets.retransmitted == (3, 9) and found.sockets.in_use == (None, None)
    assert found.sockets.at_ns == (0, SECOND_NS // 2)


def test_an_engine_that_was_bound_has_its_cores_on_each_host() -> None:
    two = probes_together.probes([(probes(), "k1"), (probes(), "k2")])
    host = documents.record().histograms.response_time
    hosts = tuple(
        contract.LoadHostRecord(
            name=name, round_trip_ns=0, late_ns=0, late_off_ns=0, measured_ns=1, scheduled=0,
            outcomes=documents.outcomes(), response_time=host, engine_lateness=host, beside_others=None,
            validity="valid", problems=(),
        )
        for name in ("a", "b")
    )  # fmt: skip
    record = documents.record(probes=two, load_hosts=hosts, spec=documents.spec(cores=(1,)))
    assert invariants.engine_cores(record) == 2
    share = engine_limits.engine_share(record)
    assert share is not None and abs(share - 0.5) < 1e-9
    assert invariants.impossible(record) == ()
