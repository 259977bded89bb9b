"""Where a quantity leaves its plateau as the load rises: a fit of two segments, with interval. Pure.

A knee is only named where two segments fit better than one, and the second rises more steeply; anything else
has none. (Method, rule 20.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

POINTS_MIN = 8
# So many points lie on either side, at least: fewer make no segment.
SIDE_MIN = 3
P_MAX = 0.001
CONFIDENCE = 0.95
CANDIDATES = 200
FINER = 60
REWEIGHTED = 3
# By so much Bayesian information a step must be better than a bend: 20 to 1.
EVIDENCE = 6.0
# What lies so far above the plateau says no more about where it was left.
ROOF = 4.0
BEYOND = 3


@dataclass(frozen=True)
class Knee:
    """`at`, in units of the load, with the ends of its interval; `level`: of the plateau there."""

    at: float
    low: float
    high: float
    level: float
    confidence: float


def knee(load: Sequence[float], values: Sequence[float], confidence: float = CONFIDENCE) -> Knee | None:
    """The load at which `values` leave their plateau; None where one segment fits as well.

    The segments meet at the knee, or the second begins higher; the data choose (Bayesian information).
    Deviations count relative to the fitted value, for the noise of a response time grows with it. The
    interval holds each load at which a knee would fit not much worse (profile likelihood by the F
    distribution), and reaches from one point of the load to the next at least. Raises ValueError unless both
    are rows of numbers above 0 of one length.
    """
    x, y = _below_the_roof(*_ordered(load, values))
    if len(x) < POINTS_MIN or x[-1] <= x[0]:
        return None
    # In units of its own length the load leaves no room for rounding.
    scale = x[-1] - x[0]
    u = (x - x[0]) / scale
    weights = 1 / y
    for _ in range(REWEIGHTED):
        bent, broken = _bent(u, y, weights), _broken(u, y, weights)
        chosen = broken if broken.rises and broken.information < bent.information - EVIDENCE else bent
        weights = 1 / np.maximum(chosen.fitted, y.min() / 2)
    straight = _fit(u[np.newaxis, :], y, weights, np.zeros(1), bend=False, jump=False)
    if not chosen.rises or _chance(straight, chosen) > P_MAX:
        return None
    near = chosen.places[chosen.misfits <= _limit(chosen, confidence)]
    low = min(near.min(), u[u <= chosen.at].max())
    high = max(near.max(), u[u >= chosen.at].min())
    back = (float(x[0] + place * scale) for place in (chosen.at, low, high))
    return Knee(*back, float(chosen.level), confidence)


@dataclass(frozen=True, eq=False)
class _Fits:
    """One form of the curve, fitted with its knee at each of `places`; what follows is that of the best."""

    places: Floats
    misfits: Floats
    fitted: Floats
    parameters: int
    level: float
    rises: bool

    @property
    def best(self) -> int:
        return int(np.argmin(self.misfits))

    @property
    def at(self) -> float:
        return float(self.places[self.best])

    @property
    def misfit(self) -> float:
        # Equal values leave no misfit at all; a hair keeps quotients numbers.
        return max(float(self.misfits[self.best]), 1e-12)

    @property
    def spare(self) -> int:
        return len(self.fitted) - self.parameters

    @property
    def information(self) -> float:
        n = len(self.fitted)
        return n * float(np.log(self.misfit)) + self.parameters * float(np.log(n))


def _bent(u: Floats, y: Floats, weights: Floats) -> _Fits:
    """Two segments that meet; where, is looked for coarsely and then finely."""
    coarse = np.linspace(u[SIDE_MIN - 1], u[-SIDE_MIN], CANDIDATES)
    first = _fit(u[np.newaxis, :], y, weights, coarse, bend=True, jump=False)
    step = coarse[1] - coarse[0]
    fine = np.linspace(first.at - 2 * step, first.at + 2 * step, FINER)
    places = np.append(coarse, np.clip(fine, coarse[0], coarse[-1]))
    return _fit(u[np.newaxis, :], y, weights, places, bend=True, jump=False)


def _broken(u: Floats, y: Floats, weights: Floats) -> _Fits:
    """Two segments of which the second begins anew, somewhere between two points: in the middle."""
    gaps = (u[SIDE_MIN - 1 : -SIDE_MIN] + u[SIDE_MIN : len(u) - SIDE_MIN + 1]) / 2
    return _fit(u[np.newaxis, :], y, weights, gaps, bend=True, jump=True)


def _fit(u: Floats, y: Floats, weights: Floats, places: Floats, *, bend: bool, jump: bool) -> _Fits:
    """Weighted least squares with the knee at each of `places` (knees × points × coefficients)."""
    beyond = np.maximum(0.0, u - places[:, np.newaxis])
    over = np.broadcast_to(u, beyond.shape)
    columns = [np.ones_like(beyond), over, *([beyond] if bend else []), *([beyond > 0] if jump else [])]
    design = np.stack(columns, axis=-1) * weights[:, np.newaxis]
    wanted = y * weights
    normal = design.transpose(0, 2, 1) @ design
    coefficients = np.linalg.pinv(normal, hermitian=True) @ (
        design.transpose(0, 2, 1) @ wanted[:, np.newaxis]
    )
    deviations = (design @ coefficients)[..., 0] - wanted
    misfits = np.sum(deviations**2, axis=1)
    best = int(np.argmin(misfits))
    constant, slope, *more = (float(part) for part in coefficients[best, :, 0])
    # A step up, or a bend that leaves the slope before it behind.
    rises = more[-1] > 0 if jump else bool(more) and more[0] > abs(slope)
    level = constant + slope * places[best]
    return _Fits(places, misfits, (deviations[best] + wanted) / weights, 2 + len(more) + bend, level, rises)


def _chance(straight: _Fits, chosen: _Fits) -> float:
    """p of so much better a fit, were there one segment only."""
    more = chosen.parameters - straight.parameters
    gained = (straight.misfit - chosen.misfit) / more / (chosen.misfit / chosen.spare)
    return float(stats.f.sf(gained, more, chosen.spare))


def _limit(chosen: _Fits, confidence: float) -> float:
    return chosen.misfit * (1 + float(stats.f.ppf(confidence, 1, chosen.spare)) / chosen.spare)


def _ordered(load: Sequence[float], values: Sequence[float]) -> tuple[Floats, Floats]:
    x, y = np.asarray(load, dtype=float), np.asarray(values, dtype=float)
    if x.ndim != 1 or x.shape != y.shape or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("a load and its values are two rows of numbers of one length")
    if (y <= 0).any():
        raise ValueError("only values above 0 have a plateau to leave")
    order = np.argsort(x, kind="stable")
    return x[order], y[order]


def _below_the_roof(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Without what follows, where the values have left the plateau far behind; there they may level off."""
    plateau = float(np.median(y[: max(SIDE_MIN, len(y) // 4)])) if len(y) else 0.0
    above = np.flatnonzero(y > ROOF * plateau)
    if not len(above):
        return x, y
    end = int(above[0]) + BEYOND
    return x[:end], y[:end]
