"""Charts of one load: response times, requests, connections and costs over time; quantiles; a histogram.

Each is pure: a load and a width in pixels → an Altair chart, None where there is nothing to show. Rows are
thinned to what a page can show. Percentiles are never averaged: where an interval has too few samples for
one, or a load has too many intervals, the histograms of several seconds are merged.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt

from crumple import contract
from crumple.drawing import theme
from crumple.drawing.numerals import size_scale
from crumple.drawing.page import Chart
from crumple.load.report import load_figures
from crumple.load.report.load_document import LoadDocument
from crumple.load.report.load_figures import SECOND_NS
from crumple.record import histogram
from crumple.record.stages import Budget
from crumple.words import quantile_chart, time_chart

# A page does not have enough pixels for more.
INTERVALS_MAX = 900
# The lengths in seconds to which intervals are merged, tried from the shortest until half of the intervals
# have enough answers for the percentile.
_MERGED_S = (1, 2, 5, 10, 30, 60, 300)

Row = dict[str, Any]
# The instant (s since the first), the number of answers, and the time (ns) if these are enough for it.
_Reading = tuple[float, int, float | None]


def response_times(load: LoadDocument) -> list[Row]:
    """Lines "max", "p99" and "p50" over time, interrupted (by `run`) where there is no value."""
    rows = []
    for name, q in (("max", None), ("p99", 0.99), ("p50", 0.5)):
        run = 0
        for at_s, _, ns in _readings(load, name, q):
            if ns is None:
                run += 1
            else:
                rows.append({"s": at_s, "value": ns, "line": name, "run": run})
    return rows


def outcomes(load: LoadDocument) -> list[Row]:
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


def connections(load: LoadDocument) -> list[Row]:
    """The most connections that were open; empty where their number never changed while measuring."""
    series = load.record.series
    measured = {n for n, phase in zip(series.connections, series.phase, strict=True) if phase == "measured"}
    if len(measured) < 2:
        return []
    return [
        {"s": at_s, "value": max(part), "line": "connections", "run": 0}
        for at_s, _, part in _gathered(series, series.connections)
    ]


def cpu(name: str, probe: contract.ProcessRecord) -> list[Row]:
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


def memory(probe: contract.ProcessRecord) -> list[Row]:
    """Bytes by sample: the proportional set size where it was read, else the resident set size."""
    samples = probe.samples
    shared = any(pss_bytes is not None for pss_bytes in samples.pss_bytes)
    column = samples.pss_bytes if shared else samples.rss_bytes
    readings = [reading for reading in zip(samples.at_ns, column, strict=True) if reading[1] is not None]
    return [
        {"s": at_ns / SECOND_NS, "value": size, "line": "server", "run": 0}
        for at_ns, size in readings[:: _step(len(readings))]
    ]


def _readings(load: LoadDocument, name: str, q: float | None) -> list[_Reading]:
    """The finest readings in which half of the intervals with answers have enough for the percentile."""
    for readings in _resolutions(load, name, q):
        answered = sum(count > 0 for _, count, _ in readings)
        known = sum(ns is not None for _, _, ns in readings)
        if known and 2 * known >= answered and len(readings) <= INTERVALS_MAX:
            return readings
    return []


def _resolutions(load: LoadDocument, name: str, q: float | None) -> Iterator[list[_Reading]]:
    series = load.record.series
    column = {"max": series.max_ns, "p99": series.p99_ns, "p50": series.p50_ns}[name]
    yield [
        ((at_ns + long_ns / 2) / SECOND_NS, ok, ns if _carries(q, ok) else None)
        for at_ns, long_ns, ok, ns in zip(series.at_ns, series.duration_ns, series.ok, column, strict=True)
    ]
    for seconds in _MERGED_S:
        if seconds * SECOND_NS <= load.record.measured_ns:
            yield list(_merged(load, q, seconds))


def _merged(load: LoadDocument, q: float | None, seconds: int) -> Iterator[_Reading]:
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
    """Middle (s), length (s) and values of several intervals together; intervals cut off are left out."""
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


# The heights of charts in pixels: of times and outcomes, of what the server used, and of connections.
HIGH_PX, MIDDLE_PX, LOW_PX = 220, 150, 80
# The number of bars in the histogram of response times.
BINS = 60
# From the style sheet's palette, whose colours have the names of language families.
BLUE, ORANGE, GREEN = (theme.FAMILIES[name] for name in ("go", "java", "javascript"))
_RESPONSE = {"max": theme.MUTED, "p99": ORANGE, "p50": BLUE}
_OUTCOMES = {"due": theme.MUTED, "ok": BLUE, "failed": ORANGE}
_TIMES = {"response time": BLUE, "service time": GREEN, "lateness": ORANGE}
_PROCESSES = {"server": BLUE, "engine": theme.MUTED}
_CONNECTIONS = {"connections": BLUE}


def response_over_time(load: LoadDocument, width_px: int) -> alt.TopLevelMixin | None:
    """p50, p99 and the longest, on a logarithmic axis."""
    rows = response_times(load)
    return (
        _over_time(load, rows, _RESPONSE, width_px, HIGH_PX, quantile_chart.time_axis(rows)) if rows else None
    )


def outcomes_over_time(load: LoadDocument, width_px: int) -> alt.TopLevelMixin | None:
    """Requests per second: answered ok, failed, and in open shapes how many came due."""
    rows = outcomes(load)
    return _over_time(load, rows, _OUTCOMES, width_px, HIGH_PX, _count_axis(rows)) if rows else None


def connections_over_time(load: LoadDocument, width_px: int) -> alt.TopLevelMixin | None:
    """Open connections, where their number changed."""
    rows = connections(load)
    return _over_time(load, rows, _CONNECTIONS, width_px, LOW_PX, _count_axis(rows)) if rows else None


def quantiles(load: LoadDocument, width_px: int) -> alt.TopLevelMixin | None:
    """Time over percentile, both axes logarithmic."""
    stored = load.record.histograms
    kinds = zip(_TIMES, (stored.response_time, stored.service_time, stored.lateness), strict=True)
    return quantile_chart.curves({name: times for name, times in kinds if times}, _TIMES, width_px)


def spread(load: LoadDocument, width_px: int) -> alt.TopLevelMixin | None:
    """The histogram of the response times."""
    edges_ns, counts = load_figures.bins(load.response_times, BINS)
    if not counts:
        return None
    ends = zip(edges_ns[:-1], edges_ns[1:], counts, strict=True)
    rows = [{"from": low, "to": high, "floor": 0, "value": count} for low, high, count in ends if count]
    x = theme.time_axis(alt.X, "from:Q", (edges_ns[0], edges_ns[-1]), grid=False, labelFlush=True)
    drawn = alt.Chart(theme.rows(rows)).mark_bar(color=BLUE, binSpacing=0)
    return theme.fitted(
        drawn.encode(x=x, x2=alt.X2("to:Q"), y=_count_axis(rows), y2=alt.Y2("floor:Q")), width_px, HIGH_PX
    )


def cpu_over_time(load: LoadDocument, width_px: int) -> alt.TopLevelMixin | None:
    """Cores that the watched server kept busy, and the engine beside it."""
    probes = load.record.probes
    if probes.server is None:
        return None
    rows = [*cpu("engine", probes.engine), *cpu("server", probes.server)]
    return _over_time(load, rows, _PROCESSES, width_px, MIDDLE_PX, _count_axis(rows)) if rows else None


def memory_over_time(load: LoadDocument, width_px: int) -> alt.TopLevelMixin | None:
    """Memory of the watched server."""
    watched = load.record.probes.server
    rows = memory(watched) if watched else []
    if not rows:
        return None
    unit_bytes, unit = size_scale(max(row["value"] for row in rows))
    scaled = [{**row, "value": row["value"] / unit_bytes} for row in rows]
    return _over_time(load, scaled, _PROCESSES, width_px, MIDDLE_PX, _count_axis(scaled, unit))


def time_by_stages(load: LoadDocument, width_px: int) -> alt.TopLevelMixin | None:
    """The mean response time, a piece of it for each part."""
    return time_chart.bars([("", load.stages)], width_px) if isinstance(load.stages, Budget) else None


CHARTS = (
    Chart("time-by-stages", "Where the time goes", time_chart.ABOUT, time_by_stages),
    Chart(
        "response-time",
        "Response time",
        "The ok answers, by when they arrived; logarithmic. Each percentile is over intervals long enough "
        "to carry it. The warm-up is shaded.",
        response_over_time,
    ),
    Chart("requests", "Requests", "Per second, since the first instant.", outcomes_over_time),
    Chart("connections", "Connections", "Open at the end of an interval.", connections_over_time),
    Chart(
        "quantiles",
        "Quantiles",
        "Both axes logarithmic; a line ends where its samples no longer carry the percentile.",
        quantiles,
        half=True,
    ),
    Chart("histogram", "Histogram", "Ok answers by response time, logarithmic.", spread, half=True),
    Chart("cpu", "CPU", "Cores kept busy, by the processes' own clocks.", cpu_over_time, half=True),
    Chart(
        "memory",
        "Memory",
        "All the server's processes together; pages they share count once if that could be read.",
        memory_over_time,
        half=True,
    ),
)


def _over_time(
    load: LoadDocument,
    rows: Sequence[Row],
    colours: Mapping[str, str],
    width_px: int,
    height_px: int,
    y: alt.Y,
) -> alt.TopLevelMixin:
    warm_up_s = load.record.warm_up_ns / SECOND_NS
    x = theme.seconds_axis(warm_up_s + load.measured_s, 8 if width_px > 700 else 4)
    layers = [quantile_chart.lines(rows, colours).encode(x=x, y=y, detail=alt.Detail("run:N"))]
    if warm_up_s:
        shade = alt.Chart(theme.rows([{"s": 0, "end": warm_up_s}])).mark_rect(color=theme.SHADE)
        layers.insert(0, shade.encode(x=x, x2=alt.X2("end:Q")))
    begins = [{"s": warm_up_s + step.from_s} for step in load.steps[1:]]
    if begins:
        layers.insert(0, alt.Chart(theme.rows(begins)).mark_rule(color=theme.GRID).encode(x=x))
    return theme.fitted(alt.layer(*layers), width_px, height_px)


def _count_axis(rows: Sequence[Row], unit: str | None = None) -> alt.Y:
    top = max((row["value"] for row in rows), default=0) * 1.08 or 1.0
    axis = alt.Axis(tickCount=4, labelExpr=theme.PLAIN_LABEL)
    return alt.Y("value:Q", title=unit, scale=alt.Scale(domain=[0, top], nice=False), axis=axis)
