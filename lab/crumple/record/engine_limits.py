"""Whether the engine kept up, or may have measured itself: a record → a sentence, or None. Pure.

What follows from it for a trial is `validity`'s to say. Why the limits are what they are stands in
docs/method.md.
"""

from typing import TYPE_CHECKING

from crumple.contract import Histogram, OpenShape, TrialRecord
from crumple.record import histogram, littles_law

if TYPE_CHECKING:
    from crumple.machine.ceiling import Ceiling

ENGINE_SHARE_MAX = 0.85
LATE_NS = 1_000_000
LATE_SHARE_OF_SERVICE = 0.1
CEILING_SHARE_MAX = 0.70
WAITED_SHARE_MAX = 0.05
HELD_SHARE_MAX = 0.20
UNSTAMPED_SHARE_MAX = 0.01
LESS_LOAD = "lower the load, or give the engine more threads and cores"


def engine_share(record: TrialRecord) -> float | None:
    """CPU time of the engine over that of its cores while measuring (0..1); None if it was not read."""
    window = record.probes.engine.window
    if window is None or record.measured_ns <= 0:
        return None
    # It can use no more cores than it has threads that send.
    threads = len(record.probes.threads) or record.spec.threads
    cores = min(len(record.spec.cores) or threads, threads)
    return (window.cpu_user_ns + window.cpu_kernel_ns) / (record.measured_ns * cores)


def engine_limited(record: TrialRecord, own: bool) -> str | None:
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


def schedule_missed(record: TrialRecord) -> str | None:
    """Lateness of its own beyond the limit, at the quantile that samples allow."""
    late = _late(record, (0.99, 0.9, 0.75, 0.5))
    if late is None:
        return None
    quantile, late_ns, limit_ns = late
    return (
        f"the engine was late: {quantile} of its own lateness is {_ms(late_ns)} (limit {_ms(limit_ns)}), "
        f"so the load was not as scheduled; {_sooner(record)}"
    )


def late_at_times(record: TrialRecord) -> str | None:
    """The same of the highest response times only."""
    late = _late(record, (0.999,))
    if late is None or schedule_missed(record):
        return None
    quantile, late_ns, limit_ns = late
    return (
        f"the engine was late at times: {quantile} of its own lateness is {_ms(late_ns)} (limit "
        f"{_ms(limit_ns)}), which is in the highest response times; {_sooner(record)}"
    )


def near_ceiling(record: TrialRecord, ceiling: "Ceiling | None") -> str | None:
    """Throughput near what it reaches against its null server."""
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


def thread_share(record: TrialRecord) -> str | None:
    """A thread that took nearly a whole core, where engine and server share theirs."""
    busiest = max(_thread_shares(record, waiting=False), default=0.0)
    if busiest <= ENGINE_SHARE_MAX or record.spec.pacing == "spin":
        return None
    return (
        f"a thread of the engine used {_percent(busiest)} of a core ({_limit(ENGINE_SHARE_MAX)}): "
        f"it may have limited the throughput; {LESS_LOAD}"
    )


def waited(record: TrialRecord) -> str | None:
    """A thread that was ready to run, and had no core."""
    running, wanting = _thread_shares(record, waiting=False), _thread_shares(record, waiting=True)
    most = max((both - ran for both, ran in zip(wanting, running, strict=True)), default=0.0)
    if most <= WAITED_SHARE_MAX:
        return None
    return (
        f"a thread of the engine waited for a core {_percent(most)} of its time "
        f"({_limit(WAITED_SHARE_MAX)}): something else ran there; keep other programs off the engine's cores"
    )


def spun(record: TrialRecord) -> str | None:
    """A closed shape in which nothing tells how busy it was."""
    if record.spec.pacing != "spin" or isinstance(record.spec.shape, OpenShape):
        return None
    return (
        "how busy the engine was is not known: it spun, and in a closed shape no lateness tells; let it sleep"
    )


def held(record: TrialRecord) -> str | None:
    """Answers that lay unread, which costs a closed shape throughput."""
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


def by_the_engines_clock(record: TrialRecord) -> str | None:
    """Answers that the kernel did not stamp."""
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
