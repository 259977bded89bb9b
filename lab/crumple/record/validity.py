"""Whether a trial measured the server: a record → one word, what speaks against it, what to know beside.

Pure, and no more than that: an invalid trial is stored, shown and left out of verdicts by others. Why the
limits are what they are stands in docs/method.md.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crumple.contract import OUTCOMES, AfterRequests, Histogram, OpenShape, TrialRecord
from crumple.record import histogram, invariants, littles_law

if TYPE_CHECKING:
    from crumple.machine.ceiling import Ceiling
    from crumple.machine.machine import Placement

ENGINE_SHARE_MAX = 0.85
LATE_NS = 1_000_000
LATE_SHARE_OF_SERVICE = 0.1
CEILING_SHARE_MAX = 0.70
WAITED_SHARE_MAX = 0.05
HELD_SHARE_MAX = 0.20
UNSTAMPED_SHARE_MAX = 0.01
# One segment sent again in so many requests is more than the p99.9 can hide.
REQUESTS_PER_RETRANSMIT = 10_000
SAME_PROCESS = "the same process in every trial: this server was not started anew for each"
LESS_LOAD = "lower the load, or give the engine more threads and cores"

Word = Literal["valid", "engine-limited", "schedule-missed", "port-limited", "not-valid"]


@dataclass(frozen=True)
class Validity:
    """In one word. `problems`: a sentence for each reason not to trust the record, none where it is valid.

    `warnings`: what does not make it invalid, but may have touched the figures.
    """

    word: Word
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


def assess(
    record: TrialRecord,
    *,
    placement: "Placement | None" = None,
    server_cores: Collection[int] = (),
    ceiling: "Ceiling | None" = None,
    canary: TrialRecord | None = None,
    afresh: bool = True,
    less: str = "",
    workers: int | None = None,
) -> Validity:
    """Judge a record by itself. `placement` None: nobody decided on cores for the server.

    `server_cores`: where the server ran, if known; `canary`: the record of the light requests beside it;
    `afresh`: its process was started for this trial; `less`: what of the load there was no room for;
    `workers`: at most so many requests wait at once in a server that blocks.
    Raises NotStored where a histogram is damaged.
    """
    both = sorted(set(record.spec.cores) & set(server_cores))
    own = bool(record.spec.cores) and placement != "shared" and not both
    impossible = invariants.broken(record, workers=workers, server_cores=server_cores)
    # Causes come before what they cause, for the first problem gives the word.
    found: tuple[tuple[Word, str | None], ...] = (
        ("not-valid", _identity(record)),
        ("port-limited", _port_limited(record)),
        ("not-valid", _memory_limited(record)),
        ("not-valid", _some_answers(record)),
        ("not-valid", _bytes(record)),
        ("not-valid", _warmed_up(record)),
        ("not-valid", _kept_apart(both) if placement == "separate" else None),
        ("engine-limited", None if placement == "shared" else _engine_limited(record, own)),
        ("schedule-missed", _schedule_missed(record)),
        ("not-valid", littles_law.problem(record)),
        *(("not-valid", each) for each in impossible),
    )
    problems = [(word, problem) for word, problem in found if problem]
    doubts = (
        less,
        None if afresh else SAME_PROCESS,
        *(f"canary: {doubt}" for doubt in _of_canary(canary)),
        _near_ceiling(record, ceiling),
        _side_by_side(both) if placement is None else None,
        _thread_share(record) if placement == "shared" else _waited(record),
        _spun(record),
        _held(record),
        _late_at_times(record),
        _by_the_engines_clock(record),
        _retransmitted(record),
    )
    return Validity(
        word=problems[0][0] if problems else "valid",
        problems=tuple(problem for _, problem in problems),
        warnings=tuple(doubt for doubt in doubts if doubt),
    )


def engine_share(record: TrialRecord) -> float | None:
    """CPU time of the engine over that of its cores while measuring (0..1); None if it was not read."""
    window = record.probes.engine.window
    if window is None or record.measured_ns <= 0:
        return None
    # It can use no more cores than it has threads that send.
    threads = len(record.probes.threads) or record.spec.threads
    cores = min(len(record.spec.cores) or threads, threads)
    return (window.cpu_user_ns + window.cpu_kernel_ns) / (record.measured_ns * cores)


def _of_canary(canary: TrialRecord | None) -> list[str]:
    """What speaks against the canary's figures; those of the load stand without them."""
    if canary is None:
        return []
    checks = (_identity, _port_limited, _memory_limited, _schedule_missed)
    return [problem for check in checks if (problem := check(canary))]


