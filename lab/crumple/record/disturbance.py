"""Whether others disturbed a trial over its measured window, and whether its server still grew. Pure.

`disturbance` reads only the CPU time that others used and that the hypervisor took, and never the trial's
results, so that a run can repeat a disturbed trial without choosing among results.

`growth` looks at processes, threads and answers per second. Georges, Buytaert and Eeckhout (OOPSLA 2007) ask
whether a window continues what came before it. It asks the same, because a warm-up that was too short goes on
in the window. A trial without a warm-up does not claim to be steady and is not judged, nor is a load that
rises, because the server rises with it.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import fmean, median

from crumple.contract import (
    ClosedShape,
    DependencyRecord,
    OpenShape,
    ProbeRecord,
    ProbeWindow,
    RampShape,
    Samples,
    TrialRecord,
)
from crumple.contract_base import Frozen

OTHERS_TOO_MUCH = 0.05
STEAL_TOO_MUCH = 0.02
# Other programs are named if so few used so much of what all of them used.
NAMED_MAX, MOST = 2, 0.5
# The unit in which the kernel reports the CPU time of the whole machine.
TICK_NS = 10_000_000
# The kernel truncates user and kernel time of each process to whole ticks. With fewer ticks per process than
# this, what is cut off decides the split (docs/method.md).
TICKS_TO_SPLIT = 5
STEAL_ROUNDING_TICKS = 2
# The field of a record of dependencies that has the CPU time of those who serve them.
SERVING = "serving_cpu_ns"


class Disturbance(Frozen):
    """Shares of all cores' time over the measured window (0..1), and the limit of each.

    None: not known, and `unread` says why. `others_share`: CPU time used by programs other than the engine,
    the canary, the server and those who serve its dependencies, its database among them, without that of
    the kernel's own threads. Where some of these could not be found, it is the least or the most that it
    may be, whichever decides. `by`: the programs that used most of it; empty: there are none that did.
    """

    others_share: float | None
    steal_share: float | None
    others_limit: float
    steal_limit: float
    unread: str = ""
    by: str = ""

    @property
    def disturbed(self) -> bool:
        """Whether a share exceeds its limit."""
        return bool(self.why)

    @property
    def why(self) -> str:
        """What took the time, and how much of it; empty if no share exceeds its limit."""
        by = f", most of it {self.by}" if self.by else ""
        return " and ".join(
            f"{who} {share:.1%} of the CPU time while measured (limit {limit:.1%}){said}"
            for who, share, limit, said in (
                ("other programs used", self.others_share, self.others_limit, by),
                ("the hypervisor took", self.steal_share, self.steal_limit, ""),
            )
            if share is not None and share > limit
        )

    @property
    def sentence(self) -> str:
        """The disturbance with its remedy; empty if there is none."""
        if not self.disturbed:
            return ""
        return f"disturbed: {self.why}; end other programs, or run later or elsewhere"


def disturbance(
    record: TrialRecord,
    canary: TrialRecord | None = None,
    database_ns: int | None = 0,
    windows: int = 1,
) -> Disturbance:
    """Return how much others disturbed one trial.

    `database_ns`: CPU time of its database over the window, which is one of its dependencies; None: it has
    one, whose time was not read. `windows`: in how many parts the measured window was read, one for each
    slice.
    """
    window = record.probes.machine.window
    ticks = max(1.0, (window.cores if window else 1) * record.measured_ns / TICK_NS)
    limit, steal = others_limit(ticks), steal_limit(ticks, windows)
    if window is None or not window.cores or record.measured_ns <= 0:
        why = "; ".join(each.why for each in record.probes.machine.unread)
        unread = why or "the CPU time of the whole machine was not read"
        return Disturbance(
            others_share=None, steal_share=None, others_limit=limit, steal_limit=steal, unread=unread
        )
    all_ns = window.cores * record.measured_ns
    behind = _behind(record.probes.dependencies, database_ns)
    ours = {
        "the engine": _used_ns(record.probes.engine),
        "the canary": _used_ns(canary.probes.engine) if canary else 0,
        "the server": _used_ns(record.probes.server),
        "the database": behind.used_ns,
        # It does what programs have asked for, the server among them: it writes to a disk, for instance.
        "the kernel": window.kernel_threads_ns,
    }
    unknown = [who for who, used_ns in ours.items() if used_ns is None]
    known_ns = sum(used_ns or 0 for used_ns in ours.values())
    most, least = (
        max(0.0, round((window.busy_ns - known_ns - further_ns) / all_ns, 4))
        for further_ns in (0, behind.further_ns)
    )
    unread = ""
    others_share: float | None = least if least > limit else most
    if unknown:
        others_share, unread = None, f"the CPU time of {' and '.join(unknown)} was not read"
    elif least <= limit < most:
        others_share, unread = None, behind.unread
    return Disturbance(
        others_share=others_share,
        steal_share=round(window.steal_ns / all_ns, 4),
        others_limit=limit,
        steal_limit=steal,
        unread=unread,
        by=_most_of(record, least * all_ns, behind.further_ns > 0) if (others_share or 0.0) > limit else "",
    )


def _most_of(record: TrialRecord, others_ns: float, is_any_unfound: bool) -> str:
    """Return the other programs that used most of this time; empty: none, or more than two.

    `is_any_unfound`: those are left out, too, that may serve a dependency.
    """
    found = record.probes.dependencies
    serving = set(found.serving_pids) if found is not None else set()
    if found is not None and is_any_unfound:
        serving.update(found.unfound_pids)
    named: list[str] = []
    used_ns = 0
    for program in record.probes.machine.programs:
        if program.pid not in serving and len(named) < NAMED_MAX and used_ns < MOST * others_ns:
            used_ns += program.cpu_ns
            named.append(f"{program.name} (pid {program.pid})")
    return " and ".join(named) if used_ns >= MOST * others_ns else ""


@dataclass(frozen=True)
class _Behind:
    """CPU time of those who serve the server's dependencies; None: not read.

    `further_ns`: what further ones may have used at most, which could not be found: `unread` says why.
    """

    used_ns: int | None
    further_ns: float = 0.0
    unread: str = ""


def _behind(found: DependencyRecord | None, database_ns: int | None) -> _Behind:
    serving_ns = found.serving_cpu_ns if found is not None else None
    if found is None or serving_ns is None:
        return _Behind(database_ns)
    # Both may count the same database. Of one that is not read, it is enough that those who serve were found.
    used_ns = max(database_ns, serving_ns) if database_ns is not None else serving_ns or None
    further_ns = math.inf if found.unfound_cpu_ns is None else found.unfound_cpu_ns
    whys = "; ".join(each.why for each in found.unread if each.field == SERVING)
    return _Behind(used_ns, further_ns, f"the CPU time of its dependencies was not read: {whys}")


def others_limit(ticks: float) -> float:
    """Return the largest share (0..1) that others may use in a window of so many ticks.

    The kernel counts busy time by looking at each tick what runs, so that short windows are inaccurate by
    chance. Of n looks at a core that is busy for a share p the standard deviation is √(p(1−p)/n), half of
    1/√n or less.
    """
    return round(OTHERS_TOO_MUCH + 1 / math.sqrt(ticks), 4)


def steal_limit(ticks: float, windows: int = 1) -> float:
    """Return the largest share (0..1) that the hypervisor may take in so many ticks, read in `windows` parts.

    The hypervisor reports steal, so its only error is the rounding to ticks. The rounding errors of n windows
    are independent, so the error of their sum is √n times as large.
    """
    return round(STEAL_TOO_MUCH + STEAL_ROUNDING_TICKS * math.sqrt(windows) / ticks, 4)


def _used_ns(probe: ProbeRecord | None) -> int | None:
    return probe.window.cpu_ns if probe and probe.window else None


# If something grows by a fifth over a window, its mean is a tenth away from its last value.
GROWTH_MIN = 0.2
# One more process in a pool, or a few threads that a runtime starts for itself, do not count as growth.
PROCESSES_MIN, THREADS_MIN = 2, 4
BACK_MAX = 0.25
SAMPLES_MIN = 5
# The number of steps into which the window is divided to judge the throughput.
STEPS = 10
# Limits of Student's t for the slope, with the correlation of readings allowed for: T_MIN over the window,
# T_WHOLE over the end of the warm-up and the window together.
T_MIN = 2.5
T_WHOLE = 6.0
# The setting with which a server starts all its processes at once.
START_WORKERS = "start_workers"


@dataclass(frozen=True)
class Growth:
    """What grew, from how much at the beginning of the window to how much at its end."""

    what: str
    before: float
    after: float


def is_split(window: ProbeWindow) -> bool:
    """Whether ticks were enough to tell user from kernel time."""
    return window.cpu_ns >= TICKS_TO_SPLIT * TICK_NS * window.processes_max


def can_tell(record: TrialRecord) -> bool:
    """Whether growth can be judged: there was a warm-up, and the load does not rise."""
    return record.spec.warm_up is not None and not rises(record)


def growth(record: TrialRecord) -> Growth | None:
    """Return what still grew while measuring; None: nothing, or it cannot be judged."""
    if not can_tell(record):
        return None
    return _grown_tree(record) or _grown_throughput(record)


def growth_sentence(record: TrialRecord, settings: Collection[str] = ()) -> str:
    """Return what grew, and the remedy; empty: nothing did. `settings`: the settings that the server has."""
    found = growth(record)
    if found is None:
        return ""
    if found.what == "throughput":
        return (
            f"throughput rose from {found.before:,.0f} to {found.after:,.0f} /s while measured, "
            "as it did at the end of the warm-up: longer warm-up"
        )
    remedy = f"longer warm-up, or {START_WORKERS}" if START_WORKERS in settings else "longer warm-up"
    return f"{found.what} grew from {found.before:.0f} to {found.after:.0f} while measured: {remedy}"


def rises(record: TrialRecord) -> bool:
    """Whether the load had several rates or numbers of users, so that a mean is of several loads."""
    shape = record.spec.shape
    if isinstance(shape, OpenShape):
        return len({each for rate in shape.rates for each in (rate.from_per_s, rate.to_per_s)}) > 1
    return isinstance(shape, RampShape)


def _grown_tree(record: TrialRecord) -> Growth | None:
    if record.probes.server is None:
        return None
    samples = record.probes.server.samples
    return _grown_count(record, samples, "processes", PROCESSES_MIN) or _grown_count(
        record, samples, "threads", THREADS_MIN
    )


def _grown_count(record: TrialRecord, samples: Samples, what: str, at_least: int) -> Growth | None:
    counts: tuple[int, ...] = getattr(samples, what)
    read = [count for at_ns, count in zip(samples.at_ns, counts, strict=True) if at_ns >= record.warm_up_ns]
    if len(read) < SAMPLES_MIN:
        return None
    quarter = max(1, len(read) // 4)
    before, after = median(read[:quarter]), median(read[-quarter:])
    grown = after - before >= max(at_least, GROWTH_MIN * before)
    # Threads come and go with connections, so a count that rises and falls is not growth.
    back = max(most - count for most, count in zip(accumulate(read, max), read, strict=True))
    return Growth(what, before, after) if grown and back <= BACK_MAX * (after - before) else None


def _grown_throughput(record: TrialRecord) -> Growth | None:
    """Return how the throughput of a closed shape grew, or None; in an open shape the schedule sets it."""
    if not isinstance(record.spec.shape, ClosedShape):
        return None
    warming, measured = (_per_s(record, phase) for phase in ("warm-up", "measured"))
    if len(measured) < STEPS:
        return None
    before = warming[-max(1, len(measured) // 2) :]
    half = STEPS // 2
    if len(before) + len(measured) < STEPS + half:
        return None
    steps = _in_steps(measured, STEPS)
    earlier, first, second = fmean(before) if before else 0.0, fmean(steps[:half]), fmean(steps[half:])
    if not 0 < earlier < first < second:
        return None
    slope, error = _slope(steps)
    rise, began = slope * (STEPS - 1), fmean(steps) - slope * (STEPS - 1) / 2
    whole, whole_error = _slope(_in_steps([*before, *measured], STEPS + half))
    if rise < GROWTH_MIN * max(began, min(steps)) or slope < T_MIN * error or whole < T_WHOLE * whole_error:
        return None
    return Growth("throughput", began, fmean(steps) + rise / 2)


def _per_s(record: TrialRecord, phase: str) -> list[float]:
    series = record.series
    return [
        ok / (ns / 1e9)
        for ok, ns, of in zip(series.ok, series.duration_ns, series.phase, strict=True)
        if of == phase and ns > 0
    ]


def _in_steps(values: Sequence[float], steps: int) -> list[float]:
    ends = [round(step * len(values) / steps) for step in range(steps + 1)]
    return [fmean(values[low:high]) for low, high in pairwise(ends)]


def _slope(values: Sequence[float]) -> tuple[float, float]:
    """Return a straight line's slope per step, and its standard error, given correlated neighbours."""
    n = len(values)
    at = [step - (n - 1) / 2 for step in range(n)]
    spread, mean = sum(each**2 for each in at), fmean(values)
    slope = sum(x * y for x, y in zip(at, values, strict=True)) / spread
    rest = [y - mean - slope * x for x, y in zip(at, values, strict=True)]
    squares = sum(each**2 for each in rest)
    if not squares:
        return slope, 0.0
    alike = sum(one * other for one, other in pairwise(rest)) / squares
    # With so few readings the correlation is estimated too low (Kendall 1954).
    alike = min(0.8, max(0.0, alike + (1 + 4 * alike) / n))
    error = math.sqrt(squares / (n - 2) / spread) * math.sqrt((1 + alike) / (1 - alike))
    return slope, error
