"""Where a server breaks: levels that were tried → the breaking point and its 95 % interval.

`next_level` chooses the loads; `seen` holds what a level saw; `laws` knows by which law a level shows where
the server breaks: by that of queues where slow answers came in crowds out of a queue, and by that of shares
otherwise. The engine computes the posterior (`engine/src/weigh/posterior.rs`): `weighing` asks it.

The breaking point is the highest load that lasts: the load at which the share of requests that miss the
objective is the objective's limit. The machine is faster in some levels than in others, and each start has a
breaking point of its own. Both spreads are unknown, and so are the parameters of the laws; the interval is
that of the posterior over a grid of all of them. So levels that contradict each other widen the interval, and
so do few starts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from statistics import median

from crumple.contract import LawSpec, LevelSpec, QuantilesSpec, Weighing
from crumple.find import certain, laws, outgrown, weighing
from crumple.find.laws import ROOM_SHARE_MIN, Queue
from crumple.find.seen import LEAST_S, Base, Judged, PartEvidence
from crumple.stats import averages
from crumple.stats.interval import CONFIDENCE, Interval

# The least share of slow answers in crowds with which slow answers come out of a queue; and how far from the
# edge the levels lie that show it, as a factor.
CROWDED_SHARE, NEAR = 0.4, 1.2
# The share of a load that a server answers if it keeps pace, and how far beyond the edge the load must be, as
# a factor. If it does, slow answers have another reason than a queue.
PACE_KEPT, FAR = 0.97, 1.2
# How far beyond the interval a level that held contradicts it, as a factor.
HELD_FAR = 1.05
# The step of the grid on which a sharp edge is searched, and the edge's width, both as logarithms; and the
# share of the levels that say nothing of the edge.
EDGE_STEP, EDGE_WIDTH, EDGE_LAPSE = 0.002, 0.004, 0.04


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
    """The posterior of the breaking point by one part, given levels (at least one)."""

    def __init__(self, levels: Sequence[Judged], name: str, law: LawSpec) -> None:
        loads = [level.load for level in levels]
        seen = [(level, evidence) for level in levels if (evidence := level.of(name)) is not None]
        self.starts = len({level.start for level, _ in seen})
        self._known = Weighing(
            law=law,
            lowest=min(loads),
            highest=max(loads),
            levels=tuple(_weighed(level, evidence) for level, evidence in seen),
            quantiles=(),
        )

    @property
    def is_of_shares(self) -> bool:
        """Whether slow answers come one by one by its law."""
        return self._known.law.kind == "shares"

    @cached_property
    def interval(self) -> Interval:
        """The breaking point (median) and its central 95 % interval; `n`: starts."""
        low, estimate, high = self._loads(None, ((1 - CONFIDENCE) / 2, 0.5, (1 + CONFIDENCE) / 2))
        return Interval(estimate, low, high, CONFIDENCE, self.starts)

    def of_start(self, start: int, shares: Sequence[float], *, telling: bool = False) -> tuple[float, ...]:
        """Return the loads below which one start breaks with these probabilities.

        The start may have no level yet. `telling`: return the loads at which levels say most instead.
        """
        return self._loads(start, shares, telling)

    def _loads(self, start: int | None, shares: Sequence[float], telling: bool = False) -> tuple[float, ...]:
        asked = QuantilesSpec(start=start, telling=telling, shares=tuple(shares))
        (loads,) = weighing.weigh(self._known.model_copy(update={"quantiles": (asked,)})).loads
        return loads


def _weighed(level: Judged, evidence: PartEvidence) -> LevelSpec:
    return LevelSpec(
        load=level.load,
        start=level.start,
        known=evidence.known,
        against=evidence.against,
        settled_s=evidence.settled_s,
        watched_s=evidence.watched_s,
        passed_s=evidence.passed_s,
        limit_s=evidence.limit_s,
        pace=evidence.pace,
    )


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
    lowest, highest = (math.log(of(load for load, _ in loads)) for of in (min, max))
    grid = [
        lowest + EDGE_STEP * number for number in range(max(1, math.ceil((highest - lowest) / EDGE_STEP)))
    ]
    below = list(accumulate(math.prod(_likely_at(edge, *each) for each in loads) for edge in grid))
    low, middle, high = (
        math.exp(averages.interpolate(each * below[-1], below, grid))
        for each in ((1 - share) / 2, 0.5, (1 + share) / 2)
    )
    return low, middle, high


def _likely_at(edge: float, load: float, held: bool) -> float:
    """How likely it is that the load held, or did not, if the edge is there, as a logarithm."""
    beyond = (math.log(load) - edge) / EDGE_WIDTH
    holds = 1 / (1 + math.exp(min(500.0, max(-500.0, beyond))))
    return EDGE_LAPSE / 2 + (1 - EDGE_LAPSE) * (holds if held else 1 - holds)


def _is_whole(levels: Sequence[Judged], name: str) -> bool:
    return all(evidence.known <= 1 for level in levels if (evidence := level.of(name)) is not None)


def _by_law(levels: Sequence[Judged], name: str, arrivals: float | None, calm: Base | None) -> Binding:
    seen = [evidence for level in levels if (evidence := level.of(name)) is not None]
    limit, together = seen[0].limit, laws.together(seen)
    shared = Posterior(levels, name, laws.of_shares(limit, together))
    queue = _queue(levels, name, arrivals, calm, shared.interval.estimate)
    if queue is None:
        return Binding(name, False, shared)
    law: LawSpec = queue.law if queue.holds else laws.of_shares(limit, together, queue.gap)
    return Binding(name, True, Posterior(levels, name, law))


def _queue(
    levels: Sequence[Judged], name: str, arrivals: float | None, calm: Base | None, edge: float
) -> Queue | None:
    """Return the queue if the answers against the part came out of one; else None."""
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
    return Queue(limit, limit_s, calm, arrivals, median(held_s or [LEAST_S]), near[0][0])


def _keeps_pace(against: Sequence[tuple[float, PartEvidence]], edge: float) -> bool:
    """Whether the server answers all it is asked at a load far beyond the edge: then no queue grows."""
    told = [(load, each.pace) for load, each in against if each.pace is not None]
    if not told:
        return False
    load, (answers, seconds) = max(told)
    return load > FAR * edge and answers / seconds >= PACE_KEPT * load
