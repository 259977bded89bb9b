"""Response time over load in a terminal: a mark for each level, the objective's limit, where it breaks.

Pure: Finding → lines of text.
"""

from collections.abc import Sequence

from rich.text import Text

from crumple.drawing import numerals, terminal_plot
from crumple.drawing.terminal_plot import Axis
from crumple.find_report import level_sentences as say
from crumple.find_report.figures import Finding, Mark

ROWS = 12
LABEL_COLUMNS = 11
STYLES = {"held": "green", "broke": "red", "limited": "yellow", "undecided": "dim"}
# Far below the breaking point all is calm, and takes the room away from where it is not.
FARTHEST_FACTOR = 4.0
_MEDIAN, _LIMIT, _POINT = "·", "╌", "░"
_LOGARITHMIC_FROM = 5.0


def plot(finding: Finding, columns: int) -> list[Text]:
    """The chart, its axes and its legend; nothing where no level has a time."""
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
    low = terminal_plot.rounded_down(min(times))
    return Axis(low, max(terminal_plot.rounded_up(max(times)), 2 * low), logarithmic=True)


def _framed(grid: list[list[tuple[str, str]]], up: Axis) -> list[Text]:
    labels = {
        round((1 - up.place(ns)) * (ROWS - 1)): ns for ns in terminal_plot.round_between(up.low, up.high)
    }
    lines = []
    for number, cells in enumerate(grid):
        label = numerals.duration(labels[number]) if number in labels else ""
        line = Text(f"{label:>{LABEL_COLUMNS - 2}} {'┤' if label else '│'}", style="dim", no_wrap=True)
        for glyph, style in cells:
            line.append(glyph, style=style)
        lines.append(line)
    return lines


def _ruler(finding: Finding, across: Axis, wide: int) -> list[Text]:
    """The lowest and the highest load in sight, and between them where it breaks."""
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
