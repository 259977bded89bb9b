"""A thread computes also while nobody asks, and requests wait for what it holds. Pure."""

from collections.abc import Iterator

from crumple.cause.hypotheses.usual import NOT_BUSY
from crumple.cause.hypothesis import ANY, MOST, SOME, CauseWords, Hypothesis, Scene, Way
from crumple.drawing import numerals


def _ways(scene: Scene) -> Iterator[Way]:
    if "burning" not in scene.readings:
        return
    yield Way(
        "it uses a core", {"burning": MOST, "idle": SOME, "garbage": ANY, "busiest": NOT_BUSY, "gated": ANY}
    )


def _words(scene: Scene) -> CauseWords:
    facts = scene.facts
    rest = facts.seen.rest
    cores = numerals.significant(rest.cores if rest is not None else 0.0, 2)
    number = numerals.count(len(rest.burning) if rest is not None else 0, "thread")
    said = (
        f"{number} of it use {cores} cores also while nobody asks, and requests wait, while {facts.idle_said}"
    )
    change = (
        "move that work to another process: it may hold what requests need, as the lock of an interpreter"
    )
    return CauseWords(said, change, facts.waited_s)


HYPOTHESIS = Hypothesis("background", 1.0, _ways, _words)
