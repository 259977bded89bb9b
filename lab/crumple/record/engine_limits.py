"""Whether the engine kept up, or may have measured itself: a record → a sentence, or None. Pure.

`validity` decides what follows from it for a trial.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from crumple.contract import OpenShapeSpec, RequestsStopSpec, TrialRecord
from crumple.record import curve, invariants, lateness, windows
from crumple.record.lateness import Limits

if TYPE_CHECKING:
    from crumple.machine.ceiling import Ceiling

# An engine that uses more than 85 % of its cores queues, and its queue looks like the server's.
ENGINE_SHARE_MAX = 0.85
# Above 70 % of what the engine reaches against its null server it may have limited the throughput.
CEILING_SHARE_MAX = 0.70
WAITED_SHARE_MAX = invariants.WAITED_SHARE_MAX
# On shared cores the engine also waits for the server, which may be most of its waiting as long as it has a
# core for half of the time.
STARVED_SHARE_MAX = 0.5
# On cores of its own the engine waits only for other programs: a fifth of the time is too much.
STARVED_SHARE_MAX_OWN = 0.2
# Connections of a closed shape may wait for the engine for a fifth of their time: beyond that their
# throughput is the engine's.
UNATTENDED_SHARE_MAX = 0.20
# One answer in 100 may have no stamp of the kernel: that leaves the median alone.
UNSTAMPED_SHARE_MAX = 0.01
LESS_LOAD = "lower the load, or give the engine more threads and cores"
# Loads shorter than 0.1 s are not judged. A load of a few requests is measured for milliseconds, and the
# engine is busy for most of them, or waits for a core once, for a slice of the scheduler (3 to 5 ms).
SHORTEST_JUDGED_NS = 100_000_000
# How the sentences of `used_up_problem` begin; and the warnings that the engine may have been at its limit:
# `ceiling_warning` with a known ceiling, `thread_share_warning`, `unattended_warning`.
_HAD_NO_MORE = re.compile(r"(the engine used|a thread of the engine used a core) ")
_MAY_HAVE_HAD_NO_MORE = re.compile(r"(the throughput is|a thread of the engine used|answers lay unread,) ")


def was_the_limit(problems: Sequence[str]) -> bool:
    """Whether the engine's limit is a trial's only problem: its throughput is then a lower bound."""
    return len(problems) == 1 and _HAD_NO_MORE.match(problems[0]) is not None


def may_have_been_the_limit(warnings: Iterable[str]) -> bool:
    """Whether one of a trial's warnings says that the engine may have been at its limit."""
    return any(_MAY_HAVE_HAD_NO_MORE.match(warning) for warning in warnings)


def engine_share(record: TrialRecord) -> float | None:
    """CPU time of the engine over that of its cores while measuring (0..1); None if it was not read."""
    used_ns = windows.cpu_ns(record, record.probes.engine.window)
    if used_ns is None:
        return None
    # The engine cannot use more cores than it has sending threads.
    threads = len(record.probes.threads) or record.spec.threads
    cores = min(invariants.engine_cores(record) or threads, threads)
    return (used_ns - _readings_ns(record)) / (record.measured_ns * cores)


def _readings_ns(record: TrialRecord) -> int:
    """CPU time of the engine for reading the speed of the server's cores, which is spent there."""
    speed, watch = record.probes.speed, record.probes.watch
    return speed.cost_ns if speed and watch is None else 0


def cpu_share_on_shared_cores(record: TrialRecord) -> float | None:
    """Its CPU time over that of all cores, where it shares those of the server (0..1); None elsewhere."""
    used, machine = windows.engine_beside(record), record.probes.machine_of_server.window
    if record.spec.cores or record.probes.server_machine is not None or used is None or machine is None:
        return None
    return used / machine.cores if machine.cores else None


def waited_share(record: TrialRecord) -> float:
    """Share of the measured time (0..1) that a thread was ready to run without a core: the largest of any."""
    return max((waited for _, waited in _threads(record)), default=0.0)


