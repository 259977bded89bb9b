"""How much starts of one server differ, learned from all starts of an experiment; intervals that rest on it.

Two to twelve starts of one server are too few to know its spread well, so the spread of the experiment's
other servers is used as well: the moderated t of Smyth (*Statistical Applications in Genetics and Molecular
Biology* 3, 2004). Pure. `verdict` decides which values belong together.
"""

import bisect
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crumple.stats import gamma, student
from crumple.stats.interval import Interval
from crumple.stats.stats import BOOTSTRAP_FROM, LOG_MAX, POWER, mean_intervals

Floats = NDArray[np.float64]

# Fewer rows cannot show whether they scatter alike.
ROWS_MIN = 3
BLOCKS_MOST = 100
# A variance of logarithms below this is rounding error.
VARIANCE_MIN = 1e-18
ROUNDS = 6
NEWTON_ROUNDS = 30
# Floor for the share of a row's variance that remains after block means are taken out; a row that is alone in
# its blocks has none left.
ALONE = 1e-9
_EXCESS_MIN = 1e-6


class Prior(NamedTuple):
    """The variance of one start's logarithm, and how many degrees of freedom a server may borrow from it."""

    variance: float
    freedom: float


NO_PRIOR = Prior(0.0, 0.0)


def prior(rows: Sequence[Mapping[int, float]]) -> Prior:
    """Return how much the rows scatter, without what the trials of a block have in common.

    Each row holds one server's logarithms by block. The method of moments on the logarithms of the rows'
    variances measures how alike the variances are: the more alike, the more degrees of freedom.
    """
    # Cached, because many claims need the prior of the same experiment.
    return _prior(tuple(tuple(row.items()) for row in rows))


@lru_cache(maxsize=1024)
def _prior(items: tuple[tuple[tuple[int, float], ...], ...]) -> Prior:
    rows = [dict(row) for row in items]
    there = Counter(block for row in rows for block in row)
    fullest = max(there.values(), default=0)
    # In a block of two rows both differ alike from its mean, so it says nothing beside their difference.
    shared = {block for block, number in there.items() if number > 1 and number >= min(ROWS_MIN, fullest)}
    known = [{block: row[block] for block in row if block in shared} for row in rows]
    known = [row for row in known if len(row) > 1]
    if len(known) < 2:
        return NO_PRIOR
    variances, freedoms = _variances(known)
    told = variances > VARIANCE_MIN
    if not told.any():
        return NO_PRIOR
    found = _moments(variances[told], freedoms[told])
    return found._replace(freedom=min(found.freedom, _beside_a_pair(known)))


def _beside_a_pair(rows: Sequence[Mapping[int, float]]) -> float:
    """Return the degrees of freedom of what is left of the rows, less those of two rows' difference.

    Two servers cannot borrow more than the others know. In blocks of all rows that is never less than their
    own; it is less where the others take part in fewer blocks.
    """
    blocks = {block for row in rows for block in row}
    left = sum(len(row) - 1 for row in rows) - (len(blocks) - 1)
    return max(0.0, left - (max(len(row) for row in rows) - 1.0))


def _variances(rows: Sequence[Mapping[int, float]]) -> tuple[Floats, Floats]:
    blocks = sorted({block for row in rows for block in row})
    there = np.array([[block in row for block in blocks] for row in rows], dtype=float)
    table = np.array([[row.get(block, 0.0) for block in blocks] for row in rows])
    known = there.sum(axis=1)
    table = _without_rows(table, there, known)
    weights, variances = np.ones(len(rows)), np.zeros(len(rows))
    for _ in range(ROUNDS):
        # Where trials are missing, one pass does not take out servers and blocks completely.
        shares = there * weights[:, np.newaxis]
        shares /= shares.sum(axis=0)
        table = _without_rows((table - (table * shares).sum(axis=0)) * there, there, known)
        # A row is part of its blocks' means, so taking these out removes this share of its variance.
        own = shares.sum(axis=1) / known
        variances = (table**2).sum(axis=1) / (known - 1) / np.maximum(1 - own, ALONE)
        if len(rows) > ROWS_MIN:
            # Give a noisy server less weight in the block means, so that its noise does not reach the other
            # servers. Three rows do not show which server is the noisy one.
            weights = 1 / np.maximum(variances, max(float(np.median(variances)), VARIANCE_MIN))
    return variances, known - 1


def _without_rows(table: Floats, there: Floats, known: Floats) -> Floats:
    """Subtract the mean of each row; cells without a value are 0."""
    left: Floats = (table - (table.sum(axis=1) / known)[:, np.newaxis]) * there
    return left


def _moments(variances: Floats, freedoms: Floats) -> Prior:
    if len(variances) < ROWS_MIN:
        return Prior(float(np.average(variances, weights=freedoms)), 0.0)
    half = freedoms / 2
    logs = np.log(variances) - [gamma.digamma(each) for each in half] + np.log(half)
    excess = float(logs.var(ddof=1) - np.mean([gamma.trigamma(each) for each in half]))
    if excess < _EXCESS_MIN:
        return Prior(math.exp(float(logs.mean())), math.inf)
    freedom = 2 * _trigamma_inverse(excess)
    level = float(logs.mean() + gamma.digamma(freedom / 2) - math.log(freedom / 2))
    return Prior(math.exp(level), freedom)


