"""How likely what a level showed is, at a given breaking point: the law of queues, and a law of shares. Pure.

**Where a queue grows.** Near its capacity the wait in any queue moves like a random walk that cannot fall
below zero (Kingman, *The heavy traffic approximation*, 1965). Its drift is load/capacity − 1, and its spread
follows from the variance of arrivals and of the work of requests. Two things follow: how likely a wait grows
beyond the limit within a level, which begins without a queue, and which share of requests waits for longer
than the limit in the long run. At the breaking point that share equals the objective's limit; it lies at
`capacity − ln(1/share) × variance / (2 × room)`. `room`: the limit less the response time without a queue.
So a level of seconds that holds at a load slightly below the capacity says little, and has little weight.

**Where slow or failed answers come one by one.** Their share rises with the load: a floor, there at any load,
and a Weibull curve above it (as in Quick, *A vector magnitude model*, 1974) whose steepness is unknown.
Answers that came in bunches count as fewer: their number is divided by how much more it varies within levels
than that of independent answers. Shares far from the limit all count alike, because no curve is right over
all loads: a level far below the breaking point would otherwise decide the steepness there.
"""

import math
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from crumple.find.seen import Base, Evidence, Judged
from crumple.stats import densities
from crumple.stats.sequential import APART

Floats = NDArray[np.float64]

# How far the variance may lie from the one computed from arrivals and answers, as logarithms, and how likely
# that is. The variance of arrivals is known; that of the work is estimated from some answers. Work that comes
# in bunches, or a server that stops at times, makes it larger.
DEVIATIONS = np.linspace(-0.75, 1.75, 11)
_KNOWN_TO, _READ_TO, _SMALL = 0.15, 0.5, 1.5
_AS_SAID, _MORE = 0.85, (0.15, 0.5, 0.6)
VARIANCE_MIN, ANSWERS_VARIANCE_MAX = 0.05, 10.0
# The share of the limit that has to remain for a queue, beside the response time without one.
ROOM_SHARE_MIN = 0.2
# The instant at which a wait passed the limit is known to within this.
PASSED_S = 0.3
PASSED_SEEN_S = 0.15
# Of a measured pace: the resolution of its time, and the degrees of freedom of other disturbances.
PACE_S, PACE_FREEDOM = 0.02, 4
# Under a closed load a server may be faster or slower than under an open one by this, as a logarithm.
_CLOSED = 0.03
PACE_VARIANCE_MIN = 0.1
# The limit must have room for a queue of this many requests, or the wait is not a walk of small steps.
QUEUE_MIN = 12.0
# A wait must stay beyond the limit for this long on average, or counting answers shows it better.
BEYOND_S_MIN = 0.05
# A wait that passed the limit before measuring began is seen if that was within this many times that length.
LIMITS_SEEN = 4.0
# The walk, scaled to a limit of 1 and a spread of 1: cells, drifts and times of the table. At larger drifts
# the rates of its steps differ too much for the eigenvectors of the cells to be told apart.
_CELLS, _DRIFTS, _TIMES = 80, 45, 61
_DRIFT_UNIT, _DRIFT_MAX = 0.5, 24.0
_TIME_MIN, _TIME_MAX = 0.003, 60.0
_LEAST = 1e-12


