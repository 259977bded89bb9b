"""The rows behind the charts of one load: plain data, thinned to what a page can show.

Percentiles are never averaged: where an interval has too few samples to carry one, or a load too many
intervals, the histograms of several seconds are merged.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from crumple import contract
from crumple.load_report.figures import SECOND_NS, Load
from crumple.record import histogram

# More than that are more than a page has pixels for.
INTERVALS_MAX = 900
_MERGED_S = (1, 2, 5, 10, 30, 60, 300)
_CURVE_POINTS = 80

Row = dict[str, Any]
# When (s since the first instant), how many answers, and the time (ns) where they carry it.
_Reading = tuple[float, int, float | None]


def response_times(load: Load) -> list[Row]:
    """Lines "max", "p99" and "p50" over time, broken (by `run`) where nothing is known."""
    rows = []
    for name, q in (("max", None), ("p99", 0.99), ("p50", 0.5)):
        run = 0
        for at_s, _, ns in _readings(load, name, q):
            if ns is None:
                run += 1
            else:
                rows.append({"s": at_s, "value": ns, "line": name, "run": run})
    return rows


def outcomes(load: Load) -> list[Row]:
    """Requests per second: "ok", "failed" where any did, and in open shapes "due"."""
    series = load.record.series
    counts = {"due": series.scheduled if load.record.spec.shape.kind == "open" else (), "ok": series.ok}
    if any(series.failed):
        counts["failed"] = series.failed
    return [
        {"s": at_s, "value": sum(part) / long_s, "line": name, "run": 0}
        for name, column in counts.items()
        if column
        for at_s, long_s, part in _gathered(series, column)
    ]


def connections(load: Load) -> list[Row]:
    """The most that were open; none where their number never changed while measuring."""
    series = load.record.series
    measured = {n for n, phase in zip(series.connections, series.phase, strict=True) if phase == "measured"}
    if len(measured) < 2:
        return []
    return [
        {"s": at_s, "value": max(part), "line": "connections", "run": 0}
        for at_s, _, part in _gathered(series, series.connections)
    ]


def quantiles(name: str, stored: contract.Histogram) -> list[Row]:
    """A curve from 1/(1−q) to ns, as deep as its samples carry; nothing where they carry no p50."""
    if not histogram.printable(0.5, stored.count):
        return []
    times = histogram.decode(stored.encoded)
    deepest = stored.count / histogram.SAMPLES_BEYOND
    return [
        {"x": float(x), "value": max(1.0, times.quantile_ns(1 - 1 / float(x))), "line": name, "run": 0}
        for x in np.geomspace(1.05, deepest, _CURVE_POINTS)
    ]


def cpu(name: str, probe: contract.ProbeRecord) -> list[Row]:
    """Cores kept busy between one sample and a later one."""
    samples = probe.samples
    spent = zip(samples.cpu_user_ns, samples.cpu_kernel_ns, strict=True)
    spent_ns = [user + kernel for user, kernel in spent]
    readings = list(zip(samples.at_ns, spent_ns, strict=True))[:: _step(len(spent_ns))]
    return [
        {
            "s": (before_ns + at_ns) / 2 / SECOND_NS,
            "value": max(0, now_ns - then_ns) / (at_ns - before_ns),
            "line": name,
            "run": 0,
        }
        for (before_ns, then_ns), (at_ns, now_ns) in pairwise(readings)
        if at_ns > before_ns
    ]


def memory(probe: contract.ProbeRecord) -> list[Row]:
    """Bytes by sample: proportional to what is shared, where that was read; else resident."""
    samples = probe.samples
    shared = any(pss_bytes is not None for pss_bytes in samples.pss_bytes)
    column = samples.pss_bytes if shared else samples.rss_bytes
    readings = [reading for reading in zip(samples.at_ns, column, strict=True) if reading[1] is not None]
    return [
        {"s": at_ns / SECOND_NS, "value": size, "line": "server", "run": 0}
        for at_ns, size in readings[:: _step(len(readings))]
    ]


def _readings(load: Load, name: str, q: float | None) -> list[_Reading]:
    """As fine as the answers allow: half of the intervals that have any must carry the percentile."""
    for readings in _resolutions(load, name, q):
        answered = sum(count > 0 for _, count, _ in readings)
        known = sum(ns is not None for _, _, ns in readings)
        if known and 2 * known >= answered and len(readings) <= INTERVALS_MAX:
            return readings
    return []


def _resolutions(load: Load, name: str, q: float | None) -> Iterator[list[_Reading]]:
    series = load.record.series
    column = {"max": series.max_ns, "p99": series.p99_ns, "p50": series.p50_ns}[name]
    yield [
        ((at_ns + long_ns / 2) / SECOND_NS, ok, ns if _carries(q, ok) else None)
        for at_ns, long_ns, ok, ns in zip(series.at_ns, series.duration_ns, series.ok, column, strict=True)
    ]
    for seconds in _MERGED_S:
        if seconds * SECOND_NS <= load.record.measured_ns:
            yield list(_merged(load, q, seconds))


def _merged(load: Load, q: float | None, seconds: int) -> Iterator[_Reading]:
    log = load.record.log
    step = max(1, round(seconds * 1e3 / log.interval_ms)) if log.interval_ms else 1
    for first in range(0, len(log.at_ns), step):
        times = histogram.merge(load.log_times[first : first + step])
        last = min(first + step, len(log.at_ns)) - 1
        middle_ns = (log.at_ns[first] + log.at_ns[last] + log.duration_ns[last]) / 2
        carried = times.count and _carries(q, times.count)
        ns = times.quantile_ns(1.0 if q is None else q) if carried else None
        yield (load.record.warm_up_ns + middle_ns) / SECOND_NS, times.count, ns


def _carries(q: float | None, count: int) -> bool:
    return q is None or histogram.printable(q, count)


def _gathered(series: contract.Series, column: Sequence[int]) -> Iterator[tuple[float, float, list[int]]]:
    """Middle (s), length (s) and values of several intervals together; cut ones at an end are left out."""
    whole = [n for n, long_ns in enumerate(series.duration_ns) if long_ns * 2 >= series.interval_ms * 1e6]
    step = _step(len(whole))
    for first in range(0, len(whole), step):
        rows = whole[first : first + step]
        long_ns = sum(series.duration_ns[row] for row in rows)
        ends_ns = series.at_ns[rows[-1]] + series.duration_ns[rows[-1]]
        middle_s = (series.at_ns[rows[0]] + ends_ns) / 2 / SECOND_NS
        yield middle_s, long_ns / SECOND_NS, [column[row] for row in rows]


def _step(points: int) -> int:
    return max(1, -(-points // INTERVALS_MAX))
