"""Which experiment is expected to settle most per second. Pure.

What an experiment would give is expected under each hypothesis in turn. How sure one would be after it, on
average over what is believed now, is what it is worth.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from crumple.cause.belief import Belief, believed
from crumple.cause.experiments import CauseExperiment
from crumple.cause.hypotheses import usual
from crumple.cause.hypothesis import SCALES, Hypothesis, Range, Reading, Scene

# The least probability of a hypothesis whose expectations an experiment is planned by.
ASKED = 0.02
# The least that an experiment must be expected to settle to be made, in nats per second.
WORTH = 0.01
# The widest range, as a share of the scale, that counts as a prediction which an experiment could refute.
NARROW = 0.55
# How many causes after the most probable one count as its rivals.
RIVALS = 3
# The standard error that the reading of an experiment is expected to have.
SD = 0.05


@dataclass(frozen=True)
class PlannedExperiment:
    """An experiment, and how much it is expected to settle per second, in nats."""

    experiment: CauseExperiment
    settles_per_s: float


def chosen(
    hypotheses: Sequence[Hypothesis],
    held: Sequence[Belief],
    scene: Scene,
    allowed: Collection[CauseExperiment],
    left_s: float,
) -> PlannedExperiment | None:
    """Return the experiment that settles most per second; None: none is worth its time, or has time."""
    alone_s = scene.facts.alone_s or 0.0
    known = [each for each in held if each.hypothesis is not None and each.probability >= ASKED]
    found = [
        PlannedExperiment(each, settled / each.lasts_s(alone_s))
        for each in allowed
        if each.lasts_s(alone_s) <= left_s and not {*each.gives} & {*scene.readings}
        for settled in [_settled(hypotheses, held, known, scene, each)]
    ]
    best = max(found, key=lambda each: each.settles_per_s, default=None)
    return best if best is not None and best.settles_per_s >= WORTH else None


def entropy(held: Sequence[Belief]) -> float:
    """Return how unsure a belief is, in nats."""
    return -sum(each.probability * math.log(each.probability) for each in held if each.probability > 0)


def expected(held: Belief, name: str) -> Range | None:
    """Return where a hypothesis expects a reading, in the way that is most probable; None: anywhere."""
    return usual.expected(held.way).get(name) if held.way is not None else None


def could_refute(held: Sequence[Belief], name: str) -> bool:
    """Whether the most probable cause expects a reading in a narrow range, and a rival elsewhere.

    Something else is a rival of all: it expects what is usual.
    """
    first = expected(held[0], name)
    if first is None or first.high - first.low > NARROW:
        return False
    rivals = [expected(each, name) for each in held[1 : 1 + RIVALS]]
    others = [each for each in (*rivals, usual.USUAL.get(name)) if each is not None]
    return any(each.high < first.low or each.low > first.high for each in others)


def _settled(
    hypotheses: Sequence[Hypothesis],
    held: Sequence[Belief],
    known: Sequence[Belief],
    scene: Scene,
    experiment: CauseExperiment,
) -> float:
    """Return by how much entropy falls on average; where nothing is expected, it stays."""
    now, settled = entropy(held), 0.0
    for each in known:
        ranges = {name: range_ for name in experiment.gives if (range_ := expected(each, name)) is not None}
        if not ranges:
            continue
        least, most = SCALES[experiment.scale]
        given = {
            name: Reading((max(least, range_.low) + min(most, range_.high)) / 2, SD, experiment.scale)
            for name, range_ in ranges.items()
        }
        then = believed(hypotheses, replace(scene, readings={**scene.readings, **given}))
        settled += each.probability * (now - entropy(then))
    return settled