def _trigamma_inverse(value: float) -> float:
    """Invert the trigamma function by Newton's method, as Smyth gives it; it converges for every value."""
    found = 0.5 + 1 / value
    for _ in range(NEWTON_ROUNDS):
        trigamma = gamma.trigamma(found)
        step = trigamma * (1 - trigamma / value) / gamma.tetragamma(found)
        found += step
        if abs(step) < 1e-9 * found:
            break
    return found


@dataclass(frozen=True)
class Estimate:
    """A mean over blocks and how well it is known.

    `spread`: the standard deviation of one block's value. `logarithmic`: all fields are logarithms, and the
    interval is that of a ratio or a geometric mean. `samples`: the values that were averaged, if the interval
    is to follow their skew from ten values on; else empty. `off`: from how far below `centre` (0 or less) to
    how far above it the truth may lie because of what shifts all values; the interval is wider by that.
    """

    centre: float
    spread: float
    n: int
    freedom: float
    logarithmic: bool
    samples: tuple[float, ...] = ()
    off: tuple[float, float] = (0.0, 0.0)

    def interval(self, confidence: float) -> Interval:
        """Return the interval that holds the truth in `confidence` of studies."""
        if self.n < 2:
            low, high = -math.inf, math.inf
        elif len(self.samples) >= BOOTSTRAP_FROM:
            ends = mean_intervals(np.array([self.samples]), confidence)
            low, high = (float(end[0]) for end in ends)
        else:
            reach = student.of_interval(self.freedom, confidence) * self.spread / math.sqrt(self.n)
            low, high = self.centre - reach, self.centre + reach
        low, high = low + self.off[0], high + self.off[1]
        if not self.logarithmic:
            return Interval(self.centre, low, high, confidence, self.n)
        estimate = math.exp(self.centre)
        # Rounding must not leave the estimate of equal values outside its own interval.
        return Interval(estimate, min(_exp(low), estimate), max(_exp(high), estimate), confidence, self.n)

    def blocks_needed(
        self, bound: float, confidence: Callable[[int], float], quantile: float = 0.5, *, side: int = 0
    ) -> int | None:
        """Return how many blocks would show with 80 % power on which side of `bound` the truth lies.

        This assumes the present spread, and intervals of `confidence(n)` over n blocks. It takes the distance
        between `bound` and the truth from the estimate, at this `quantile` of its uncertainty; 0.5: the
        estimate itself. `side`: 1 asks only for a truth above the bound, −1 below it, 0 for either. None:
        more than a hundred blocks, or not known.
        """
        if self.n < 2 or (self.logarithmic and bound <= 0):
            return None
        distance = self.centre - (math.log(bound) if self.logarithmic else bound)
        side = side or (1 if distance > 0 else -1)
        # What shifts all values alike does not become less with more of them.
        distance = side * distance + (self.off[0] if side > 0 else -self.off[1])
        distance += student.quantile(self.freedom, quantile) * self.spread / math.sqrt(self.n)
        if distance <= 0:
            return None
        later, freedom = range(self.n + 1, BLOCKS_MOST + 1), self.freedom / (self.n - 1)

        def is_seen(n: int) -> bool:
            return seen_with_power(self.spread, n, freedom * (n - 1), confidence(n)) < distance

        # More blocks show smaller differences, so bisection finds the first number that is enough.
        at = bisect.bisect_left(later, True, key=is_seen)
        return later[at] if at < len(later) else None


def seen_with_power(spread: float, n: int, freedom: float, confidence: float) -> float:
    """Return the difference for which an interval of `confidence` excludes 0 in four studies of five."""
    errors = student.of_interval(freedom, confidence) + student.quantile(freedom, POWER)
    return errors * spread / math.sqrt(n)


def estimated(
    values: Sequence[float], own: Prior, *, logarithmic: bool = True, follow_skew: bool = False
) -> Estimate:
    """Return the mean of `values`, one per block; logarithms if `logarithmic`. `own`: the prior of one value.

    The values borrow no more degrees of freedom than they have. Their own variance counts in full where it is
    larger than the moderated one, so that a noisy server does not appear as steady as the others.
    """
    # Without numpy, which takes four times as long for the few values that there are.
    row = [float(value) for value in values]
    n = len(row)
    samples = tuple(row) if follow_skew else ()
    centre = sum(row) / n if n else math.nan
    if n < 2:
        return Estimate(centre, 0.0, n, 0.0, logarithmic, samples)
    variance = sum((value - centre) ** 2 for value in row) / (n - 1)
    # Equal values leave a rounding error, which is not a variance.
    variance = variance if variance > VARIANCE_MIN * max(1.0, max(map(abs, row)) ** 2) else 0.0
    borrowed = min(own.freedom, n - 1.0) if own.variance > 0 else 0.0
    together = (borrowed * own.variance + (n - 1) * variance) / (borrowed + n - 1)
    spread = math.sqrt(max(variance, together))
    return Estimate(centre, spread, n, borrowed + n - 1, logarithmic, samples)


def of_two(one: Prior, other: Prior) -> Prior:
    """Return the prior of the difference of two servers' logarithms."""
    return Prior(one.variance + other.variance, min(one.freedom, other.freedom))


def visible(of_pair: Prior, blocks: int, confidence: float) -> float | None:
    """Return the ratio of two servers that `blocks` show with 80 % power; None: the noise is not known."""
    if blocks < 2 or of_pair.variance <= 0:
        return None
    freedom = blocks - 1 + min(of_pair.freedom, blocks - 1.0)
    return _exp(seen_with_power(math.sqrt(of_pair.variance), blocks, freedom, confidence))


def _exp(logarithm: float) -> float:
    return math.exp(logarithm) if logarithm < LOG_MAX else math.inf
