"""Context switches take much of the CPU time. Pure."""

from collections.abc import Iterator

from crumple.cause.hypotheses.usual import at_least_shared
from crumple.cause.hypothesis import FEW, NONE, SOME, CauseWords, Hypothesis, Range, Scene, Way
from crumple.drawing import numerals


def _ways(scene: Scene) -> Iterator[Way]:
    if "switching" not in scene.readings:
        return
    busy = {"idle": NONE, "dearer": Range(-0.7, 3.0), "one_core": at_least_shared(scene)}
    yield Way("no core is idle", {**busy, "switching": SOME, "asking": FEW})
    yield Way("cores are idle as well", {"idle": SOME, "switching": SOME, "asking": FEW})


def _words(scene: Scene) -> CauseWords:
    load, facts = scene.facts.beyond, scene.facts
    number = load.switches_per_s if load.switches_per_s is not None else load.switches_least_per_s or 0.0
    share = scene.readings["switching"].value if "switching" in scene.readings else 0.0
    said = f"{number:,.0f} context switches per second are {numerals.share(share)} of its CPU time"
    share_s = facts.share(share * (load.cores or 0.0) / load.per_s) if load.per_s else None
    return CauseWords(said, "hand a request from thread to thread less often", share_s)


HYPOTHESIS = Hypothesis("switches", 0.5, _ways, _words)