def starved_problem(record: TrialRecord, own: bool, taken_share: float = 0.0) -> str | None:
    """Return a problem if the engine lacked a core while connections waited for it, which costs throughput.

    `own`: no other program is meant to use its cores, so that waiting for one counts like using it.
    `taken_share`: for which share of the time others may have had the cores, which the slowdown allows for.
    Open shapes are not judged here, since their lateness shows the effect.
    """
    if isinstance(record.spec.shape, OpenShapeSpec) or _is_short(record):
        return None
    most, unattended = waited_share(record) - taken_share, unattended_share(record)
    limit = STARVED_SHARE_MAX_OWN if own else STARVED_SHARE_MAX
    if most > limit and (unattended > UNATTENDED_SHARE_MAX or not _stamped(record)):
        waited = f"waited for a core {_percent(most)} of the time ({_limit(limit)})"
        too = f"connections for the engine {_percent(unattended)} ({_limit(UNATTENDED_SHARE_MAX)})"
        came_of_it = too if _stamped(record) else "response times hold that"
        return f"a thread of the engine {waited}, and {came_of_it}: {_keep_off(record)}"
    ran, away = max(_threads(record), key=sum, default=(0.0, 0.0))
    away -= taken_share
    if own and record.spec.pacing != "spin" and ran <= ENGINE_SHARE_MAX < ran + away:
        both = f"together {_percent(ran + away)} ({_limit(ENGINE_SHARE_MAX)})"
        used = f"used its core {_percent(ran)} of the time and waited for it {_percent(away)}, {both}"
        return f"a thread of the engine {used}: {_keep_off(record)}"
    return None


def used_up_problem(record: TrialRecord, own: bool) -> str | None:
    """Return a problem if the engine, or one of its threads, used its cores up.

    `own`: no other program is meant to use its cores.
    """
    if record.spec.pacing == "spin":
        return None  # spinning uses all cores by intent; lateness is judged instead
    if _is_short(record):
        return None
    share, threads = engine_share(record), _threads(record)
    by_share = own or not threads
    if by_share and share is None:
        why = windows.why(record, record.probes.engine)
        of = f" ({why})" if why else ""
        return f"the engine's own CPU time could not be read{of}, so it may have measured itself"
    if by_share and share is not None and share > ENGINE_SHARE_MAX:
        return (
            f"the engine used {_percent(share)} of its cores ({_limit(ENGINE_SHARE_MAX)}): "
            f"it measured itself; {LESS_LOAD}"
        )
    busiest = max((ran for ran, _ in threads), default=0.0)
    if busiest > ENGINE_SHARE_MAX:
        return (
            f"a thread of the engine used a core {_percent(busiest)} of the time "
            f"({_limit(ENGINE_SHARE_MAX)}): it measured itself; {LESS_LOAD}"
        )
    return None


def schedule_problem(record: TrialRecord, asked: Limits | None = None) -> str | None:
    """Return how lateness affects the response times that count, or None. `asked`: limits of an objective."""
    said = lateness.problem(record, asked)
    return said and f"{said}; {_sooner(record)}"


def schedule_problem_throughout(record: TrialRecord) -> str | None:
    """Return how lateness affects the median or the mean, so that no response time counts, or None."""
    said = lateness.problem_of_all_figures(record)
    return said and f"{said}; {_sooner(record)}"


def late_throughout(record: TrialRecord) -> str | None:
    """Return why no response time of a record is the server's alone, or None; in a ramp also by its parts."""
    return lateness.problem_of_all_figures(record) or curve.late(record)


def left_out_warning(record: TrialRecord) -> str | None:
    """Return a warning if response times are left out for lateness, while other figures count."""
    if said := late_throughout(record):
        return f"{said}, and response times are left out; {_sooner(record)}"
    said = lateness.problem(record)
    return said and f"{said}, and left out; {_sooner(record)}"


def bounds_warning(record: TrialRecord, asked: Limits | None = None) -> str | None:
    """Return a warning if response times are shown as upper bounds because of lateness."""
    said = lateness.problem(record, asked)
    return said and f"{said}: at most what is shown; {_sooner(record)}"


def late_warning(record: TrialRecord, asked: Limits | None = None) -> str | None:
    """Return a warning if other times shown include lateness, though the trial counts."""
    said = lateness.warning(record, asked)
    return said and f"{said}; {_sooner(record)}"


def ceiling_warning(record: TrialRecord, ceiling: "Ceiling | None") -> str | None:
    """Return a warning where the throughput is near what the engine reaches against its null server."""
    if ceiling is None or record.measured_ns <= 0:
        return None
    not_known = "how near the engine came to its ceiling is not known"
    if ceiling.throughput_per_s is None:
        return f"{not_known}: {ceiling.why}"
    share = record.outcomes.ok / record.measured_ns * 1e9 / ceiling.throughput_per_s
    if share <= CEILING_SHARE_MAX:
        return None
    reached = f"{ceiling.throughput_per_s:,.0f} /s"
    if ceiling.at_least:
        return f"{not_known}, which is {reached} or more: {ceiling.why}; measure again on a calm machine"
    return (
        f"the throughput is {_percent(min(1.0, share))} ({_limit(CEILING_SHARE_MAX)}) of the "
        f"{reached} that the engine reaches against its null server: it may have limited it; {LESS_LOAD}"
    )