class QueueLaw:
    """The law of queues for one part of an objective: `limit`: its share, `limit_s`: its time.

    `calm`: response times without a queue; `arrivals`: variance of the gaps between requests over the square
    of their mean, which is 1 for independent users and 0 for even gaps; `level_s`: the length of a level that
    holds; `near`: a load near the breaking point.
    """

    def __init__(
        self, limit: float, limit_s: float, calm: Base, arrivals: float, level_s: float, near: float
    ) -> None:
        self._of = limit, limit_s, calm, arrivals
        self._level_s, self._near = level_s, near
        self._log_share = math.log(1 / limit)
        self._room_s = max(limit_s - calm.median_s, ROOM_SHARE_MIN * limit_s)
        self._flat_out = calm.pace
        self._answers = min(calm.variation, ANSWERS_VARIANCE_MAX)
        self._variance = max(VARIANCE_MIN, arrivals + self._answers)
        self._variances = self._variance * np.exp(DEVIATIONS)
        known_to = math.hypot(
            _KNOWN_TO, _READ_TO * self._answers / self._variance, _SMALL / (self._room_s * near)
        )
        share, middle, apart = _MORE
        likely = _AS_SAID * densities.normal(DEVIATIONS, known_to)
        likely = likely + share * densities.normal(DEVIATIONS - middle, apart)
        self.prior: Floats = likely / likely.sum()

    def __eq__(self, other: object) -> bool:
        """Whether both give every level the same likelihood."""
        return isinstance(other, QueueLaw) and self._of == other._of

    def __hash__(self) -> int:
        """Equal laws have the same hash."""
        return hash(self._of)

    def beyond_s(self, capacity: float) -> float:
        """How many seconds a wait that passed the limit stays beyond it at the breaking point, on average."""
        return 2 * self._room_s**2 * capacity / (self._log_share**2 * self._variance)

    @property
    def holds(self) -> bool:
        """Whether the law is valid near that load."""
        return self._room_s * self._near >= QUEUE_MIN and self.beyond_s(self._near) >= BEYOND_S_MIN

    @property
    def gap(self) -> float:
        """The distance between the breaking point and the capacity, as a logarithm."""
        return math.log1p(self._log_share * self._variance / (2 * self._room_s * self._near))

    def likelihood(self, level: Judged, evidence: Evidence, logs: Floats) -> Floats:
        """How likely the level is: variances × grid. `logs`: the grid of breaking points, as logarithms."""
        capacity = np.exp(self._capacity_log(logs))
        spread = self._variances[:, np.newaxis] / capacity
        drift = (level.load / capacity - 1) * self._room_s / spread
        speed = spread / self._room_s**2
        # A wait that passed the limit before measuring began, and ended before that, is not seen.
        before_s = min(evidence.settled_s, LIMITS_SEEN * self.beyond_s(level.load))
        if evidence.passed_s is None:
            # Requests that came due later than that are not known to be slow yet.
            watched_s = max(0.0, evidence.watched_s - (evidence.limit_s or 0.0))
            likely = below(drift, speed * (before_s + watched_s))
        else:
            at_s = before_s + evidence.passed_s
            # Requests due before measuring began are not counted: the wait may have passed any time before.
            early = 0.0 if evidence.passed_s <= PASSED_SEEN_S else max(0.0, at_s - PASSED_S)
            late = max(PASSED_S, at_s + PASSED_S)
            likely = below(drift, speed * early) - below(drift, speed * late)
        if evidence.pace is None:
            return np.maximum(likely, _LEAST)
        return np.maximum(likely, _LEAST) * self._pace(evidence.pace, capacity)

    def before(self, logs: Floats) -> Floats | None:
        """How likely the capacity known before the first level is, in the same form; None: not known."""
        if self._flat_out is None:
            return None
        return self._pace(self._flat_out, np.exp(self._capacity_log(logs)), _CLOSED)

    def blind(self, evidence: Evidence) -> float:
        """How likely the evidence is if the level says nothing of the load: any result is possible."""
        passed = 0.5 if evidence.passed_s is None else PASSED_S / max(evidence.watched_s, PASSED_S)
        return passed * (1.0 if evidence.pace is None else 0.5)

    def reach(self, logs: Floats) -> Floats:
        """Variances × grid: a load at which about half of the levels hold, as a logarithm.

        It is at most the capacity; above that the pace shows the capacity.
        """
        logs = self._capacity_log(logs)
        spread = self._variances[:, np.newaxis] / np.exp(logs)
        drift = np.interp(np.log(self._level_s * spread / self._room_s**2), *_halves())
        return logs + np.log1p(np.clip(drift * spread / self._room_s, -0.9, 0.0))

    def _capacity_log(self, logs: Floats) -> Floats:
        below_it = self._log_share * self._variances[:, np.newaxis] / (2 * self._room_s)
        return np.log(np.exp(logs) + below_it)

    def _pace(self, pace: tuple[int, float], capacity: Floats, apart: float = 0.0) -> Floats:
        answers, seconds = max(1, pace[0]), pace[1]
        by_chance = math.sqrt(max(PACE_VARIANCE_MIN, self._answers) / answers)
        spread = math.hypot(by_chance, PACE_S / seconds, apart)
        off = (np.log(capacity) - math.log(answers / seconds)) / spread
        return densities.student(off, PACE_FREEDOM) / spread


def balance_s(limit_s: float, load: float) -> float:
    """About how many seconds a queue takes to reach its balance, at a load near the breaking point."""
    return limit_s**2 * load / 2


