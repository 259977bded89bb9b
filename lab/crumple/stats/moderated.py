"""How much starts of one server differ, learned from all starts of an experiment; intervals that rest on it.

Two to twelve starts of one server are too few to know its spread well, so the spread of the experiment's
other servers is used as well: the moderated t of Smyth (*Statistical Applications in Genetics and Molecular
Biology* 3, 2004). Pure. `verdict` decides which values belong together.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crumple.stats import gamma
from crumple.stats.estimate import NO_PRIOR, VARIANCE_MIN, Estimate, Prior

Floats = NDArray[np.float64]

# The fewest rows that can show whether they scatter alike.
ROWS_MIN = 3
# How often blocks and servers are taken out of the rows in turn; then nothing is left of them.
ROUNDS = 6
# The most steps of Newton's method, which ends long before.
NEWTON_ROUNDS = 30
# Floor for the share of a row's variance that remains after block means are taken out; a row that is alone in
# its blocks has none left.
ALONE = 1e-9
# The largest difference of variances beyond chance with which they are equal, and all degrees of freedom may
# be borrowed.
_EXCESS_MIN = 1e-6


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
    are_known = variances > VARIANCE_MIN
    if not are_known.any():
        return NO_PRIOR
    found = _moments(variances[are_known], freedoms[are_known])
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
        # If trials are missing, one pass does not take out servers and blocks completely.
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


def of_two(one: Prior, other: Prior) -> Prior:
    """Return the prior of the difference of two servers' logarithms."""
    return Prior(one.variance + other.variance, min(one.freedom, other.freedom))


def visible(of_pair: Prior, blocks: int, confidence: float) -> float | None:
    """Return the ratio of two servers that `blocks` show with 80 % power; None: the noise is not known."""
    if blocks < 2 or of_pair.variance <= 0:
        return None
    freedom = blocks - 1 + min(of_pair.freedom, blocks - 1.0)
    return Estimate(0.0, math.sqrt(of_pair.variance), blocks, freedom).visible(confidence)
