"""The chart of a ramp: panels over one axis of users, such as response time, failures and memory.

Pure: a view and a width in pixels → an Altair chart. `ramp_rows` chooses the panels and computes their lines.
Lines are named at their ends; on small screens, above the panels.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from crumple.drawing import numerals, theme
from crumple.run.report import ramp_rows, server_names
from crumple.run.report.ramp_rows import LoadedRamp, Panel
from crumple.run.report.view import ExperimentView
from crumple.stats.interval import Interval

# Pixels for the labels of the vertical axis.
AXIS_PX = 50
# The heights of the first panel, which has the response times, and of the others; and of a line of names.
FIRST_PX, PANEL_PX, LINE_PX = 150, 92, 13
# The length of the line from the end of a curve to its name, and the width of a letter of 11 pixels.
LEADER_PX, LETTER_PX = 16, 5.7
# Pixels between panels: the title of the lower one.
GAP_PX = 40
# A chart narrower than 500 pixels, as on a telephone, has its names above the panels.
NARROW_BELOW_PX = 500
# An axis reaches 8 % beyond the highest line, so that the mark of a knee has room above it.
HEAD_ROOM = 1.08
# Lengths of strokes and gaps that tell the lines of one colour apart.
DASHES: tuple[list[float], ...] = (
    [1, 0],
    [6, 2.5],
    [2, 2],
    [8, 2.5, 2, 2.5],
    [1.2, 3],
    [12, 3],
    [4, 1.5, 1, 1.5],
    [1, 1.2],
)
_SHARE_LABEL = "format(datum.value, '.2~%')"


@dataclass(frozen=True)
class Stroke:
    """The name, colour and dash of one server's line."""

    name: str
    colour: str
    dash: list[float]


@dataclass(frozen=True)
class Frame:
    """The layout of all panels: `plot_px` for the lines, `label_px` for the names after them."""

    ramp: LoadedRamp
    strokes: Mapping[str, Stroke]
    knees: Mapping[str, Interval]
    plot_px: float
    label_px: float

    @property
    def x(self) -> alt.Scale:
        """The axis of users, extended beyond the last of them by the room for names."""
        return alt.Scale(domain=[self.ramp.first, self.users_at(self.plot_px + self.label_px)], nice=False)

    def users_at(self, px: float) -> float:
        """Return the number of users at `px` from the left edge of the panels."""
        return self.ramp.first + (self.ramp.last - self.ramp.first) * px / self.plot_px


@dataclass(frozen=True)
class VerticalScale:
    """The vertical axis of one panel."""

    low: float
    high: float
    log: bool
    ticks: list[float]
    label: str
    height_px: float

    def px(self, value: float) -> float:
        """Return how many pixels `value` lies below the panel's top."""
        low, high, at = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return self.height_px * (high - at) / (high - low)

    def value(self, px: float) -> float:
        """Return the value that lies `px` below the panel's top."""
        low, high = (math.log(v) if self.log else v for v in (self.low, self.high))
        at = high - (high - low) * px / self.height_px
        return math.exp(at) if self.log else at

    @property
    def drawn(self) -> alt.Scale:
        """The scale as Altair takes it."""
        return alt.Scale(
            type="log" if self.log else "linear", domain=[self.low, self.high], nice=False, zero=False
        )


def along_the_ramp(experiment: ExperimentView, width_px: int) -> alt.TopLevelMixin | None:
    """Draw each panel over the users; None if no ramp was measured."""
    ramp = ramp_rows.course(experiment)
    panels = ramp_rows.panels(experiment, ramp) if ramp else []
    if ramp is None or not panels:
        return None
    strokes = _strokes(experiment, panels)
    narrow = width_px < NARROW_BELOW_PX
    longest = max(len(stroke.name) for stroke in strokes.values())
    label_px = 0 if narrow else LEADER_PX + 6 + LETTER_PX * longest
    frame = Frame(ramp, strokes, ramp_rows.knees(experiment, ramp), width_px - AXIS_PX - label_px, label_px)
    drawn = [_panel(panel, frame, number, len(panels)) for number, panel in enumerate(panels)]
    parts = [_key(frame), *drawn] if narrow else drawn
    return alt.vconcat(*parts, bounds="flush", spacing=GAP_PX)


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


