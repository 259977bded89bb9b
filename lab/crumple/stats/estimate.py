"""An estimate and how well it is known: of pairs, of two samples, or of one. Pure.

Ratios are computed on logarithms, so that swapping the two only inverts the ratio.
"""

import bisect
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np

from crumple.stats import averages, student
from crumple.stats.bootstrap import BOOTSTRAP_FROM, mean_intervals
from crumple.stats.decision import SLACK
from crumple.stats.interval import CONFIDENCE, Interval

# The probability with which a difference is shown that is called visible, or by a number of blocks that is
# called enough.
POWER = 0.8
# The most blocks that a forecast reaches to: more than any study has.
BLOCKS_MOST = 100
# The largest variance of logarithms that is a rounding error: that of values that agree in nine digits.
VARIANCE_MIN = 1e-18
# The largest number of which e to its power is a finite double.
LOG_MAX = math.log(sys.float_info.max)


class Prior(NamedTuple):
    """What other servers show of the noise of one value; `stats.moderated` learns it."""

    variance: float
    """The variance of one start's logarithm."""
    freedom: float
    """How many degrees of freedom a server may borrow from the others."""


NO_PRIOR = Prior(0.0, 0.0)


@dataclass(frozen=True)
class Estimate:
    """A mean, or the difference of two, and how well it is known."""

    centre: float
    """The estimate: a logarithm if `logarithmic`."""
    spread: float
    """The standard deviation of the value of one block, or start."""
    n: int
    """Over how many blocks or starts; of two samples, those of the smaller one."""
    freedom: float
    """The degrees of freedom of `spread`; 0: it is not known, and neither end of the interval is."""
    logarithmic: bool = True
    """Whether all fields are logarithms, and the interval is that of a ratio or a geometric mean."""
    samples: tuple[float, ...] = ()
    """The values that were averaged, if the interval is to follow their skew from ten values on."""
    off: tuple[float, float] = (0.0, 0.0)
    """How far below `centre` (0 or less), and above it, the truth may lie by what shifts all values alike."""

    @property
    def error(self) -> float:
        """The standard error of `centre`."""
        return self.spread / math.sqrt(self.n)

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Return the interval that holds the truth in `confidence` of studies."""
        if self.freedom <= 0:
            low, high = -math.inf, math.inf
        elif len(self.samples) >= BOOTSTRAP_FROM:
            ends = mean_intervals(np.array([self.samples]), confidence)
            low, high = (float(end[0]) for end in ends)
        else:
            reach = student.of_interval(self.freedom, confidence) * self.error
            low, high = self.centre - reach, self.centre + reach
        low, high = low + self.off[0], high + self.off[1]
        if not self.logarithmic:
            return Interval(self.centre, low, high, confidence, self.n)
        estimate = math.exp(self.centre)
        # Rounding must not leave the estimate of equal values outside its own interval.
        return Interval(estimate, min(_exp(low), estimate), max(_exp(high), estimate), confidence, self.n)

    def chance_at(self, bound: float) -> float:
        """Return how probable a centre as far from `bound` is, if the truth lies there: Student's p."""
        distance = self._beyond(bound)
        if distance <= SLACK or self.freedom <= 0:
            return 1.0
        return 2 * student.above(self.freedom, distance / self.error) if self.error > 0 else 0.0

    def visible(self, confidence: float) -> float:
        """Return the difference, or ratio, that an interval of `confidence` would show with POWER."""
        errors = student.of_interval(self.freedom, confidence) + student.quantile(self.freedom, POWER)
        return _exp(errors * self.error) if self.logarithmic else errors * self.error

    def blocks_needed(
        self, bound: float, confidence: Callable[[int], float], quantile: float = 0.5, *, side: int = 0
    ) -> int | None:
        """Return how many blocks would show with POWER on which side of `bound` the truth lies.

        This assumes the present spread, and intervals of `confidence(n)` over n blocks. It takes the distance
        between `bound` and the truth from the estimate, at this `quantile` of its uncertainty; 0.5: the
        estimate itself. `side`: 1 asks only for a truth above the bound, −1 below it, 0 for either. None:
        more than BLOCKS_MOST, or not known.
        """
        if self.n < 2 or (self.logarithmic and bound <= 0):
            return None
        distance = self._beyond(bound, side)
        distance += student.quantile(self.freedom, quantile) * self.error
        if distance <= 0:
            return None
        later, freedom = range(self.n + 1, BLOCKS_MOST + 1), self.freedom / (self.n - 1)

        def is_seen(n: int) -> bool:
            then = Estimate(0.0, self.spread, n, freedom * (n - 1), logarithmic=False)
            return then.visible(confidence(n)) < distance

        # More blocks show smaller differences, so bisection finds the first number that is enough.
        at = bisect.bisect_left(later, True, key=is_seen)
        return later[at] if at < len(later) else None

    def _beyond(self, bound: float, side: int = 0) -> float:
        """Return how far the estimate lies beyond a bound, less what shifts all values alike.

        That does not become less with more of them. `side`: 1 above the bound, −1 below it, 0: where it lies.
        """
        distance = self.centre - (math.log(bound) if self.logarithmic else bound)
        side = side or (1 if distance > 0 else -1)
        return side * distance + (self.off[0] if side > 0 else -self.off[1])


