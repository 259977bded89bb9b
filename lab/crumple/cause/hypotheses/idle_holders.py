"""Connections of others, on which nothing is asked, hold the workers. Pure."""

from collections.abc import Iterator

from crumple.cause.hypotheses.usual import WAITS
from crumple.cause.hypothesis import ALL, ANY, MOST, Hypothesis, Scene, Way, Words
from crumple.drawing import numerals


def _ways(_: Scene) -> Iterator[Way]:
    held = {**WAITS, "unread": ALL, "others": MOST, "late": ANY, "answered": ANY}
    yield Way("idle ones keep others waiting", {**held, "held": ALL})
    yield Way("silent ones keep others waiting", {**held, "taken_at_rest": MOST})


def _words(scene: Scene) -> Words:
    facts = scene.facts
    others = facts.others or 0
    are = f"{numerals.count(others, 'connection')} of others {'is' if others == 1 else 'are'} open"
    said = f"{are}, and few further ones are accepted or read, while {facts.idle_said}"
    return Words(said, "close idle connections sooner, or have more workers", facts.outside_s)


HYPOTHESIS = Hypothesis("idle-connections", 0.5, _ways, _words)
