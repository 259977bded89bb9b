"""Charts with a panel per server: response time over percentile, and throughput over time.

Each function is pure: a view and a width in pixels → an Altair chart. A line is one start; starts are not
averaged, because a mean of percentiles is not a percentile.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from crumple.drawing import theme
from crumple.record import growth, histogram, lateness
from crumple.run.report import server_names
from crumple.run.report.bars import label
from crumple.run.report.run_sentences import marks
from crumple.run.report.view import ExperimentView, ServerView, StartView

# Pixels between two panels.
GAP_PX = 18
# Pixels for the labels of a vertical axis that the panels of a row share, and of one that a panel has alone.
AXIS_PX, OWN_AXIS_PX = 52, 34
# Nanoseconds in a second.
SECOND_NS = 1e9
# The median. Points of a curve above it are left out if the engine was too late for them.
MEDIAN = 0.5
# Curves reach to a percentile of 99.9 at most: one in ten to the third is beyond it.
_DEPTH = 3


def response_time(experiment: ExperimentView, width_px: int) -> alt.TopLevelMixin | None:
    """Draw response time over percentile, both logarithmic, with the other servers in grey behind.

    None if no start has enough answers.
    """
    curves = {row.name: [curve(start) for start in row.counting] for row in experiment.servers}
    drawn = [row for row in experiment.servers if any(curves[row.name])]
    if not drawn:
        return None
    times_ns = [point["ns"] for lines in curves.values() for line in lines for point in line]
    domain = [min(times_ns) / 1.15, max(times_ns) * 1.15]
    columns = _columns(width_px)
    panel_px = (width_px - AXIS_PX - GAP_PX * (columns - 1)) // columns
    titles = _titles([(*server_names.lines(label(row)), marks(row)) for row in drawn])
    # All panels share one data set; each filters its own server out.
    behind = theme.rows([{**p, "line": row.name} for row in drawn for p in _middle(curves[row.name])])
    panels = []
    for index, row in enumerate(drawn):
        own = [{**p, "line": str(n)} for n, line in enumerate(curves[row.name]) for p in line]
        panel = _quantile_panel(row, own, behind, domain, index % columns == 0)
        panels.append(panel.properties(width=panel_px, height=panel_px * 0.85, title=titles[index]))
    return _arrange(panels, titles, columns, GAP_PX)


def over_time(experiment: ExperimentView, width_px: int) -> alt.TopLevelMixin | None:
    """Draw answers per second from the first request on, with the warm-up shaded.

    Each panel has its own vertical scale. None if nothing was measured.
    """
    columns = _columns(width_px)
    panel_px = (width_px - OWN_AXIS_PX * columns - GAP_PX * (columns - 1)) // columns
    drawn = [row for row in experiment.servers if any(start.trial.record for start in row.starts)]
    titles = _titles([(*server_names.lines(label(row)), steady(row), marks(row)) for row in drawn])
    panels = [
        _time_panel(row).properties(width=panel_px, height=panel_px * 0.55, title=title)
        for row, title in zip(drawn, titles, strict=True)
    ]
    return _arrange(panels, titles, columns, GAP_PX + OWN_AXIS_PX) if panels else None


def steady(row: ServerView) -> str:
    """Return whether a server still grew while it was measured, in words; empty without a warm-up."""
    asked = [each for start in row.starts if (each := start.trial.record) and growth.is_known(each)]
    grown = [each for each in asked if growth.growth(each)]
    if grown:
        return f"still grew in {len(grown)} of {len(asked)}"
    if not row.counting:
        return "no valid start"
    return "steady while measured" if asked else ""


def curve(start: StartView) -> list[dict[str, float]]:
    """Return the points of one start: x = 1/(1−q), and the quantile in ns.

    Quantiles that have too few samples are left out, and those that the engine's lateness may have changed.
    """
    record = start.trial.record
    if record is None or not record.histograms.response_time.count:
        return []
    stored = record.histograms.response_time
    times = histogram.decode(stored.encoded)
    deepest = min(10.0**_DEPTH, stored.count / histogram.SAMPLES_BEYOND)
    if deepest <= 1.1:
        return []
    quantiles = {1 - 1 / float(x): round(float(x), 3) for x in np.geomspace(1.05, deepest, 40)}
    late = lateness.spoiled_quantiles(record, tuple(q for q in quantiles if q > MEDIAN))
    return [{"x": x, "ns": times.quantile_ns(q)} for q, x in quantiles.items() if q not in late]


def _middle(lines: Sequence[list[dict[str, float]]]) -> list[dict[str, float]]:
    # The grey line is a single start: the middle one, ordered by a response time near the median.
    drawn = sorted((line for line in lines if line), key=lambda line: line[len(line) // 5]["ns"])
    return drawn[len(drawn) // 2] if drawn else []


def _quantile_panel(
    row: ServerView, own: list[Any], behind: alt.Data, domain: list[float], leftmost: bool
) -> alt.LayerChart:
    x, y = theme.quantile_axis(_DEPTH), theme.time_axis(alt.Y, "ns:Q", domain, labels=leftmost)
    others = alt.Chart(behind).mark_line(color=theme.CONTEXT, strokeWidth=1)
    others = others.transform_filter(alt.datum.line != row.name)
    front = alt.Chart(theme.rows(own)).mark_line(
        color=theme.colour_of(row.note.language), strokeWidth=1.6, opacity=0.9
    )
    return theme.layered(*(line.encode(x=x, y=y, detail=alt.Detail("line:N")) for line in (others, front)))


def _time_panel(row: ServerView) -> alt.LayerChart:
    starts = [start for start in row.starts if start.trial.record]
    points = [point for start in starts for point in _speeds(start)]
    longest_s = max((point["s"] for point in points), default=1.0)
    warm_up_s = max(start.trial.record.warm_up_ns for start in starts if start.trial.record) / SECOND_NS
    x = theme.seconds_axis(longest_s, 3)
    top = max((point["speed"] for point in points), default=1.0) * 1.08 or 1.0
    y = alt.Y(
        "speed:Q",
        title=None,
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(values=_round_speeds(top), labelExpr=theme.PLAIN_LABEL),
    )
    shade = alt.Chart(theme.rows([{"s": 0, "end": warm_up_s}])).mark_rect(color=theme.SHADE)
    line = alt.Chart(theme.rows(points)).mark_line(
        color=theme.colour_of(row.note.language), strokeWidth=1.4, opacity=0.9
    )
    dash = alt.StrokeDash(
        "counts:N", scale=alt.Scale(domain=["yes", "no"], range=[[1, 0], [2, 2]]), legend=None
    )
    return theme.layered(
        shade.encode(x=x, x2=alt.X2("end:Q")),
        line.encode(x=x, y=y, detail=alt.Detail("line:N"), strokeDash=dash),
    )


def _speeds(start: StartView) -> list[dict[str, Any]]:
    series = start.trial.record.series if start.trial.record else None
    if series is None:
        return []
    steps = zip(series.at_ns, series.duration_ns, series.ok, strict=True)
    return [
        {
            "s": round((at_ns + duration_ns / 2) / SECOND_NS, 4),
            "speed": round(ok / duration_ns * SECOND_NS, 1),
            "line": start.block_name,
            "counts": "yes" if start.counts else "no",
        }
        for at_ns, duration_ns, ok in steps
        if duration_ns > 0
    ]


def _titles(lines: Sequence[tuple[str, ...]]) -> list[alt.TitleParams]:
    """Return titles of a name and remarks, all of the same height, so that the panels of a row align."""
    said = [[text for text in remarks if text] for _, *remarks in lines]
    deepest = max((len(remarks) for remarks in said), default=0)
    return [
        alt.TitleParams(line[0], subtitle=[*remarks, *[" "] * (deepest - len(remarks))])
        for line, remarks in zip(lines, said, strict=True)
    ]


def _arrange(
    panels: Sequence[alt.LayerChart], titles: Sequence[alt.TitleParams], columns: int, across_px: int
) -> alt.ConcatChart:
    # "flush" aligns panels by their plots, whatever the widths of their labels. All titles are as high.
    down_px = 76 + 15 * len(titles[0].subtitle)
    return alt.concat(*panels, columns=columns, bounds="flush", spacing={"row": down_px, "column": across_px})


def _columns(width_px: int) -> int:
    return 4 if width_px > 700 else 2


def _round_speeds(top: float) -> list[float]:
    """Return at most three round values, none so near the top that its label would move the title."""
    highest = top * 0.92
    decade = 10.0 ** np.floor(np.log10(highest / 2))
    step = next(float(decade * factor) for factor in (1, 2, 2.5, 5, 10) if highest / (decade * factor) < 3)
    return [float(value) for value in np.arange(0, highest, step)]
