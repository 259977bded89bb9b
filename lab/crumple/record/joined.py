"""The slices of one start as one record, which is read like the record of a single run. Pure.

The engine opens new connections in each slice; the first connections of all slices count as one user here,
the second ones as another, and so on. How each group of fields is joined, and why:

- `warm_up_ns`: the first slice's. `measured_ns`: the sum of the windows. The time before the first slice (the
  parts of the warm-up) and between two windows (the end of one slice, the re-warming of the next) has no
  place on the time axis.
- Counts, `warm_up`, bytes, `users_waited_ns`, `requests_waited_ns`, `arrivals`: sums. `warm_up` and `retried`
  include the requests of the warm-up's parts. `scheduled` stays the sum of the outcomes. Little's law is
  exact in each window, and so in the sum. Each window takes over requests at its beginning and cuts off
  others at its end, so `taken_over` and `unfinished` are as many as connections × slices.
- `connections_opened`, `connect_time`: re-warmings included, as the engine includes those of a warm-up.
- `users`: the largest number of any slice, since they are the same users. `users_unanswered`: the smallest of
  any slice. A user who is cut off at the end of one window is answered in the next, so only users without an
  answer in any window had none while measuring.
- `histograms`: merged without loss; `count`, `min_ns`, `mean_ns` and `max_ns` are computed from those of the
  parts.
- `requests`: joined likewise, each kind for itself. Examples: for each outcome, reason and status the first
  one that holds part of an answer, or else the first, as in the engine. An example of a re-warming is placed
  where its window begins.
- `series`, `log`, `samples`, `threads`, `sockets`: all rows of the first slice, and of the other slices those
  of their windows. A reading taken after its window is placed at the end of the window, before the next one.
- Cumulative columns continue from the last reading: the first reading in a window counts as no increase. It
  is taken as the window opens; threads have no such row, and their first one is at most an interval later.
  User and kernel time are split by the kernel's estimate, so one of them may fall while the sum rises, as in
  a single run.
- Windows of probes: sums, and the maxima of all slices. None if one slice's could not be read, since the rest
  would cover less than `measured_ns`. Sizes are maxima of what was read, as in the engine.
- Proportional sizes of the server: none. Pages that several servers share are divided among all of them,
  including the suspended servers of the block, so a server's size depends on how many others there are.
- Stages, tasks and dependencies: see `joined_readings`.
- `arrivals.clock`: the engine's if any slice's is. Faults: the first one. `unread`: each once.
- `spec`: the first slice's, which stops after the sum of the durations, and warms up for the sum of the parts
  and the first re-warming.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

from crumple.contract import (
    OUTCOMES,
    AfterDuration,
    AllProcessesWindow,
    ArrivalRecord,
    ClosedShape,
    CoreColumns,
    Example,
    Histogram,
    Histograms,
    Log,
    MachineRecord,
    MachineWindow,
    NotSent,
    OtherProgram,
    Outcomes,
    ProbeRecord,
    Probes,
    ProbeWindow,
    ReasonRecord,
    RequestRecord,
    ThreadRecord,
    ThreadWindow,
    TrialRecord,
    TrialSpec,
    Unread,
)
from crumple.record import histogram, joined_readings
from crumple.record.slice_rows import Slice, all_known, first, rows, summed, unread

# The fields in which the specs of one trial's slices may differ.
OWN_TO_A_SLICE = ("warm_up", "stop", "seed")
COUNTS = (
    "scheduled",
    "bodies_hashed",
    "received_bytes",
    "sent_bytes",
    "connections_opened",
    "connections_closed_by_server",
    "users_waited_ns",
    "requests_waited_ns",
)

PAGES_SHARED = Unread(
    field="pss_bytes", why="servers of the block share pages with it while it is measured in turns"
)

Counts = TypeVar("Counts", Outcomes, NotSent)


def joined(slices: Sequence[TrialRecord], warm_up: Sequence[TrialRecord] = ()) -> TrialRecord:
    """Return the slices of one start, in their order, as one record; a single one is returned as it is.

    `warm_up`: the records of the parts of its warm-up, of which only the requests count. Raises ValueError
    where they are not of one trial, or of a load that is not sliced; NotStored where a histogram is damaged.
    """
    if not slices:
        raise ValueError("no slices: give one record or more")
    if len(slices) == 1 and not warm_up:
        return slices[0]
    placed = _placed(slices)
    return slices[0].model_copy(
        update={
            "spec": _spec(slices, warm_up),
            "measured_ns": sum(each.measured_ns for each in slices),
            **{name: sum(getattr(each, name) for each in slices) for name in COUNTS},
            "retried": sum(each.retried for each in (*warm_up, *slices)),
            "outcomes": _added([each.outcomes for each in slices]),
            "not_sent": _added([each.not_sent for each in slices]),
            "tls_fault": first(each.tls_fault for each in slices),
            "reasons": _reasons(placed),
            "warm_up": slices[0].warm_up.model_copy(
                update={
                    "scheduled": sum(each.warm_up.scheduled for each in slices)
                    + sum(each.scheduled for each in warm_up),
                    "outcomes": _added(
                        [*(each.warm_up.outcomes for each in slices), *(each.outcomes for each in warm_up)]
                    ),
                }
            ),
            "users": max(each.users for each in slices),
            "users_unanswered": min(each.users_unanswered for each in slices),
            "requests": _requests(placed),
            "arrivals": _arrivals([each.arrivals for each in slices]),
            "histograms": _histograms([each.histograms for each in slices]),
            "series": rows(placed, [each.series for each in slices]),
            "log": _log(placed),
            "probes": _probes(placed),
        }
    )


def _spec(slices: Sequence[TrialRecord], warm_up: Sequence[TrialRecord]) -> TrialSpec:
    own, stops = slices[0].spec, []
    if not isinstance(own.shape, ClosedShape) or own.shape.pause_ms:
        raise ValueError(f"{own.label}: only a closed shape without pause has slices")
    for each in slices:
        if not isinstance(each.spec.stop, AfterDuration):
            raise ValueError(f"{own.label}: a slice that does not end after a duration")
        stops.append(each.spec.stop.duration_s)
        for name in TrialSpec.model_fields:
            if name not in OWN_TO_A_SLICE and getattr(each.spec, name) != getattr(own, name):
                raise ValueError(f"{own.label}: slices with another {name}; join those of one start")
    whole = own.model_copy(update={"stop": AfterDuration(duration_s=round(sum(stops), 9))})
    if own.warm_up is None or not warm_up:
        return whole
    warm_ns = sum(each.measured_ns for each in warm_up) + slices[0].warm_up_ns
    stop = AfterDuration(duration_s=round(warm_ns / 1e9, 3))
    return whole.model_copy(update={"warm_up": own.warm_up.model_copy(update={"stop": stop})})


def _placed(slices: Sequence[TrialRecord]) -> list[Slice]:
    lengths_ns = [slices[0].warm_up_ns, *(each.measured_ns for each in slices[:-1])]
    last = len(slices) - 1
    return [
        Slice(record, window_at_ns, is_first=place == 0, is_last=place == last)
        for place, (record, window_at_ns) in enumerate(zip(slices, accumulate(lengths_ns), strict=True))
    ]


def _requests(placed: Sequence[Slice]) -> tuple[RequestRecord, ...]:
    kinds = zip(*(each.record.requests for each in placed), strict=True)
    return tuple(_request(placed, kind) for kind in kinds)


def _request(placed: Sequence[Slice], parts: Sequence[RequestRecord]) -> RequestRecord:
    return parts[0].model_copy(
        update={
            "scheduled": sum(part.scheduled for part in parts),
            "outcomes": _added([part.outcomes for part in parts]),
            "statuses": _counted([part.statuses for part in parts]),
            "response_time": histogram.together([part.response_time for part in parts]),
            "bodies_hashed": sum(part.bodies_hashed for part in parts),
            "examples": _examples(placed, parts),
        }
    )


def _reasons(placed: Sequence[Slice]) -> tuple[ReasonRecord, ...]:
    """Add up the counts of each reason; the first time is that of the first slice that has it."""
    found: dict[tuple[str, str], ReasonRecord] = {}
    for slice_ in placed:
        for row in slice_.record.reasons:
            moved = row.model_copy(update={"first_ns": slice_.placed(row.first_ns)})
            had = found.setdefault((row.outcome, row.reason), moved)
            if had is not moved:
                found[row.outcome, row.reason] = had.model_copy(update={"count": had.count + row.count})
    return tuple(found.values())


def _counted(parts: Sequence[Mapping[int, int]]) -> dict[int, int]:
    """Add up the numbers of each key."""
    sums: Counter[int] = Counter()
    for part in parts:
        sums.update(part)
    return dict(sorted(sums.items()))


def _examples(placed: Sequence[Slice], parts: Sequence[RequestRecord]) -> tuple[Example, ...]:
    kept: dict[tuple[int, str, int], Example] = {}
    for slice_, part in zip(placed, parts, strict=True):
        for each in part.examples:
            moved = each.model_copy(update={"at_ns": slice_.placed(each.at_ns)})
            status = -1 if each.status is None else each.status
            ended = OUTCOMES.index(each.outcome), each.reason or "", status
            before = kept.setdefault(ended, moved)
            if (not moved.head, moved.at_ns) < (not before.head, before.at_ns):
                kept[ended] = moved
    return tuple(kept[ended] for ended in sorted(kept))


def _arrivals(parts: Sequence[ArrivalRecord]) -> ArrivalRecord:
    return ArrivalRecord(
        clock="engine" if any(part.clock == "engine" for part in parts) else "kernel",
        unstamped=sum(part.unstamped for part in parts),
        held_ns=sum(part.held_ns for part in parts),
    )


def _histograms(parts: Sequence[Histograms]) -> Histograms:
    return Histograms.model_validate(
        {name: _histogram([getattr(part, name) for part in parts]) for name in Histograms.model_fields}
    )


def _histogram(parts: Sequence[Histogram | None]) -> Histogram | None:
    known = [part for part in parts if part is not None]
    return histogram.together(known) if known else None


def _log(placed: Sequence[Slice]) -> Log:
    """Append the logs, whose `at_ns` counts from when measuring began."""
    logs = [each.record.log for each in placed]
    warm_up_ns = placed[0].record.warm_up_ns
    return logs[0].model_copy(
        update={
            "at_ns": tuple(
                each.window_at_ns - warm_up_ns + at_ns for each in placed for at_ns in each.record.log.at_ns
            ),
            "duration_ns": tuple(ns for log in logs for ns in log.duration_ns),
            "response_time": tuple(encoded for log in logs for encoded in log.response_time),
        }
    )


def _probes(placed: Sequence[Slice]) -> Probes:
    probes = [each.record.probes for each in placed]
    servers = [each.server for each in probes if each.server is not None]
    sockets = [each.sockets for each in probes]
    return Probes(
        engine=_probe(placed, [each.engine for each in probes]),
        server=_without_pss(_probe(placed, servers)) if len(servers) == len(probes) else None,
        threads=tuple(
            _thread(placed, threads) for threads in zip(*(each.threads for each in probes), strict=True)
        ),
        sockets=rows(placed, sockets).model_copy(update={"unread": unread(each.unread for each in sockets)}),
        machine=_machine([each.machine for each in probes]),
        stages=joined_readings.stages(placed, [each.stages for each in probes]),
        tasks=joined_readings.tasks(placed, [each.tasks for each in probes]),
        dependencies=joined_readings.dependencies(placed, [each.dependencies for each in probes]),
    )


def _probe(placed: Sequence[Slice], parts: Sequence[ProbeRecord]) -> ProbeRecord:
    return ProbeRecord(
        samples=rows(placed, [part.samples for part in parts]),
        window=_window([part.window for part in parts]),
        unread=unread(part.unread for part in parts),
    )


def _without_pss(probe: ProbeRecord) -> ProbeRecord:
    none = (None,) * len(probe.samples.at_ns)
    window = probe.window and probe.window.model_copy(update={"pss_max_bytes": None})
    unread = (*(each for each in probe.unread if each.field != PAGES_SHARED.field), PAGES_SHARED)
    samples = probe.samples.model_copy(update={"pss_bytes": none})
    return probe.model_copy(update={"samples": samples, "window": window, "unread": unread})


def _window(parts: Sequence[ProbeWindow | None]) -> ProbeWindow | None:
    windows = all_known(parts)
    if windows is None:
        return None
    sizes = [each.pss_max_bytes for each in windows if each.pss_max_bytes is not None]
    return ProbeWindow(
        span_ns=sum(each.span_ns for each in windows),
        cpu_user_ns=sum(each.cpu_user_ns for each in windows),
        cpu_kernel_ns=sum(each.cpu_kernel_ns for each in windows),
        voluntary_switches=summed(each.voluntary_switches for each in windows),
        involuntary_switches=summed(each.involuntary_switches for each in windows),
        switches_at_least=summed(each.switches_at_least for each in windows),
        run_queue_ns=summed(each.run_queue_ns for each in windows),
        run_queue_cpu_ns=summed(each.run_queue_cpu_ns for each in windows),
        threads_span_ns=summed(each.threads_span_ns for each in windows),
        rss_max_bytes=max(each.rss_max_bytes for each in windows),
        pss_max_bytes=max(sizes, default=None),
        processes_max=max(each.processes_max for each in windows),
        threads_max=max(each.threads_max for each in windows),
    )


def _thread(placed: Sequence[Slice], parts: Sequence[ThreadRecord]) -> ThreadRecord:
    windows, whole = all_known(part.window for part in parts), None
    if windows is not None:
        whole = ThreadWindow(
            span_ns=sum(each.span_ns for each in windows),
            cpu_ns=sum(each.cpu_ns for each in windows),
            run_queue_ns=summed(each.run_queue_ns for each in windows),
        )
    return rows(placed, parts).model_copy(update={"window": whole})


def _machine(parts: Sequence[MachineRecord]) -> MachineRecord:
    windows, whole = all_known(part.window for part in parts), None
    if windows is not None:
        whole = MachineWindow(
            span_ns=sum(each.span_ns for each in windows),
            busy_ns=sum(each.busy_ns for each in windows),
            steal_ns=sum(each.steal_ns for each in windows),
            cores=windows[0].cores,
            switches=summed(each.switches for each in windows),
            per_core=_per_core([each.per_core for each in windows]),
        )
    return MachineRecord(
        window=whole,
        all_processes=_all_processes([part.all_processes for part in parts]),
        unread=unread(part.unread for part in parts),
    )


def _per_core(parts: Sequence[CoreColumns]) -> CoreColumns:
    """Return the times of each core that was there in all parts."""
    there = [core for core in parts[0].core if all(core in part.core for part in parts)]

    def column(of: Callable[[CoreColumns], tuple[int, ...]]) -> tuple[int, ...]:
        by_core = [dict(zip(part.core, of(part), strict=True)) for part in parts]
        return tuple(sum(each[core] for each in by_core) for core in there)

    return CoreColumns(
        core=tuple(there),
        busy_ns=column(lambda part: part.busy_ns),
        steal_ns=column(lambda part: part.steal_ns),
        idle_ns=column(lambda part: part.idle_ns),
    )


def _all_processes(parts: Sequence[AllProcessesWindow | None]) -> AllProcessesWindow | None:
    known = all_known(parts)
    if known is None:
        return None
    return AllProcessesWindow(
        span_ns=sum(each.span_ns for each in known),
        kernel_threads_ns=sum(each.kernel_threads_ns for each in known),
        programs=_programs(known),
        cost_ns=sum(each.cost_ns for each in known),
    )


def _programs(parts: Sequence[AllProcessesWindow]) -> tuple[OtherProgram, ...]:
    """Return other programs with what they used in all parts, most first."""
    found: dict[tuple[int, str], OtherProgram] = {}
    for each in (program for part in parts for program in part.programs):
        before = found.get((each.pid, each.name))
        used_ns = each.cpu_ns + (before.cpu_ns if before else 0)
        found[each.pid, each.name] = each.model_copy(update={"cpu_ns": used_ns})
    return tuple(sorted(found.values(), key=lambda each: (-each.cpu_ns, each.pid)))


def _added(parts: Sequence[Counts]) -> Counts:
    """Add up counts field by field."""
    return type(parts[0])(
        **{name: sum(getattr(part, name) for part in parts) for name in type(parts[0]).model_fields}
    )
