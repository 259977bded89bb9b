"""Charts of one search: response time over load, and whether it held over load; on a page and in a terminal.

Pure: a finding → an Altair chart of a width in pixels, or lines of text; None where there is nothing to show.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt
from rich.text import Text

from crumple.drawing import numerals, terminal, theme
from crumple.drawing.page import Chart
from crumple.drawing.terminal import Axis
from crumple.find.report import find_sentences as say
from crumple.find.report.find_figures import Finding, Mark

HEIGHT_PX = 300
_GREEN, _ORANGE = theme.FAMILIES["javascript"], theme.FAMILIES["java"]
_COLOURS = {"held": _GREEN, "broke": _ORANGE, "limited": theme.MUTED, "undecided": theme.CONTEXT}
_SHAPES = {"held": "circle", "broke": "cross", "limited": "diamond", "undecided": "triangle"}
_LOGARITHMIC_FROM = 5.0
TICKS_MAX = 5


def response_over_load(finding: Finding, width_px: int) -> alt.TopLevelMixin | None:
    """A mark for each level, the median as a small dot; the limit, and the band in which it breaks."""
    rows = _rows(finding)
    if not rows:
        return None
    times_ns = [row["ns"] for row in rows] + ([finding.time_limit_ns] if finding.time_limit_ns else [])
    low, high = min(times_ns) / 1.4, max(times_ns) * 1.4
    x = _load_axis(finding, rows)
    y = alt.Y(
        "ns:Q",
        title=None,
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(values=theme.time_ticks([low, high]), labelExpr=theme.TIME_LABEL),
    )
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
    chart = alt.layer(*layers).properties(width=width_px, height=HEIGHT_PX)
    return chart.properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))


CHARTS = (
    Chart(
        "response-over-load",
        "Response time over load",
        "A mark for each level, at the highest quantile that most of them have the answers for; small dots "
        "are the medians. The dashed line is the limit of the objective, the band the 95 % interval of the "
        "breaking point. A level may break by another part of it.",
        response_over_load,
    ),
)


def _rows(finding: Finding) -> list[dict[str, Any]]:
    rows = []
    for mark in finding.marks:
        common = {"load": mark.level.load, "outcome": say.OUTCOMES[mark.level.outcome]}
        times = {"time": mark.time_ns, "p50": mark.p50_ns}
        rows += [{**common, "what": what, "ns": ns} for what, ns in times.items() if ns]
    return rows


def _load_axis(finding: Finding, rows: Sequence[dict[str, Any]]) -> alt.X:
    loads = [row["load"] for row in rows]
    low, high = min(loads) / 1.06, max(loads) * 1.06
    logarithmic = high > _LOGARITHMIC_FROM * low
    return alt.X(
        "load:Q",
        title="requests per second" if finding.by_rate else "connections",
        scale=alt.Scale(type="log" if logarithmic else "linear", domain=[low, high], nice=False),
        # On a logarithmic scale Vega writes more labels than there is room for.
        axis=alt.Axis(values=theme.round_ticks(low, high, TICKS_MAX), format=",~r", grid=False),
    )


def _by_outcome(rows: Sequence[dict[str, Any]], looks: dict[str, str], channel: Any) -> Any:
    names = {say.OUTCOMES[outcome]: look for outcome, look in looks.items()}
    used = [name for name in names if any(row["outcome"] == name for row in rows)]
    legend = alt.Legend(title=None, orient="top", labelColor=theme.INK, offset=4)
    return channel(
        "outcome:N", scale=alt.Scale(domain=used, range=[names[name] for name in used]), legend=legend
    )


def _band(finding: Finding, x: alt.X) -> list[alt.Chart]:
    point = finding.found.point
    if point is None:
        return []
    band = alt.Chart(theme.rows([{"load": point.low, "to": point.high}]))
    line = alt.Chart(theme.rows([{"load": point.estimate}]))
    return [
        band.mark_rect(color=theme.GRID).encode(x=x, x2="to:Q"),
        line.mark_rule(color=theme.INK, strokeWidth=1.2).encode(x=x),
    ]


def _limit(finding: Finding, y: alt.Y) -> list[alt.Chart]:
    if finding.time_limit_ns is None:
        return []
    data = theme.rows([{"ns": finding.time_limit_ns}])
    return [alt.Chart(data).mark_rule(color=_ORANGE, strokeDash=[4, 3]).encode(y=y)]


ROWS = 12
LABEL_COLUMNS = 11
STYLES = {"held": "green", "broke": "red", "limited": "yellow", "undecided": "dim"}
# Levels farther below the breaking point are left out, since they would take room from those near it.
FARTHEST_FACTOR = 4.0
_MEDIAN, _LIMIT, _POINT = "·", "╌", "░"


def plot(finding: Finding, columns: int) -> list[Text]:
    """The chart, its axes and its legend; empty where no level has a time."""
    marks = _in_sight(finding)
    if not marks:
        return []
    wide = columns - LABEL_COLUMNS
    across, up = _across(finding, marks), _up(finding, marks)
    grid: list[list[tuple[str, str]]] = [[(" ", "")] * wide for _ in range(ROWS)]

    def column(load: float) -> int:
        return round(across.place(load) * (wide - 1))

    def row(ns: float) -> int:
        return round((1 - up.place(ns)) * (ROWS - 1))

    point = finding.found.point
    if point is not None:
        for cells in grid:
            for at in range(column(point.low), column(point.high) + 1):
                cells[at] = (_POINT, "dim")
    if finding.time_limit_ns is not None:
        grid[row(finding.time_limit_ns)] = [(_LIMIT, "red dim")] * wide
    for mark in marks:
        if mark.p50_ns is not None:
            grid[row(mark.p50_ns)][column(mark.level.load)] = (_MEDIAN, "")
    for mark in marks:
        if mark.time_ns is not None:
            glyph = say.GLYPHS[mark.level.outcome]
            grid[row(mark.time_ns)][column(mark.level.load)] = (glyph, STYLES[mark.level.outcome])
    return [*_framed(grid, up), *_ruler(finding, across, wide), _legend(finding, marks)]


def _in_sight(finding: Finding) -> list[Mark]:
    marks = [mark for mark in finding.marks if mark.time_ns is not None or mark.p50_ns is not None]
    point = finding.found.point
    return [mark for mark in marks if point is None or mark.level.load * FARTHEST_FACTOR >= point.estimate]


def _across(finding: Finding, marks: Sequence[Mark]) -> Axis:
    loads = [mark.level.load for mark in marks]
    point = finding.found.point
    if point is not None:
        loads += [point.low, point.high]
    low, high = min(loads), max(loads)
    if high <= low:
        return Axis(low / 2, high * 2, logarithmic=True)
    return Axis(low, high, logarithmic=high > _LOGARITHMIC_FROM * low)


def _up(finding: Finding, marks: Sequence[Mark]) -> Axis:
    times = [ns for mark in marks for ns in (mark.time_ns, mark.p50_ns) if ns]
    times += [finding.time_limit_ns] if finding.time_limit_ns else []
    low = terminal.rounded_down(min(times))
    return Axis(low, max(terminal.rounded_up(max(times)), 2 * low), logarithmic=True)


def _framed(grid: list[list[tuple[str, str]]], up: Axis) -> list[Text]:
    labels = {round((1 - up.place(ns)) * (ROWS - 1)): ns for ns in terminal.round_between(up.low, up.high)}
    lines = []
    for number, cells in enumerate(grid):
        label = numerals.duration(labels[number]) if number in labels else ""
        line = Text(f"{label:>{LABEL_COLUMNS - 2}} {'┤' if label else '│'}", style="dim", no_wrap=True)
        for glyph, style in cells:
            line.append(glyph, style=style)
        lines.append(line)
    return lines


def _ruler(finding: Finding, across: Axis, wide: int) -> list[Text]:
    """The lowest and the highest load shown, and between them the breaking point."""
    line = [" "] * wide
    point = finding.found.point
    loads = [across.low, across.high, *([point.estimate] if point else [])]
    for load in reversed(loads):
        word = say.figure(load, finding.by_rate)
        start = min(max(0, round(across.place(load) * (wide - 1)) - len(word) // 2), wide - len(word))
        if all(cell == " " for cell in line[max(0, start - 2) : start + len(word) + 2]):
            line[start : start + len(word)] = word
    indent = " " * (LABEL_COLUMNS - 1)
    return [Text(f"{indent}└{'─' * wide}", style="dim"), Text(f"{indent} {''.join(line)}", style="dim")]


def _legend(finding: Finding, marks: Sequence[Mark]) -> Text:
    legend = Text(" " * LABEL_COLUMNS)
    unit = "requests/s" if finding.by_rate else "connections"
    legend.append(f"{finding.time_name} over {unit}:  ", style="dim")
    for outcome, glyph in say.GLYPHS.items():
        if any(mark.level.outcome == outcome for mark in marks):
            legend.append(f"{glyph} ", style=STYLES[outcome])
            legend.append(f"{say.OUTCOMES[outcome]}   ", style="dim")
    legend.append(f"{_MEDIAN} p50", style="dim")
    if finding.time_limit_ns is not None:
        legend.append("   ╌ limit", style="dim")
    if finding.found.point is not None:
        legend.append("   ░ 95 % interval", style="dim")
    return legend
