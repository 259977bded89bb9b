"""Where a server breaks: loads that held and loads that broke → the breaking point and its 95 % interval.

Pure. Which loads are tried is `search`; whether a level held is `level`.

It is the highest load that lasts: of levels at it nine in ten hold. Where only half of them do, a queue is on
the edge of growing without end, and holds for some seconds by luck.

The model is that of a threshold (Finney, *Probit Analysis*, 1947): a start breaks at a load of its own,
spread around the server's on a logarithmic scale, and a level on that start holds with a probability that
falls around it. Both spreads are unknown; the interval is that of the posterior over a grid of them, so that
levels which contradict each other widen it, and few starts do too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.ndimage import gaussian_filter1d

from crumple.stats.stats import CONFIDENCE, Interval

Floats = NDArray[np.float64]

# Spread of levels around their start's breaking point, and of starts around the server's, as logarithms: from
# what a level of seconds cannot resolve to what makes the figure worthless. Beforehand they are as likely as
# Cauchy distributions with medians of 1 % and 2.5 % have them, which leave room for much worse.
WITHIN = np.array((0.004, 0.008, 0.016, 0.03, 0.06, 0.12))
BETWEEN = np.array((0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16))
WITHIN_MEDIAN, BETWEEN_MEDIAN = 0.01, 0.025
# Standard deviations below the load at which half of the levels hold: there nine in ten do.
LASTING = 1.2816
# Levels that say nothing of the load: a hiccup of the machine, or luck. (Wichmann & Hill, Perception &
# Psychophysics 2001: without such a share a single slip moves the whole estimate.)
LAPSE = 0.02
GRID_STEP = 0.002
# How far beyond the loads tried it is looked for, as a factor.
BEYOND = 2.0


@dataclass(frozen=True)
class Judged:
    """A level that says something of the server: its load, on which start, and whether the objective held."""

    load: float
    start: int
    held: bool


class Posterior:
    """What `levels` (one at least) leave of the breaking point, on a logarithmic grid of loads."""

    def __init__(self, levels: Sequence[Judged]) -> None:
        self._grid = _grid(levels)
        self.starts = len({level.start for level in levels})
        self._likelihood = {
            start: _likelihood(self._grid, [level for level in levels if level.start == start], WITHIN)
            for start in sorted({level.start for level in levels})
        }

    def interval(self) -> Interval:
        """The breaking point (median) and its central 95 % interval; `n`: starts."""
        # With one start nothing tells its own breaking point from the server's.
        between = BETWEEN if self.starts > 1 else BETWEEN[:1]
        weights = _likely(between, BETWEEN_MEDIAN)[:, np.newaxis, np.newaxis] * self._server(between)
        shares = ((1 - CONFIDENCE) / 2, 0.5, (1 + CONFIDENCE) / 2)
        low, estimate, high = self._loads_at(weights.sum(axis=0), shares, LASTING)
        return Interval(estimate, low, high, CONFIDENCE, self.starts)

    def of_start(self, start: int, shares: Sequence[float], *, lasting: bool) -> tuple[float, ...]:
        """The loads below which one start, which may have no level yet, breaks with these probabilities.

        With `lasting` False: below which half of its levels hold.
        """
        others = self._server(BETWEEN, without=start)
        own = self._likelihood.get(start, np.ones((len(WITHIN), len(self._grid))))
        weights = sum(
            likely * own * _blurred(server, spread)
            for likely, server, spread in zip(_likely(BETWEEN, BETWEEN_MEDIAN), others, BETWEEN, strict=True)
        )
        return self._loads_at(weights, shares, LASTING if lasting else 0.0)

    def _server(self, between: Floats, without: int | None = None) -> Floats:
        """Between × within × grid: how likely the levels are, if that is where half of the server's hold."""
        product = np.ones((len(between), len(WITHIN), len(self._grid)))
        for start, spread in self._spread.items():
            if start != without:
                product *= spread[: len(between)]
        return product

    @cached_property
    def _spread(self) -> dict[int, Floats]:
        """Start → between × within × grid: the same for its levels alone."""
        return {
            start: np.stack([_blurred(likelihood, spread) for spread in BETWEEN])
            for start, likelihood in self._likelihood.items()
        }

    def _loads_at(self, weights: Floats, shares: Sequence[float], below: float) -> tuple[float, ...]:
        """Of a posterior (within × grid), so many standard deviations `below` the load it is of."""
        weights = _likely(WITHIN, WITHIN_MEDIAN)[:, np.newaxis] * weights
        logs = self._grid - below * WITHIN[:, np.newaxis]
        order = np.argsort(logs, axis=None)
        return _loads_at(logs.ravel()[order], weights.ravel()[order], shares)


def narrowed(levels: Sequence[Judged], share: float) -> tuple[float, float, float]:
    """Where half of the levels hold with probability `share`, were spreads the least: low end, middle, high.

    The middle is the load to try next: it halves what is left, and a slip costs levels, not the answer.
    """
    grid = _grid(levels)
    weights = _likelihood(grid, levels, WITHIN[:1])[0]
    low, middle, high = _loads_at(grid, weights, ((1 - share) / 2, 0.5, (1 + share) / 2))
    return low, middle, high


def _grid(levels: Sequence[Judged]) -> Floats:
    loads, reach = np.log([level.load for level in levels]), np.log(BEYOND)
    return np.arange(loads.min() - reach, loads.max() + reach, GRID_STEP)


def _likely(spreads: Floats, median: float) -> Floats:
    """How likely each spread is beforehand: the share of a half-Cauchy distribution that is nearest to it."""
    middles = (spreads[1:] + spreads[:-1]) / 2
    below = np.concatenate([[0.0], np.arctan(middles / median), [np.pi / 2]])
    return np.diff(below) / (np.pi / 2)


def _likelihood(grid: Floats, levels: Sequence[Judged], within: Floats) -> Floats:
    """Within × grid: how likely the levels of one start are if there half of them hold; the largest is 1."""
    logs = np.zeros((len(within), len(grid)))
    for level in levels:
        distance = (grid - np.log(level.load)) / within[:, np.newaxis]
        holds = LAPSE + (1 - 2 * LAPSE) * special.ndtr(distance)
        logs += np.log(holds if level.held else 1 - holds)
    return np.exp(logs - logs.max())


def _blurred(values: Floats, spread: float) -> Floats:
    """Each row smoothed by a normal distribution of that standard deviation along the grid."""
    if not spread:
        return values
    return gaussian_filter1d(values, spread / GRID_STEP, axis=-1, mode="nearest", truncate=5.0)


def _loads_at(logs: Floats, weights: Floats, shares: Sequence[float]) -> tuple[float, ...]:
    below = np.cumsum(weights)
    return tuple(float(load) for load in np.exp(np.interp(shares, below / below[-1], logs)))
