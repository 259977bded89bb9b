"""The charts of one search on its page: response time over load, and where the time went at each level.

Pure: the figures of a search → what a chart shows; None if there is nothing. `find_plot` draws the former in
a terminal.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from crumple.drawing import numerals, scale, theme
from crumple.drawing.chart import Chart
from crumple.drawing.plot import (
    Area,
    ChartKey,
    ChartRow,
    Dot,
    Graph,
    Guide,
    Picture,
    PlotMark,
    RowChart,
    RowPoint,
    picture,
)
from crumple.drawing.scale import AxisScale, ChartAxis
from crumple.find.report import find_answer, find_times
from crumple.find.report import find_sentences as say
from crumple.find.report.find_figures import LOGARITHMIC_FROM, ChartPoint, SearchFigures
from crumple.find.report.level_sentences import OUTCOMES, verdict
from crumple.find.seen import LevelOutcome
from crumple.words import time_rows

_Sign = Literal["dot", "cross", "diamond", "ring"]
# The height of the chart of times over loads in pixels.
HEIGHT_PX = 200
# On the axis of times, the least factor between its ends and what is drawn; on that of loads.
BESIDE_TIMES, BESIDE_LOADS = 1.4, 1.06
# The radius of the mark of a level, and of its median, in pixels.
LEVEL_PX, MEDIAN_PX = 4, 1.8
_GREEN, _ORANGE = theme.FAMILIES["javascript"], theme.FAMILIES["java"]
_LOOKS: Mapping[LevelOutcome, tuple[str, _Sign]] = {
    "held": (_GREEN, "dot"),
    "broke": (_ORANGE, "cross"),
    "limited": (theme.MUTED, "diamond"),
    "undecided": (theme.MUTED, "ring"),
}


def response_over_load(finding: SearchFigures) -> Picture | None:
    """Return a mark for each level, at its load and time; with the limit, and the band in which it breaks."""
    marks = [mark for mark in finding.marks if mark.time_ns or mark.p50_ns]
    if not marks:
        return None
    across, up = _across(finding, marks), _up(finding, marks)
    levels = [dot for mark in marks for dot in _dots(finding, mark)]
    graph = Graph(across, up, [*_band(finding), *_limit(finding), *levels], HEIGHT_PX)
    return picture(graph, _says(finding), [*_keys(finding), *_other_keys(finding)])


def levels_by_start(finding: SearchFigures) -> Picture | None:
    """Return a row for each start, with a mark for each level; also if its answers are too few for a time."""
    if not finding.marks:
        return None
    return picture(_by_start(finding), _says(finding), _keys(finding))


def _keys(finding: SearchFigures) -> list[ChartKey]:
    outcomes = [outcome for outcome in _LOOKS if any(each.outcome == outcome for each in finding.rows)]
    return [ChartKey(OUTCOMES[outcome], *_LOOKS[outcome]) for outcome in outcomes]


def time_by_level(finding: SearchFigures) -> Picture | None:
    """Return a bar for the lowest load, and for those nearest to the breaking point, below and above."""
    return time_rows.rows(
        [
            (f"{say.load(level.load, finding.by_rate)}, {OUTCOMES[level.outcome]}", budget)
            for level, budget in find_times.telling(finding)
        ]
    )


RESPONSE_OVER_LOAD = Chart(
    "response-over-load",
    "Response time over load",
    "A mark for each level. A level may break by another part of the objective than that of the axis.",
    response_over_load,
)
LEVELS_BY_START = Chart(
    "levels-by-start", "Levels by start", "A mark for each level at its load.", levels_by_start
)
TIME_BY_LEVEL = Chart("time-by-level", "Where the time goes", time_rows.ABOUT, time_by_level)


def _across(finding: SearchFigures, marks: Sequence[ChartPoint]) -> ChartAxis:
    loads = [mark.level.load for mark in marks]
    low, high = min(loads) / BESIDE_LOADS, max(loads) * BESIDE_LOADS
    return scale.count_axis(
        AxisScale(low, high, log=high > LOGARITHMIC_FROM * low),
        "requests per second" if finding.by_rate else "connections",
    )


def _up(finding: SearchFigures, marks: Sequence[ChartPoint]) -> ChartAxis:
    times_ns = [ns for mark in marks for ns in (mark.time_ns, mark.p50_ns) if ns]
    times_ns += [finding.time_limit_ns] if finding.time_limit_ns else []
    ends = AxisScale(min(times_ns) / BESIDE_TIMES, max(times_ns) * BESIDE_TIMES, log=True)
    return scale.time_axis(ends, f"{finding.time_name} of the answers of a level")


def _dots(finding: SearchFigures, mark: ChartPoint) -> Iterator[Dot]:
    level = mark.level
    colour, shape = _LOOKS[level.outcome]
    said = _said(finding, mark)
    if mark.p50_ns and finding.time_name != "p50":
        yield Dot(level.load, mark.p50_ns, theme.MUTED, said, "dot", MEDIAN_PX)
    if mark.time_ns:
        yield Dot(level.load, mark.time_ns, colour, said, shape, LEVEL_PX)


def _said(finding: SearchFigures, mark: ChartPoint) -> str:
    level = mark.level
    start = f"start {level.start + 1}, " if finding.afresh else ""
    times = [
        f"{name} {numerals.duration(ns)}"
        for name, ns in {finding.time_name: mark.time_ns, "p50": mark.p50_ns}.items()
        if ns
    ]
    return f"{start}{say.load(level.load, finding.by_rate)}: {'; '.join([verdict(level), *times])}"


def _by_start(finding: SearchFigures) -> RowChart:
    across = _across(finding, finding.marks)
    broke = find_answer.first_broke(finding)
    rows = []
    for start in sorted(broke):
        marks = [mark for mark in finding.marks if mark.level.start == start]
        points = [
            RowPoint(mark.level.load, _said(finding, mark), *_LOOKS[mark.level.outcome]) for mark in marks
        ]
        at = broke[start]
        figure = "did not break" if at is None else f"first broke at {say.load(at, finding.by_rate)}"
        rows.append(ChartRow(f"start {start + 1}" if finding.afresh else "this process", points, figure))
    point = finding.found.point
    blocks = [Area(theme.GRID, point.low, point.high)] if point else []
    rules = [Guide(theme.INK, x=point.estimate)] if point else []
    return RowChart(across, rows, rules, blocks)


def _band(finding: SearchFigures) -> list[PlotMark]:
    point = finding.found.point
    if point is None:
        return []
    return [
        Area(theme.GRID, point.low, point.high, title=f"breaks at {say.point(finding)}"),
        Guide(theme.INK, x=point.estimate, label=_estimate(finding)),
    ]


def _estimate(finding: SearchFigures) -> str:
    """Return the breaking point with as many digits as its interval allows."""
    point = finding.found.point
    assert point is not None
    if not finding.by_rate:
        return say.load(point.estimate, False)
    return f"{numerals.estimate(point)}{numerals.NARROW}/s"


def _limit(finding: SearchFigures) -> list[PlotMark]:
    if finding.time_limit_ns is None:
        return []
    return [Guide(_ORANGE, y=finding.time_limit_ns, dash="4 3", label=finding.time_heads[0])]


def _other_keys(finding: SearchFigures) -> list[ChartKey]:
    medians = [ChartKey("p50", theme.MUTED, "dot")] if finding.time_name != "p50" else []
    band = [ChartKey(f"95{numerals.NARROW}% interval", theme.GRID)] if finding.found.point else []
    return [*medians, *band]


def _says(finding: SearchFigures) -> str:
    counts = [
        f"{sum(each.outcome == outcome for each in finding.found.levels)} {OUTCOMES[outcome]}"
        for outcome in _LOOKS
        if any(each.outcome == outcome for each in finding.found.levels)
    ]
    return f"{say.headline(finding)}; levels: {', '.join(counts)}"
