"""A limiter holds requests back, so that a number of them passes per second. Pure."""

from collections.abc import Iterator

from crumple.cause.hypotheses.usual import WAITS
from crumple.cause.hypothesis import ANY, FEW, LESS, MORE, CauseWords, Hypothesis, Scene, Way
from crumple.drawing import numerals


def _ways(_: Scene) -> Iterator[Way]:
    held = {
        **WAITS,
        "spaced": LESS,
        "inside": MORE,
        "unread": FEW,
        "asking": FEW,
        "locked": FEW,
        "light": ANY,
    }
    yield Way("in memory", {**held, "waiting_each": LESS})
    yield Way("by threads that sleep", {**held, "timed": ANY, "waiting_each": ANY})


def _words(scene: Scene) -> CauseWords:
    load = scene.facts.beyond
    said = f"{numerals.rate(load.per_s)} pass, with one request at a time as with {load.in_flight:.0f}"
    if (found := scene.facts.seen.outcomes.spaced) is not None:
        said = f"{said}; after a pause one takes {numerals.share(found.ratio)} of that time"
    change = "raise the limit of its rate, or let a burst pass without delay (nginx: limit_req … nodelay)"
    return CauseWords(said, change, scene.facts.waited_s)


HYPOTHESIS = Hypothesis("limiter", 0.5, _ways, _words)
