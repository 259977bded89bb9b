"""Charts of one load: response times, requests, connections and costs over time; quantiles; a histogram.

Each function is pure: a load and a width in pixels → an Altair chart, None where there is nothing to show.
What is drawn comes from `rows`.
"""

import math
from collections.abc import Mapping, Sequence

import altair as alt

from crumple.drawing import axes, theme
from crumple.drawing.chart import Chart
from crumple.drawing.numerals import size_scale
from crumple.load_report import rows as load_rows
from crumple.load_report.figures import SECOND_NS, Load
from crumple.load_report.rows import Row

HIGH_PX, MIDDLE_PX, LOW_PX = 220, 150, 80
BINS = 60
# Of the palette that the style sheet knows by its language families.
BLUE, ORANGE, GREEN = (theme.FAMILIES[name] for name in ("go", "java", "javascript"))
_RESPONSE = {"max": theme.MUTED, "p99": ORANGE, "p50": BLUE}
_OUTCOMES = {"due": theme.MUTED, "ok": BLUE, "failed": ORANGE}
_TIMES = {"response time": BLUE, "service time": GREEN, "lateness": ORANGE}
_PROCESSES = {"server": BLUE, "engine": theme.MUTED}
_CONNECTIONS = {"connections": BLUE}
# Rounder than that, and a narrow range of times would have no tick.
_TIMES_RATIO_MIN = 3.0


def response_over_time(load: Load, width_px: int) -> alt.TopLevelMixin | None:
    """p50, p99 and the longest, on a logarithmic axis."""
    rows = load_rows.response_times(load)
    return _over_time(load, rows, _RESPONSE, width_px, HIGH_PX, _time_axis(rows)) if rows else None


def outcomes_over_time(load: Load, width_px: int) -> alt.TopLevelMixin | None:
    """Requests per second: answered ok, failed, and in open shapes how many came due."""
    rows = load_rows.outcomes(load)
    return _over_time(load, rows, _OUTCOMES, width_px, HIGH_PX, _count_axis(rows)) if rows else None


def connections_over_time(load: Load, width_px: int) -> alt.TopLevelMixin | None:
    """Open connections, where their number changed."""
    rows = load_rows.connections(load)
    return _over_time(load, rows, _CONNECTIONS, width_px, LOW_PX, _count_axis(rows)) if rows else None


def quantiles(load: Load, width_px: int) -> alt.TopLevelMixin | None:
    """Time over percentile, both axes logarithmic."""
    stored = load.record.histograms
    kinds = zip(_TIMES, (stored.response_time, stored.service_time, stored.lateness), strict=True)
    rows = [row for name, times in kinds if times for row in load_rows.quantiles(name, times)]
    if not rows:
        return None
    depth = math.ceil(math.log10(max(row["x"] for row in rows)))
    x = alt.X(
        "x:Q",
        title=None,
        scale=alt.Scale(type="log", domain=[1, 10**depth], nice=False),
        axis=alt.Axis(
            values=[2, *(10**power for power in range(1, depth + 1))],
            labelExpr=axes.QUANTILE_LABEL,
            labelFlush=True,
        ),
    )
    lines = _lines(rows, _TIMES).encode(x=x, y=_time_axis(rows))
    return _fitted(lines, width_px, HIGH_PX)


def spread(load: Load, width_px: int) -> alt.TopLevelMixin | None:
    """How many answers took how long."""
    edges_ns, counts = load.bins(BINS)
    if not counts:
        return None
    ends = zip(edges_ns[:-1], edges_ns[1:], counts, strict=True)
    rows = [{"from": low, "to": high, "floor": 0, "value": count} for low, high, count in ends if count]
    domain = [edges_ns[0], edges_ns[-1]]
    x = alt.X(
        "from:Q",
        title=None,
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=alt.Axis(values=axes.time_ticks(domain), labelExpr=axes.TIME_LABEL, grid=False, labelFlush=True),
    )
    drawn = alt.Chart(theme.rows(rows)).mark_bar(color=BLUE, binSpacing=0)
    return _fitted(drawn.encode(x=x, x2="to:Q", y=_count_axis(rows), y2="floor:Q"), width_px, HIGH_PX)


