"""One thread does what all requests need: a loop, or a thread that computes while cores are idle. Pure."""

from collections.abc import Iterator

from crumple.cause.hypotheses.cpu import used
from crumple.cause.hypotheses.usual import WAITS, at_least_shared
from crumple.cause.hypothesis import (
    ALL,
    ANY,
    FEW,
    MORE,
    MOST,
    NONE,
    SAME,
    CauseWords,
    Hypothesis,
    Range,
    Scene,
    Way,
    around,
)
from crumple.drawing import numerals
from crumple.observation import cpu_time


def _ways(scene: Scene) -> Iterator[Way]:
    busy = {"busiest": ALL, "only_one": ALL, "light": MOST, "asking": FEW, "one_thread": NONE, "gated": ANY}
    if scene.cores > 1:
        # The engine and other programs have some of the other cores.
        load, others = scene.facts.beyond, max(0.0, scene.facts.others_cores)
        idle = min(scene.cores - (load.engine_cores or 0.0) - others, scene.facts.cores) - 1.0
        yield Way("it computes", {**busy, "idle": around(max(0.0, idle / scene.facts.cores), 0.12)})
        yield Way(
            "others compute beside it",
            {**busy, "idle": Range(0.1, 1.0 - 1.0 / scene.cores), "one_core": at_least_shared(scene)},
        )
    stopped = {**WAITS, "one_thread": NONE, "light": ALL, "places": MORE, "timed": ANY, "disk": ANY}
    stopped["only_stops"] = ANY
    one = {"only_stops": ALL, "waiting_each": SAME, "disk": FEW, "locked": FEW}
    yield Way("a call stops it, which has read others", {**stopped, **one, "inside": MORE})
    yield Way("a call stops it", {**stopped, "stops": MOST, "unread": MOST, "one_inside": ALL})


def _words(scene: Scene) -> CauseWords:
    facts, load, threads = scene.facts, scene.facts.beyond, scene.facts.beyond.threads
    busiest = scene.readings.get("busiest")
    if busiest is not None and busiest.value < ALL.low:
        at = f" ({threads.busiest_at})" if threads is not None and threads.busiest_at else ""
        said = f"its busiest thread sleeps in a call{at} while other requests wait, and {facts.idle_said}"
        return CauseWords(
            said, "wait for it without stopping the loop, or hand it to another thread", facts.waited_s
        )
    share = numerals.share(busiest.value) if busiest is not None else "nearly all"
    said = f"one thread uses {share} of a core; {used(scene)}{cpu_time.most(load.cpu_time)}"
    return CauseWords(said, "make a request cheaper, or start a process for each core", facts.waited_s)


HYPOTHESIS = Hypothesis("one-loop", 1.0, _ways, _words)
