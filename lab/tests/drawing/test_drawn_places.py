"""Every value that is drawn lies within a pixel of its place on any axis: a thousand charts of each kind."""

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

import pytest
from crumple.drawing import scale, svg, svg_graph, theme
from crumple.drawing.plot import (
    Band,
    ChartRow,
    Dot,
    Graph,
    Line,
    RowChart,
    RowPoint,
    Segment,
    Step,
    Steps,
    Whisker,
)
from crumple.drawing.scale import AxisScale, ChartAxis
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.long
# A wide page gives a plot no more than this.
WIDTH_PX = 892
thousand = settings(max_examples=1_000)

VALUES = st.one_of(
    st.lists(floats, min_size=1, max_size=6) for floats in (st.floats(1e-3, 1e12), st.floats(1e3, 6e11))
)


def wanted_px(at: float, axis: AxisScale, across_px: float) -> float:
    """Where a value lies from the lower end of an axis."""
    low, high = axis.low, axis.high
    if axis.log:
        low, high, at = math.log(low), math.log(high), math.log(at)
    return across_px * (at - low) / (high - low)


def in_px(place: str | None) -> float:
    """A place of the drawing on a wide page."""
    assert place is not None
    return float(place.removesuffix("%")) / 100 * WIDTH_PX if place.endswith("%") else float(place)


def axes(values: Sequence[float]) -> list[ChartAxis]:
    """Each kind of axis for these values."""
    return [
        scale.count_axis(scale.from_zero(values)),
        scale.count_axis(scale.around(values)),
        scale.size_axis(scale.from_zero(values)),
        scale.ratio_axis(scale.around(values)),
        *([scale.time_axis(scale.times(min(values), max(values)))] if min(values) >= 1e3 else []),
    ]


def marks_of(drawn: Graph | RowChart) -> list[ET.Element]:
    """The elements with a title, in the order of the marks."""
    root = ET.fromstring(svg.inline(drawn, "what it shows"))
    return [
        each for each in root.iter() if each.find("{*}title") is not None or each.find("title") is not None
    ]


@thousand
@given(VALUES)
def test_dots_and_steps(values: list[float]) -> None:
    for y in axes(values):
        x = scale.seconds_axis(float(len(values)))
        drawn = [Dot(at, value, theme.INK, "dot") for at, value in enumerate(values)]
        steps = Steps([Step(at, at + 1, value, "step") for at, value in enumerate(values)], theme.INK)
        dots = marks_of(Graph(x, y, drawn))
        lines = marks_of(Graph(x, y, [steps]))
        for at, (value, dot, line) in enumerate(zip(values, dots, lines, strict=True)):
            down = 200 - wanted_px(value, y.scale, 200)
            across = wanted_px(at, x.scale, WIDTH_PX)
            assert in_px(dot.get("cx")) == pytest.approx(across, abs=1)
            assert float(dot.get("cy", "")) == pytest.approx(down, abs=1)
            assert in_px(line.get("x1")) == pytest.approx(across, abs=1)
            assert in_px(line.get("x2")) == pytest.approx(wanted_px(at + 1, x.scale, WIDTH_PX), abs=1)
            assert float(line.get("y1", "")) == float(line.get("y2", "")) == pytest.approx(down, abs=1)


@thousand
@given(VALUES)
def test_lines_and_bands(values: list[float]) -> None:
    for y in axes(values):
        x = scale.seconds_axis(float(len(values)))
        points = list(enumerate(values))
        line, band, *lone = marks_of(
            Graph(
                x,
                y,
                [
                    Line([(float(at), value) for at, value in points], theme.INK, "line"),
                    Band([(at, min(values), value) for at, value in points], theme.INK, title="band"),
                ],
            )
        )
        places = [
            (wanted_px(at, x.scale, svg_graph.STRETCHED), 200 - wanted_px(value, y.scale, 200))
            for at, value in points
        ]
        assert bool(lone) is (len(points) == 1)
        for found, place in zip(
            [*corners(line), *corners(band)[: len(points)]], [*places, *places], strict=True
        ):
            assert found == pytest.approx(place, abs=1)
        assert {down for _, down in corners(band)[len(points) :]} == {max(down for _, down in corners(band))}


def corners(path: ET.Element) -> list[tuple[float, float]]:
    """The points of a path."""
    pairs = re.findall(r"([\d.e+-]+) ([\d.e+-]+)", path.get("d", ""))
    return [(float(x), float(y)) for x, y in pairs]


@thousand
@given(VALUES)
def test_rows(values: list[float]) -> None:
    low, high = min(values), max(values)
    for x in axes(values):
        for value in values:
            marks = [Segment(low, value, theme.INK, "bar"), Whisker(value, high, title="interval")]
            drawn = RowChart(x, [ChartRow("row", [*marks, RowPoint(value, "start")])])
            bar, whisker, point = marks_of(drawn)
            at = wanted_px(value, x.scale, WIDTH_PX)
            assert in_px(bar.get("x")) == pytest.approx(wanted_px(low, x.scale, WIDTH_PX), abs=1)
            assert in_px(bar.get("x")) + in_px(bar.get("width")) == pytest.approx(at, abs=1)
            assert in_px(whisker.get("x1")) == pytest.approx(at, abs=1)
            assert in_px(whisker.get("x2")) == pytest.approx(wanted_px(high, x.scale, WIDTH_PX), abs=1)
            assert in_px(point.get("cx")) == pytest.approx(at, abs=1)


@thousand
@given(VALUES)
def test_ticks_lie_at_what_they_say_and_differ(values: list[float]) -> None:
    for axis in axes(values):
        labels = [tick.label for tick in axis.ticks]
        assert labels and len({*labels}) == len(labels), labels
        # The last digit of a tick may lie beyond the end.
        ends = axis.scale.low * (1 - 1e-9), axis.scale.high * (1 + 1e-9)
        assert all(ends[0] <= tick.at <= ends[1] for tick in axis.ticks)
        assert not [label for label in labels if re.fullmatch(r"[\d,]{4,} B|\d{5,}[^ ]*", label)]
