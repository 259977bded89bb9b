"""Where a server breaks: loads that held and loads that broke → the breaking point and its 95 % interval.

Pure. Which loads are tried is `search`; whether a level held is `level`.

It is the highest load that lasts: of levels at it nine in ten hold. At the load where half of them hold a
queue is on the edge of growing without end, and holds for some seconds by luck.

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

from crumple.stats import CONFIDENCE, Interval

Floats = NDArray[np.float64]

# Spread of levels around their start's breaking point, and of starts around the server's, as logarithms: from
# what a level of seconds cannot resolve to what makes the figure worthless.
WITHIN = (0.004, 0.008, 0.016, 0.03, 0.06, 0.12)
BETWEEN = (0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16)
# Levels that say nothing of the load: a hiccup of the machine, or luck. (Wichmann & Hill, Perception &
# Psychophysics 2001: without such a share a single slip moves the whole estimate.)
LAPSE = 0.02
GRID_STEP = 0.002
# Standard deviations below the load at which half of the levels hold: there 90 % do.
LASTING = 1.2816
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
        # With one start nothing tells its own breaking point from the server's.
        self._between = BETWEEN if self.starts > 1 else BETWEEN[:1]

    def interval(self) -> Interval:
        """The breaking point (median) and its central 95 % interval; `n`: starts."""
        weights = np.prod(list(self._spread.values()), axis=0).sum(axis=0)
        lasting = self._grid - LASTING * np.array(WITHIN)[:, np.newaxis]
        order = np.argsort(lasting, axis=None)
        shares = ((1 - CONFIDENCE) / 2, 0.5, (1 + CONFIDENCE) / 2)
        low, estimate, high = _loads_at(lasting.ravel()[order], weights.ravel()[order], shares)
        return Interval(estimate, low, high, CONFIDENCE, self.starts)

    def halves_of_start_at(self, start: int, *shares: float) -> tuple[float, ...]:
        """The loads below which half of the levels on one start hold, with these probabilities.

        That is where a level tells most. The start may have none yet.
        """
        others = [spread for other, spread in self._spread.items() if other != start]
        server = np.prod(others, axis=0) if others else np.ones_like(self._spread[start])
        own = self._likelihood.get(start, np.ones((len(WITHIN), len(self._grid))))
        # Of a second start it is not known how far it may lie from the first.
        between = self._between if start in self._likelihood else BETWEEN
        rows = server if len(server) == len(between) else [server[0]] * len(between)
        weights = sum(own * _blurred(row, spread) for row, spread in zip(rows, between, strict=True))
        return _loads_at(self._grid, weights.sum(axis=0), shares)

    @cached_property
    def _spread(self) -> dict[int, Floats]:
        """Start → between × within × grid: how likely its levels are, if there half of the server's hold."""
        return {
            start: np.stack([_blurred(likelihood, spread) for spread in self._between])
            for start, likelihood in self._likelihood.items()
        }


def narrowed(levels: Sequence[Judged], share: float) -> tuple[float, float, float]:
    """Low end, middle and high end of where half of the levels hold with probability `share`, were spreads least.

    The middle is the load to try next: it halves what is left, and a slip costs levels, not the answer.
    """
    grid = _grid(levels)
    weights = _likelihood(grid, levels, WITHIN[:1])[0]
    low, middle, high = _loads_at(grid, weights, ((1 - share) / 2, 0.5, (1 + share) / 2))
    return low, middle, high


def _grid(levels: Sequence[Judged]) -> Floats:
    loads, reach = np.log([level.load for level in levels]), np.log(BEYOND)
    return np.arange(loads.min() - reach, loads.max() + reach, GRID_STEP)


def _likelihood(grid: Floats, levels: Sequence[Judged], within: Sequence[float]) -> Floats:
    """Within × grid: how likely the levels of one start are if there half of them hold; the largest is 1."""
    logs = np.zeros((len(within), len(grid)))
    for level in levels:
        distance = (grid - np.log(level.load)) / np.array(within)[:, np.newaxis]
        holds = LAPSE + (1 - 2 * LAPSE) * special.ndtr(distance)
        logs += np.log(holds if level.held else 1 - holds)
    return np.exp(logs - logs.max())


def _blurred(values: Floats, spread: float) -> Floats:
    """Each row smoothed by a normal distribution of that standard deviation along the grid."""
    if not spread:
        return values
    return gaussian_filter1d(values, spread / GRID_STEP, axis=-1, mode="nearest", truncate=5.0)


def _loads_at(grid: Floats, weights: Floats, shares: Sequence[float]) -> tuple[float, ...]:
    below = np.cumsum(weights)
    return tuple(float(load) for load in np.exp(np.interp(shares, below / below[-1], grid)))