def _identity(record: TrialRecord) -> str | None:
    for phase, scheduled, outcomes in (
        ("measured", record.scheduled, record.outcomes),
        ("warm-up", record.warm_up.scheduled, record.warm_up.outcomes),
    ):
        if scheduled != outcomes.total:
            ends = " + ".join(f"{outcomes.as_dict()[name]} {name}" for name in OUTCOMES)
            return (
                f"the {phase} requests do not add up: {scheduled} scheduled, {outcomes.total} ended ({ends})"
            )
    reasons = record.not_sent
    explained = reasons.too_late + reasons.ports + reasons.descriptors + reasons.memory
    if explained != record.outcomes.not_sent:
        return f"{record.outcomes.not_sent} requests were not sent, but there is a reason for {explained}"
    times = record.histograms
    for name, timed in (("response", times.response_time), ("service", times.service_time)):
        if timed is not None and timed.count != record.outcomes.ok:
            return f"{record.outcomes.ok} answers were ok, but {timed.count} {name} times were recorded"
    return None


def _port_limited(record: TrialRecord) -> str | None:
    ports, descriptors = record.not_sent.ports, record.not_sent.descriptors
    if ports:
        return (
            f"no local port was left for {ports:,} requests (limit 0): connect from more source addresses, "
            "keep connections alive, or widen net.ipv4.ip_local_port_range"
        )
    if descriptors:
        return (
            f"no descriptor was left for {descriptors:,} requests (limit 0): raise the limit of open files "
            "(ulimit -n), or use fewer connections"
        )
    return None


def _memory_limited(record: TrialRecord) -> str | None:
    if not record.not_sent.memory:
        return None
    return (
        f"the kernel had no memory for the sockets of {record.not_sent.memory:,} requests (limit 0): "
        "use fewer connections, or raise net.ipv4.tcp_mem"
    )


def _some_answers(record: TrialRecord) -> str | None:
    if record.outcomes.ok:
        return None
    worst = max(record.outcomes.as_dict().items(), key=lambda outcome: outcome[1])
    return f"no answer was ok; {worst[1]} of {record.scheduled} ended as {worst[0]}"


def _bytes(record: TrialRecord) -> str | None:
    # Which answer was to which request is not recorded; to HEAD there is no body at all.
    bodies = (0 if each.method == "HEAD" else each.expect.body_bytes or 0 for each in record.spec.requests)
    # Of what was taken over from the warm-up, part may have come before the window.
    whole = record.outcomes.ok - record.histograms.taken_over.count
    least = max(0, whole) * min(bodies, default=0)
    if record.received_bytes < least:
        return f"{record.received_bytes} bytes received, fewer than the {least} of the bodies alone"
    if record.outcomes.ok and not record.sent_bytes:
        return f"{record.outcomes.ok} answers to no byte sent"
    return None


def _warmed_up(record: TrialRecord) -> str | None:
    warm_up = record.spec.warm_up
    if warm_up is None or not isinstance(warm_up.stop, AfterRequests):
        return None
    left = record.warm_up.outcomes.not_sent
    if not left:
        return None
    asked, within_s = warm_up.stop.requests, warm_up.stop.within_s
    return f"the warm-up was cut short: {asked - left:,} of its {asked:,} requests within {within_s:g} s"


def _kept_apart(both: Sequence[int]) -> str | None:
    if not both:
        return None
    return (
        f"engine and server shared core {', '.join(map(str, both))}: too few cores to keep them apart; "
        'measure with placement = "shared", or on more cores'
    )


