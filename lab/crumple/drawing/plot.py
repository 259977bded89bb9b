"""Charts as data: plots over two axes, and rows over one; `svg` draws them. Pure.

A chart has no width. What it draws lies at shares of the width it gets, and at pixels from its upper edge, so
one drawing fits a wide page, a telephone and paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crumple.drawing import theme
from crumple.drawing.scale import ChartAxis

# The height of a plot in px, and of the bar of a row.
PLOT_PX, BAR_PX = 200, 14

SignShape = Literal["dot", "ring", "dashed", "cross", "diamond", "tick"]


@dataclass(frozen=True)
class Line:
    """A line through points of increasing x; None: it is interrupted there."""

    points: Sequence[tuple[float, float] | None]
    colour: str
    name: str = ""
    dash: str = ""
    width: float = 1.6
    opacity: float = 1.0


@dataclass(frozen=True)
class Step:
    """A value that holds for a stretch of x, such as a quantile of the answers in it."""

    begin: float
    end: float
    y: float
    title: str = ""


@dataclass(frozen=True)
class Steps:
    """Stretches that are not joined."""

    steps: Sequence[Step]
    colour: str
    name: str = ""
    dash: str = ""
    width: float = 1.8


@dataclass(frozen=True)
class Band:
    """The space between two lines: x, lower y, upper y."""

    points: Sequence[tuple[float, float, float]]
    colour: str
    opacity: float = 0.25
    title: str = ""


@dataclass(frozen=True)
class Area:
    """A rectangle; an end that is None is that of the axis."""

    colour: str
    left: float | None = None
    right: float | None = None
    low: float | None = None
    high: float | None = None
    title: str = ""
    opacity: float = 1.0


@dataclass(frozen=True)
class Guide:
    """A line across the plot at x, or at y."""

    colour: str
    x: float | None = None
    y: float | None = None
    dash: str = ""
    label: str = ""
    width: float = 1.2


@dataclass(frozen=True)
class Dot:
    """A mark at a point. `title`: what the reader sees who points at it."""

    x: float
    y: float
    colour: str
    title: str
    shape: SignShape = "dot"
    radius: float = 4


@dataclass(frozen=True)
class Label:
    """Words behind the right edge of the plot, where a line ends; a narrow screen leaves them out."""

    y: float
    text: str
    colour: str
    """That of the line, in which a thin line joins both; no line has the contrast that words need."""
    shift_px: float = 0
    """By how much the words are moved down, so that they do not cover others."""


PlotMark = Line | Steps | Band | Area | Guide | Dot | Label


@dataclass(frozen=True)
class Graph:
    """Marks over two axes, the first at the bottom."""

    x: ChartAxis
    y: ChartAxis
    marks: Sequence[PlotMark]
    height_px: float = PLOT_PX
    right_px: float = 0
    """The room for labels behind the right edge."""
    left_px: float = 0
    """The least room for labels of y, by which graphs below each other have the same axis of x."""
    is_time: bool = False
    """Whether x is time, so that a ruler may be moved along it."""
    has_grid: bool = True
    """Whether each tick of y has a line across the plot; cells that fill it need none."""


@dataclass(frozen=True)
class Segment:
    """A stretch of a row, as a bar."""

    low: float
    high: float
    colour: str
    title: str = ""
    label: str = ""
    """Words above it, if there is room."""
    opacity: float = 1.0
    is_tall: bool = False
    """Whether it reaches beyond the bar, as a range behind an interval does."""


@dataclass(frozen=True)
class Whisker:
    """An interval."""

    low: float
    high: float
    colour: str = theme.INK
    title: str = ""
    width: float = 1.6


@dataclass(frozen=True)
class RowPoint:
    """A value of a row. `below`: it stands under the bar, so that it covers no other."""

    at: float
    title: str
    colour: str = theme.INK
    shape: SignShape = "dot"
    radius: float = 4
    below: bool = False


RowMark = Segment | Whisker | RowPoint


@dataclass(frozen=True)
class ChartRow:
    """One subject: its name above, its marks below."""

    name: str
    marks: Sequence[RowMark]
    figure: str = ""
    """The value in words, at the right end of the name's line."""
    remark: str = ""
    """What else must be known of it, below."""


@dataclass(frozen=True)
class RowChart:
    """Rows over one axis, which stands above them."""

    x: ChartAxis
    rows: Sequence[ChartRow]
    rules: Sequence[Guide] = ()
    blocks: Sequence[Area] = ()
    """Spans of x behind all rows."""


@dataclass(frozen=True)
class Strip:
    """Marks over one axis, as high as a line of text: what a cell of a table holds."""

    x: ChartAxis
    marks: Sequence[RowMark] = ()
    rules: Sequence[Guide] = ()
    has_ticks: bool = False
    """Whether it names the ticks of the axis, as the heading of a column does."""


@dataclass(frozen=True)
class ChartKey:
    """What a colour or a sign stands for."""

    label: str
    colour: str
    form: Literal["bar", "line", "dot", "ring", "diamond", "cross", "dashed", "tick"] = "bar"
    dash: str = ""
    narrow_only: bool = False
    """Whether a wide screen has the name at the line instead."""
    opacity: float = 1.0
    """That of a bar."""


@dataclass(frozen=True)
class Panel:
    """A plot or rows with a title of their own."""

    drawn: Graph | RowChart
    title: str = ""
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Picture:
    """What a chart shows: one panel, or several beside or below each other."""

    panels: Sequence[Panel]
    says: str
    """What it shows, in words, for readers who listen."""
    keys: Sequence[ChartKey] = ()
    columns: int = 1


def picture(drawn: Graph | RowChart, says: str, keys: Sequence[ChartKey] = ()) -> Picture:
    """Return a picture of one panel."""
    return Picture([Panel(drawn)], says, keys)
