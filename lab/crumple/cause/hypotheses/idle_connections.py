"""Idle connections of other clients hold the workers. Pure."""

from collections.abc import Iterator

from crumple.cause.hypotheses import workers
from crumple.cause.hypotheses.usual import WAITS
from crumple.cause.hypothesis import ALL, ANY, MOST, SAME, CauseWords, Hypothesis, Scene, Way
from crumple.drawing import numerals


def _ways(scene: Scene) -> Iterator[Way]:
    held = {**WAITS, "unread": ALL, "others": MOST, "late": ANY, "answered": ANY}
    yield Way("idle ones keep others waiting", {**held, "held": ALL})
    # The workers that they leave serve as any do, and each further silent connection takes one more.
    # A runtime calls a thread that reads on a silent connection idle.
    left = {**workers.in_front(scene), **held, "occupied": ANY}
    yield Way("silent ones keep others waiting", {**left, "taken_at_rest": MOST, "held_each": SAME})


def _words(scene: Scene) -> CauseWords:
    facts = scene.facts
    others = facts.others or 0
    are = f"{numerals.count(others, 'connection')} of others {'is' if others == 1 else 'are'} open"
    said = f"{are}, and few further ones are accepted or read, while {facts.idle_said}"
    return CauseWords(said, "close idle connections sooner, or have more workers", facts.outside_s)


HYPOTHESIS = Hypothesis("idle-connections", 0.5, _ways, _words)