def _side_by_side(both: Sequence[int]) -> str | None:
    if not both:
        return None
    cores = ", ".join(map(str, both))
    return (
        f"the server may run on the engine's core {cores} too, and then each slows the other; "
        "bind the server to other cores (taskset)"
    )


def _engine_limited(record: TrialRecord, own: bool) -> str | None:
    """`own`: its cores serve nobody else, so that waiting for one of them is as good as using it."""
    if record.spec.pacing == "spin":
        return None  # it uses all of its cores by intent; its lateness tells
    share, threads = engine_share(record), _thread_shares(record, waiting=own)
    by_share = own or not threads
    if by_share and share is None:
        return "the engine's own CPU time could not be read, so it may have measured itself"
    if by_share and share is not None and share > ENGINE_SHARE_MAX:
        return (
            f"the engine used {_percent(share)} of its cores ({_limit(ENGINE_SHARE_MAX)}): "
            f"it measured itself; {LESS_LOAD}"
        )
    busiest = max(threads, default=0.0)
    if busiest > ENGINE_SHARE_MAX:
        used = "used its core, or waited for it," if own else "used a core"
        return (
            f"a thread of the engine {used} {_percent(busiest)} of the time ({_limit(ENGINE_SHARE_MAX)}): "
            f"it measured itself; {LESS_LOAD}"
        )
    return None


def _schedule_missed(record: TrialRecord) -> str | None:
    late = _late(record, (0.99, 0.9, 0.75, 0.5))
    if late is None:
        return None
    quantile, late_ns, limit_ns = late
    return (
        f"the engine was late: {quantile} of its own lateness is {_ms(late_ns)} (limit {_ms(limit_ns)}), "
        f"so the load was not as scheduled; {_sooner(record)}"
    )


def _late_at_times(record: TrialRecord) -> str | None:
    late = _late(record, (0.999,))
    if late is None or _schedule_missed(record):
        return None
    quantile, late_ns, limit_ns = late
    return (
        f"the engine was late at times: {quantile} of its own lateness is {_ms(late_ns)} (limit "
        f"{_ms(limit_ns)}), which is in the highest response times; {_sooner(record)}"
    )


def _near_ceiling(record: TrialRecord, ceiling: "Ceiling | None") -> str | None:
    if ceiling is None or record.measured_ns <= 0:
        return None
    if ceiling.throughput_per_s is None:
        return f"how near the engine came to its ceiling is not known: {ceiling.why}"
    share = record.outcomes.ok / record.measured_ns * 1e9 / ceiling.throughput_per_s
    if share <= CEILING_SHARE_MAX:
        return None
    return (
        f"the throughput is {_percent(share)} ({_limit(CEILING_SHARE_MAX)}) of the "
        f"{ceiling.throughput_per_s:,.0f} /s that the engine reaches against its null server: "
        f"it may have limited it; {LESS_LOAD}"
    )


def _thread_share(record: TrialRecord) -> str | None:
    busiest = max(_thread_shares(record, waiting=False), default=0.0)
    if busiest <= ENGINE_SHARE_MAX or record.spec.pacing == "spin":
        return None
    return (
        f"a thread of the engine used {_percent(busiest)} of a core ({_limit(ENGINE_SHARE_MAX)}): "
        f"it may have limited the throughput; {LESS_LOAD}"
    )


def _waited(record: TrialRecord) -> str | None:
    running, wanting = _thread_shares(record, waiting=False), _thread_shares(record, waiting=True)
    most = max((both - ran for both, ran in zip(wanting, running, strict=True)), default=0.0)
    if most <= WAITED_SHARE_MAX:
        return None
    return (
        f"a thread of the engine waited for a core {_percent(most)} of its time "
        f"({_limit(WAITED_SHARE_MAX)}): something else ran there; keep other programs off the engine's cores"
    )


