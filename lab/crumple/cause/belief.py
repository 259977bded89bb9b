"""How likely each hypothesis is by what was read. Pure.

Readings are not independent: what one of them shows, another shows again. So a hypothesis gets
less than the sum of their weights.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from crumple.cause.hypotheses import usual
from crumple.cause.hypothesis import ANY, Hypothesis, Scene, Way, weight
from crumple.limit.finding import Cause

# How much of the sum of its weights a hypothesis gets.
COUNTS = 0.8
# How usual it is that none of the hypotheses is true, beside the most usual of them (1).
SOMETHING_ELSE = 1.5

# What else there may be makes requests fail as well.
SOMETHING = Way("something else", {"answered": ANY})


@dataclass(frozen=True)
class Belief:
    """A hypothesis, how probable it is, and the way in which it most probably shows. None: something else."""

    hypothesis: Hypothesis | None
    probability: float
    way: Way | None = None

    @property
    def cause(self) -> Cause:
        """The cause; "none" for something else."""
        return self.hypothesis.cause if self.hypothesis is not None else "none"


def believed(hypotheses: Sequence[Hypothesis], scene: Scene) -> tuple[Belief, ...]:
    """Return all hypotheses, with something else among them, the most probable first."""
    else_ = COUNTS * in_favour(SOMETHING, scene) + math.log(SOMETHING_ELSE)
    found: list[tuple[float, Hypothesis | None, Way | None]] = [(else_, None, None)]
    for each in hypotheses:
        ways = list(each.ways(scene))
        if not ways:
            continue
        scores = [COUNTS * in_favour(way, scene) for way in ways]
        best = max(scores)
        whole = best + math.log(sum(math.exp(score - best) for score in scores))
        found.append((whole + math.log(each.odds), each, ways[scores.index(best)]))
    most = max(score for score, _, _ in found)
    total = sum(math.exp(score - most) for score, _, _ in found)
    held = [Belief(each, math.exp(score - most) / total, way) for score, each, way in found]
    return tuple(sorted(held, key=lambda each: -each.probability))


def in_favour(way: Way, scene: Scene) -> float:
    """Return by how much all that was read speaks for a way, in nats."""
    read = scene.readings
    return sum(weight(read[name], range_) for name, range_ in usual.expected(way).items() if name in read)