def below(drift: Floats, time: Floats) -> Floats:
    """How likely the walk, which begins at 0, has not reached 1 within `time`."""
    table, time = _table(), np.asarray(time)
    unit = 2 * math.asinh(_DRIFT_MAX / _DRIFT_UNIT) / (_DRIFTS - 1)
    across = np.arcsinh(np.clip(drift, -_DRIFT_MAX, _DRIFT_MAX) / _DRIFT_UNIT) / unit + (_DRIFTS - 1) / 2
    within = np.clip(time, _TIME_MIN, _TIME_MAX)
    along = np.log(within / _TIME_MIN) / math.log(_TIME_MAX / _TIME_MIN) * (_TIMES - 1)
    row = np.clip(across.astype(int), 0, _DRIFTS - 2)
    column = np.clip(along.astype(int), 0, _TIMES - 2)
    down, right = across - row, along - column
    logs = (1 - down) * ((1 - right) * table[row, column] + right * table[row, column + 1]) + down * (
        (1 - right) * table[row + 1, column] + right * table[row + 1, column + 1]
    )
    # In the long run the logarithm falls evenly with time.
    told = np.exp(logs * np.maximum(1.0, time / _TIME_MAX) * (time > 0))
    drift, time, told = np.broadcast_arrays(drift, time, told)
    steep = drift > _DRIFT_MAX
    likely: Floats = told.copy()
    likely[steep] = _straight(drift[steep], time[steep])
    return likely


def _straight(drift: Floats, time: Floats) -> Floats:
    """`below` for a walk that drifts up so fast that the wall hardly matters: an inverse Gaussian."""
    time = np.maximum(time, 1e-12)
    back = np.exp(2 * drift + densities.log_normal_below(-(1 + drift * time) / np.sqrt(time)))
    likely: Floats = np.exp(densities.log_normal_below((1 - drift * time) / np.sqrt(time))) - back
    return np.maximum(0.0, likely)


@cache
def _table() -> Floats:
    """Drifts × times: the logarithm of `below`, computed for the walk on a row of cells."""
    width = 1 / _CELLS
    end = math.asinh(_DRIFT_MAX / _DRIFT_UNIT)
    times = np.geomspace(_TIME_MIN, _TIME_MAX, _TIMES)
    rows = []
    for drift in _DRIFT_UNIT * np.sinh(np.linspace(-end, end, _DRIFTS)):
        # These rates of a step are right for any drift (Scharfetter & Gummel, 1969).
        up, down = (_bernoulli(sign * 2 * drift * width) / (2 * width**2) for sign in (-1, 1))
        steps = np.diag(np.full(_CELLS - 1, up), 1) + np.diag(np.full(_CELLS - 1, down), -1)
        steps -= np.diag(np.full(_CELLS, up + down))
        # The first cell has a wall on one side, and is half as wide.
        steps[0, :2] = -2 * up, 2 * up
        values, vectors = np.linalg.eig(steps)
        shares = vectors[0] * np.linalg.solve(vectors, np.ones(_CELLS))
        rows.append((shares * np.exp(np.outer(times, values))).sum(axis=1).real)
    logs: NDArray[np.float64] = np.log(np.clip(rows, _LEAST, 1.0))
    return logs


@cache
def _halves() -> tuple[Floats, Floats]:
    """Times, as logarithms, and the drift at which half of the walks have not reached 1 by then."""
    end = math.asinh(_DRIFT_MAX / _DRIFT_UNIT)
    drifts = _DRIFT_UNIT * np.sinh(np.linspace(-end, end, _DRIFTS))
    half = [np.interp(-math.log(0.5), -column, drifts) for column in _table().T]
    return np.log(np.geomspace(_TIME_MIN, _TIME_MAX, _TIMES)), np.array(half)


def _bernoulli(value: float) -> float:
    return value / math.expm1(value) if abs(value) > 1e-9 else 1.0


# The powers by which the share may rise with the load; all are equally likely beforehand.
POWERS = np.geomspace(0.5, 1_500.0, 12)
# The floors, as shares of the limit: the share of answers against it at any load.
FLOORS = np.array((0.0, 0.6, 0.9))
# The shares that a level may show if it says nothing of the load.
_ANY = -np.expm1(-np.exp(np.linspace(-12.0, 2.5, 50)))
# A queue grows beyond the limit only now and then, so levels of seconds hold at loads above the highest that
# lasts: by these shares of the gap between that load and the capacity, in logarithms.
HELD_BEYOND = np.array((0.0, 0.3, 0.6))
# Shares this factor or more from the limit, as odds, count alike.
FAR = 8.0
# How many laws, and shares at a level's load, are kept for the next step of the search: the latter half a
# megabyte each.
LAWS_KEPT, CURVES_KEPT = 8, 32


