"""A pool of processes or threads grows more slowly than the load. Pure."""

from collections.abc import Iterator

from crumple.cause.hypotheses.usual import WAITS
from crumple.cause.hypotheses.workers import LOOP_IN_FRONT, in_front
from crumple.cause.hypothesis import FEW, MORE, CauseWords, Hypothesis, Range, Scene, Way
from crumple.drawing import numerals

# What it adds, as a share of what there was, and by how much the rate of answers rises with it.
ADDED, RISES = Range(0.1, 1.0), Range(0.08, 3.0)


def _ways(scene: Scene) -> Iterator[Way]:
    grows = {"added": ADDED, "rises": RISES, "longer": RISES}
    yield Way("requests wait in front of it", {**in_front(scene), **grows})
    yield Way("a loop accepts for it", {**in_front(scene), **grows, **LOOP_IN_FRONT})
    yield Way("requests wait inside", {**WAITS, **grows, "inside": MORE, "unread": FEW})


def _words(scene: Scene) -> CauseWords:
    load, facts = scene.facts.beyond, scene.facts
    said = f"it added {load.grew or 0} processes or threads while requests waited"
    if load.rates is not None:
        first, last = (numerals.rate(each) for each in load.rates)
        said = f"{said}; it answers {first} at first, and {last} in the end"
    return CauseWords(said, "start with more workers", facts.waited_s)


HYPOTHESIS = Hypothesis("slow-pool", 0.5, _ways, _words)