def of_values(
    values: Sequence[float], own: Prior = NO_PRIOR, *, logarithmic: bool = True, follow_skew: bool = False
) -> Estimate:
    """Return the mean of `values`, one per block; logarithms if `logarithmic`. `own`: the prior of one value.

    The values borrow no more degrees of freedom than they have. Their own variance counts in full where it is
    larger than the moderated one, so that a noisy server does not appear as steady as the others.
    """
    row = [float(value) for value in values]
    n = len(row)
    samples = tuple(row) if follow_skew else ()
    centre = fmean(row) if n else math.nan
    if n < 2:
        return Estimate(centre, 0.0, n, 0.0, logarithmic, samples)
    own_variance = _variance(row)
    borrowed = min(own.freedom, n - 1.0) if own.variance > 0 else 0.0
    together = (borrowed * own.variance + (n - 1) * own_variance) / (borrowed + n - 1)
    spread = math.sqrt(max(own_variance, together))
    return Estimate(centre, spread, n, borrowed + n - 1, logarithmic, samples)


def of_two_samples(numerator: Sequence[float], denominator: Sequence[float]) -> Estimate:
    """Return the ratio of the geometric means of two sets of starts that share no block: Welch's t.

    A set with one value is taken to vary as the other does, so that one value can be compared with several.
    Raises ValueError if a set is empty, or has values that are not finite and above 0.
    """
    one, other = logarithms(numerator), logarithms(denominator)
    centre, n = fmean(one) - fmean(other), min(len(one), len(other))
    error, freedom = _welch(one, other)
    return Estimate(centre, error * math.sqrt(n), n, freedom)


def geometric_mean(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Return the geometric mean over starts, in the unit of `values`. Raises ValueError as `logarithms`."""
    return of_values(logarithms(values), follow_skew=True).interval(confidence)


def paired_ratio(
    numerator: Sequence[float], denominator: Sequence[float], confidence: float = CONFIDENCE
) -> Interval:
    """Return the geometric mean of numerator ÷ denominator over blocks; one value of each for a block.

    Raises ValueError as `logarithms`, and for rows that differ in length.
    """
    both = zip(logarithms(numerator), logarithms(denominator), strict=True)
    return of_values([one - other for one, other in both], follow_skew=True).interval(confidence)


def logarithms(values: Sequence[float]) -> list[float]:
    """Return the logarithms of values. Raises ValueError for none, and unless all are finite and above 0."""
    if not len(values):
        raise ValueError("no values to compare")
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError("only numbers above 0 have a ratio")
    return [math.log(value) for value in values]


def _welch(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """The standard error of the difference of two means, and its degrees of freedom."""
    few, many = sorted((one, other), key=len)
    if len(few) == 1:
        # The error of predicting one value from several.
        return math.sqrt(_variance(many) * (1 + 1 / len(many))) if len(many) > 1 else 0.0, len(many) - 1.0
    squares = [_variance(row) / len(row) for row in (one, other)]
    total = sum(squares)
    if total <= 0:
        return 0.0, 1.0
    parts = (square**2 / (len(row) - 1) for square, row in zip(squares, (one, other), strict=True))
    return math.sqrt(total), total**2 / sum(parts)


def _variance(row: Sequence[float]) -> float:
    """The variance of a sample; 0 where equal values leave a rounding error, which is not a variance."""
    found = averages.variance(row)
    return found if found > VARIANCE_MIN * max(1.0, max(map(abs, row)) ** 2) else 0.0


def _exp(logarithm: float) -> float:
    """Return e to the power of `logarithm`; few starts and high confidence may give infinity."""
    return math.exp(logarithm) if logarithm < LOG_MAX else math.inf
