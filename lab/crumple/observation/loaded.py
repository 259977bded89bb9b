"""The record of a load → what the rules know of it (`AtLoad`). Pure."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import fmean

from crumple.contract import StageRecord, TaskRecord, TaskThread, TrialRecord
from crumple.machine.at_rest import AtRest
from crumple.observation import cpu_time
from crumple.observation.at_load import AtLoad, Peer, Saturated, Stage, Threads
from crumple.record import brief_threads, engine_limits, flow, histogram, inside, limiter_course, windows
from crumple.record.disturbance import Disturbance, disturbance, passing
from crumple.record.growth import rises
from crumple.record.inside import missed_connections
from crumple.record.overload import overload

# The kernel sends a SYN again after a second, so a connect that took longer met a full queue.
LATE_CONNECT_NS = 1e9
# The fewest intervals that a third of a load must have to give a rate.
INTERVALS_MIN = 3
# The least number of connections, on average, on which a server waits at rest to be called a consumer.
FEW_ASK = 0.5
NOTHING: Mapping[str, float] = {}
# A thread is saturated if it uses 0.85 of a core, or if it uses 0.4 of one and used it or was ready to run
# for 0.9 of the time: then it lacked only a core.
SATURATED_SHARE, SATURATED_SHARE_MIN, READY_SHARE = 0.85, 0.4, 0.9


@dataclass(frozen=True)
class Beside:
    """What a record does not have, and was read beside the load.

    `descriptors`: open files and their limit; `throttled_share`: for how much of the time its control group
    stopped it; `rest`: what the server does while nobody asks; `queue_empty_share`: at which share of the
    looks no connection waited in front of it to be accepted; `stalled_share`: for how much of the time its
    threads waited for memory at the limit of its control group; `tasks`: processes and threads in the group,
    and their limit. None: not known, or no limit. `quota_cores`: as much CPU time as it may use, in cores.
    """

    descriptors: tuple[int, int] | None = None
    throttled_share: float | None = None
    rest: AtRest | None = None
    queue_empty_share: float | None = None
    stalled_share: float | None = None
    tasks: tuple[int, int] | None = None
    quota_cores: float = math.inf

    @property
    def burning(self) -> Collection[int]:
        """The threads that use much of a core also while nobody asks."""
        return self.rest.burning if self.rest is not None else ()


def from_record(
    record: TrialRecord,
    all_cores: int,
    beside: Beside | None = None,
    elsewhere: int | None = None,
    light: TrialRecord | None = None,
) -> AtLoad:
    """Return what is known of the server.

    `all_cores`: those that it may use. `elsewhere`: how many cores the engine may use that the server may
    not; None: all others of the machine. `light`: of light requests that a second engine sent beside the
    load; what that uses is the load's own.
    """
    beside = beside or Beside()
    spent_s, window = record.measured_ns / 1e9, windows.server(record)
    others = disturbance(record, light, quota_cores=beside.quota_cores)
    times, connects = record.histograms.response_time, record.histograms.connect_time
    counted = (window.voluntary_switches, window.involuntary_switches) if window else ()
    known = [number for number in counted if number is not None]
    threads_ns = window.threads_span_ns if window else None
    switches = _per_s(record, sum(known), threads_ns) if len(known) == 2 else None
    # Nobody opens a connection while each user has one: then these came about in the warm-up.
    late = record.outcomes.connect_timeout
    late += histogram.decoded(connects).count_above(LATE_CONNECT_NS) if connects.count else 0
    stages = record.probes.stages
    stage, in_flight = _stage(record, stages) if stages is not None and stages.why is None else (None, None)
    pending = stage is None or stage.not_accepted > 0
    per_s = record.outcomes.ok / spent_s
    mean_s = (times.mean_ns or 0.0) / 1e9
    grew, grew_from = _grew(record)
    return AtLoad(
        spent_s=spent_s,
        answers=record.outcomes.ok,
        per_s=per_s,
        mean_s=mean_s,
        in_flight=in_flight if in_flight is not None else per_s * mean_s,
        failed=record.outcomes.failed,
        unanswered=record.users_unanswered,
        cores=windows.cores(record, window),
        engine_cores=_engine_cores(record, light, all_cores, elsewhere),
        all_cores=all_cores,
        grew=grew,
        grew_from=grew_from,
        late_connects=late if late or connects.count or not pending else None,
        engine_limited=engine_limits.used_up_problem(record, own=False) is not None,
        switches_per_s=switches,
        stage=stage,
        threads=_threads(record, beside),
        peers=_peers(record),
        descriptors=beside.descriptors,
        throttled_share=beside.throttled_share,
        stalled_share=beside.stalled_share,
        tasks=beside.tasks,
        idle_most=_idle_most(record),
        rose=rises(record),
        overloaded=overload(record) is not None,
        rest=beside.rest,
        disturbed=others.against,
        unread=_unread(record, others),
        switches_least_per_s=_per_s(record, window.switches_at_least if window else None, threads_ns),
        queue_empty_share=beside.queue_empty_share,
        rates=_rates(record),
        cpu_time=cpu_time.spent(record),
        limiter=limiter_course.maybe(record),
        passed_on=_passed_on(record),
    )


def _passed_on(record: TrialRecord) -> str:
    address = record.spec.probe.server_address
    if address is None:
        return ""
    names = [each.name for each in passing(record)] or ["another program"]
    return f"{names[0]}, which passes connections on to {address}"


def _rates(record: TrialRecord) -> tuple[float, float] | None:
    """Return the answers per second in the first third and in the last; None: there are too few intervals."""
    series, third_ns = record.series, record.measured_ns / 3
    rows = [at for at, phase in enumerate(series.phase) if phase == "measured" and series.duration_ns[at]]
    middles_ns = [series.at_ns[at] + series.duration_ns[at] / 2 - record.warm_up_ns for at in rows]
    first = [at for at, ns in zip(rows, middles_ns, strict=True) if ns < third_ns]
    last = [at for at, ns in zip(rows, middles_ns, strict=True) if ns >= 2 * third_ns]
    if min(len(first), len(last)) < INTERVALS_MIN:
        return None

    def per_s(of: list[int]) -> float:
        return sum(series.ok[at] for at in of) / (sum(series.duration_ns[at] for at in of) / 1e9)

    return per_s(first), per_s(last)


def _per_s(record: TrialRecord, number: int | None, span_ns: int | None) -> float | None:
    in_phase = windows.in_phase(record, number, span_ns)
    return None if in_phase is None else in_phase / record.measured_ns * 1e9


def _unread(record: TrialRecord, others: Disturbance) -> dict[str, str]:
    """Return why what was asked for could not be read."""
    probes = record.probes
    found = {"stage": probes.stages, "threads": probes.tasks, "peers": probes.dependencies}
    unread = {name: each.why for name, each in found.items() if each is not None and each.why is not None}
    if probes.stages is not None and probes.stages.in_front:
        unread["in_front"] = unread["stage"]
    if others.unread and others.steal_share is not None and probes.dependencies is not None:
        unread["others"] = others.unread
    if brief := brief_threads.why(record):
        unread["switches"] = brief
    if probes.tasks is not None and (doubt := inside.disk_doubt(probes.tasks)):
        unread["disk"] = doubt
    peers = probes.dependencies
    # Some of its connections may be read while others cannot.
    if peers is not None and peers.why is None and peers.unread:
        unread["peers"] = "; ".join(each.why for each in peers.unread)
        if unseen := inside.unseen_dependencies(peers):
            unread["dependencies"] = "; ".join(unseen)
        if by_udp := inside.unseen_by_udp_only(peers):
            unread["udp"] = by_udp
    return unread


def _engine_cores(
    record: TrialRecord, light: TrialRecord | None, all_cores: int, elsewhere: int | None
) -> float | None:
    """Return how many of the cores that the server may use the engine used; None: not read.

    Where the server may not use all cores, the engine is on the others as far as there is room.
    """
    engines, machine = windows.engine_beside(record, light), record.probes.machine_of_server.window
    if engines is None:
        return None
    if record.probes.server_machine is not None:
        return min(engines, float(all_cores))
    if elsewhere is None:
        elsewhere = machine.cores - all_cores if machine is not None else 0
    return max(0.0, engines - max(0, elsewhere))


def _idle_most(record: TrialRecord) -> float | None:
    """Return how many cores of the whole machine nobody used, the hypervisor among them; None: not read."""
    machine = record.probes.machine_of_server.window
    if machine is None or not machine.cores:
        return None
    taken_ns = windows.in_phase(record, machine.busy_ns + machine.steal_ns, machine.span_ns)
    return None if taken_ns is None else max(0.0, machine.cores - taken_ns / record.measured_ns)


def _stage(record: TrialRecord, stages: StageRecord) -> tuple[Stage | None, float | None]:
    """Return how many requests were at each stage, on average over the readings of the measured phase."""
    # Skip readings whose sampled requests all ended before they could be looked up. A reading with nothing in
    # flight counts: every stage was empty.
    rows = [
        at
        for at in flow.rows_measured(record, stages.at_ns)
        if stages.drawn[at] > stages.thrown_away[at] or not stages.in_flight[at]
    ]
    if not rows:
        return None, None
    in_flight, drawn = (flow.column(of, rows) for of in (stages.in_flight, stages.drawn))
    thrown_away = flow.column(stages.thrown_away, rows)
    told = [max(1.0, each - lost) for each, lost in zip(drawn, thrown_away, strict=True)]

    def number(of: tuple[int, ...]) -> float:
        found = zip(flow.column(of, rows), told, in_flight, strict=True)
        return fmean([there / each * all_ for there, each, all_ in found])

    # Of a connection that is not told apart it is not known whether it has a request, which is inside then.
    perhaps = number(stages.not_told_apart) / 2 if stages.not_told_apart else 0.0

    return (
        Stage(
            not_accepted=number(stages.not_accepted),
            unread=number(stages.unread),
            inside=number(stages.inside) + perhaps,
            other=number(stages.unsent) + number(stages.returning),
        ),
        fmean(in_flight) - perhaps,
    )


def _threads(record: TrialRecord, beside: Beside) -> Threads | None:
    """Return what the threads did, on average over the looks of the measured phase."""
    tasks = record.probes.tasks
    if tasks is None or tasks.why is not None:
        return None
    rows = flow.rows_measured(record, tasks.at_ns)
    looked = sum(tasks.looked[at] for at in rows)
    if not looked or not tasks.window_ns:
        return None
    number = max(fmean(flow.column(tasks.threads, rows)), _threads_sampled(record))
    each = number / looked
    # The first used most CPU time.
    serving = [thread for thread in tasks.threads_seen if thread.tid not in beside.burning]
    return Threads(
        number=number,
        sharing=sharing(record, beside.burning),
        saturated=tuple(
            Saturated(
                share=thread.cpu_ns / tasks.window_ns,
                program=thread.name,
            )
            for thread in serving
            if _is_saturated(thread, tasks.window_ns)
        ),
        runnable=_runnable(tasks, beside.burning),
        disk=each * sum(tasks.disk[at] for at in rows),
        stopped=each * sum(tasks.stopped[at] for at in rows),
        places={place.where: place.looked / looked for place in tasks.places},
        busiest=max(
            ((thread.cpu_ns + thread.run_queue_ns) / tasks.window_ns for thread in serving), default=0.0
        ),
        busiest_at=(serving[0].place or "") if serving else "",
    )


def _threads_sampled(record: TrialRecord) -> float:
    """Return how many threads the samples have on average; 0: none. Looks at threads find new ones later."""
    samples = record.probes.server.samples if record.probes.server is not None else None
    rows = flow.rows_measured(record, samples.at_ns) if samples is not None else []
    return fmean(flow.column(samples.threads, rows)) if samples is not None and rows else 0.0


def _runnable(tasks: TaskRecord, burning: Collection[int]) -> float | None:
    """Return how many threads were ready to run without a core, but for those that compute for nobody."""
    if tasks.run_queue_ns is None or not tasks.window_ns:
        return None
    apart_ns = sum(thread.run_queue_ns for thread in tasks.threads_seen if thread.tid in burning)
    waited_ns = tasks.run_queue_ns + (tasks.ended_run_queue_ns or 0) - apart_ns
    return max(0, waited_ns) / tasks.window_ns


def _is_saturated(thread: TaskThread, window_ns: int) -> bool:
    used, ready = thread.cpu_ns / window_ns, thread.run_queue_ns / window_ns
    return used >= SATURATED_SHARE or (used >= SATURATED_SHARE_MIN and used + ready >= READY_SHARE)


def sharing(record: TrialRecord, burning: Collection[int] = ()) -> float | None:
    """Return the number of busy threads: (Σt)² ÷ Σt² over the CPU times t of the server's threads.

    It is 1 if one thread used all of the CPU time, and n if n threads used equal parts. The record names only
    the threads that used most; if there are more, the result is the least that is possible. `burning`:
    threads that do not count. None: not read, or threads that could not be read used much of the CPU time.
    """
    tasks = _known(record)
    if tasks is None:
        return None
    times = [float(thread.cpu_ns) for thread in tasks.threads_seen if thread.tid not in burning]
    squares = sum(time * time for time in times)
    if not squares:
        return None
    # The record names the threads that used most. Each of the others used no more than any of these.
    told_ns = sum(thread.cpu_ns for thread in tasks.threads_seen)
    others_ns = max(0, (tasks.cpu_ns or 0) + (tasks.ended_cpu_ns or 0) - told_ns)
    return (sum(times) + others_ns) ** 2 / (squares + others_ns * min(times))


def _known(record: TrialRecord) -> TaskRecord | None:
    """Return what was read of the threads; None: nothing, or others used much of the CPU time."""
    tasks = record.probes.tasks
    if tasks is None or tasks.why is not None:
        return None
    share = brief_threads.seen_share(record, tasks)
    return tasks if share is not None and share >= brief_threads.KNOWN_SHARE else None


def _peers(record: TrialRecord) -> tuple[Peer, ...] | None:
    """Return what the server has opened connections to, but for its own processes."""
    found = record.probes.dependencies
    if found is None or found.why is not None:
        return None
    rows = flow.rows_measured(record, found.at_ns)
    if not rows:
        return None
    spans_ns = flow.spans_ns(record, flow.column(found.at_ns, rows))

    def mean(of: tuple[int, ...]) -> float:
        return fmean(flow.column(of, rows), spans_ns)

    not_found = missed_connections(found)
    return tuple(
        Peer(
            address=peer.address,
            listener=peer.listener.name if peer.listener else None,
            connections=mean(peer.connections),
            waiting=mean(peer.waiting),
            # Connections that were idle before the load may be closed as it begins.
            most=max(peer.connections[row] for row in rows),
            unknown=mean(peer.unknown),
            missed=not_found.get(peer.address, ""),
        )
        for peer in found.peers
        if not inside.is_own(peer)
    )


def asks_at_rest(record: TrialRecord) -> dict[str, float] | None:
    """Return on how many connections with each dependency the server waits, in a load without requests.

    None: no reading counts.
    """
    peers = _peers(record)
    if peers is None:
        return None
    return {each.address: each.waiting for each in peers if each.waiting >= FEW_ASK}


def waited_for(record: TrialRecord, at_rest: Mapping[str, float] = NOTHING) -> Peer | None:
    """Return the dependency of which most connections waited for an answer; None: none did, or not read.

    `at_rest`: on how many connections with each the server waits while nobody asks it.
    """
    peers = (each.without(at_rest) for each in _peers(record) or ())
    peer = max(peers, key=lambda each: each.waiting, default=None)
    return peer if peer is not None and peer.waiting else None


def _grew(record: TrialRecord) -> tuple[int, int] | tuple[None, None]:
    """By how many threads, of all its processes, the server grew while it was measured, and from how many."""
    server = record.probes.server
    if server is None:
        return None, None
    samples = server.samples
    rows = [at for at, ns in enumerate(samples.at_ns) if ns >= record.warm_up_ns]
    if len(rows) < 2:
        return None, None
    first, last = rows[0], rows[-1]
    return samples.threads[last] - samples.threads[first], samples.threads[first]