def _spun(record: TrialRecord) -> str | None:
    if record.spec.pacing != "spin" or isinstance(record.spec.shape, OpenShape):
        return None
    return (
        "how busy the engine was is not known: it spun, and in a closed shape no lateness tells; let it sleep"
    )


def _held(record: TrialRecord) -> str | None:
    if isinstance(record.spec.shape, OpenShape):
        return None  # what lies unread delays no other request there
    spent_ns = littles_law.spent_ns(record)
    share = record.arrivals.held_ns / spent_ns if spent_ns else 0.0
    if share <= HELD_SHARE_MAX:
        return None
    return (
        f"answers lay unread for {_percent(share)} of the time ({_limit(HELD_SHARE_MAX)}): "
        f"no response time holds that, but it costs a closed shape throughput; {LESS_LOAD}"
    )


def _by_the_engines_clock(record: TrialRecord) -> str | None:
    arrivals, spec = record.arrivals, record.spec
    if not spec.kernel_timestamps or spec.target.address.startswith("unix:"):
        return None
    if arrivals.clock == "engine":
        return "the kernel stamped no answer: response times hold the engine's own delay"
    share = arrivals.unstamped / record.outcomes.ok if record.outcomes.ok else 0.0
    if share <= UNSTAMPED_SHARE_MAX:
        return None
    return (
        f"{_percent(share)} of the answers had no stamp of the kernel's ({_limit(UNSTAMPED_SHARE_MAX)}): "
        "their response times hold the engine's own delay"
    )


def _retransmitted(record: TrialRecord) -> str | None:
    sockets = record.probes.sockets
    read = zip(sockets.at_ns, sockets.retransmitted, strict=True)
    known = [(at_ns, number) for at_ns, number in read if number is not None]
    if not known:
        return None
    before = [number for at_ns, number in known if at_ns <= record.warm_up_ns] or [known[0][1]]
    again = known[-1][1] - before[-1]
    if again * REQUESTS_PER_RETRANSMIT <= record.scheduled:
        return None
    sent = "one TCP segment was" if again == 1 else f"{again:,} TCP segments were"
    return (
        f"{sent} sent again on this machine (limit 1 for "
        f"{REQUESTS_PER_RETRANSMIT:,} requests): packets were lost or a backlog was full; "
        "look at the network, or raise the server's backlog"
    )


def _thread_shares(record: TrialRecord, *, waiting: bool) -> list[float]:
    """Share of the time that each sending thread ran, or with `waiting` ran or waited for a core (0..1).

    Where the kernel does not count the waiting, the running alone: lateness then has to tell the rest.
    """
    windows = [thread.window for thread in record.probes.threads if thread.window]
    if record.measured_ns <= 0:
        return []
    return [
        (window.cpu_ns + (window.run_queue_ns or 0 if waiting else 0)) / record.measured_ns
        for window in windows
    ]


def _late(record: TrialRecord, wanted: tuple[float, ...]) -> tuple[str, float, float] | None:
    """The first of the `wanted` quantiles that the engine's lateness has samples for, where above its limit.

    Its name, its value and the limit, in ns.
    """
    late = record.histograms.engine_lateness
    q = next((q for q in wanted if late and histogram.printable(q, late.count)), None)
    if late is None or q is None:
        return None
    late_ns = histogram.decode(late.encoded).quantile_ns(q)
    limit_ns = max(LATE_NS, LATE_SHARE_OF_SERVICE * _median_ns(record.histograms.service_time))
    return (f"p{q * 100:g}", late_ns, limit_ns) if late_ns > limit_ns else None


def _sooner(record: TrialRecord) -> str:
    return LESS_LOAD if record.spec.pacing == "spin" else f"{LESS_LOAD}, or let it spin"


def _median_ns(times: Histogram | None) -> float:
    return histogram.decode(times.encoded).quantile_ns(0.5) if times and times.count else 0.0


def _percent(share: float) -> str:
    return f"{share * 100:.3g}%"


def _limit(share: float) -> str:
    return f"limit {_percent(share)}"


def _ms(ns: float) -> str:
    return f"{ns / 1e6:.3g} ms"
