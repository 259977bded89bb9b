"""A search as a plot in a terminal: response times over loads, the limit, and the breaking point. Pure."""

from collections.abc import Sequence

from rich.text import Text

from crumple.drawing import numerals, report_text, scale, terminal
from crumple.drawing.scale import AxisScale
from crumple.find.report import find_sentences as say
from crumple.find.report.find_figures import LOGARITHMIC_FROM, ChartPoint, SearchFigures
from crumple.find.report.level_sentences import OUTCOMES
from crumple.find.seen import LevelOutcome

# The plot takes twelve lines, so that it fits a terminal of 24 with the answer above it.
ROWS = 12
# The labels of the axis of times take eleven columns: a time of up to eight, a space, the axis, a space.
LABEL_COLUMNS = 11
# How far below the breaking point a level may lie to be drawn, as a factor: those farther below would take
# room from the levels near it.
FARTHEST_FACTOR = 4.0
_MEDIAN, _LIMIT, _POINT = "·", "╌", "░"
_APART = "   "


def plot(finding: SearchFigures, columns: int) -> list[Text]:
    """The chart, its axes and its legend; empty where no level has a time."""
    marks = _in_sight(finding)
    if not marks:
        return []
    wide = columns - LABEL_COLUMNS
    across, up = _across(finding, marks), _up(finding, marks)
    grid: list[list[tuple[str, str]]] = [[(" ", "")] * wide for _ in range(ROWS)]

    def column(load: float) -> int:
        return round(across.share(load) * (wide - 1))

    def row(ns: float) -> int:
        return round((1 - up.share(ns)) * (ROWS - 1))

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
            grid[row(mark.time_ns)][column(mark.level.load)] = (glyph, _style(mark.level.outcome))
    return [*_framed(grid, up), *_ruler(finding, across, wide), *_legend(finding, marks, columns)]


def _in_sight(finding: SearchFigures) -> list[ChartPoint]:
    marks = [mark for mark in finding.marks if mark.time_ns is not None or mark.p50_ns is not None]
    point = finding.found.point
    return [mark for mark in marks if point is None or mark.level.load * FARTHEST_FACTOR >= point.estimate]


def _across(finding: SearchFigures, marks: Sequence[ChartPoint]) -> AxisScale:
    loads = [mark.level.load for mark in marks]
    point = finding.found.point
    if point is not None:
        loads += [point.low, point.high]
    low, high = min(loads), max(loads)
    if high <= low:
        return AxisScale(low / 2, high * 2, log=True)
    return AxisScale(low, high, log=high > LOGARITHMIC_FROM * low)


def _up(finding: SearchFigures, marks: Sequence[ChartPoint]) -> AxisScale:
    times = [ns for mark in marks for ns in (mark.time_ns, mark.p50_ns) if ns]
    times += [finding.time_limit_ns] if finding.time_limit_ns else []
    low = terminal.rounded_down(min(times))
    return AxisScale(low, max(terminal.rounded_up(max(times)), 2 * low), log=True)


def _framed(grid: list[list[tuple[str, str]]], up: AxisScale) -> list[Text]:
    labels = {round((1 - up.share(ns)) * (ROWS - 1)): ns for ns in scale.round_between(up.low, up.high)}
    lines = []
    for number, cells in enumerate(grid):
        label = numerals.duration(labels[number]) if number in labels else ""
        line = Text(f"{label:>{LABEL_COLUMNS - 2}} {'┤' if label else '│'}", style="dim", no_wrap=True)
        for glyph, style in cells:
            line.append(glyph, style=style)
        lines.append(line)
    return lines


def _ruler(finding: SearchFigures, across: AxisScale, wide: int) -> list[Text]:
    """The lowest and the highest load shown, and between them the breaking point."""
    point = finding.found.point
    loads = [*([point.estimate] if point else []), across.high, across.low]
    marks = [(say.figure(load, finding.by_rate), load) for load in loads]
    line, indent = terminal.ruler(marks, across, wide, apart=2), " " * (LABEL_COLUMNS - 1)
    return [Text(f"{indent}└{'─' * wide}", style="dim"), Text(f"{indent} {line}", style="dim")]


def _legend(finding: SearchFigures, marks: Sequence[ChartPoint], columns: int) -> list[Text]:
    """What is drawn over what, and each sign beside what it stands for, on as many lines as that takes."""
    unit = "requests/s" if finding.by_rate else "connections"
    entries = [
        Text.assemble((f"{glyph} ", _style(outcome)), (OUTCOMES[outcome], "dim"))
        for outcome, glyph in say.GLYPHS.items()
        if any(mark.level.outcome == outcome for mark in marks)
    ]
    entries.append(Text(f"{_MEDIAN} p50", style="dim"))
    if finding.time_limit_ns is not None:
        entries.append(Text(f"{_LIMIT} limit", style="dim"))
    if finding.found.point is not None:
        entries.append(Text(f"{_POINT} 95{numerals.NARROW}% interval", style="dim"))
    indent = " " * LABEL_COLUMNS
    lines = [Text.assemble(indent, (f"{finding.time_name} over {unit}:", "dim"))]
    for at, entry in enumerate(entries):
        apart = _APART if at else "  "
        if lines[-1].cell_len + len(apart) + entry.cell_len <= columns:
            lines[-1].append(apart).append_text(entry)
        else:
            lines.append(Text.assemble(indent, entry))
    return lines


def _style(outcome: LevelOutcome) -> str:
    return report_text.STYLES[say.TONES[outcome]]
