"""Whether the server still grew while it was measured: processes, threads, and answers per second. Pure.

Georges, Buytaert and Eeckhout (OOPSLA 2007) ask whether a window continues what came before it. This asks the
same, because a warm-up that was too short goes on in the window. A trial without a warm-up does not claim to
be steady and is not judged, nor is a load that rises, because the server rises with it.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import fmean, median

from crumple.contract import ClosedShapeSpec, OpenShapeSpec, RampShapeSpec, SampleColumns, TrialRecord

# If something grows by a fifth over a window, its mean is a tenth away from its last value.
GROWTH_MIN = 0.2
# One more process in a pool, or a few threads that a runtime starts for itself, do not count as growth.
PROCESSES_MIN, THREADS_MIN = 2, 4
# A count that falls by more than a quarter of its rise comes and goes with connections, and has not grown.
BACK_MAX = 0.25
# The growth of a count is judged by five samples or more.
SAMPLES_MIN = 5
# The number of steps into which the window is divided to judge the throughput.
STEPS = 10
# The throughput grows if Student's t of its slope is 2.5 over the window, with the correlation of readings
# allowed for,
T_MIN = 2.5
# and 6 over the end of the warm-up and the window together.
T_WHOLE = 6.0
# The setting with which a server starts all its processes at once.
START_WORKERS = "start_workers"


@dataclass(frozen=True)
class Growth:
    """What grew, from how much at the beginning of the window to how much at its end."""

    what: str
    before: float
    after: float


def is_known(record: TrialRecord) -> bool:
    """Whether growth can be judged: there was a warm-up, and the load does not rise."""
    return record.spec.warm_up is not None and not rises(record)


def growth(record: TrialRecord) -> Growth | None:
    """Return what still grew while measuring; None: nothing, or it cannot be judged."""
    if not is_known(record):
        return None
    return _grown_tree(record) or _grown_throughput(record)


def growth_sentence(record: TrialRecord, settings: Collection[str] = ()) -> str:
    """Return a problem if processes, threads or throughput still grew. `settings`: those of the server."""
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
    if isinstance(shape, OpenShapeSpec):
        return len({each for rate in shape.rates for each in (rate.from_per_s, rate.to_per_s)}) > 1
    return isinstance(shape, RampShapeSpec)


def _grown_tree(record: TrialRecord) -> Growth | None:
    if record.probes.server is None:
        return None
    samples = record.probes.server.samples
    return _grown_count(record, samples, "processes", PROCESSES_MIN) or _grown_count(
        record, samples, "threads", THREADS_MIN
    )


def _grown_count(record: TrialRecord, samples: SampleColumns, what: str, at_least: int) -> Growth | None:
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
    if not isinstance(record.spec.shape, ClosedShapeSpec):
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
    """Return the rate of each interval; one row may be of several."""
    series, interval_ns = record.series, record.series.interval_ms * 1e6
    return [
        ok / (ns / 1e9)
        for ok, ns, of in zip(series.ok, series.duration_ns, series.phase, strict=True)
        if of == phase and ns > 0
        for _ in range(max(1, round(ns / interval_ns)))
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
