"""Where a server breaks: levels that were tried → the breaking point and its 95 % interval.

Pure. `next_level` chooses the loads; `seen` holds what a level saw; `likelihood` says how likely that is at a
breaking point: by `QueueLaw` where slow answers came in crowds out of a queue, and by `ShareLaw` otherwise.

The breaking point is the highest load that lasts: the load at which the share of requests that miss the
objective is the objective's limit. The machine is faster in some levels than in others, and each start has a
breaking point of its own. Both spreads are unknown, and so are the parameters of the laws; the interval is
that of the posterior over a grid of all of them. So levels that contradict each other widen the interval, and
so do few starts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from crumple.find import certain, likelihood, outgrown
from crumple.find.likelihood import ROOM_SHARE_MIN, QueueLaw, ShareLaw
from crumple.find.seen import LEAST_S, Base, Evidence, Judged
from crumple.stats.interval import CONFIDENCE, Interval

Floats = NDArray[np.float64]

# Spread of levels around their start's breaking point, and of starts around the server's, as logarithms. The
# smallest cannot be resolved by a level of seconds, the largest makes the figure worthless. Their priors are
# half-Cauchy distributions with medians of 1 % and 2.5 %, which allow for much larger spreads.
WITHIN = np.array((0.004, 0.012, 0.035, 0.1))
BETWEEN = np.array((0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16))
WITHIN_MEDIAN, BETWEEN_MEDIAN = 0.01, 0.025
# The share of levels that say nothing of the load, because of a short stall of the machine or by chance.
# (Wichmann & Hill, Perception & Psychophysics 2001: otherwise one outlier moves the whole estimate.)
LAPSE = 0.04
GRID_STEP = 0.004
# How many products of levels are kept for the next step of the search: some megabytes each.
PRODUCTS_KEPT = 24
# How many of these, blurred as starts differ: seven times as large each, for two laws and five starts.
SPREADS_KEPT = 10
WAVES_KEPT = 16
# Standard deviations beyond which a normal distribution is cut off.
REACH = 4.0
# How far beyond the loads tried the grid reaches, as a factor.
BEYOND = 2.0
# Slow answers come out of a queue if this share of them came in crowds, in levels this near to the edge.
CROWDED_SHARE, NEAR = 0.4, 1.2
# A server that answers this share of a load this far beyond the edge is slow for another reason than a queue.
PACE_KEPT, FAR = 0.97, 1.2
# A level that held this far beyond the interval, as a factor, contradicts it.
HELD_FAR = 1.05


# How likely a level is at each breaking point: unknown × grid. `prior`: how likely each unknown is.
Law = QueueLaw | ShareLaw

# What the likelihood of one start's levels depends on, as `_of_levels` takes it.
_OfStart = tuple[Law, tuple[tuple[Judged, Evidence], ...], tuple[float, float], bool]


@dataclass(frozen=True)
class Binding:
    """The part of the objective that breaks first. `queue`: its slow answers came out of a queue."""

    name: str
    queue: bool
    posterior: "Posterior"

    def point(self, levels: Sequence[Judged]) -> Interval:
        """Return the breaking point with its interval, which reaches to the levels that held far beyond it.

        Where slow answers come one by one, the law takes such a level for chance if levels at lower loads
        broke. But what a server has done for some seconds at a time it can do, and something else than the
        load may have made those break. A level held by chance before a queue had grown is the queue's law's.
        """
        found = self.posterior.interval
        if not self.posterior.is_of_shares:
            return found
        held = [each.load for each in levels if each.outcome == "held" and each.load > HELD_FAR * found.high]
        return replace(found, high=max([found.high, *held]))


class Posterior:
    """The posterior of the breaking point by one part, given levels (at least one), on a logarithmic grid."""

    def __init__(self, levels: Sequence[Judged], name: str, law: Law) -> None:
        self._grid = _grid(_ends(levels))
        self._law = law
        seen = [(level, evidence) for level in levels if (evidence := level.of(name)) is not None]
        starts = sorted({level.start for level, _ in seen})
        self.starts = len(starts)
        self._of: dict[int, _OfStart] = {}
        self._likelihood: dict[int, Floats] = {}
        for start in starts:
            of_start = tuple(each for each in seen if each[0].start == start)
            self._of[start] = law, of_start, _ends(levels), start == starts[0]
            self._likelihood[start] = _of_levels(*self._of[start])

    @property
    def is_of_shares(self) -> bool:
        """Whether slow answers come one by one by its law."""
        return isinstance(self._law, ShareLaw)

    @cached_property
    def interval(self) -> Interval:
        """The breaking point (median) and its central 95 % interval; `n`: starts."""
        if self.starts == 1:
            # One start does not show how its own breaking point differs from the server's.
            (weights,) = self._likelihood.values()
        else:
            likely = _likely(BETWEEN, BETWEEN_MEDIAN)[:, np.newaxis, np.newaxis, np.newaxis]
            spread = [_spread(*of_start) for of_start in self._of.values()]
            weights = (likely * _product(spread)).sum(axis=0)
        shares = ((1 - CONFIDENCE) / 2, 0.5, (1 + CONFIDENCE) / 2)
        low, estimate, high = self._loads_at(weights, shares)
        return Interval(estimate, low, high, CONFIDENCE, self.starts)

    def of_start(self, start: int, shares: Sequence[float], *, telling: bool = False) -> tuple[float, ...]:
        """Return the loads below which one start breaks with these probabilities.

        The start may have no level yet. `telling`: return the loads at which levels say most instead.
        """
        weights = self._likelihood.get(start, np.ones(1))
        others = [_spread(*of_start) for other, of_start in self._of.items() if other != start]
        if others:
            likely = _likely(BETWEEN, BETWEEN_MEDIAN)
            each = zip(likely, _product(others), BETWEEN, strict=True)
            told = [share * _blurred(other, np.array([spread]))[0] for share, other, spread in each]
            weights = weights * sum(told)
        return self._loads_at(weights, shares, telling=telling)

    def _loads_at(
        self, weights: Floats, shares: Sequence[float], *, telling: bool = False
    ) -> tuple[float, ...]:
        """The quantiles `shares` of a posterior (within × unknown × grid) over the grid, or what tells it."""
        likely = np.einsum("i,j->ij", _likely(WITHIN, WITHIN_MEDIAN), self._law.prior)[..., np.newaxis]
        each = (likely * weights).sum(axis=0)
        if telling:
            at = self._law.reach(self._grid).ravel()
            # The rows are in order, which a stable sort makes use of.
            order = np.argsort(at, kind="stable")
            return _loads_at(at[order], each.ravel()[order], shares)
        # The loads are those of the grid in every row, so nothing need be sorted.
        return _loads_at(np.repeat(self._grid, len(each)), each.T.ravel(), shares)


def binding(levels: Sequence[Judged], arrivals: float | None, calm: Base | None = None) -> Binding | None:
    """Return what breaks first; None where no level leans against a part of the objective.

    `levels`: in the order of trying. `arrivals`: variance of the gaps between requests over the square of
    their mean; None: requests wait for answers. `calm`: response times of requests sent one by one; None:
    those of the level of the lowest load.
    """
    levels, calm = outgrown.now(levels, calm)
    first: dict[str, float] = {}
    for level in sorted(levels, key=lambda each: each.load):
        for evidence in level.evidence if level.leans_against else ():
            if evidence.leans_against:
                first.setdefault(evidence.name, level.load)
    shares = {name: load for name, load in first.items() if not _is_whole(levels, name)}
    # A part that is only judged for a level as a whole says least: it counts if it broke at a lower load.
    whole = {name: load for name, load in first.items() if load < min(shares.values(), default=math.inf)}
    lowest = min((level for level in levels if level.base), key=lambda each: each.load, default=None)
    calm = calm or (lowest.base if lowest else None)
    found = [_by_law(levels, name, arrivals, calm) for name in {**shares, **whole}]
    return min(found, key=lambda each: each.posterior.interval.estimate, default=None)


def on_a_calm_machine(
    found: Binding, levels: Sequence[Judged], arrivals: float | None, calm: Base | None
) -> Interval | None:
    """Return the breaking point, with an interval that holds the one without other programs.

    Its low end is that of the levels as they were; its high end that of what is certainly the server's. None:
    others may have made each level break that did. Arguments as of `binding`, whose answer `found` is.
    """
    seen = found.point(levels)
    if all(each.slowdown <= 1 for each in levels):
        return seen
    # How fast the server was before the first level may be due to others.
    surely_calm = calm and replace(calm, pace=None)
    surely = certain.certain(levels, calm)
    at_most = binding(surely, arrivals, surely_calm)
    if at_most is None:
        return None
    return replace(seen, high=max(seen.high, at_most.point(surely).high))


def narrowed(loads: Sequence[tuple[float, bool]], share: float) -> tuple[float, float, float]:
    """Return the interval with probability `share` of the edge between loads that held and others.

    The result is its low end, middle and high end. It is meant for sharp edges, such as the engine's limit.
    """
    grid = np.arange(
        math.log(min(load for load, _ in loads)), math.log(max(load for load, _ in loads)), GRID_STEP / 2
    )
    weights = np.ones(len(grid))
    for load, held in loads:
        holds = 1 / (1 + np.exp(np.clip((math.log(load) - grid) / WITHIN[0], -500, 500)))
        weights *= LAPSE / 2 + (1 - LAPSE) * (holds if held else 1 - holds)
    low, middle, high = _loads_at(grid, weights, ((1 - share) / 2, 0.5, (1 + share) / 2))
    return low, middle, high


def _is_whole(levels: Sequence[Judged], name: str) -> bool:
    return all(evidence.known <= 1 for level in levels if (evidence := level.of(name)) is not None)


def _by_law(levels: Sequence[Judged], name: str, arrivals: float | None, calm: Base | None) -> Binding:
    seen = [evidence for level in levels if (evidence := level.of(name)) is not None]
    shared = Posterior(levels, name, ShareLaw(seen[0].limit, likelihood.together(seen)))
    law = _queue(levels, name, arrivals, calm, shared.interval.estimate)
    if law is None:
        return Binding(name, False, shared)
    if not law.holds:
        small = ShareLaw(seen[0].limit, likelihood.together(seen), law.gap)
        return Binding(name, True, Posterior(levels, name, small))
    return Binding(name, True, Posterior(levels, name, law))


def _queue(
    levels: Sequence[Judged], name: str, arrivals: float | None, calm: Base | None, edge: float
) -> QueueLaw | None:
    """Return the law of the queue if the answers against the part came out of one; else None."""
    against = [
        (level.load, evidence)
        for level in levels
        if (evidence := level.of(name)) is not None and evidence.leans_against
    ]
    near = [each for each in against if edge / NEAR <= each[0] <= edge * NEAR] or against
    # Weigh by the root of the number, so that one level far beyond the edge does not outweigh all others.
    weights = [math.sqrt(evidence.against) for _, evidence in near]
    crowded = sum(
        weight * evidence.crowded / evidence.against
        for weight, (_, evidence) in zip(weights, near, strict=True)
    )
    limit, limit_s = near[0][1].limit, near[0][1].limit_s
    if arrivals is None or calm is None or limit_s is None or crowded < CROWDED_SHARE * sum(weights):
        return None
    held_s = [
        evidence.watched_s
        for level in levels
        if (evidence := level.of(name)) is not None and evidence.passed_s is None
    ]
    roomy = limit_s - calm.median_s >= ROOM_SHARE_MIN * limit_s
    if not roomy or _keeps_pace(against, edge):
        return None
    return QueueLaw(limit, limit_s, calm, arrivals, float(np.median(held_s or [LEAST_S])), near[0][0])


def _keeps_pace(against: Sequence[tuple[float, Evidence]], edge: float) -> bool:
    """Whether the server answers all it is asked at a load far beyond the edge: then no queue grows."""
    told = [(load, each.pace) for load, each in against if each.pace is not None]
    if not told:
        return False
    load, (answers, seconds) = max(told)
    return load > FAR * edge and answers / seconds >= PACE_KEPT * load


@lru_cache(maxsize=PRODUCTS_KEPT)
def _of_levels(
    law: Law, seen: tuple[tuple[Judged, Evidence], ...], ends: tuple[float, float], is_first: bool
) -> Floats:
    """Within × unknown × grid: how likely the levels of one start are.

    `is_first`: with what was known before the first level. A search asks for all its levels again after each
    new one, so the product of those before is kept.
    """
    grid = _grid(ends)
    if not seen:
        before = law.before(grid) if is_first else None
        return np.ones(1) if before is None else _product([_blurred(before, WITHIN)])
    level, evidence = seen[-1]
    # How likely the level is if the machine's speed varies by each of these spreads.
    likely = _blurred(law.likelihood(level, evidence, grid), WITHIN)
    likely *= 1 - LAPSE
    likely += LAPSE * law.blind(evidence)
    return _product([_of_levels(law, seen[:-1], ends, is_first), likely])


@lru_cache(maxsize=SPREADS_KEPT)
def _spread(
    law: Law, seen: tuple[tuple[Judged, Evidence], ...], ends: tuple[float, float], is_first: bool
) -> Floats:
    """Between × within × unknown × grid of the server: how likely the levels of one start are."""
    return _blurred(_of_levels(law, seen, ends, is_first), BETWEEN)


def _ends(levels: Sequence[Judged]) -> tuple[float, float]:
    loads = [level.load for level in levels]
    return min(loads), max(loads)


def _grid(ends: tuple[float, float]) -> Floats:
    """Return a grid of loads, as logarithms, that reaches beyond the lowest and highest load tried."""
    reach = math.log(BEYOND)
    return np.arange(math.log(ends[0]) - reach, math.log(ends[1]) + reach, GRID_STEP)


def _likely(spreads: Floats, median: float) -> Floats:
    """The prior of each spread: the share of a half-Cauchy distribution that is nearest to it."""
    if len(spreads) == 1:
        return np.ones(1)
    middles = (spreads[1:] + spreads[:-1]) / 2
    below = np.concatenate([[0.0], np.arctan(middles / median), [np.pi / 2]])
    return np.diff(below) / (np.pi / 2)


def _product(parts: Sequence[Floats]) -> Floats:
    """Multiply likelihoods. The largest is scaled to 1 after each factor, to avoid underflow."""
    product: Floats = parts[0] / parts[0].max()
    for part in parts[1:]:
        product = product * part
        product /= product.max()
    return product


def _blurred(values: Floats, spreads: Floats) -> Floats:
    """For each spread, each row smoothed along the grid by a normal distribution of that deviation."""
    if not spreads.any():
        return np.broadcast_to(values, (len(spreads), *values.shape))
    reach = math.ceil(REACH * float(spreads.max()) / GRID_STEP)
    number = values.shape[-1]
    length = _fast(number + 2 * reach)
    # Beyond the grid all is as at its ends. numpy.pad takes as long as the transform.
    widened = np.zeros((*values.shape[:-1], length))
    widened[..., reach : reach + number] = values
    widened[..., :reach] = values[..., :1]
    widened[..., reach + number : number + 2 * reach] = values[..., -1:]
    transformed = np.fft.rfft(widened, axis=-1)
    blurred = np.empty((len(spreads), *values.shape))
    # One spread at a time takes a third less time than all at once: the arrays fit into the cache.
    for each, kept in zip(blurred, _kept(length, tuple(spreads.tolist())), strict=True):
        smooth = np.fft.irfft(transformed * kept, length, axis=-1)
        np.maximum(smooth[..., reach : reach + number], 0.0, out=each)
    return blurred


@lru_cache(maxsize=WAVES_KEPT)
def _kept(length: int, spreads: tuple[float, ...]) -> Floats:
    """For each spread: the share of every wave that is left after smoothing."""
    waves = 2 * np.pi * np.fft.rfftfreq(length, GRID_STEP)
    kept: Floats = np.exp(-((np.array(spreads)[:, np.newaxis] * waves) ** 2) / 2)
    return kept


def _fast(length: int) -> int:
    """The next length whose only prime factors are 2, 3 and 5: a Fourier transform of it is fast."""
    while 30 ** length.bit_length() % length:
        length += 1
    return length


def _loads_at(logs: Floats, weights: Floats, shares: Sequence[float]) -> tuple[float, ...]:
    below = np.cumsum(weights)
    return tuple(float(load) for load in np.exp(np.interp(shares, below / below[-1], logs)))
