"""One load: what is asked, when, and how → the engine's spec; the run of the engine; the process to watch.

`load_plan` reads what was typed, and `report` shows the result.
"""

import math
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from crumple import contract, engine
from crumple.engine import EndEarly, Engine, OnProgress
from crumple.errors import CrumpleError, EngineFailed, Interrupted
from crumple.interrupt import ending_early
from crumple.load.load_options import Options
from crumple.machine import capacity
from crumple.machine.load_machine import LoadMachine

# Milliseconds between two readings of processes and connections.
PROBE_INTERVAL_MS = 100
# Connections that one thread of the engine handles without coming near its limits.
CONNECTIONS_PER_THREAD = 256
# Requests per second that one thread of the engine sends without coming near its limits.
RATE_PER_THREAD_PER_S = 50_000


@dataclass(frozen=True)
class Conducted:
    """A load that is over."""

    record: contract.TrialRecord
    ended_early: bool
    """Whether it was interrupted; the record then covers the time before that."""


def spec(
    *,
    label: str,
    target: contract.Target,
    requests: Sequence[contract.RequestSpec],
    shape: contract.ShapeSpec,
    stop: contract.StopSpec,
    options: Options,
    threads_most: int | None = None,
    warm_up_s: float | None = None,
) -> contract.TrialSpec:
    """Return the engine's spec. `threads_most`: None: as many as suit the machine."""
    warm_up = warm_up_s and contract.WarmUpSpec(
        connections=None, pauses=True, stop=contract.DurationStopSpec(duration_s=warm_up_s)
    )
    return contract.TrialSpec(
        label=label,
        target=target,
        requests=tuple(requests),
        shape=shape,
        connection=options.connection,
        kernel_timestamps=options.kernel_timestamps,
        pacing=options.pacing,
        warm_up=warm_up or None,
        stop=stop,
        timeouts=contract.TimeoutSpec(connect_s=options.connect_s, request_s=options.request_s),
        threads=options.threads
        or threads_for(shape, threads_most or options.machine.threads_most, options.machine.hosts),
        cores=options.cores,
        probe=contract.ProbeSpec(
            interval_ms=PROBE_INTERVAL_MS,
            server_pid=options.server_pid,
            server_address=options.server_address,
            stages=options.stages,
            tasks=options.tasks and options.server_pid is not None,
            dependencies=options.dependencies and options.server_pid is not None,
            speed_of_cores=options.speed_of_cores,
        ),
        seed=options.seed,
    )


def peak_per_s(shape: contract.OpenShapeSpec) -> float:
    """The highest rate of the schedule."""
    return max(max(rate.from_per_s, rate.to_per_s) for rate in shape.rates)


def descriptors_beside(threads: int) -> int:
    """How many descriptors the engine opens beside connections: streams, probes, three for each thread."""
    return 32 + 3 * threads


def threads_for(shape: contract.ShapeSpec, most: int, hosts: int = 1) -> int:
    """1, or more for many connections or a high rate, on each of the hosts that share the load.

    `most`: how many there may be.
    """
    connections = capacity.connections_of(shape) // hosts
    if isinstance(shape, contract.OpenShapeSpec):
        wanted = math.ceil(peak_per_s(shape) / hosts / RATE_PER_THREAD_PER_S)
    else:
        wanted = math.ceil(connections / CONNECTIONS_PER_THREAD)
    return max(1, min(wanted, most, connections))


def conduct(load: Engine, asked: contract.TrialSpec, on_progress: OnProgress) -> Conducted:
    """Run the load. Ctrl-C ends it and keeps what was measured; a second Ctrl-C, a second later, discards it.

    Raises EngineFailed, Interrupted.
    """
    capacity.raise_open_files()
    end_early = EndEarly()
    try:
        with ending_early(end_early):
            record = engine.run(load, asked, on_progress, end_early)
    except EngineFailed as failed:
        if end_early.asked:
            # Ctrl-C came before there was anything to record.
            raise Interrupted(signal.SIGINT.name) from failed
        raise
    return Conducted(record, end_early.asked)


def check_listening(target: contract.Target, machine: LoadMachine) -> None:
    """Return unless a first connect from that machine is refused. Raises CrumpleError.

    The load finds whatever else may go wrong with a connection.
    """
    if target.proxy is not None:
        machine.check_listening(target.address, "no proxy", "start it, or mend -x")
        return
    try:
        machine.check_listening(target.address, "nobody", "start the server, or mend the URL")
    except CrumpleError:
        if not machine.where:
            # Imported here because most servers answer.
            from crumple.load import refused

            refused.check(target.address)
        raise


def cores_of(pid: int | None) -> tuple[int, ...]:
    """The cores a process may use; empty if there is no such process."""
    if pid is None:
        return ()
    try:
        return tuple(sorted(os.sched_getaffinity(pid)))
    except OSError:
        return ()
