"""Readings of a server's threads and of its dependencies, made up: even over the window of a record."""

from collections.abc import Mapping, Sequence
from typing import Any

from crumple import contract
from crumple.contract import TrialRecord

LISTENER = contract.ListenerRecord(pid=7, name="database")


def tasks(
    record: TrialRecord,
    rows: Sequence[tuple[int, int, int]],
    *,
    cores: float = 0.0,
    threads: int = 8,
    run_queue_ns: int | None = 0,
    **changes: Any,
) -> contract.TaskRecord:
    """What threads did: how many were running, waiting for a disk and stopped, of all `threads`.

    `cores`: those that they kept busy.
    """
    plain = contract.TaskRecord(
        at_ns=_evenly(record, len(rows)),
        late_ns=(0,) * len(rows),
        cost_ns=(20_000,) * len(rows),
        threads=(threads,) * len(rows),
        looked=(threads,) * len(rows),
        running=tuple(row[0] for row in rows),
        disk=tuple(row[1] for row in rows),
        stopped=tuple(row[2] for row in rows),
        places=(contract.PlaceRecord(where="ep_poll", looked=3),),
        threads_seen=(
            contract.TaskThread(
                pid=1, tid=2, name="one", cpu_ns=10, run_queue_ns=5, place="ep_poll", ended=False
            ),
        ),
        window_ns=record.measured_ns,
        cpu_ns=round(cores * record.measured_ns),
        run_queue_ns=run_queue_ns,
        ended=0,
        ended_cpu_ns=0,
        ended_run_queue_ns=0,
        born=0,
        ends_cost_ns=1,
        unread=(),
        why=None,
    )
    return plain.model_copy(update=changes)


def dependencies(
    record: TrialRecord, peers: Mapping[str, Sequence[tuple[int, int, int]]], **changes: Any
) -> contract.DependencyRecord:
    """Connections by address: how many waited, were idle and were unknown, in each reading."""
    number = max((len(rows) for rows in peers.values()), default=20)
    plain = contract.DependencyRecord(
        at_ns=_evenly(record, number),
        late_ns=(0,) * number,
        cost_ns=(20_000,) * number,
        peers=tuple(_peer(address, rows) for address, rows in peers.items()),
        serving_span_ns=record.measured_ns,
        serving_pids=(),
        unfound_pids=(),
        unread=(),
        why=None,
    )
    return plain.model_copy(update=changes)


def _peer(address: str, rows: Sequence[tuple[int, int, int]]) -> contract.PeerRecord:
    return contract.PeerRecord(
        address=address,
        listener=None,
        connections_max=max(map(sum, rows)),
        connections=tuple(map(sum, rows)),
        waiting=tuple(row[0] for row in rows),
        idle=tuple(row[1] for row in rows),
        unknown=tuple(row[2] for row in rows),
        inferred=(0,) * len(rows),
    )


def server(record: TrialRecord, user_cores: float, kernel_cores: float = 0.0) -> contract.ProcessRecord:
    """A process that evenly used so many cores in user and in kernel mode, sampled every 100 ms."""
    ends_ns = record.warm_up_ns + record.measured_ns
    at_ns = range(0, ends_ns + 1, 100_000_000)
    window = contract.ProcessWindow(
        span_ns=record.measured_ns,
        cpu_user_ns=round(user_cores * record.measured_ns),
        cpu_kernel_ns=round(kernel_cores * record.measured_ns),
        voluntary_switches=None,
        involuntary_switches=None,
        rss_max_bytes=1,
        pss_max_bytes=None,
        processes_max=1,
        threads_max=8,
    )
    none = (None,) * len(at_ns)
    samples = contract.SampleColumns(
        at_ns=tuple(at_ns),
        late_ns=(0,) * len(at_ns),
        cpu_user_ns=tuple(round(user_cores * ns) for ns in at_ns),
        cpu_kernel_ns=tuple(round(kernel_cores * ns) for ns in at_ns),
        rss_bytes=(1,) * len(at_ns),
        pss_bytes=none,
        processes=(1,) * len(at_ns),
        threads=(8,) * len(at_ns),
        voluntary_switches=none,
        involuntary_switches=none,
    )
    return contract.ProcessRecord(samples=samples, window=window, unread=())


def _evenly(record: TrialRecord, number: int) -> tuple[int, ...]:
    return tuple(record.warm_up_ns + record.measured_ns * row // number for row in range(number))
