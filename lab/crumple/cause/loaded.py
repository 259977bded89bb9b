"""The record of a load → what the rules know of it (`AtLoad`). Pure."""

import numpy as np

from crumple.cause.at_load import AtLoad, Peer, Stage, Threads
from crumple.contract import StageRecord, TrialRecord
from crumple.record import engine_limits, histogram
from crumple.record.disturbance import disturbance

LATE_CONNECT_NS = 1e9


def from_record(
    record: TrialRecord,
    all_cores: int,
    descriptors: tuple[int, int] | None = None,
    throttled_share: float | None = None,
) -> AtLoad:
    """Return what is known of the server. `all_cores`: those that it may use.

    `descriptors`: open files and their limit; `throttled_share`: for how much of the time its control group
    stopped it. The record has neither.
    """
    spent_s, server = record.measured_ns / 1e9, record.probes.server
    window = server.window if server else None
    engine = record.probes.engine.window
    times, connects = record.histograms.response_time, record.histograms.connect_time
    counted = (window.voluntary_switches, window.involuntary_switches) if window else ()
    known = [number for number in counted if number is not None]
    switches = sum(known) / spent_s if len(known) == 2 else None
    late = histogram.decoded(connects).count_above(LATE_CONNECT_NS) if connects.count else 0
    stages = record.probes.stages
    stage, in_flight = _stage(record, stages) if stages is not None and stages.why is None else (None, None)
    per_s = record.outcomes.ok / spent_s
    mean_s = (times.mean_ns or 0.0) / 1e9
    return AtLoad(
        per_s=per_s,
        mean_s=mean_s,
        in_flight=in_flight if in_flight is not None else per_s * mean_s,
        failed=record.outcomes.failed,
        unanswered=record.users_unanswered,
        cores=window.cpu_ns / 1e9 / spent_s if window else None,
        engine_cores=engine.cpu_ns / 1e9 / spent_s if engine else 0.0,
        all_cores=all_cores,
        grew=_grew(record),
        late_connects=late,
        engine_limited=engine_limits.engine_limited(record, own=False) is not None,
        switches_per_s=switches,
        resident_bytes=window.rss_max_bytes if window else None,
        stage=stage,
        threads=_threads(record),
        peers=_peers(record),
        descriptors=descriptors,
        throttled_share=throttled_share,
        disturbed=disturbance(record).why,
    )


def _stage(record: TrialRecord, stages: StageRecord) -> tuple[Stage | None, float | None]:
    """Return how many requests were at each stage, on average over the readings of the measured phase."""
    rows = [at for at in _measured(record, stages.at_ns) if stages.drawn[at]]
    if not rows:
        return None, None
    in_flight, drawn = (np.array(column, float)[rows] for column in (stages.in_flight, stages.drawn))
    told = np.maximum(1.0, drawn - np.array(stages.thrown_away, float)[rows])

    def number(column: tuple[int, ...]) -> float:
        return float((np.array(column, float)[rows] / told * in_flight).mean())

    return (
        Stage(
            not_accepted=number(stages.not_accepted),
            unread=number(stages.unread),
            inside=number(stages.inside),
            other=number(stages.unsent) + number(stages.returning),
        ),
        float(in_flight.mean()),
    )


def _threads(record: TrialRecord) -> Threads | None:
    """Return what the threads did, on average over the looks of the measured phase."""
    tasks = record.probes.tasks
    if tasks is None or tasks.why is not None:
        return None
    rows = _measured(record, tasks.at_ns)
    looked = sum(tasks.looked[at] for at in rows)
    times = [float(thread.cpu_ns) for thread in tasks.threads_seen]
    if not looked or not tasks.window_ns:
        return None
    number = sum(tasks.threads[at] for at in rows) / len(rows)
    each = number / looked
    squares = sum(time * time for time in times)
    return Threads(
        number=number,
        busiest=max(times, default=0.0) / tasks.window_ns,
        sharing=sum(times) ** 2 / squares if squares else 0.0,
        runnable=tasks.run_queue_ns / tasks.window_ns if tasks.run_queue_ns is not None else None,
        disk=each * sum(tasks.disk[at] for at in rows),
        stopped=each * sum(tasks.stopped[at] for at in rows),
        places={place.where: place.looked / looked for place in tasks.places},
    )


def _peers(record: TrialRecord) -> tuple[Peer, ...] | None:
    """Return what the server has opened connections to; a reading stands for the time until the next."""
    found = record.probes.dependencies
    if found is None or found.why is not None:
        return None
    rows = _measured(record, found.at_ns)
    if not rows:
        return None
    ends = [*(found.at_ns[at] for at in rows[1:]), record.warm_up_ns + record.measured_ns]
    spans = np.array([end - found.at_ns[at] for at, end in zip(rows, ends, strict=True)], float)

    def mean(column: tuple[int, ...]) -> float:
        return float(np.average(np.array(column, float)[rows], weights=spans))

    return tuple(
        Peer(
            address=peer.address,
            listener=peer.listener.name if peer.listener else None,
            connections=mean(peer.connections),
            waiting=mean(peer.waiting),
            most=peer.connections_max,
            unknown=mean(peer.unknown),
        )
        for peer in found.peers
    )


def _measured(record: TrialRecord, at_ns: tuple[int, ...]) -> list[int]:
    """Return the rows that lie in the measured phase."""
    end_ns = record.warm_up_ns + record.measured_ns
    return [row for row, ns in enumerate(at_ns) if record.warm_up_ns <= ns < end_ns]


def _grew(record: TrialRecord) -> int:
    """By how many processes and threads the server grew while it was measured."""
    server = record.probes.server
    if server is None:
        return 0
    rows = [at for at, ns in enumerate(server.samples.at_ns) if ns >= record.warm_up_ns]
    if len(rows) < 2:
        return 0
    first, last = rows[0], rows[-1]
    return max(each[last] - each[first] for each in (server.samples.processes, server.samples.threads))
