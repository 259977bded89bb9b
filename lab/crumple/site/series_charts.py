"""The charts of a series: each figure, result after result, with its levels and where they shift. Pure."""

import itertools

from crumple.drawing import numerals, scale, theme
from crumple.drawing.chart import BoundChart
from crumple.drawing.plot import (
    Area,
    ChartKey,
    Dot,
    Graph,
    Guide,
    Line,
    Picture,
    PlotMark,
    Step,
    Steps,
    picture,
)
from crumple.drawing.scale import AxisScale, AxisTick, ChartAxis
from crumple.site import site_words
from crumple.site.series import Course, FigureShift, Series, Stretch

# Half of the room that a result has on the axis: results stand side by side, whatever the time between them.
HALF = 0.5
# The most days, or times of one day, below a chart.
LABELS = 6
# The axis begins at 0 if the lowest value is below this share of the highest: then it costs little room.
FROM_ZERO_BELOW = 0.5
# The room that an axis has beyond the values, as a share of their span, and at least of the highest value.
BESIDE, BESIDE_MIN = 0.15, 0.01
# A little smaller than in other charts, since there may be hundreds.
RADIUS_PX = 3.5
_CAPTION = (
    "A mark for each result, in the order of time; a ring does not count. A line is the mean of the results "
    "between two shifts, with its 95 % interval."
)


def charts(series: Series) -> list[BoundChart]:
    """Return a chart of each figure, those that shift first."""
    shifted_first = sorted(series.courses, key=lambda course: not course.shifts)
    return [chart(series, course, number) for number, course in enumerate(shifted_first)]


def chart(series: Series, course: Course, number: int, of: str = "") -> BoundChart:
    """Return the chart of one figure. `number`: which of the page's charts it is; `of`: what was asked."""
    caption = _CAPTION if not number else ""
    title = f"{course.name} of {of}" if of else course.name
    return BoundChart(title, caption, f"course-{number}", lambda: drawn(series, course))


def drawn(series: Series, course: Course) -> Picture:
    """Draw a figure over the results of a series."""
    marks: list[PlotMark] = []
    for each in course.stretches:
        said = f"mean of {len(each.places)}: {site_words.with_ends(each.level, course.unit)}"
        for left, right in _without_others(series, each):
            if numerals.worth_showing(each.level):
                marks.append(Area(theme.SHADE, left, right, each.level.low, each.level.high))
            marks.append(Steps([Step(left, right, each.level.estimate, said)], theme.INK))
    marks += _machines(series)
    marks += [_shift(found) for found in course.shifts]
    for place, figure in sorted(course.figures.items()):
        entry = series.entries[place]
        if figure.low is not None and figure.high is not None:
            marks.append(Line([(place, figure.low), (place, figure.high)], theme.MUTED, width=1.2))
        said = f"{entry.row.name}, {site_words.when(entry)}: {site_words.figure(figure)}"
        if figure.against:
            said += f"; does not count: {figure.against}"
        colour = theme.FAMILIES["go"] if figure.counts else theme.MUTED
        marks.append(Dot(place, figure.value, colour, said, "dot" if figure.counts else "ring", RADIUS_PX))
    return picture(
        Graph(_results(series), _values(course), marks), _says(series, course), _keys(series, course)
    )


def _without_others(series: Series, stretch: Stretch) -> list[tuple[float, float]]:
    """Return where the line of a stretch begins and ends: results of other machines interrupt it."""
    mine = next(places for places in series.machines.values() if stretch.places[0] in places)
    others = {*range(stretch.places[0], stretch.places[-1])} - {*mine}
    parts = [[stretch.places[0]]]
    for before, place in itertools.pairwise(stretch.places):
        if others & {*range(before, place)}:
            parts.append([])
        parts[-1].append(place)
    return [(part[0] - HALF, part[-1] + HALF) for part in parts]


def _shift(found: FigureShift) -> Guide:
    colour = theme.FAMILIES["javascript" if found.is_better else "java"]
    return Guide(colour, found.place - HALF, label=site_words.short(found))


def _machines(series: Series) -> list[PlotMark]:
    return [Guide(theme.MUTED, place - HALF, dash="3 3") for place in series.machine_changes]


def _results(series: Series) -> ChartAxis:
    """Return the axis of results, with the day of some of them, or the time if all are of one day."""
    said = [f"{site_words.at(entry):%d %b}" for entry in series.entries]
    if len({*said}) == 1:
        said = [f"{site_words.at(entry):%H:%M}" for entry in series.entries]
    ticks: list[AxisTick] = []
    for place, label in enumerate(said):
        # Labels nearer to each other would overlap.
        is_free = not ticks or place - ticks[-1].at >= len(said) / LABELS
        if is_free and label not in said[:place]:
            ticks.append(AxisTick(float(place), label))
    return ChartAxis(AxisScale(-HALF, len(said) - HALF), ticks)


def _values(course: Course) -> ChartAxis:
    ends = [
        end
        for each in course.figures.values()
        for end in (each.value, each.low, each.high)
        if end is not None
    ]
    low, high = min(ends), max(ends)
    room = max(BESIDE * (high - low), BESIDE_MIN * high)
    spanned = AxisScale(0.0 if low < FROM_ZERO_BELOW * high else low - room, high + room)
    match course.unit:
        case "ns":
            return scale.time_axis(spanned)
        case "µs":
            found = scale.time_axis(AxisScale(spanned.low * 1e3, spanned.high * 1e3))
            return ChartAxis(spanned, [AxisTick(tick.at / 1e3, tick.label) for tick in found.ticks])
        case _:
            return scale.count_axis(spanned, course.unit)


def _keys(series: Series, course: Course) -> list[ChartKey]:
    keys = []
    if any(not each.counts for each in course.figures.values()):
        keys.append(ChartKey("does not count", theme.MUTED, "ring"))
    if series.machine_changes:
        keys.append(ChartKey("another machine than before", theme.MUTED, "line", "3 3"))
    for is_better, label, family in ((False, "worse", "java"), (True, "better", "javascript")):
        if any(each.is_better is is_better for each in course.shifts):
            keys.append(ChartKey(f"shift for the {label}", theme.FAMILIES[family], "line"))
    return keys


def _says(series: Series, course: Course) -> str:
    said = [site_words.shift(series, course, each) for each in course.shifts]
    number = numerals.count(len(course.figures), "result")
    return f"{course.name} of {number}: {'; '.join(said) if said else 'no shift was found'}"
