"""Curves of response times over percentiles, both axes logarithmic; lines of time. Pure."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from crumple import contract
from crumple.drawing import theme
from crumple.record import histogram
from crumple.stats import averages

# A curve has 80 points, evenly spaced on its logarithmic axis: one every few pixels.
CURVE_POINTS = 80
# The height of the chart in pixels.
HIGH_PX = 220
# The smallest ratio between the ends of a time axis, as a narrower axis might have no tick.
TIMES_RATIO_MIN = 3.0

Row = dict[str, Any]


def rows_of(name: str, stored: contract.HistogramRecord) -> list[Row]:
    """A curve from 1/(1−q) to ns, as far as there are enough samples; empty if too few for the p50."""
    if not histogram.printable(0.5, stored.count):
        return []
    times = histogram.decode(stored.encoded)
    deepest = stored.count / histogram.SAMPLES_BEYOND
    return [
        {"x": x, "value": max(1.0, times.quantile_ns(1 - 1 / x)), "line": name, "run": 0}
        for x in averages.even_on_logarithms(1.05, deepest, CURVE_POINTS)
    ]


def curves(
    named: Mapping[str, contract.HistogramRecord], colours: Mapping[str, str], width_px: int
) -> alt.TopLevelMixin | None:
    """A line of time over percentile for each name; None: none has enough samples."""
    rows = [row for name, times in named.items() for row in rows_of(name, times)]
    if not rows:
        return None
    depth = math.ceil(math.log10(max(row["x"] for row in rows)))
    drawn = lines(rows, colours).encode(x=theme.quantile_axis(depth), y=time_axis(rows))
    return theme.fitted(drawn, width_px, HIGH_PX)


def lines(rows: Sequence[Row], colours: Mapping[str, str]) -> alt.Chart:
    """A line for each name in its colour; a legend if there are several."""
    names = [name for name in colours if any(row["line"] == name for row in rows)]
    legend = alt.Legend(
        title=None, orient="top", symbolType="stroke", symbolStrokeWidth=2.4, labelColor=theme.INK, offset=4
    )
    scale = alt.Scale(domain=names, range=[colours[name] for name in names])
    shown = legend if len(names) > 1 else None
    drawn = alt.Chart(theme.rows(rows)).mark_line(strokeWidth=1.5)
    drawn_lines: alt.Chart = drawn.encode(color=alt.Color("line:N", scale=scale, legend=shown))
    return drawn_lines


def time_axis(rows: Sequence[Row]) -> alt.Y:
    """A logarithmic axis of times (ns) that shows all rows."""
    times_ns = [row["value"] for row in rows]
    low, high = min(times_ns) / 1.15, max(times_ns) * 1.15
    if high < TIMES_RATIO_MIN * low:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(TIMES_RATIO_MIN), middle * math.sqrt(TIMES_RATIO_MIN)
    return theme.time_axis(alt.Y, "value:Q", (low, high))
