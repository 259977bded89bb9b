"""The charts of one search on its page: response time over load, and where the time went at each level.

Pure: the figures of a search → an Altair chart of a width in pixels; None if there is nothing to show.
`find_plot` draws the former in a terminal.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

from crumple.drawing import theme
from crumple.drawing.page import Chart
from crumple.find.report import find_sentences as say
from crumple.find.report import find_times
from crumple.find.report.find_figures import LOGARITHMIC_FROM, SearchFigures
from crumple.find.report.level_sentences import OUTCOMES
from crumple.words import time_chart

# The height of the chart of times over loads: a third of its width on a page.
HEIGHT_PX = 300
_GREEN, _ORANGE = theme.FAMILIES["javascript"], theme.FAMILIES["java"]
_COLOURS = {"held": _GREEN, "broke": _ORANGE, "limited": theme.MUTED, "undecided": theme.CONTEXT}
_SHAPES = {"held": "circle", "broke": "cross", "limited": "diamond", "undecided": "triangle"}
# With more labels than five on the axis of loads, those of a small screen touch.
TICKS_MAX = 5


def response_over_load(finding: SearchFigures, width_px: int) -> alt.TopLevelMixin | None:
    """A mark for each level, the median as a small dot; the limit, and the band in which it breaks."""
    rows = _rows(finding)
    if not rows:
        return None
    times_ns = [row["ns"] for row in rows] + ([finding.time_limit_ns] if finding.time_limit_ns else [])
    x = _load_axis(finding, rows)
    y = theme.time_axis(alt.Y, "ns:Q", (min(times_ns) / 1.4, max(times_ns) * 1.4))
    points = alt.Chart(theme.rows([row for row in rows if row["what"] == "time"]))
    medians = alt.Chart(theme.rows([row for row in rows if row["what"] == "p50"]))
    layers = [
        *_band(finding, x),
        *_limit(finding, y),
        medians.mark_circle(size=12, color=theme.MUTED, opacity=1).encode(x=x, y=y),
        points.mark_point(size=58, filled=True, opacity=0.85).encode(
            x=x,
            y=y,
            color=_by_outcome(rows, _COLOURS, alt.Color),
            shape=_by_outcome(rows, _SHAPES, alt.Shape),
        ),
    ]
    return theme.fitted(alt.layer(*layers), width_px, HEIGHT_PX)


def time_by_level(finding: SearchFigures, width_px: int) -> alt.TopLevelMixin | None:
    """A bar for each of some levels, the lowest load first."""
    bars = [
        (f"{say.load(level.load, finding.by_rate)}, {OUTCOMES[level.outcome]}", budget)
        for level, budget in find_times.choose(finding)
    ]
    return time_chart.bars(bars, width_px)


CHARTS = (
    Chart(
        "response-over-load",
        "Response time over load",
        "A mark for each level, at the highest quantile that most of them have the answers for; small dots "
        "are the medians. The dashed line is the limit of the objective, the band the 95 % interval of the "
        "breaking point. A level may break by another part of it.",
        response_over_load,
    ),
    Chart("time-by-level", "Where the time goes", time_chart.ABOUT, time_by_level),
)


def _rows(finding: SearchFigures) -> list[dict[str, Any]]:
    rows = []
    for mark in finding.marks:
        common = {"load": mark.level.load, "outcome": OUTCOMES[mark.level.outcome]}
        times = {"time": mark.time_ns, "p50": mark.p50_ns}
        rows += [{**common, "what": what, "ns": ns} for what, ns in times.items() if ns]
    return rows


def _load_axis(finding: SearchFigures, rows: Sequence[dict[str, Any]]) -> alt.X:
    loads = [row["load"] for row in rows]
    low, high = min(loads) / 1.06, max(loads) * 1.06
    logarithmic = high > LOGARITHMIC_FROM * low
    return alt.X(
        "load:Q",
        title="requests per second" if finding.by_rate else "connections",
        scale=alt.Scale(type="log" if logarithmic else "linear", domain=[low, high], nice=False),
        # On a logarithmic scale Vega writes more labels than there is room for.
        axis=alt.Axis(values=theme.round_ticks(low, high, TICKS_MAX), format=",~r", grid=False),
    )


def _by_outcome(rows: Sequence[dict[str, Any]], looks: dict[str, str], channel: Any) -> Any:
    names = {OUTCOMES[outcome]: look for outcome, look in looks.items()}
    used = [name for name in names if any(row["outcome"] == name for row in rows)]
    legend = alt.Legend(title=None, orient="top", labelColor=theme.INK, offset=4)
    return channel(
        "outcome:N", scale=alt.Scale(domain=used, range=[names[name] for name in used]), legend=legend
    )


def _band(finding: SearchFigures, x: alt.X) -> list[alt.Chart]:
    point = finding.found.point
    if point is None:
        return []
    band = alt.Chart(theme.rows([{"load": point.low, "to": point.high}]))
    line = alt.Chart(theme.rows([{"load": point.estimate}]))
    return [
        band.mark_rect(color=theme.GRID).encode(x=x, x2=alt.X2("to:Q")),
        line.mark_rule(color=theme.INK, strokeWidth=1.2).encode(x=x),
    ]


def _limit(finding: SearchFigures, y: alt.Y) -> list[alt.Chart]:
    if finding.time_limit_ns is None:
        return []
    data = theme.rows([{"ns": finding.time_limit_ns}])
    return [alt.Chart(data).mark_rule(color=_ORANGE, strokeDash=[4, 3]).encode(y=y)]
