"""Chooses what of a map is measured next: the point and the servers that leave least undecided per second.

A reading lessens what is not known around it (MacKay, *Neural Computation* 4, 1992; Cohn, *Neural Networks*
9, 1996). It counts where a cell is undecided, and for the servers by which it is. Laws are off most where the
surface bends, so points gather there and where the best server changes. Points lie on no grid: also between
the middles of cells.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import numpy as np

from crumple.model_map.map_laws import Lawful
from crumple.model_map.model_map import COMPUTE_FROM_US, WAIT_FROM_MS, Belief, ModelMap, places_of
from crumple.stats.kriging import Floats, Places
from crumple.study.map_points import MapPoint

# A server is measured at a chosen point if that gives at least a third of what the best one gives there.
WORTH_MIN = 1 / 3
# After the load the lab waits for so long, at most, until a server has worked off what was sent.
WORKED_OFF_MAX_S = 30.0
# A reading that would lessen the variances of logarithms by less than this, in sum, tells nothing: an error
# of 1 % in one cell.
GAIN_MIN = 1e-4


@dataclass(frozen=True)
class NextPoint:
    """What is measured next."""

    point: MapPoint
    servers: tuple[str, ...]
    undecided: int
    """How many cells are undecided now."""

    def __str__(self) -> str:
        """Return the reason for run.json."""
        return f"as {self.undecided} cells of the map are undecided"


# Point, server → how long the server is loaded there, in seconds.
LoadS = Callable[[MapPoint, str], float]


def choose(
    drawn: ModelMap,
    load_s: LoadS,
    left_s: float,
    *,
    without: Collection[MapPoint] = (),
    spared: Collection[str] = (),
) -> NextPoint | None:
    """Return what is measured next; None: nothing is undecided, or nothing that fits into `left_s` helps.

    `without`: points that are not chosen, as trials there do not count. `spared`: servers that are not
    measured any more.
    """
    candidates = [each for each in candidates_of(drawn) if each not in without]
    weights = {name: found * (name not in spared) for name, found in _weights(drawn).items()}
    if not candidates or not any(weight.any() for weight in weights.values()):
        return None
    gains, takes_s = [], []
    for each in drawn.beliefs:
        said = each.lawful(candidates)
        gains.append(_gains(drawn, each, weights[each.server.label], places_of(candidates, said)))
        takes_s.append(_takes_s(each, candidates, said, load_s))
    return _best(drawn, candidates, np.array(gains), np.array(takes_s), left_s)


def _best(
    drawn: ModelMap, candidates: Sequence[MapPoint], gains: Floats, takes_s: Floats, left_s: float
) -> NextPoint | None:
    """Return the point with the most gain per second; both have a row for each server."""
    is_worth = (gains >= WORTH_MIN * gains.max(axis=0)) & (gains > GAIN_MIN)
    gain, seconds = (gains * is_worth).sum(axis=0), (takes_s * is_worth).sum(axis=0)
    fits = is_worth.any(axis=0) & (seconds <= left_s)
    if not fits.any():
        return None
    best = int(np.argmax(np.where(fits, gain / np.maximum(seconds, 1e-9), -math.inf)))
    servers = tuple(each.server.label for row, each in enumerate(drawn.beliefs) if is_worth[row, best])
    undecided = len(drawn.cells) - drawn.decided
    return NextPoint(candidates[best], servers, undecided)


def candidates_of(drawn: ModelMap) -> list[MapPoint]:
    """Return the points that may be measured: the middles of all cells, and those between two of them."""
    data = drawn.data
    waits = _finer(data.wait_ms, WAIT_FROM_MS)
    computes = _finer(data.compute_us, COMPUTE_FROM_US)
    users = _finer(data.users, 0.0)
    return [
        MapPoint(wait_ms=wait_ms, compute_us=compute_us, users=number)
        for wait_ms in waits
        for compute_us in computes
        for number in users
    ]


def _finer(values: Sequence[int], start: float) -> list[int]:
    """Return the values with those halfway between them on an axis that is logarithmic from `start` on."""
    between = [round(math.sqrt((one + start) * (other + start)) - start) for one, other in pairwise(values)]
    return sorted({*values, *between})


def _weights(drawn: ModelMap) -> dict[str, Floats]:
    """Return server → how much each cell counts: those undecided by it, or by who may be the best."""
    found = {each.server.label: np.zeros(len(drawn.cells)) for each in drawn.beliefs}
    for at, spot in enumerate(drawn.spots):
        for each in spot.servers:
            if each.rank == "open" or (each.rank == "best" and not spot.is_decided):
                found[each.server.label][at] = 1.0
    return found


def _gains(drawn: ModelMap, each: Belief, weights: Floats, there: Places) -> Floats:
    cells = places_of(drawn.cells, each.lawful(drawn.cells))
    return each.throughput.gain(there, cells, weights)


def _takes_s(
    each: Belief, candidates: Sequence[MapPoint], said: Sequence[Lawful], load_s: LoadS
) -> list[float]:
    """Return how long a trial takes at each point: around the load, the load, and working it off."""
    around_s = fmean(trial.took_s for trial in each.trials)
    return [
        around_s + load_s(point, each.server.label) + min(WORKED_OFF_MAX_S, point.users / law.per_s)
        for point, law in zip(candidates, said, strict=True)
    ]
