"""The chart of a ramp: panels over one axis of users, such as response time, failures and memory.

Pure: an experiment → a picture. `ramp_rows` chooses the panels and computes their lines. On a wide page lines
are named at their ends, on a narrow one above the panels.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from crumple.drawing import numerals, plot, scale, svg_elements, svg_graph, theme
from crumple.drawing.plot import Band, ChartKey, Graph, Guide, Label, Line, Picture, PlotMark
from crumple.drawing.scale import AxisScale, ChartAxis
from crumple.run.report import ramp_rows, server_names
from crumple.run.report.ramp_rows import LoadedRamp, Panel
from crumple.run.report.view import ExperimentView
from crumple.stats.interval import Interval

# The heights of the first panel, which has the response times, and of the others; and of a line of names.
FIRST_PX, PANEL_PX, LINE_PX = 150, 92, 13
# The room for a leader from the end of a line to its name.
LEADER_PX = 20
# Lengths of strokes and gaps that tell the lines of one colour apart.
DASHES = ("", "6 2.5", "2 2", "8 2.5 2 2.5", "1.2 3", "12 3", "4 1.5 1 1.5", "1 1.2")


@dataclass(frozen=True)
class Stroke:
    """The name, colour and dash of one server's line."""

    name: str
    colour: str
    dash: str


def along_the_ramp(
    experiment: ExperimentView, names: Collection[str], *, are_left_out: bool = False
) -> Picture | None:
    """Draw the panels of these names, or those of others, over the users; None if no ramp was measured."""
    ramp = ramp_rows.course(experiment)
    every = ramp_rows.panels(experiment, ramp) if ramp else []
    chosen = [panel for panel in every if panel.name in names] or every[:1]
    panels = [panel for panel in every if panel not in chosen] if are_left_out else chosen
    if ramp is None or not panels:
        return None
    strokes, knees = _strokes(experiment, panels), ramp_rows.knees(experiment)
    axes = [_axis(panel) for panel in panels]
    left_px = max(map(svg_graph.left_room, axes))
    right_px = LEADER_PX + svg_elements.LETTER_PX * max(len(stroke.name) for stroke in strokes.values())
    drawn = []
    for at, (panel, y) in enumerate(zip(panels, axes, strict=True)):
        height_px = max(PANEL_PX if at else FIRST_PX, LINE_PX * len(panel.lines))
        marks = [
            *(
                mark
                for server, knee in knees.items()
                for mark in _knee(knee, strokes[server], ramp, y, at == 0)
            ),
            *(mark for server, stroke in strokes.items() for mark in _course(panel, server, stroke)),
            *_names(panel, strokes, y, height_px),
        ]
        graph = Graph(_users(ramp, labelled=at == len(panels) - 1), y, marks, height_px, right_px, left_px)
        drawn.append(plot.Panel(graph, panel.title, [] if at else [*_knees_in_words(knees, strokes)]))
    keys = [
        ChartKey(each.name, each.colour, "line", each.dash, narrow_only=True) for each in strokes.values()
    ]
    says = "; ".join(
        [f"{ramp.counted} from {ramp.first:g} to {ramp.last:g}", *_knees_in_words(knees, strokes)]
    )
    return Picture(drawn, says, keys)


def _strokes(experiment: ExperimentView, panels: Sequence[Panel]) -> dict[str, Stroke]:
    """Return server → its stroke; servers of one colour get different dashes, in the order of the study."""
    seen = {server for panel in panels for server in panel.lines}
    rows = {row.name: row for row in experiment.servers if row.name in seen}
    names = server_names.short(list(rows))
    order = [name for name in experiment.experiment.servers if name in rows]
    strokes: dict[str, Stroke] = {}
    for server in [*order, *(name for name in rows if name not in order)]:
        colour = theme.colour_of(rows[server].note.language)
        alike = sum(stroke.colour == colour for stroke in strokes.values())
        strokes[server] = Stroke(names[server], colour, DASHES[alike % len(DASHES)])
    return strokes


def _axis(panel: Panel) -> ChartAxis:
    low, high = min(panel.all("low")), max(panel.all("high"))
    if panel.kind == "time":
        return scale.time_axis(scale.times(low, high))
    span = scale.from_zero([high])
    if panel.kind == "size":
        return scale.size_axis(span)
    return scale.share_axis(span, most=4) if panel.kind == "share" else scale.count_axis(span, most=4)


def _users(ramp: LoadedRamp, *, labelled: bool) -> ChartAxis:
    span = AxisScale(ramp.first, ramp.last)
    if not labelled:
        return ChartAxis(span, [])
    title = f"{ramp.counted}, from {ramp.first:g} to {ramp.last:g} within {numerals.seconds(ramp.over_s)}"
    return scale.count_axis(span, title)


def _course(panel: Panel, server: str, stroke: Stroke) -> Iterator[PlotMark]:
    rows = panel.lines.get(server, [])
    yield Band([(row["x"], row["low"], row["high"]) for row in rows], stroke.colour, 0.14)
    yield Line([(row["x"], row["value"]) for row in rows], stroke.colour, stroke.name, stroke.dash, 1.7)


def _names(panel: Panel, strokes: Mapping[str, Stroke], y: ChartAxis, height_px: float) -> Iterator[Label]:
    """Yield each line's name behind its end, far enough from other names."""
    ends = {server: rows[-1]["value"] for server, rows in panel.lines.items()}
    wanted = [height_px * (1 - y.scale.share(value)) for value in ends.values()]
    places = apart(wanted, LINE_PX, height_px)
    for (server, value), from_px, to_px in zip(ends.items(), wanted, places, strict=True):
        yield Label(value, strokes[server].name, strokes[server].colour, to_px - from_px)


def apart(wanted: Sequence[float], least: float, room: float) -> list[float]:
    """Return places near those wanted, in their order, `least` apart or as far as the room allows."""
    step = min(least, room / max(1, len(wanted) - 1))
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    places: list[float] = []
    for index in order:
        places.append(max(wanted[index], places[-1] + step if places else 0.0))
    # Move places that were pushed beyond the bottom up again.
    floor = room
    for at in range(len(places) - 1, -1, -1):
        places[at] = min(places[at], floor)
        floor = places[at] - step
    found = [0.0] * len(wanted)
    for index, place in zip(order, places, strict=True):
        found[index] = place
    return found


def _knee(
    knee: Interval, stroke: Stroke, ramp: LoadedRamp, y: ChartAxis, is_first: bool
) -> Iterator[PlotMark]:
    """Yield a knee as a thin line through the panel, and with its interval in the first."""
    low, high = (min(max(end, ramp.first), ramp.last) for end in (knee.low, knee.high))
    if is_first:
        ends = [(x, y.scale.low, y.scale.high) for x in (low, high)]
        yield Band(ends, stroke.colour, 0.1, f"{stroke.name}: {_in_words(knee)}")
    yield Guide(stroke.colour, x=knee.estimate, dash="1.5 2", width=1)


def _knees_in_words(knees: Mapping[str, Interval], strokes: Mapping[str, Stroke]) -> Iterator[str]:
    for server, knee in sorted(knees.items(), key=lambda each: each[1].estimate):
        yield f"{strokes[server].name}: {_in_words(knee)}"


def _in_words(knee: Interval) -> str:
    return f"knee {numerals.estimate(knee)} [{numerals.ends(knee)}]"
