"""The charts of a comparison: response times by quantile of both sides over each other, and breaking points.

Each chart is pure: what is compared and a width in pixels → an Altair chart, or None: nothing to show.
"""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from crumple.drawing import theme
from crumple.drawing.page import BoundChart, Chart
from crumple.results.comparing import ResultComparison
from crumple.verdict.points import BreakingPoint
from crumple.verdict.sides import Quantiles

BLUE = theme.FAMILIES["go"]
COLOURS = {"before": theme.MUTED, "after": BLUE}
# In pixels, the height of the chart of response times, and of a row of the chart of breaking points.
HIGH_PX, ROW_PX = 240, 26
_ABOUT_QUANTILES = (
    "Response time by quantile, both axes logarithmic: a line for each start, or for each load or run where "
    "several are compared. A line ends where there are too few answers."
)
_ABOUT_POINTS = "The highest load that lasts, with its 95 % interval, of each search."

Both = tuple[Sequence[Quantiles], Sequence[Quantiles]]


def charts(compared: ResultComparison) -> list[BoundChart]:
    """Return the charts of what was compared."""
    found: list[BoundChart] = []
    for number, ((experiment, server), both) in enumerate(compared.quantiles.items()):
        title = server if compared.kind == "load" else f"{server} in {experiment}"
        half = len(compared.quantiles) > 1
        found.append(
            Chart[Both](f"quantiles-{number}", title, _ABOUT_QUANTILES, quantiles, half=half).of(both)
        )
    if any(compared.searches):
        points = Chart[Any]("points", "Breaking points", _ABOUT_POINTS, breaking_points)
        found.append(points.of(compared.searches))
    return found


def quantiles(both: Both, width_px: int) -> alt.TopLevelMixin | None:
    """Draw the response times of both sides over the quantile."""
    rows = [
        {"x": 1 / (1 - q), "value": max(1.0, ns), "side": side, "line": f"{side} {number}"}
        for side, curves in zip(COLOURS, both, strict=True)
        for number, curve in enumerate(curves)
        for q, ns in sorted(curve.items())
    ]
    if not rows:
        return None
    depth = math.ceil(math.log10(max(float(str(row["x"])) for row in rows)) - 1e-9)
    times_ns = [float(str(row["value"])) for row in rows]
    y = theme.time_axis(alt.Y, "value:Q", (min(times_ns) / 1.15, max(times_ns) * 1.15))
    lines = alt.Chart(theme.rows(rows)).mark_line(strokeWidth=1.5)
    drawn = lines.encode(
        x=theme.quantile_axis(max(1, depth)), y=y, color=_colour(), detail=alt.Detail("line:N")
    )
    return theme.fitted(drawn, width_px, HIGH_PX)


def breaking_points(
    searches: tuple[Sequence[BreakingPoint], Sequence[BreakingPoint]], width_px: int
) -> alt.TopLevelMixin | None:
    """Draw the interval of each search, in the order in which they were made."""
    rows = [
        {"name": each.name, "low": each.point.low, "high": each.point.high, "at": each.point.estimate,
         "side": side}
        for side, some in zip(COLOURS, searches, strict=True)
        for each in some
        if each.point is not None
    ]  # fmt: skip
    if not rows:
        return None
    names = list(dict.fromkeys(str(row["name"]) for row in rows))
    y = alt.Y("name:N", title=None, sort=names)
    x = alt.X("low:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    base = alt.Chart(theme.rows(rows))
    spans = base.mark_rule(strokeWidth=3).encode(x=x, x2=alt.X2("high:Q"), y=y, color=_colour())
    marks = base.mark_point(filled=True, size=60).encode(x=alt.X("at:Q"), y=y, color=_colour())
    return theme.fitted(theme.layered(spans, marks), width_px, ROW_PX * len(names) + 40)


def _colour() -> alt.Color:
    legend = alt.Legend(title=None, orient="top", labelColor=theme.INK, offset=4)
    return alt.Color(
        "side:N", scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())), legend=legend
    )
