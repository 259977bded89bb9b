"""A control group stops the server when it has used its quota of CPU time. Pure."""

from collections.abc import Iterator

from crumple.cause.hypothesis import ANY, FEW, SOME, CauseWords, Hypothesis, Range, Scene, Way
from crumple.drawing import numerals
from crumple.limit import what_if
from crumple.observation import group_words


def _ways(scene: Scene) -> Iterator[Way]:
    computes = {"asking": FEW, "receiving": FEW, "gated": ANY}
    if "throttled" in scene.readings:
        counted = {"throttled": Range(0.05, 1.0), "stopped": ANY}
        yield Way("the kernel counts it", {**computes, **counted})
    if "stopped" in scene.readings:
        yield Way("its threads are stopped", {**computes, "stopped": SOME})


def _words(scene: Scene) -> CauseWords:
    load, facts, quota = scene.facts.beyond, scene.facts, scene.facts.seen.quota
    share = load.throttled_share
    stopped = f"stopped for {numerals.share(share)} of the time"
    if quota is None:
        said = f"a control group has it {stopped}" if share else "threads are stopped"
        change = "raise the quota of its control group" if share else "let its threads go on (kill -CONT)"
    else:
        said = f"{group_words.allows('quota', quota)}, and it was {stopped}"
        twice = what_if.remedy(facts, "throttled")["cores"]
        change = f"raise the quota: {group_words.raised('quota', quota, twice)}"
    return CauseWords(said, f"{change}, or make a request cheaper", facts.share((share or 0.0) * load.mean_s))


HYPOTHESIS = Hypothesis("throttled", 1.0, _ways, _words)
