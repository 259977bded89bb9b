"""The charts of a comparison: response times by quantile of both sides, and breaking points. Pure."""

import math
from collections.abc import Sequence
from typing import Literal

from crumple.drawing import numerals, scale, theme
from crumple.drawing.chart import BoundChart, Chart
from crumple.drawing.plot import (
    ChartKey,
    ChartRow,
    Graph,
    Line,
    Picture,
    RowChart,
    RowPoint,
    Whisker,
    picture,
)
from crumple.results.comparing import ResultComparison
from crumple.verdict.points import BreakingPoint
from crumple.verdict.sides import Quantiles
from crumple.words.quantile_lines import times_between

COLOURS = {"before": theme.MUTED, "after": theme.FAMILIES["go"]}
# In pixels, the height of the chart of response times.
HIGH_PX = 240
_ABOUT_QUANTILES = (
    "Response time by quantile, both axes logarithmic: a line for each start, or for each load or run where "
    "several are compared. A line ends where there are too few answers."
)
_ABOUT_POINTS = "The highest load that lasts, with its 95 % interval, of each search."

# The curves of each start before, and after.
Both = tuple[Sequence[Quantiles], Sequence[Quantiles]]


def charts(compared: ResultComparison) -> list[BoundChart]:
    """Return the charts of what was compared."""
    found: list[BoundChart] = []
    for number, ((experiment, server), both) in enumerate(compared.quantiles.items()):
        title = "Response times by quantile" if compared.kind == "load" else f"{server} in {experiment}"
        half = len(compared.quantiles) > 1
        found.append(
            Chart[Both](f"quantiles-{number}", title, _ABOUT_QUANTILES, quantiles, half=half).of(both)
        )
    if any(compared.searches):
        points = Chart("points", "Breaking points", _ABOUT_POINTS, breaking_points)
        found.append(points.of(compared.searches))
    return found


def quantiles(both: Both) -> Picture | None:
    """The response times of both sides over the quantile."""
    curves = [
        (side, [(1 / (1 - q), max(1.0, ns)) for q, ns in sorted(curve.items())])
        for side, some in zip(COLOURS, both, strict=True)
        for curve in some
        if curve
    ]
    every = [point for _, points in curves for point in points]
    if not every:
        return None
    depth = math.ceil(math.log10(max(x for x, _ in every)) - 1e-9)
    drawn = Graph(
        scale.quantile_axis(max(1, depth)),
        scale.time_axis(times_between([ns for _, ns in every])),
        [Line(points, COLOURS[side], side) for side, points in curves],
        HIGH_PX,
    )
    ends = [f"{side} up to {numerals.duration(points[-1][1])}" for side, points in curves]
    return picture(drawn, "; ".join(ends), _keys("line"))


def breaking_points(searches: tuple[Sequence[BreakingPoint], Sequence[BreakingPoint]]) -> Picture | None:
    """The interval of each search, in the order in which they were made."""
    found = [
        (each, each.point, side)
        for side, some in zip(COLOURS, searches, strict=True)
        for each in some
        if each.point is not None
    ]
    if not found:
        return None
    ends = [end for _, point, _ in found for end in (point.low, point.high)]
    by_rate = found[0][0].by_rate
    axis = scale.count_axis(scale.around(ends), "requests per second" if by_rate else "connections")
    figures = [numerals.with_interval(point, "/s" if by_rate else "connections") for _, point, _ in found]
    said = [f"{each.name}, {side}: {figure}" for (each, _, side), figure in zip(found, figures, strict=True)]
    rows = [
        ChartRow(
            each.name,
            [
                Whisker(point.low, point.high, COLOURS[side], title, width=2.4),
                RowPoint(point.estimate, title, COLOURS[side]),
            ],
            figure,
        )
        for (each, point, side), title, figure in zip(found, said, figures, strict=True)
    ]
    return picture(RowChart(axis, rows), "; ".join(said), _keys("dot"))


def _keys(form: Literal["line", "dot"]) -> list[ChartKey]:
    return [ChartKey(side, colour, form) for side, colour in COLOURS.items()]
