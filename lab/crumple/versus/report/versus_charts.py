"""The charts of one comparison on its page: ratios with intervals and blocks, and quantiles over each other.

Pure: a result → an Altair chart of a width in pixels; None where there is nothing to show.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from crumple.drawing import numerals, theme
from crumple.drawing.page import Chart
from crumple.versus.letters import FIRST
from crumple.versus.report import versus_sentences as say
from crumple.versus.report.versus_figures import VersusFigures
from crumple.words import quantile_chart

# The height of a row, and how far below its interval the circles of blocks lie, so that they do not cover it.
ROW_PX, DOTS_BELOW_PX = 34, 9
# The chart reaches at least this far from 1, and beyond the estimates by the factor BEYOND at most.
AROUND, BEYOND = 1.1, 2.0
# The ratios that the axis may name; those within the chart are shown.
TICKS = (0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.3, 1.5, 2, 3, 5, 10)
# From the style sheet's palette, whose colours have the names of language families.
COLOURS = ("go", "java", "javascript", "php", "python", "csharp", "rust", "other")
_ANSWERS = {"different": theme.INK, "alike": theme.FAMILIES["javascript"], "undecided": theme.MUTED}


def ratios(result: VersusFigures, width_px: int) -> alt.TopLevelMixin | None:
    """A row for each comparison: its interval, its estimate, and a circle for each block."""
    rows = list(_rows(result))
    if not rows:
        return None
    low, high = _domain(rows)
    clipped = [{**row, "low": max(low, row["low"]), "high": min(high, row["high"])} for row in rows]
    names = [row["row"] for row in rows]
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    ticks = [each for each in TICKS if low <= each <= high]
    axis = alt.Axis(values=ticks, orient="top", format="~g", titleAnchor="start")
    x = alt.X("value:Q", scale=scale, title="ratio, logarithmic", axis=axis)
    y = alt.Y(
        "row:N",
        sort=names,
        title=None,
        axis=alt.Axis(grid=False, labelColor=theme.INK, labelPadding=8, labelLimit=width_px // 2),
        scale=alt.Scale(domain=names),
    )
    base = alt.Chart(theme.rows(clipped)).encode(y=y)
    span = theme.rows([{"value": 1 / (1 + result.loads.tolerance), "to": 1 + result.loads.tolerance}])
    colour = alt.Color(
        "answer:N", legend=None, scale=alt.Scale(domain=list(_ANSWERS), range=list(_ANSWERS.values()))
    )
    layers = [
        alt.Chart(span).mark_rect(color=theme.SHADE).encode(x=x, x2=alt.X2("to:Q")),
        alt.Chart(theme.rows([{"value": 1}])).mark_rule(color=theme.MUTED, strokeWidth=1).encode(x=x),
        alt.Chart(theme.rows(_dots(result, low, high)))
        .mark_point(
            shape="circle", size=20, yOffset=DOTS_BELOW_PX, opacity=0.7, stroke=theme.MUTED, strokeWidth=1
        )
        .encode(x=x, y=y),
        base.mark_rule(strokeWidth=2.4).encode(
            x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q"), color=colour
        ),
        base.mark_point(shape="circle", size=64, filled=True, opacity=1).encode(x=x, color=colour),
    ]
    return theme.fitted(theme.layered(*layers), width_px, ROW_PX * len(rows))


def quantiles(result: VersusFigures, width_px: int) -> alt.TopLevelMixin | None:
    """The response times of each version at the rate, all blocks together."""
    found = {letter: times for letter in result.labels if (times := result.times(letter))}
    colours = {letter: theme.FAMILIES[family] for letter, family in zip(result.labels, COLOURS, strict=False)}
    return quantile_chart.curves(found, colours, width_px)


CHARTS = (
    Chart(
        "ratios",
        "Ratios",
        f"Each version to {FIRST}, with the interval; a small circle is one block. Between the ends of "
        "the band versions count as alike. For times and CPU time less is better, for throughput more.",
        ratios,
    ),
    Chart(
        "quantiles",
        "Quantiles of the response times",
        "At the same rate, the answers of all blocks that count together. Both axes are logarithmic; a line "
        "ends where its samples no longer carry the percentile.",
        quantiles,
    ),
)


def _name(result: VersusFigures, letter: str, figure: str) -> str:
    return figure if len(result.others) == 1 else f"{letter}: {figure}"


def _rows(result: VersusFigures) -> Iterator[dict[str, Any]]:
    for ratio in result.compared.ratios:
        interval = ratio.interval
        if interval is not None:
            bounded = numerals.bounded(interval) and interval.low > 0
            yield {
                "row": _name(result, ratio.letter, say.NAMES[ratio.figure]),
                "value": interval.estimate,
                "low": interval.low if bounded else interval.estimate,
                "high": interval.high if bounded else interval.estimate,
                "answer": ratio.answer,
            }


def _dots(result: VersusFigures, low: float, high: float) -> list[dict[str, Any]]:
    return [
        {"row": _name(result, ratio.letter, say.NAMES[ratio.figure]), "value": value}
        for ratio in result.compared.ratios
        if ratio.interval is not None
        for value in result.by_block(ratio.letter, ratio.figure).values()
        if low <= value <= high
    ]


def _domain(rows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """The ends of the axis: around all intervals, but not far beyond the estimates."""
    values = [row["value"] for row in rows]
    low = max(min(values) / BEYOND, min(row["low"] for row in rows) / 1.03)
    high = min(max(values) * BEYOND, max(row["high"] for row in rows) * 1.03)
    return min(low, 1 / AROUND), max(high, AROUND)
