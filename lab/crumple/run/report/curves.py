"""Charts with a panel for each server: response time over percentile, and throughput over time.

Each function is pure: an experiment → a picture, or None if nothing was measured. A line is one start; starts
are not averaged, because a mean of percentiles is not a percentile. Of many starts the median is drawn.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from crumple.drawing import numerals, scale, theme
from crumple.drawing.plot import Area, Band, Graph, Line, Panel, Picture, PlotMark
from crumple.drawing.scale import ChartAxis
from crumple.record import evenness, growth, histogram, lateness
from crumple.run.report.bars import remark, short_labels
from crumple.run.report.view import ExperimentView, ServerView, StartView

# How many panels a wide page has beside each other.
COLUMNS = 4
# The heights of panels in px.
QUANTILES_PX, TIME_PX = 130, 84
# From 12 starts on lines cover one another, and a median and a band show more.
LINES_MAX = 11
# The band has nine tenths of the starts: the lowest and the highest of many are chance.
BAND = (5, 50, 95)
# The median. Points of a curve above it are left out if the engine was too late for them.
MEDIAN = 0.5
# Curves reach to a percentile of 99.9 at most: one in ten to the third is beyond it.
_DEPTH = 3
# Where the median is on the axis of percentiles.
_AT_MEDIAN = 1 / (1 - MEDIAN)
# The places of a curve's points, and of its median: a panel is so narrow that more make the same line.
_PLACES = sorted({_AT_MEDIAN, *(round(float(x), 3) for x in np.geomspace(1.05, 10.0**_DEPTH, 28))})
# With fewer answers in an interval of the throughput, chance moves it by more than a third.
ANSWERS_MIN = 10
# A panel has room for this many intervals: a line with more points would look the same.
INTERVALS_MAX = 70
# Nanoseconds in a second.
SECOND_NS = 1e9

# A point: x and y.
XY = tuple[float, float]


def response_time(experiment: ExperimentView) -> Picture | None:
    """Draw response time over percentile, both logarithmic, with the other servers in grey behind."""
    curves = {
        row.name: [found for start in row.counting if (found := curve(start))] for row in experiment.servers
    }
    drawn = [(row, name) for row, name in _named(experiment.servers) if curves[row.name]]
    if not drawn:
        return None
    times_ns = [ns for lines in curves.values() for line in lines for _, ns in line]
    x, y = _quantiles(), scale.time_axis(scale.around([*times_ns], 1.15), most=4)
    middles = {row.name: _middle(curves[row.name]) for row, _ in drawn}
    panels = []
    for row, name in drawn:
        others = [Line(line, theme.CONTEXT, width=1) for of, line in middles.items() if of != row.name]
        own = _lines(curves[row.name], theme.colour_of(row.note.language), _PLACES)
        panels.append(Panel(Graph(x, y, [*others, *own], QUANTILES_PX), name, [*filter(None, [remark(row)])]))
    says = "; ".join(f"{name} {_in_words(middles[row.name])}" for row, name in drawn)
    return Picture(panels, f"median response times: {says}", columns=COLUMNS)


def over_time(experiment: ExperimentView) -> Picture | None:
    """Draw answers per second from the first request on, with the warm-up shaded.

    Each panel has its own vertical scale.
    """
    panels = []
    for row, name in _named(experiment.servers):
        if any(start.trial.record for start in row.starts):
            remarks = filter(None, (steady(row), remark(row)))
            panels.append(Panel(_time_graph(row), name, [*remarks]))
    says = "answers per second over the time of each start, in the warm-up and while measured"
    return Picture(panels, says, columns=COLUMNS) if panels else None


def steady(row: ServerView) -> str:
    """Return whether the throughput of a server was steady while measured, in words; empty: unknown."""
    records = [each for start in row.starts if (each := start.trial.record) and growth.is_known(each)]
    grown = sum(growth.growth(each) is not None for each in records)
    if grown:
        return f"still grew in {grown} of {len(records)}"
    even = [evenness.is_even(each) for each in records]
    if False in even:
        return f"not steady in {even.count(False)} of {len(records)}"
    if not row.counting:
        return "no valid start"
    return "steady while measured" if even and None not in even else ""


def curve(start: StartView) -> list[XY]:
    """Return the points of one start: x = 1/(1−q), and the quantile in ns.

    Quantiles that have too few samples are left out, and those that the engine's lateness may have changed.
    """
    record = start.trial.record
    if record is None or not record.histograms.response_time.count:
        return []
    times = histogram.decoded(record.histograms.response_time)
    deepest = min(10.0**_DEPTH, times.count / histogram.SAMPLES_BEYOND)
    if deepest <= _PLACES[0]:
        return []
    quantiles = {1 - 1 / x: x for x in [*(place for place in _PLACES if place < deepest), deepest]}
    late = lateness.spoiled_quantiles(record, tuple(q for q in quantiles if q > MEDIAN))
    return [(x, times.quantile_ns(q)) for q, x in quantiles.items() if q not in late]


def _quantiles() -> ChartAxis:
    """Return the axis of percentiles; half of a narrow screen has room for every second label."""
    axis = scale.quantile_axis(_DEPTH)
    return replace(axis, ticks=[replace(tick, is_wide=at % 2 == 1) for at, tick in enumerate(axis.ticks)])


def _named(rows: Sequence[ServerView]) -> list[tuple[ServerView, str]]:
    return [*zip(rows, short_labels(rows), strict=True)]


def _in_words(line: Sequence[XY]) -> str:
    median_ns = dict(line).get(_AT_MEDIAN)
    return "has too few answers" if median_ns is None else numerals.duration(median_ns)


def _middle(lines: Sequence[Sequence[XY]]) -> Sequence[XY]:
    """Return a single start: the middle one, ordered by a response time near the median."""
    drawn = sorted(lines, key=lambda line: line[len(line) // 5][1])
    return drawn[len(drawn) // 2]


def _lines(lines: Sequence[Sequence[XY]], colour: str, places: Sequence[float]) -> Iterator[PlotMark]:
    """Yield a line for each start, or of many their median and a band at those places."""
    if len(lines) <= LINES_MAX:
        yield from (Line(line, colour, opacity=0.9) for line in lines)
        return
    values = np.array([_at(places, line) for line in lines])
    # Lines end at different places; half of the starts have a value at each place that is drawn.
    known = 2 * (~np.isnan(values)).sum(axis=0) >= len(lines)
    at = np.asarray(places)[known].tolist()
    lows, middles, highs = np.nanpercentile(values[:, known], BAND, axis=0).tolist()
    yield Band([*zip(at, lows, highs, strict=True)], colour)
    yield Line([*zip(at, middles, strict=True)], colour)


def _at(places: Sequence[float], line: Sequence[XY]) -> NDArray[np.float64]:
    """Return the values of a line at places; NaN where it does not reach."""
    x, y = zip(*line, strict=True)
    found: NDArray[np.float64] = np.interp(
        np.asarray(places), np.asarray(x), np.asarray(y), left=math.nan, right=math.nan
    )
    return found


def _time_graph(row: ServerView) -> Graph:
    starts = [start for start in row.starts if start.trial.record]
    lines = [*zip(starts, _speeds(starts), strict=True)]
    points = [point for _, line in lines for point in line]
    longest_s = max((at_s for at_s, _ in points), default=1.0)
    warm_up_s = max(start.trial.record.warm_up_ns for start in starts if start.trial.record) / SECOND_NS
    marks: list[PlotMark] = [Area(theme.SHADE, 0.0, warm_up_s, title="warm-up")]
    counting = [line for start, line in lines if start.counts and line]
    places = np.linspace(0.0, longest_s, INTERVALS_MAX).tolist()
    marks += _lines(counting, theme.colour_of(row.note.language), places)
    for start, line in [each for each in lines if not each[0].counts][:LINES_MAX]:
        marks.append(Line(line, theme.MUTED, f"block {start.trial.trial.block}: not valid", "2 2", width=1.2))
    y = scale.count_axis(scale.from_zero(speed for _, speed in points), most=3)
    return Graph(scale.seconds_axis(longest_s, 3), y, marks, TIME_PX, is_time=True)


def _speeds(starts: Sequence[StartView]) -> list[list[XY]]:
    """Return the answers per second of each start, in intervals with enough answers, as steps."""
    series = [start.trial.record.series for start in starts if start.trial.record]
    steps = [[*zip(of.at_ns, of.duration_ns, of.ok, of.phase, strict=True)] for of in series]
    answers = [ok for each in steps for _, _, ok, _ in each]
    longest = max(map(len, steps), default=0)
    few = math.ceil(ANSWERS_MIN / mean) if answers and (mean := fmean(answers)) else 1
    together = max(1, min(few, longest), math.ceil(longest / INTERVALS_MAX))
    return [_merged(each, together) for each in steps]


# When an interval began, how long it was, its answers, and its phase.
Interval = tuple[int, int, int, str]


def _merged(steps: Sequence[Interval], together: int) -> list[XY]:
    """Return a line over intervals of which each has `together` of those that were stored, in one phase.

    A single one is drawn at its middle, several level over all of them: a slope was not measured.
    """
    line: list[XY] = []
    for of in dict.fromkeys(phase for *_, phase in steps):
        own = [each for each in steps if each[-1] == of]
        # What remains at the end belongs to the last interval, as alone it would have too few answers.
        begins = [*range(0, max(1, len(own) - together + 1), together)]
        for first, end in zip(begins, [*begins[1:], len(own)], strict=True):
            part = own[first:end]
            begin_ns, length_ns = part[0][0], sum(each[1] for each in part)
            if length_ns <= 0:
                continue
            speed = round(sum(each[2] for each in part) / length_ns * SECOND_NS, 1)
            shares = (0.5,) if together == 1 else (0.0, 1.0)
            line += [(round((begin_ns + length_ns * each) / SECOND_NS, 4), speed) for each in shares]
    return line