class ShareLaw:
    """The law of shares for one part of an objective; `limit`: its share.

    `together`: how many answers count as one; `gap`: where slow answers come out of a queue, the distance
    between the breaking point and the capacity, as a logarithm.
    """

    def __init__(self, limit: float, together: float, gap: float = 0.0) -> None:
        self._of = limit, together, gap
        self._together = together
        self._curves = _curves(limit, gap)
        self.prior = self._curves.prior

    def __eq__(self, other: object) -> bool:
        """Whether both give every level the same likelihood."""
        return isinstance(other, ShareLaw) and self._of == other._of

    def __hash__(self) -> int:
        """Equal laws have the same hash."""
        return hash(self._of)

    def likelihood(self, level: Judged, evidence: Evidence, logs: Floats) -> Floats:
        """How likely the level is: curves × grid. `logs`: the grid of breaking points, as logarithms."""
        return self._likely(evidence, _share_logs(self._curves, level.load, logs.tobytes()))

    def before(self, logs: Floats) -> Floats | None:
        """None, as nothing is known before the first level."""
        return None

    def blind(self, evidence: Evidence) -> float:
        """How likely the evidence is if the level says nothing of the load: any share is possible."""
        return float(self._likely(evidence, self._curves.any_share).mean())

    def reach(self, logs: Floats) -> Floats:
        """Curves × grid: the load at which a level says most, where the odds are twice those of the limit."""
        return self._curves.reach(logs)

    def _likely(self, evidence: Evidence, logs: tuple[Floats, Floats]) -> Floats:
        """The likelihood of shares, of which these are the logarithms, relative to that of the share seen."""
        against = evidence.against / self._together
        others = (evidence.known - evidence.against) / self._together
        seen = self._curves.clipped(evidence.share)
        best = against * math.log(seen) + others * math.log1p(-seen)
        likely: Floats = np.exp(against * logs[0] + others * logs[1] - best)
        return likely


class _Curves:
    """How the share of answers against an objective may rise with the load: what `ShareLaw` does not know."""

    def __init__(self, limit: float, gap: float) -> None:
        beyond = HELD_BEYOND * gap if gap else np.zeros(1)
        unknown = np.meshgrid(POWERS, FLOORS * limit, beyond, indexing="ij")
        powers, floors, beyond = (each.ravel() for each in unknown)
        self._powers, self._floors = powers[:, np.newaxis], floors[:, np.newaxis]
        self._beyond = beyond[:, np.newaxis]
        # The value of the curve at the breaking point.
        self._at_limit = np.log(-np.log1p(-(limit - self._floors) / (1 - self._floors)))
        odds = APART * limit / (1 - limit)
        self._least, self._most = (
            odds / (1 + odds) for odds in (limit / (1 - limit) / FAR, limit / (1 - limit) * FAR)
        )
        self._telling = math.log(math.log1p(odds) / -math.log1p(-limit))
        self.prior: Floats = np.full(len(powers), 1 / len(powers))
        self.any_share = self._logs(_ANY)

    def at(self, load: float, grid: Floats) -> tuple[Floats, Floats]:
        """Curves × grid: the logarithms of the share against the objective at that load, and of the rest."""
        up = self._at_limit + self._powers * (math.log(load) - grid - self._beyond)
        curve = -np.expm1(-np.exp(np.clip(up, -40.0, 3.5)))
        return self._logs(self._floors + (1 - self._floors) * curve)

    def reach(self, logs: Floats) -> Floats:
        """See `ShareLaw.reach`."""
        return logs + self._beyond + self._telling / self._powers

    def clipped(self, share: float) -> float:
        """Return the share, or the nearest that counts otherwise than those beyond it."""
        return min(self._most, max(self._least, share))

    def _logs(self, share: Floats) -> tuple[Floats, Floats]:
        share = np.clip(share, self._least, self._most)
        return np.log(share), np.log1p(-share)


@lru_cache(maxsize=LAWS_KEPT)
def _curves(limit: float, gap: float) -> _Curves:
    return _Curves(limit, gap)


@lru_cache(maxsize=CURVES_KEPT)
def _share_logs(curves: _Curves, load: float, grid: bytes) -> tuple[Floats, Floats]:
    """Return `curves.at`, kept, as a search asks again when it learns how many answers count as one."""
    return curves.at(load, np.frombuffer(grid))


def together(seen: Sequence[Evidence]) -> float:
    """How many answers count as one: their dispersion over all levels near the limit, at least 1.

    Far beyond the limit answers against it come ever faster within a level, as a queue grows or overflows.
    That says nothing of how those come that are few.
    """
    near = [each.dispersion for each in seen if _odds(each.share) <= FAR * _odds(each.limit)]
    freedom, excess = sum(each.freedom for each in near), sum(each.excess for each in near)
    return max(1.0, (excess + 1.0) / (freedom + 1.0))


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else math.inf
