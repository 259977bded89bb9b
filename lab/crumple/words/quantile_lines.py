"""Lines of response times over percentiles, both axes logarithmic. Pure."""

import math
from collections.abc import Mapping

from crumple import contract
from crumple.drawing import numerals
from crumple.drawing.plot import ChartKey, Graph, Line, Picture, picture
from crumple.drawing.scale import AxisScale, quantile_axis, time_axis
from crumple.record import histogram
from crumple.stats import averages

# A line has 80 points, evenly spaced on its logarithmic axis: one every few pixels.
LINE_POINTS = 80
# The smallest ratio between the ends of an axis of times, as a narrower one might have no tick.
TIMES_RATIO_MIN = 3.0
# On an axis of times, the least factor between its ends and what is drawn.
BESIDE = 1.15

Points = list[tuple[float, float]]


def points_of(stored: contract.HistogramRecord) -> Points:
    """Return points from 1/(1−q) to ns, as far as there are enough samples; none if too few for the p50."""
    if not histogram.printable(0.5, stored.count):
        return []
    times = histogram.decode(stored.encoded)
    deepest = stored.count / histogram.SAMPLES_BEYOND
    return [
        (x, max(1.0, times.quantile_ns(1 - 1 / x)))
        for x in averages.even_on_logarithms(1.05, deepest, LINE_POINTS)
    ]


def lines(
    named: Mapping[str, contract.HistogramRecord], colours: Mapping[str, str], beside: str = ""
) -> Picture | None:
    """Return a line of time over percentile for each name; None: none has enough samples.

    `beside`: the name of a line that is drawn as far as it lies within the axis of the others.
    """
    found = {name: points for name, stored in named.items() if (points := points_of(stored))}
    spanning = [point for name, points in found.items() if name != beside for point in points]
    if not spanning:
        return None
    scale = times_between([ns for _, ns in spanning])
    found = {name: [each for each in points if scale.has(each[1])] for name, points in found.items()}
    drawn = [Line(points, colours[name], name) for name, points in found.items() if points]
    depth = math.ceil(math.log10(max(x for x, _ in spanning)))
    ends = (f"{line.name} up to {numerals.duration(line.points[-1][1])}" for line in drawn if line.points[-1])
    keys = [ChartKey(line.name, line.colour, "line") for line in drawn] if len(drawn) > 1 else []
    return picture(Graph(quantile_axis(depth), time_axis(scale), drawn), "; ".join(ends), keys)


def times_between(times_ns: list[float]) -> AxisScale:
    """Return a logarithmic scale of times that shows all of them."""
    low, high = min(times_ns) / BESIDE, max(times_ns) * BESIDE
    if high < TIMES_RATIO_MIN * low:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(TIMES_RATIO_MIN), middle * math.sqrt(TIMES_RATIO_MIN)
    return AxisScale(low, high, log=True)
