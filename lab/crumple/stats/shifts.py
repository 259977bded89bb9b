"""Where a series of values shifts to another level and stays there, with a bound on false alarms. Pure.

The test is that of Pettitt (Applied Statistics 28, 1979), weighed so that shifts near an end are found as
well: the largest standardised rank sum over all places, compared with that of the same values in random
orders. If no place is better than chance, there is no shift; otherwise the values before and after the best
one are tested in the same way. Ranks, because single loads may be far off, and because no law of the values
is assumed.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crumple.stats.interval import SEVERAL

Floats = NDArray[np.float64]

# In which share of series in which nothing changed a shift is found all the same: the usual one in twenty.
ERROR = 0.05
# How many random orders the values are compared with. A chance of 0.1 %, which a series of several figures
# may ask for, is then known to a third of itself.
ORDERS = 10_000
# The most orders that values are compared with, if a smaller error asks for more. They take a second with the
# longest series, and are enough for an error that thousands of figures share.
ORDERS_MAX = 100_000
# How many orders are as good as values whose chance is the error, on average: fewer would lose shifts.
ORDERS_FOR_ONE = 5
# How many of these are computed at a time: with the longest series that is kept they take 4 MB.
AT_ONCE = 1_000
# The seed of the orders, so that the same values always give the same shifts. Any number would do.
SEED = 19790401


@dataclass(frozen=True)
class Shift:
    """A place where a series shifts."""

    at: int
    """The index of the first value after it."""
    chance: float
    """How probable a place as clear is, if nothing changed in the stretch in which it was found."""


def shifts(values: Sequence[float], error: float = ERROR) -> tuple[Shift, ...]:
    """Return where the values shift, in their order.

    If all orders of the values are equally probable, as without any change, some shift is found with a
    probability of at most `error`. The same holds of each stretch between two shifts.
    """
    return tuple(_within(np.asarray(values, dtype=np.float64), 0, error))


@lru_cache(maxsize=64)
def fewest(error: float = ERROR) -> int | None:
    """Return how many values it takes to find a shift at all; None: no number, as the error is too small."""
    if error * (1 + ORDERS_MAX) < 1:
        return None
    # Ends, because no random order of many values is as good as the sorted one.
    each = (np.arange(number, dtype=np.float64) for number in itertools.count(2 * SEVERAL))
    return next(len(values) for values in each if _best(values, error)[1] <= error)


def dependence(stretches: Sequence[Sequence[float]]) -> float:
    """Return how probable values that follow each other are as alike as within these stretches by chance."""
    parts = [np.asarray(each, dtype=np.float64) - np.mean(each) for each in stretches]
    random, rows = np.random.default_rng(SEED), (AT_ONCE, 1)
    seen = sum(float(part[1:] @ part[:-1]) for part in parts)
    orders = (random.permuted(np.tile(part, rows), axis=1) for part in parts)
    by_chance = sum(((order[:, 1:] * order[:, :-1]).sum(axis=1) for order in orders), np.zeros(AT_ONCE))
    # Equal sums may differ by a rounding error.
    return float(1 + (by_chance >= seen - 1e-9 * abs(seen)).sum()) / (1 + AT_ONCE)


def _within(values: Floats, begin: int, error: float) -> list[Shift]:
    if len(values) < 2 * SEVERAL:
        return []
    at, chance = _best(values, error)
    if chance > error:
        return []
    before, after = _within(values[:at], begin, error), _within(values[at:], begin + at, error)
    return [*before, Shift(begin + at, chance), *after]


def _best(values: Floats, error: float) -> tuple[int, float]:
    """Return the index of the first value behind the best place, and how probable one as good is."""
    ranks = _ranks(values)
    scores = _scores(ranks[np.newaxis])[0]
    at = int(scores.argmax())
    row, orders = tuple(np.sort(ranks)), ORDERS
    as_good = _as_good(row, scores[at], orders)
    # More orders are only worth their time if none of the first is as good.
    if not as_good and _orders(error) > orders:
        orders = _orders(error)
        as_good = _as_good(row, scores[at], orders)
    # The order that was seen is one of all, which makes this a valid test with any number of random ones.
    return at + SEVERAL, (1 + as_good) / (1 + orders)


def _as_good(ranks: tuple[float, ...], score: float, orders: int) -> int:
    """Return in how many random orders the best score is as good."""
    # Equal scores are computed from sums in different orders, so they may differ by a rounding error.
    return orders - int(np.searchsorted(_by_chance(ranks, orders), score * (1 - 1e-9)))


def _orders(error: float) -> int:
    """Return how many random orders an error asks for, in whole parts that are computed at a time."""
    wanted = min(ORDERS_MAX, max(ORDERS, ORDERS_FOR_ONE / error))
    return AT_ONCE * math.ceil(wanted / AT_ONCE)


def _ranks(values: Floats) -> Floats:
    """Return the rank of each value, less their mean; equal values share theirs."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Floats = (ends - (counts - 1) / 2)[where]
    ranks -= ranks.mean()
    return ranks


def _scores(ranks: Floats) -> Floats:
    """Return how far rank sums are off: a row for each order, a column for each place.

    A place has several values on both sides.
    """
    n = ranks.shape[1]
    before = np.arange(SEVERAL, n - SEVERAL + 1)
    sums = ranks.cumsum(axis=1)[:, before - 1]
    scores: Floats = np.abs(sums) / np.sqrt(before * (n - before))
    return scores


@lru_cache(maxsize=64)
def _by_chance(ranks: tuple[float, ...], orders: int) -> Floats:
    """Return the best scores of the ranks in random orders, from the least on."""
    random, row = np.random.default_rng(SEED), np.array(ranks)
    best = [
        _scores(random.permuted(np.tile(row, (AT_ONCE, 1)), axis=1)).max(axis=1)
        for _ in range(orders // AT_ONCE)
    ]
    return np.sort(np.concatenate(best))
