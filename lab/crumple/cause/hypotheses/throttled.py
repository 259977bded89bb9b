"""A control group stops the server when it has used its quota of CPU time. Pure."""

from collections.abc import Iterator

from crumple.cause.hypothesis import ANY, FEW, SOME, CauseWords, Hypothesis, Range, Scene, Way
from crumple.drawing import numerals


def _ways(scene: Scene) -> Iterator[Way]:
    computes = {"asking": FEW, "receiving": FEW, "gated": ANY}
    if "throttled" in scene.readings:
        counted = {"throttled": Range(0.05, 1.0), "stopped": ANY}
        yield Way("the kernel counts it", {**computes, **counted})
    if "stopped" in scene.readings:
        yield Way("its threads are stopped", {**computes, "stopped": SOME})


def _words(scene: Scene) -> CauseWords:
    load, facts = scene.facts.beyond, scene.facts
    share = load.throttled_share
    said = (
        f"its control group stopped it for {numerals.share(share)} of the time"
        if share
        else "threads are stopped"
    )
    quota = facts.seen.quota_cores
    if quota is not None:
        said = f"{said}: it may use {numerals.significant(quota, 2)} cores"
    return CauseWords(said, "raise the quota of its control group, or make a request cheaper", facts.share(
        (share or 0.0) * load.mean_s
    ))  # fmt: skip


HYPOTHESIS = Hypothesis("throttled", 1.0, _ways, _words)
