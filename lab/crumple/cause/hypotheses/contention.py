"""All cores are busy, and a request takes far more CPU time than alone, as where threads spin. Pure."""

from collections.abc import Iterator

from crumple.cause.hypotheses.cpu import BUSY, used
from crumple.cause.hypothesis import ANY, CauseWords, Hypothesis, Range, Scene, Way
from crumple.drawing import numerals
from crumple.observation import cpu_time

FALLS = Range(-3.0, -0.3)


def _ways(scene: Scene) -> Iterator[Way]:
    if not {"dearer", "falls"} & {*scene.readings}:
        return
    dear = {**BUSY, "dearer": Range(0.9, 3.0), "one_core": ANY}
    yield Way("threads spin", {**dear, "falls": FALLS})


def _words(scene: Scene) -> CauseWords:
    facts, load, work = scene.facts, scene.facts.beyond, scene.facts.seen.work
    each_s = (facts.asked_cores or 0.0) / load.per_s if load.per_s else 0.0
    said = f"a request takes {numerals.duration(1e9 * each_s)} of CPU time under load"
    if work is not None and work.cpu_s:
        said = f"{said} and {numerals.duration(1e9 * work.cpu_s)} alone; {used(scene)}"
    change = (
        "let fewer threads compute at a time; look for a lock that spins, or for data that all threads write"
    )
    return CauseWords(f"{said}{cpu_time.most(load.cpu_time)}", change, facts.waited_s)


HYPOTHESIS = Hypothesis("contention", 0.1, _ways, _words)