def _panel(panel: Panel, frame: Frame, number: int, of: int) -> alt.LayerChart:
    crowd = len(panel.lines) if frame.label_px else 0
    y, unit = _scale(panel, max(FIRST_PX if number == 0 else PANEL_PX, LINE_PX * crowd))
    drawn = [(panel.lines[name], stroke) for name, stroke in frame.strokes.items() if name in panel.lines]
    layers = [
        *_grid(frame, y, labelled=number == of - 1),
        *_knees(frame, y, named=number == 0),
        *(_band(rows, stroke, y) for rows, stroke in drawn),
        *(_line(rows, stroke, y) for rows, stroke in drawn),
        *(_names(panel, frame, y) if frame.label_px else []),
        *(_knee_names(frame, y) if number == 0 else []),
    ]
    title = f"{panel.title}, {unit}" if unit else panel.title
    return theme.layered(*layers).properties(
        width=frame.plot_px + frame.label_px, height=y.height_px, title=alt.TitleParams(title, offset=6)
    )


def _scale(panel: Panel, height_px: float) -> tuple[VerticalScale, str]:
    """Return the vertical axis, and the unit of its values if the title has to name it."""
    low, high = min(panel.all("low")), max(panel.all("high"))
    if panel.kind == "time":
        low, high = theme.round_times(low, high)
        return VerticalScale(low, high, True, theme.time_ticks([low, high]), theme.TIME_LABEL, height_px), ""
    top = (high or 1.0) * HEAD_ROOM
    if panel.kind == "size":
        factor, unit = numerals.size_scale(high)
        ticks = [tick * factor for tick in theme.round_ticks(0, top / factor, 4)]
        return VerticalScale(
            0, top, False, ticks, f"format(datum.value / {factor:.0f}, ',~r')", height_px
        ), unit
    label = _SHARE_LABEL if panel.kind == "share" else theme.PLAIN_LABEL
    return VerticalScale(0, top, False, theme.round_ticks(0, top, 4), label, height_px), ""


def _grid(frame: Frame, y: VerticalScale, labelled: bool) -> list[alt.Chart]:
    """Draw both axes, and lines at the ticks up to the end of the ramp; `labelled`: label the users too."""
    ramp = frame.ramp
    rows = [{"x": ramp.first, "end": ramp.last, "value": tick} for tick in y.ticks]
    ticks = theme.round_ticks(ramp.first, ramp.last, 7 if frame.label_px else 4)
    title = f"{ramp.counted}, and the time since the ramp began"
    x = alt.X(
        "x:Q",
        scale=frame.x,
        title=title if labelled else None,
        axis=alt.Axis(
            values=ticks,
            tickCount=len(ticks),
            labels=labelled,
            labelExpr=_users_label(ramp),
            grid=False,
            titleAnchor="start",
        ),
    )
    # Without `tickCount` Vega leaves out some of the given ticks if panels are low.
    shown = alt.Axis(
        values=y.ticks,
        tickCount=len(y.ticks),
        labelExpr=y.label,
        grid=False,
        minExtent=AXIS_PX - 4,
        maxExtent=AXIS_PX - 4,
    )
    lines = alt.Chart(theme.rows(rows)).mark_rule(color=theme.GRID)
    return [lines.encode(x=x, x2=alt.X2("end:Q"), y=alt.Y("value:Q", scale=y.drawn, title=None, axis=shown))]


def _users_label(ramp: LoadedRamp) -> str:
    """Return the expression of a label: the number of users, and below it the time since the ramp began."""
    at_s = f"(datum.value - {ramp.first:g}) / {ramp.last - ramp.first:g} * {ramp.over_s:g}"
    seconds = f"format({at_s}, '.1~f') + ' s'"
    after = seconds if ramp.over_s < 100 else f"format({at_s} / 60, '.1~f') + ' min'"
    return f"[format(datum.value, ',~r'), {after}]"


def _band(rows: Sequence[dict[str, Any]], stroke: Stroke, y: VerticalScale) -> alt.Chart:
    drawn = alt.Chart(theme.rows(rows)).mark_area(color=stroke.colour, opacity=0.14)
    band: alt.Chart = drawn.encode(x=alt.X("x:Q"), y=alt.Y("low:Q", scale=y.drawn), y2=alt.Y2("high:Q"))
    return band


def _line(rows: Sequence[dict[str, Any]], stroke: Stroke, y: VerticalScale) -> alt.Chart:
    drawn = alt.Chart(theme.rows(rows)).mark_line(
        color=stroke.colour, strokeWidth=1.7, strokeDash=stroke.dash, strokeCap="butt"
    )
    line: alt.Chart = drawn.encode(x=alt.X("x:Q"), y=alt.Y("value:Q", scale=y.drawn))
    return line


