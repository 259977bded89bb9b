"""Connections overflow the queue in front of a server that could accept them. Pure."""

from collections.abc import Iterator

from crumple.cause.hypotheses.usual import WAITS
from crumple.cause.hypothesis import FEW, MOST, CauseWords, Hypothesis, Range, Scene, Way
from crumple.drawing import numerals


def _ways(_: Scene) -> Iterator[Way]:
    yield Way("it is short", {
        **WAITS, "late": Range(0.02, 1.0), "unaccepted": MOST, "light": MOST, "locked": FEW,
        "empty_queue": Range(0.3, 1.0), "inside": Range(-3.0, 0.25),
    })  # fmt: skip


def _words(scene: Scene) -> CauseWords:
    load, facts = scene.facts.beyond, scene.facts
    said = f"{load.late_connects or 0:,} connections took a second or more, and {facts.idle_said}"
    if load.queue_empty_share is not None:
        said = f"{said}; none waited to be accepted at {numerals.share(load.queue_empty_share)} of the looks"
    share_s = facts.not_accepted_s if facts.not_accepted_s is not None else facts.waited_s
    return CauseWords(said, "a longer listen queue (backlog)", share_s)


HYPOTHESIS = Hypothesis("accept-queue", 0.5, _ways, _words)
