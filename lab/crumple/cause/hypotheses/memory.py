"""Collecting garbage takes much of the CPU time. Pure."""

from collections.abc import Iterator

from crumple.cause.hypotheses.usual import at_least_shared
from crumple.cause.hypothesis import ALL, FEW, MOST, NONE, CauseWords, Hypothesis, Range, Scene, Way
from crumple.observation import garbage

# The share of the CPU time from which on it limits a server more than what requests compute.
MUCH = Range(0.25, 1.0)


def _ways(scene: Scene) -> Iterator[Way]:
    if "garbage" not in scene.readings:
        return
    busy = {"garbage": MUCH, "used": MOST, "asking": FEW}
    yield Way("no core is idle", {**busy, "idle": NONE, "receiving": FEW, "one_core": at_least_shared(scene)})
    yield Way("one thread is busy", {**busy, "busiest": ALL})


def _words(scene: Scene) -> CauseWords:
    found = garbage.collecting(scene.facts.beyond.cpu_time)
    said = max(found, key=lambda each: each.low).said if found else "it collects garbage"
    return CauseWords(said, "make less garbage, or allow more memory", scene.facts.waited_s)


HYPOTHESIS = Hypothesis("memory", 0.5, _ways, _words)