def cpu_over_time(load: Load, width_px: int) -> alt.TopLevelMixin | None:
    """Cores that the watched server kept busy, and the engine beside it."""
    probes = load.record.probes
    if probes.server is None:
        return None
    rows = [*load_rows.cpu("engine", probes.engine), *load_rows.cpu("server", probes.server)]
    return _over_time(load, rows, _PROCESSES, width_px, MIDDLE_PX, _count_axis(rows)) if rows else None


def memory_over_time(load: Load, width_px: int) -> alt.TopLevelMixin | None:
    """Memory of the watched server."""
    watched = load.record.probes.server
    rows = load_rows.memory(watched) if watched else []
    if not rows:
        return None
    unit_bytes, unit = size_scale(max(row["value"] for row in rows))
    scaled = [{**row, "value": row["value"] / unit_bytes} for row in rows]
    return _over_time(load, scaled, _PROCESSES, width_px, MIDDLE_PX, _count_axis(scaled, unit))


CHARTS = (
    Chart(
        "response-time",
        "Response time",
        "Of the ok answers, by when they arrived; logarithmic. Each percentile is over intervals long enough "
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
        "Of all the server's processes; pages they share count once, where that could be read.",
        memory_over_time,
        half=True,
    ),
)


def _over_time(
    load: Load, rows: Sequence[Row], colours: Mapping[str, str], width_px: int, height_px: int, y: alt.Y
) -> alt.TopLevelMixin:
    warm_up_s = load.record.warm_up_ns / SECOND_NS
    x = alt.X(
        "s:Q",
        title=None,
        scale=alt.Scale(domain=[0, warm_up_s + load.measured_s], nice=False),
        axis=alt.Axis(
            tickCount=8 if width_px > 700 else 4,
            grid=False,
            format="~g",
            labelExpr=axes.SECONDS_LABEL,
            labelFlush=True,
        ),
    )
    layers = [_lines(rows, colours).encode(x=x, y=y, detail="run:N")]
    if warm_up_s:
        shade = alt.Chart(theme.rows([{"s": 0, "end": warm_up_s}])).mark_rect(color=theme.SHADE)
        layers.insert(0, shade.encode(x=x, x2="end:Q"))
    begins = [{"s": warm_up_s + step.from_s} for step in load.steps[1:]]
    if begins:
        layers.insert(0, alt.Chart(theme.rows(begins)).mark_rule(color=theme.GRID).encode(x=x))
    return _fitted(alt.layer(*layers), width_px, height_px)


def _lines(rows: Sequence[Row], colours: Mapping[str, str]) -> alt.Chart:
    names = [name for name in colours if any(row["line"] == name for row in rows)]
    legend = alt.Legend(
        title=None, orient="top", symbolType="stroke", symbolStrokeWidth=2.4, labelColor=theme.INK, offset=4
    )
    scale = alt.Scale(domain=names, range=[colours[name] for name in names])
    shown = legend if len(names) > 1 else None
    drawn = alt.Chart(theme.rows(rows)).mark_line(strokeWidth=1.5)
    return drawn.encode(color=alt.Color("line:N", scale=scale, legend=shown))


def _time_axis(rows: Sequence[Row]) -> alt.Y:
    times_ns = [row["value"] for row in rows]
    low, high = min(times_ns) / 1.15, max(times_ns) * 1.15
    if high < _TIMES_RATIO_MIN * low:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(_TIMES_RATIO_MIN), middle * math.sqrt(_TIMES_RATIO_MIN)
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(values=axes.time_ticks([low, high]), labelExpr=axes.TIME_LABEL)
    return alt.Y("value:Q", title=None, scale=scale, axis=axis)


def _count_axis(rows: Sequence[Row], unit: str | None = None) -> alt.Y:
    top = max((row["value"] for row in rows), default=0) * 1.08 or 1.0
    axis = alt.Axis(tickCount=4, labelExpr=axes.PLAIN_LABEL)
    return alt.Y("value:Q", title=unit, scale=alt.Scale(domain=[0, top], nice=False), axis=axis)


def _fitted(chart: alt.TopLevelMixin, width_px: int, height_px: int) -> alt.TopLevelMixin:
    return chart.properties(
        width=width_px, height=height_px, autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
    )
