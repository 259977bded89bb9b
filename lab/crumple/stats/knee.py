"""Find the knee: the load at which a quantity leaves its plateau and begins to rise, with an interval. Pure.

A knee is reported only where a plateau that ends describes the points clearly better than a plateau without
an end and than one straight line, and better than any smooth curve. (Method, rule 21.)

Not ruptures: it finds where a level or a slope changes, without an interval and without a smooth rival.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from crumple.stats import stats
from crumple.stats.stats import Interval

Floats = NDArray[np.float64]

POINTS_MIN = 8
# The fewest points on either side of a knee; fewer make no segment.
SIDE_MIN = 3
CONFIDENCE = 0.95
CANDIDATES = 200
FINER = 60
REWEIGHTED = 2
# A knee must be better than none by this much Bayesian information: odds of 90 to 1.
EVIDENCE = 9.0
# Grids for the third parameter of the smooth rivals: the power, the growth rate of an exponential, and how
# far beyond the last point a queue's times go to infinity. The load is scaled to length 1.
POWERS = (1.5, 2, 3, 4, 6)
RATES = np.geomspace(0.5, 60, 25)
POLES_BEYOND = np.geomspace(0.003, 3, 25)
# Values this many times the plateau say nothing about where the knee is; BEYOND of them are kept.
ROOF = 4.0
BEYOND = 3


@dataclass(frozen=True)
class Knee:
    """A knee `at`, with the ends of its interval, in units of the load; `level`: the value of the plateau.

    `between`: the points of the load on either side. Repeating a measurement at the same points cannot locate
    the knee more precisely than that.
    """

    at: float
    low: float
    high: float
    between: tuple[float, float]
    level: float
    confidence: float


def knee(load: Sequence[float], values: Sequence[float], confidence: float = CONFIDENCE) -> Knee | None:
    """Return the load at which `values` leave their plateau; None where they have none, or stay on it.

    Beyond the knee the model is a line that begins at the plateau or with a step; Bayesian information
    chooses between the two. Deviations are relative to the fitted value, because the noise of a time grows
    with it. The interval holds each load at which a knee would fit not much worse (profile likelihood by the
    F distribution), and reaches at least from one point of the load to the next. Raises ValueError unless
    both are rows of finite numbers of one length and `values` are above 0.
    """
    x, y = _below_the_roof(*_ordered(load, values))
    if len(x) < POINTS_MIN or x[-1] <= x[0]:
        return None
    # Scale the load to length 1, to avoid rounding errors.
    scale = x[-1] - x[0]
    u = (x - x[0]) / scale
    weights = 1 / y
    for _ in range(REWEIGHTED):
        weights = 1 / np.maximum(_fits(u, y, weights).fitted, y.min() / 2)
    chosen = _fits(u, y, weights)
    level, line = np.ones_like(u)[:, np.newaxis], np.stack([np.ones_like(u), u], axis=1)
    rival = min(_information(_misfit(design, y, weights), design) for design in (level, line))
    if not chosen.rises or chosen.information > rival - EVIDENCE:
        return None
    rivals = (_information(_misfit(smooth, y, weights), smooth, more) for smooth, more in _smooth(u))
    if chosen.information >= min(rivals):
        return None
    near = chosen.places[chosen.misfits <= _limit(chosen, confidence)]
    between = (float(x[u <= chosen.at].max()), float(x[u >= chosen.at].min()))
    at, low, high = (float(x[0] + place * scale) for place in (chosen.at, near.min(), near.max()))
    return Knee(at, min(low, between[0]), max(high, between[1]), between, chosen.level, confidence)


def over_starts(knees: Sequence[Knee], confidence: float = CONFIDENCE) -> Interval:
    """Return the geometric mean of the knees of all starts; a single knee keeps its own interval.

    The interval is no narrower than the gaps between the points of the load, which all starts share. Raises
    ValueError if `knees` is empty.
    """
    mean = stats.geometric_mean_interval([each.at for each in knees], confidence)
    if len(knees) == 1:
        return replace(mean, low=knees[0].low, high=knees[0].high)
    low, high = (
        math.exp(float(np.mean(np.log(ends)))) for ends in zip(*(each.between for each in knees), strict=True)
    )
    return replace(mean, low=min(mean.low, low), high=max(mean.high, high))


@dataclass(frozen=True, eq=False)
class _Fits:
    """One form of the curve, fitted with its knee at each of `places`, with the misfit at each.

    The other fields are those of the best fit: the `level` of the plateau, `step` and `slope` after it.
    """

    places: Floats
    misfits: Floats
    fitted: Floats
    parameters: int
    level: float
    slope: float
    step: float

    @property
    def best(self) -> int:
        return int(np.argmin(self.misfits))

    @property
    def at(self) -> float:
        return float(self.places[self.best])

    @property
    def misfit(self) -> float:
        return float(self.misfits[self.best])

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
        return _information_of(self.misfit, len(self.fitted), self.parameters)


def _fits(u: Floats, y: Floats, weights: Floats) -> _Fits:
    """The better of the two forms."""
    bent, stepped = _bent(u, y, weights), _stepped(u, y, weights)
    return stepped if stepped.rises and stepped.information < bent.information else bent


def _bent(u: Floats, y: Floats, weights: Floats) -> _Fits:
    """Fit a rise that begins at the plateau; search its knee on a coarse grid, then on a fine one."""
    coarse = np.linspace(u[SIDE_MIN - 1], u[-SIDE_MIN], CANDIDATES)
    first = _fit(u, y, weights, coarse, step=False)
    gap = coarse[1] - coarse[0]
    fine = np.linspace(first.at - 2 * gap, first.at + 2 * gap, FINER)
    places = np.append(coarse, np.clip(fine, coarse[0], coarse[-1]))
    return _fit(u, y, weights, places, step=False)


def _stepped(u: Floats, y: Floats, weights: Floats) -> _Fits:
    """Fit a rise that begins with a step, in the middle between two points."""
    gaps = (u[SIDE_MIN - 1 : -SIDE_MIN] + u[SIDE_MIN : len(u) - SIDE_MIN + 1]) / 2
    return _fit(u, y, weights, gaps, step=True)


def _fit(u: Floats, y: Floats, weights: Floats, places: Floats, *, step: bool) -> _Fits:
    """Weighted least squares with the knee at each of `places` (knees × points × coefficients)."""
    beyond = np.maximum(0.0, u - places[:, np.newaxis])
    columns = [np.ones_like(beyond), beyond, *([(beyond > 0).astype(float)] if step else [])]
    design = np.stack(columns, axis=-1) * weights[:, np.newaxis]
    wanted = y * weights
    normal = design.transpose(0, 2, 1) @ design
    coefficients = np.linalg.pinv(normal, hermitian=True) @ (
        design.transpose(0, 2, 1) @ wanted[:, np.newaxis]
    )
    deviations = (design @ coefficients)[..., 0] - wanted
    misfits = np.sum(deviations**2, axis=1)
    best = int(np.argmin(misfits))
    level, slope, *more = (float(part) for part in coefficients[best, :, 0])
    return _Fits(
        places=places,
        misfits=misfits,
        fitted=(deviations[best] + wanted) / weights,
        parameters=len(columns) + 1,
        level=level,
        slope=slope,
        step=more[0] if more else 0.0,
    )


def _misfit(design: Floats, y: Floats, weights: Floats) -> float:
    """Return the misfit of a form without a knee; `design`: points × coefficients."""
    weighted = design * weights[:, np.newaxis]
    coefficients = np.linalg.lstsq(weighted, y * weights, rcond=None)[0]
    return float(np.sum((weighted @ coefficients - y * weights) ** 2))


def _smooth(u: Floats) -> Iterator[tuple[Floats, int]]:
    """Yield curves that rise ever faster with no knee: parabolas, powers, exponentials, queues' hyperbolas.

    Each comes with the number of its parameters beside the coefficients; these parameters come from a grid.
    """
    one = np.ones_like(u)
    yield np.stack([one, u, u**2], axis=1), 0
    yield from ((np.stack([one, u**power], axis=1), 1) for power in POWERS)
    yield from ((np.stack([one, np.exp(rate * (u - 1))], axis=1), 1) for rate in RATES)
    yield from ((np.stack([one, 1 / (1 + beyond - u)], axis=1), 1) for beyond in POLES_BEYOND)


def _information(misfit: float, design: Floats, more: int = 0) -> float:
    """Return the Bayesian information; `more`: the number of parameters beside the coefficients."""
    points, coefficients = design.shape
    return _information_of(misfit, points, coefficients + more)


def _information_of(misfit: float, points: int, parameters: int) -> float:
    # Equal values have a misfit of 0; the lower bound keeps the logarithm finite.
    return points * float(np.log(max(misfit, 1e-12))) + parameters * float(np.log(points))


def _limit(chosen: _Fits, confidence: float) -> float:
    misfit = max(chosen.misfit, 1e-12)
    return misfit * (1 + float(special.fdtri(1, chosen.spare, confidence)) / chosen.spare)


def _ordered(load: Sequence[float], values: Sequence[float]) -> tuple[Floats, Floats]:
    x, y = np.asarray(load, dtype=float), np.asarray(values, dtype=float)
    if x.ndim != 1 or x.shape != y.shape or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("a load and its values are two rows of numbers of one length")
    if (y <= 0).any():
        raise ValueError("only values above 0 have a plateau to leave")
    order = np.argsort(x, kind="stable")
    return x[order], y[order]


def _below_the_roof(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Cut off the points after the values have risen far above the plateau, where they may level off."""
    plateau = float(np.median(y[: max(SIDE_MIN, len(y) // 4)])) if len(y) else 0.0
    above = np.flatnonzero(y > ROOF * plateau)
    if not len(above):
        return x, y
    end = int(above[0]) + BEYOND
    return x[:end], y[:end]