def _names(panel: Panel, frame: Frame, y: VerticalScale) -> list[alt.Chart]:
    """Draw each line's name after its end, with a leader, and far enough from other names."""
    ends = {server: rows[-1] for server, rows in panel.lines.items()}
    places = apart([y.px(row["value"]) for row in ends.values()], LINE_PX, y.height_px)
    texts, leaders = [], []
    for (server, end), place in zip(ends.items(), places, strict=True):
        name_x, name_y = frame.users_at(frame.plot_px + LEADER_PX), y.value(place)
        texts.append({"x": name_x, "value": name_y, "text": frame.strokes[server].name})
        leader = [{"x": end["x"], "value": end["value"]}, {"x": name_x, "value": name_y}]
        stroke = frame.strokes[server]
        leaders.append(
            alt.Chart(theme.rows(leader))
            .mark_line(color=stroke.colour, strokeWidth=1, opacity=0.7)
            .encode(x=alt.X("x:Q"), y=alt.Y("value:Q", scale=y.drawn))
        )
    named = alt.Chart(theme.rows(texts)).mark_text(align="left", dx=4, baseline="middle", fontSize=11)
    return [
        *leaders,
        named.encode(x=alt.X("x:Q"), y=alt.Y("value:Q", scale=y.drawn), text=alt.Text("text:N")),
    ]


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


def _knees(frame: Frame, y: VerticalScale, named: bool) -> list[alt.Chart]:
    """Draw each knee as a thin line through the panel, and with its interval if `named`."""
    layers = []
    for server, knee in frame.knees.items():
        low, high = (min(max(end, frame.ramp.first), frame.ramp.last) for end in (knee.low, knee.high))
        data = theme.rows([{"x": knee.estimate, "low": low, "high": high, "y": y.low, "y2": y.high}])
        colour = frame.strokes[server].colour
        if named:
            shade = alt.Chart(data).mark_rect(color=colour, opacity=0.1)
            layers.append(
                shade.encode(
                    x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=alt.Y("y:Q", scale=y.drawn), y2=alt.Y2("y2:Q")
                )
            )
        hair = alt.Chart(data).mark_rule(color=colour, strokeWidth=1, opacity=0.75, strokeDash=[1.5, 2])
        layers.append(hair.encode(x=alt.X("x:Q"), y=alt.Y("y:Q", scale=y.drawn), y2=alt.Y2("y2:Q")))
    return layers


def _knee_names(frame: Frame, y: VerticalScale) -> list[alt.Chart]:
    rows = []
    for line, (server, knee) in enumerate(sorted(frame.knees.items(), key=lambda each: each[1].estimate)):
        who = f"{frame.strokes[server].name}: " if len(frame.knees) > 1 and frame.label_px else ""
        text = f"{who}knee {numerals.estimate(knee)} [{numerals.ends(knee)}]"
        room_px = (frame.ramp.last - knee.estimate) / (frame.ramp.last - frame.ramp.first) * frame.plot_px
        side = "left" if room_px > LETTER_PX * len(text) else "right"
        rows.append({"x": knee.estimate, "value": y.value(6 + LINE_PX * line), "text": text, "side": side})
    layers = []
    sides: tuple[tuple[Literal["left", "right"], int], ...] = (("left", 4), ("right", -4))
    for side, dx in sides:
        data = theme.rows([row for row in rows if row["side"] == side])
        behind: dict[str, Any] = {"stroke": theme.PAPER, "strokeWidth": 3, "strokeJoin": "round"}
        for halo in (behind, {}):
            named = alt.Chart(data).mark_text(align=side, dx=dx, baseline="middle", fontSize=10.5, **halo)
            layers.append(
                named.encode(x=alt.X("x:Q"), y=alt.Y("value:Q", scale=y.drawn), text=alt.Text("text:N"))
            )
    return layers if rows else []


def _key(frame: Frame) -> alt.LayerChart:
    """Draw a key of names beside pieces of their lines, for charts without room after the lines."""
    height_px = 16 * len(frame.strokes)
    x, y = alt.Scale(domain=[0, frame.plot_px]), alt.Scale(domain=[height_px, 0])
    layers = []
    for number, stroke in enumerate(frame.strokes.values()):
        at = 16 * number + 8
        piece = theme.rows([{"x": 0, "end": 30, "y": at, "text": stroke.name}])
        where = {"x": alt.X("x:Q", scale=x, axis=None), "y": alt.Y("y:Q", scale=y, axis=None)}
        rule = alt.Chart(piece).mark_rule(color=stroke.colour, strokeWidth=1.8, strokeDash=stroke.dash)
        text = alt.Chart(piece).mark_text(align="left", dx=38, baseline="middle", fontSize=11)
        layers += [rule.encode(**where, x2=alt.X2("end:Q")), text.encode(**where, text=alt.Text("text:N"))]
    return theme.layered(*layers).properties(width=frame.plot_px, height=height_px)
