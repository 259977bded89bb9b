"""What is not true of a picture, whatever it is drawn of. Not a test itself."""

import math
import re
from collections.abc import Iterable, Iterator

from crumple.drawing.chart import BoundChart
from crumple.drawing.plot import (
    Area,
    Band,
    ChartRow,
    Dot,
    Graph,
    Guide,
    Label,
    Line,
    Panel,
    Picture,
    RowChart,
    RowPoint,
    Segment,
    Steps,
    Whisker,
)
from crumple.drawing.report_parts import Charts, Fold, Only, Part, Report, Table
from crumple.drawing.scale import AxisScale

# What lies beyond the end of an axis by less is a matter of the last digits.
NEARLY = 1e-9
# A size of that or more has a unit above the byte.
KIBIBYTE = 1024


def charts(report: Report) -> Iterator[BoundChart]:
    """Yield all charts of a report."""
    picture = [report.answer.picture] if report.answer and report.answer.picture else []
    yield from _charts([*picture, *report.head])
    for section in report.sections:
        yield from _charts(section.parts)


def _charts(parts: Iterable[Part]) -> Iterator[BoundChart]:
    for part in parts:
        if isinstance(part, Charts):
            yield from part.charts
        elif isinstance(part, Fold | Only):
            yield from _charts(part.parts)
        elif isinstance(part, Table):
            for below in part.below:
                yield from _charts(below)


def faults(picture: Picture) -> Iterator[str]:
    """Yield what is not true of a picture, or missing."""
    if not picture.says:
        yield "says nothing to readers who listen"
    for panel in picture.panels:
        yield from (f"{panel.title}: {fault}" for fault in _of_panel(panel))


def _of_panel(panel: Panel) -> Iterator[str]:
    drawn = panel.drawn
    axes = (drawn.x, drawn.y) if isinstance(drawn, Graph) else (drawn.x,)
    for axis in axes:
        if not axis.ticks:
            yield "an axis without a number"
        yield from (f"a size of {tick.label}" for tick in axis.ticks if is_large_in_bytes(tick.label))
    yield from _of_graph(drawn) if isinstance(drawn, Graph) else _of_rows(drawn)


def is_large_in_bytes(text: str) -> bool:
    """Return whether a text has a number of bytes that a larger unit would suit."""
    return any(
        float(found.replace(",", "")) >= KIBIBYTE for found in re.findall(r"(\d[\d,.]*)[\s\u202f]B\b", text)
    )


def _of_graph(graph: Graph) -> Iterator[str]:
    places = [(x, y) for mark in graph.marks for x, y in _places(mark)]
    if not places:
        yield "an empty plot"
    for x, y in places:
        if not (_has(graph.x.scale, x) and _has(graph.y.scale, y)):
            yield f"a mark at {x:g}, {y:g} lies beyond an axis"
    yield from _crossed(graph)


def _places(mark: object) -> list[tuple[float, float]]:
    """Where the values of a mark lie."""
    match mark:
        case Line(points=points):
            return [each for each in points if each is not None]
        case Steps(steps=steps):
            return [(x, step.y) for step in steps for x in (step.begin, step.end)]
        case Band(points=points):
            return [(x, y) for x, low, high in points for y in (low, high)]
        case Dot(x=x, y=y):
            return [(x, y)]
        case Area(left=float(left), right=float(right), high=float(high) | int(high)):
            return [(left, high), (right, high)]
        case Area() | Guide() | Label():
            return []
    raise AssertionError(mark)


def _has(scale: AxisScale, at: float) -> bool:
    room = NEARLY * max(abs(scale.low), abs(scale.high))
    return math.isfinite(at) and scale.low - room <= at <= scale.high + room


def _crossed(graph: Graph) -> Iterator[str]:
    """Yield where a smaller quantile is drawn above a greater one, or above the maximum."""
    named: dict[str, list[tuple[float, float, float]]] = {}
    for mark in graph.marks:
        if isinstance(mark, Steps):
            named.setdefault(mark.name, []).extend((step.begin, step.end, step.y) for step in mark.steps)
    for low, high in (("p50", "p99"), ("p99", "max")):
        for begin, end, y in named.get(low, ()):
            above = [each for each in named.get(high, ()) if each[0] < end and begin < each[1]]
            # What is merged over a longer stretch has the greatest of the shorter ones as its bound.
            if above and y > max(each[2] for each in above) * (1 + NEARLY):
                yield f"{low} of {y:g} above {high} from {begin:g} to {end:g}"


def _of_rows(chart: RowChart) -> Iterator[str]:
    if not any(row.marks for row in chart.rows):
        yield "rows without a mark"
    for row in chart.rows:
        if row.figure and re.search(r"\d", row.figure) and not row.marks:
            yield f"{row.name}: {row.figure} has no mark"
        yield from (f"{row.name}: {fault}" for fault in _of_row(row, chart.x.scale))


def _of_row(row: ChartRow, scale: AxisScale) -> Iterator[str]:
    if is_large_in_bytes(f"{row.figure} {row.remark}"):
        yield f"a size of {row.figure}"
    for mark in row.marks:
        match mark:
            case Segment(low=low, high=high):
                if not (_has(scale, low) and _has(scale, high) and low <= high):
                    yield f"a bar from {low:g} to {high:g} does not lie on its axis"
            case Whisker(low=low, high=high):
                if not low <= high:
                    yield f"an interval from {low:g} to {high:g}"
            case RowPoint(at=at, title=title):
                if not math.isfinite(at):
                    yield f"a point at {at:g}"
                if not title:
                    yield "a point without a title"
