"""Find the knee: the load at which a quantity leaves its plateau and begins to rise, with an interval. Pure.

A knee is reported only where a plateau that ends describes the points clearly better than a plateau without
an end and than one straight line, and better than any smooth curve.

Not ruptures: it finds where a level or a slope changes, without an interval and without a smooth rival.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import mul
from statistics import fmean, median
from typing import NamedTuple

from crumple.stats import averages, student
from crumple.stats.interval import CONFIDENCE, Interval

Floats = Sequence[float]

# The fewest points in which a knee is looked for: more than the fewest on either side of one.
POINTS_MIN = 8
# The fewest points on either side of a knee; fewer make no segment.
SIDE_MIN = 3
# At how many places of the load a knee is tried, and at how many more around the best of them.
CANDIDATES, FINER = 200, 60
# How often the weights of the points are taken from the fit anew; then they hardly change any more.
REWEIGHTED = 2
# By how much Bayesian information a knee must be better than none, at least: odds of 90 to 1.
EVIDENCE = 9.0
# Grids for the third parameter of the smooth rivals: the power, the growth rate of an exponential, and how
# far beyond the last point a queue's times go to infinity. The load is scaled to length 1.
POWERS = (1.5, 2, 3, 4, 6)
RATES = tuple(averages.even_on_logarithms(0.5, 60, 25))
POLES_BEYOND = tuple(averages.even_on_logarithms(0.003, 3, 25))
# The multiple of the plateau above which values say nothing about where the knee is, and how many of them are
# kept.
ROOF, BEYOND = 4.0, 3


@dataclass(frozen=True)
class Knee:
    """A knee `at`, with the ends of its interval, in units of the load"""

    at: float
    low: float
    high: float
    between: tuple[float, float]
    """The points of the load on either side.

    Repeating a measurement at the same points cannot locate the knee more precisely than that.
    """
    level: float
    """The value of the plateau."""
    confidence: float


def knee(load: Sequence[float], values: Sequence[float], confidence: float = CONFIDENCE) -> Knee | None:
    """Return the load at which `values` leave their plateau; None where they have none, or stay on it.

    Beyond the knee the model is a line that begins at the plateau or with a step; Bayesian information
    chooses between the two. Deviations are relative to the fitted value, because the noise of a time grows
    with it. The interval holds each load at which a knee would fit not much worse (profile likelihood by the
    F distribution), and reaches at least from one point of the load to the next. Raises ValueError unless
    both are rows of finite numbers of one length and `values` are above 0.
    """
    x, y = _below_the_roof(*_order(load, values))
    if len(x) < POINTS_MIN or x[-1] <= x[0]:
        return None
    # Scale the load to length 1, to avoid rounding errors.
    scale = x[-1] - x[0]
    u = [(each - x[0]) / scale for each in x]
    weights = [1 / value for value in y]
    for _ in range(REWEIGHTED):
        weights = [1 / max(value, min(y) / 2) for value in _fits(u, y, weights).fitted]
    chosen = _fits(u, y, weights)
    rival = min(_rival([], y, weights), _rival([u], y, weights))
    if not chosen.rises or chosen.information > rival - EVIDENCE:
        return None
    if chosen.information >= min(_rival(smooth, y, weights, more) for smooth, more in _smooth(u)):
        return None
    limit = _limit(chosen, confidence)
    near = [place for place, misfit in zip(chosen.places, chosen.misfits, strict=True) if misfit <= limit]
    after = bisect_right(u, chosen.at)
    between = x[after - 1], x[after - (u[after - 1] == chosen.at)]
    at, low, high = (x[0] + place * scale for place in (chosen.at, min(near), max(near)))
    return Knee(at, min(low, between[0]), max(high, between[1]), between, chosen.level, confidence)


def over_starts(knees: Sequence[Knee], hosts: Sequence[str] = (), confidence: float = CONFIDENCE) -> Interval:
    """Return the geometric mean of the knees of all starts; a single knee keeps its own interval.

    The interval is no narrower than the gaps between the points of the load, which all starts share.
    `hosts`: the host of each; none: all are of one. Raises ValueError if `knees` is empty.
    """
    # Imported here, as several starts are not known of a single load, which does without numpy.
    from crumple.stats import of_hosts

    mean = of_hosts.geometric_mean([each.at for each in knees], hosts, confidence)
    if len(knees) == 1:
        return replace(mean, low=knees[0].low, high=knees[0].high)
    low, high = (
        math.exp(fmean([math.log(end) for end in ends]))
        for ends in zip(*(each.between for each in knees), strict=True)
    )
    return replace(mean, low=min(mean.low, low), high=max(mean.high, high))


@dataclass(frozen=True)
class _Fits:
    """One form of the curve, fitted with its knee at each of `places`, with the misfit at each.

    The other fields are those of the best fit: the `level` of the plateau, `step` and `slope` after it.
    """

    places: Floats
    misfits: Floats
    fitted: Floats
    parameters: int
    at: float
    level: float
    slope: float
    step: float

    @property
    def misfit(self) -> float:
        return min(self.misfits)

    @property
    def spare(self) -> int:
        return len(self.fitted) - self.parameters

    @property
    def rises(self) -> bool:
        """Whether the curve rises after the knee, with or without a step, and ends above the plateau."""
        end = self.step + self.slope * (1 - self.at)
        return end > 0 and self.step >= 0

    @property
    def information(self) -> float:
        return _information(self.misfit, len(self.fitted), self.parameters)


class _Tail(NamedTuple):
    """Weighted sums over the points beyond a place, by their distance from it."""

    weight: float
    u: float
    uu: float
    y: float
    """The distance of values from the mean of all."""
    uy: float


class _Fit(NamedTuple):
    """One fit: the plateau, the slope and step after it, and the sum of the squares that is left."""

    level: float
    slope: float
    step: float
    misfit: float


class _Sums:
    """Weighted sums over the last points, so that a fit at any place takes no pass over all of them."""

    def __init__(self, u: Floats, y: Floats, weights: Floats) -> None:
        self._u = u
        squares = [weight * weight for weight in weights]
        self.mean = fmean(y, squares)
        off = [value - self.mean for value in y]
        self.weight = math.fsum(squares)
        self.yy = math.fsum(w * value * value for w, value in zip(squares, off, strict=True))
        rows = list(zip(squares, u, off, strict=True))
        columns = [
            _from_the_end(term(*row) for row in reversed(rows))
            for term in (
                lambda w, _, __: w,
                lambda w, at, _: w * at,
                lambda w, at, _: w * at * at,
                lambda w, _, value: w * value,
                lambda w, at, value: w * at * value,
            )
        ]
        self._tails = list(zip(*columns, strict=True))

    def beyond(self, place: float) -> _Tail:
        at = len(self._u) - bisect_right(self._u, place)
        w, u, uu, y, uy = self._tails[at]
        return _Tail(w, u - place * w, uu - 2 * place * u + place * place * w, y, uy - place * y)

    def bend(self, place: float) -> _Fit:
        """Fit a plateau, and after the place a line that begins at it."""
        tail = self.beyond(place)
        # The weighted mean of all y is 0, so the level follows from the slope.
        spread = tail.uu - tail.u * tail.u / self.weight
        slope = tail.uy / spread if spread > 0 else 0.0
        misfit = self.yy - slope * tail.uy
        return _Fit(self.mean - slope * tail.u / self.weight, slope, 0.0, max(0.0, misfit))

    def step(self, place: float) -> _Fit:
        """Fit a plateau, and after the place any line: the two do not touch each other."""
        tail = self.beyond(place)
        head_weight, head_y = self.weight - tail.weight, -tail.y
        level, begins = head_y / head_weight, tail.y / tail.weight
        spread = tail.uu - tail.u * tail.u / tail.weight
        along = tail.uy - tail.u * begins
        slope = along / spread if spread > 0 else 0.0
        misfit = self.yy - level * head_y - begins * tail.y - slope * along
        step = begins - slope * tail.u / tail.weight - level
        return _Fit(self.mean + level, slope, step, max(0.0, misfit))


def _from_the_end(terms: Iterator[float]) -> list[float]:
    return list(accumulate(terms, initial=0.0))


def _fits(u: Floats, y: Floats, weights: Floats) -> _Fits:
    """The better of the two forms."""
    sums = _Sums(u, y, weights)
    bent, stepped = _fits_with_bend(u, sums), _fits_with_step(u, sums)
    return stepped if stepped.rises and stepped.information < bent.information else bent


def _fits_with_bend(u: Floats, sums: _Sums) -> _Fits:
    """Fit a rise that begins at the plateau; search its knee on a coarse grid, then on a fine one."""
    coarse = averages.even(u[SIDE_MIN - 1], u[-SIDE_MIN], CANDIDATES)
    fits = [sums.bend(place) for place in coarse]
    first, gap = coarse[_least(fits)], coarse[1] - coarse[0]
    around = averages.even(first - 2 * gap, first + 2 * gap, FINER)
    fine = [min(coarse[-1], max(coarse[0], place)) for place in around]
    return _best(u, [*coarse, *fine], [*fits, *map(sums.bend, fine)], 3)


def _fits_with_step(u: Floats, sums: _Sums) -> _Fits:
    """Fit a rise that begins with a step, in the middle between two points."""
    gaps = [(u[at - 1] + u[at]) / 2 for at in range(SIDE_MIN, len(u) - SIDE_MIN + 1)]
    return _best(u, gaps, [sums.step(place) for place in gaps], 4)


def _least(fits: Sequence[_Fit]) -> int:
    return min(range(len(fits)), key=lambda at: fits[at].misfit)


def _best(u: Floats, places: Floats, fits: Sequence[_Fit], parameters: int) -> _Fits:
    """Weighted least squares with the knee at each of `places`: `fits`."""
    best = _least(fits)
    at, chosen = places[best], fits[best]
    return _Fits(
        places=places,
        misfits=[each.misfit for each in fits],
        fitted=[
            chosen.level + (chosen.step + chosen.slope * (each - at) if each > at else 0.0) for each in u
        ],
        parameters=parameters,
        at=at,
        level=chosen.level,
        slope=chosen.slope,
        step=chosen.step,
    )


def _rival(columns: Sequence[Floats], y: Floats, weights: Floats, more: int = 0) -> float:
    """Return the Bayesian information of a form without a knee: a constant and a multiple of each column.

    `more`: the number of parameters beside the coefficients.
    """
    left = list(map(mul, y, weights))
    done: list[Floats] = []
    for column in ([1.0] * len(y), *columns):
        # Keep of this column what the columns before it do not explain.
        own: Floats = list(map(mul, column, weights))
        for before in done:
            own = _without(own, before)
        done.append(own)
        left = _without(left, own)
    # What no column explains.
    misfit = math.fsum(map(mul, left, left))
    return _information(misfit, len(y), 1 + len(columns) + more)


def _without(values: Floats, direction: Floats) -> list[float]:
    """Return the values without their part in that direction."""
    length = math.fsum(map(mul, direction, direction))
    along = math.fsum(map(mul, values, direction))
    share = along / length if length > 0 else 0.0
    return [value - share * each for value, each in zip(values, direction, strict=True)]


def _smooth(u: Floats) -> Iterator[tuple[Sequence[Floats], int]]:
    """Yield curves that rise ever faster with no knee: parabolas, powers, exponentials, queues' hyperbolas.

    Each comes with the number of its parameters beside the coefficients; these parameters come from a grid.
    """
    yield (u, [each * each for each in u]), 0
    yield from ((([each**power for each in u],), 1) for power in POWERS)
    yield from ((([math.exp(rate * (each - 1)) for each in u],), 1) for rate in RATES)
    yield from ((([1 / (1 + beyond - each) for each in u],), 1) for beyond in POLES_BEYOND)


def _information(misfit: float, points: int, parameters: int) -> float:
    # Equal values have a misfit of 0; the lower bound keeps the logarithm finite.
    return points * math.log(max(misfit, 1e-12)) + parameters * math.log(points)


def _limit(chosen: _Fits, confidence: float) -> float:
    misfit = max(chosen.misfit, 1e-12)
    # With one degree of freedom above, F is the square of Student's t.
    f = student.of_interval(chosen.spare, confidence) ** 2
    return misfit * (1 + f / chosen.spare)


def _order(load: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[float]]:
    points = [(float(at), float(value)) for at, value in zip(load, values, strict=True)]
    if not all(math.isfinite(at) and math.isfinite(value) for at, value in points):
        raise ValueError("a load and its values are two rows of numbers of one length")
    if any(value <= 0 for _, value in points):
        raise ValueError("only values above 0 have a plateau to leave")
    points.sort(key=lambda point: point[0])
    return [at for at, _ in points], [value for _, value in points]


def _below_the_roof(x: list[float], y: list[float]) -> tuple[list[float], list[float]]:
    """Cut off the points after the values have risen far above the plateau, where they may level off."""
    plateau = median(y[: max(SIDE_MIN, len(y) // 4)]) if y else 0.0
    above = next((at for at, value in enumerate(y) if value > ROOF * plateau), None)
    return (x, y) if above is None else (x[: above + BEYOND], y[: above + BEYOND])