def thread_share_warning(record: TrialRecord) -> str | None:
    """Return a warning where a thread of the engine used nearly all of a core shared with the server."""
    busiest = max((ran for ran, _ in _threads(record)), default=0.0)
    if busiest <= ENGINE_SHARE_MAX or record.spec.pacing == "spin" or _is_short(record):
        return None
    return (
        f"a thread of the engine used {_percent(busiest)} of a core ({_limit(ENGINE_SHARE_MAX)}): "
        f"it may have limited the throughput; {LESS_LOAD}"
    )


def waited_warning(record: TrialRecord) -> str | None:
    """Return a warning where a thread of the engine was ready to run and had no core."""
    most = waited_share(record)
    if most <= WAITED_SHARE_MAX or _is_short(record):
        return None
    return (
        f"a thread of the engine waited for a core {_percent(most)} of the time "
        f"({_limit(WAITED_SHARE_MAX)}): something else ran there; {_keep_off(record)}"
    )


def spun_warning(record: TrialRecord) -> str | None:
    """Return a warning where the engine spun in a closed shape without pauses, so its load is not known.

    No request of such a shape is due at a time known ahead, so there is no lateness either.
    """
    shape = record.spec.shape
    if record.spec.pacing != "spin" or isinstance(shape, OpenShapeSpec) or shape.pause_ms:
        return None
    return (
        "how busy the engine was is not known: it spun, and in a closed shape without pauses no lateness "
        "shows it; let it sleep"
    )


def unattended_warning(record: TrialRecord) -> str | None:
    """Return a warning where connections waited for the engine, which costs a closed shape throughput."""
    share = unattended_share(record)
    if share <= UNATTENDED_SHARE_MAX or _is_short(record):
        return None
    return (
        f"answers lay unread, or connections waited to be opened, for {_percent(share)} of the time "
        f"({_limit(UNATTENDED_SHARE_MAX)}): no response time holds that, but it costs a closed shape "
        f"throughput; {LESS_LOAD}"
    )


def unopened_problem(record: TrialRecord) -> str | None:
    """Return a problem if a closed shape never held all of its connections.

    It is a warning if the load ends by a number of requests.
    """
    unused, shape = invariants.unused(record), record.spec.shape
    if not unused or isinstance(shape, OpenShapeSpec):
        return None
    by_number = isinstance(record.spec.stop, RequestsStopSpec)
    over = "its requests were all sent" if by_number else "the trial was over"
    remedy = "ask for more requests" if by_number else "make it longer"
    return (
        f"only {record.users:,} of the {record.users + unused:,} connections had a request, for {over} "
        f"before the engine had opened the others: {remedy}, or warm up for longer"
    )


def unattended_share(record: TrialRecord) -> float:
    """Share of their time, pauses apart, that a closed shape's connections waited for the engine (0..1).

    0 in an open shape, where an unread answer delays no other request.
    """
    spent_ns = 0.0 if isinstance(record.spec.shape, OpenShapeSpec) else invariants.spent_ns(record)
    return invariants.unattended_ns(record) / spent_ns if spent_ns else 0.0


def clock_warning(record: TrialRecord) -> str | None:
    """Return a warning where the kernel did not stamp the answers."""
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


def _is_short(record: TrialRecord) -> bool:
    """Whether the load was too short to show what the engine lacked."""
    return record.measured_ns < SHORTEST_JUDGED_NS


def _stamped(record: TrialRecord) -> bool:
    """Whether the kernel stamped the answers, so that the time they lay unread is known."""
    return record.arrivals.clock == "kernel"


def _threads(record: TrialRecord) -> list[tuple[float, float]]:
    """For each sending thread, the share of the time that it ran, and that it waited for a core (0..1).

    Where the kernel does not count the waiting it is 0, and only lateness can show it.
    """
    read = [thread.window for thread in record.probes.threads if thread.window]
    return [
        (each.cpu_ns / each.span_ns, (each.run_queue_ns or 0) / each.span_ns)
        for each in read
        if windows.cpu_ns(record, each) is not None
    ]


def _sooner(record: TrialRecord) -> str:
    most = waited_share(record)
    if most > WAITED_SHARE_MAX:
        return f"its thread waited for a core {_percent(most)} of the time: {_keep_off(record)}"
    return LESS_LOAD if record.spec.pacing == "spin" else f"{LESS_LOAD}, or let it spin"


def _keep_off(record: TrialRecord) -> str:
    on = f" on {record.load_host}" if record.load_host else ""
    return f"keep other programs off the engine's cores{on}"


def _percent(share: float) -> str:
    return f"{share * 100:.3g}%"


def _limit(share: float) -> str:
    return f"limit {_percent(share)}"
