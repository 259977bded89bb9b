"""A gate inside the program lets in k requests at a time: a lock, a semaphore, a queue. Pure.

From outside these are the same.
"""

from collections.abc import Iterator

from crumple.cause.hypotheses.usual import WAITS
from crumple.cause.hypothesis import (
    ALL,
    ANY,
    FEW,
    HALF,
    LESS,
    MORE,
    MOST,
    NONE,
    SAME,
    SOME,
    CauseWords,
    Hypothesis,
    Range,
    Scene,
    Way,
    around,
)
from crumple.drawing import numerals
from crumple.observation import places


def _ways(scene: Scene) -> Iterator[Way]:
    # It may be one for each key.
    inside = {**WAITS, "inside": MORE, "other_key": Range(-0.25, 3.0)}
    free = {**inside, "unread": FEW, "light": NONE, "stuck": LESS}
    yield Way("threads sleep in a lock", {**free, "locked": MOST, "asking": NONE, "gated": HALF})
    yield Way(
        "requests wait in memory",
        {**free, "locked": FEW, "asking": NONE, "receiving": FEW, "waiting_each": LESS, "gated": ANY},
    )
    yield Way(
        "it is held while something is asked",
        {
            **free,
            "stuck": SAME,
            "asks": ALL,
            "asking": FEW,
            "full": ALL,
            "slower": SAME,
            "one_connection": ALL,
            "gated": HALF,
        },
    )
    yield Way(
        "all workers wait for it", {**inside, "unread": MOST, "locked": MOST, "light": MOST, "gated": HALF}
    )
    yield Way("it is looked at again and again", {**inside, "timed": SOME, "waiting_each": MORE})
    if scene.cores > 1:
        # One thread computes at a time, in turn.
        one = around(1.0 - 1.0 / scene.cores, 0.1)
        yield Way(
            "it lets one thread compute",
            {
                "idle": one,
                "busiest": Range(0.0, 0.6),
                "locked": MOST,
                "inside": MORE,
                "asking": NONE,
                "gated": ANY,
            },
        )


def _words(scene: Scene) -> CauseWords:
    facts, threads = scene.facts, scene.facts.beyond.threads
    served = facts.at_a_time
    number = numerals.significant(served, 2) if served is not None else "few"
    said = f"{numerals.significant(scene.inside, 2)} requests are inside, {number} served at a time"
    locked = places.under_load(threads, places.is_lock) if threads is not None else 0.0
    timed = places.under_load(threads, places.is_timer) if threads is not None else 0.0
    if max(timed, locked) >= 1.0:
        how = "by a timer" if timed > locked else "in a lock"
        said = f"{said}; {numerals.significant(max(timed, locked), 2)} threads sleep {how}"
    return CauseWords(said, f"{_find(timed, locked)}; hold it for less", facts.waited_s)


def _find(timed: float, locked: float) -> str:
    """Return how to find it: what shows, while the server is loaded, where requests wait."""
    if timed > locked and timed >= 1.0:
        return "find the call that sleeps and looks again in a dump of its stacks"
    if locked >= 1.0:
        return "find the lock in a dump of its stacks under load (jstack, py-spy, gdb)"
    return "find it in a list of what requests wait for under load (Go: pprof/goroutine)"


HYPOTHESIS = Hypothesis("gate", 1.0, _ways, _words)
