"""Readings and the ranges that causes expect of them, in words. Pure."""

import math
from collections.abc import Mapping

from crumple.cause.hypotheses import usual
from crumple.cause.hypothesis import Range, Reading, Scene, Way, weight
from crumple.drawing import numerals

# What each reading is, after its value: "3 % of the cores are idle".
READINGS: Mapping[str, str] = {
    "idle": "of the cores are idle",
    "used": "of a core is used",
    "cores": "of the cores are used by the server",
    "busiest": "of the time its busiest thread runs or is ready to",
    "only_one": "of the threads that run all the time is the busiest one",
    "stops": "of the looks find its busiest thread asleep in a call",
    "only_stops": "of the looks find its only thread asleep in a call",
    "unread": "of the waiting requests lie unread in front of it",
    "unaccepted": "of the waiting requests wait to be accepted",
    "inside": "times as many requests are inside as are served at a time",
    "one_inside": "of one request is inside at a time",
    "places": "times as many requests can wait at a time as are inside",
    "locked": "as many threads as requests inside sleep in a lock",
    "timed": "as many threads as requests inside sleep for a time that the program chose",
    "receiving": "as many threads as requests inside wait for data",
    "receiving_each": "times as many threads wait for data as connections for an answer",
    "waiting_each": "times as many threads wait for data or a time as requests are served at a time",
    "burning": "of a core is used while nobody asks, by threads that use most of one",
    "asks": "of the time it waits for an answer of what it asks",
    "asking": "of the requests inside wait for an answer of what it asks",
    "full": "of the connections to what it asks wait for an answer",
    "one_connection": "of what it asks goes over one connection",
    "steady": "of its connections are always the same",
    "as_many": "times as many requests are served at a time as there are connections",
    "slower": "times as long as alone takes what it asks",
    "disk": "as many threads as requests served wait for a disk",
    "garbage": "of its CPU time collects garbage",
    "switching": "of its CPU time are context switches",
    "dearer": "times the CPU time that a request takes alone",
    "throttled": "of the time its control group stops it",
    "stopped": "of its threads are stopped",
    "files": "of the files that it may open are open",
    "late": "of the connections took a second or more",
    "empty_queue": "of the looks find no connection that waits to be accepted",
    "held": "of the idle connections keep others waiting",
    "taken_at_rest": "of its threads are held by connections that were open before",
    "held_each": "times as many of its threads waited for data at rest as connections of others are open",
    "others": "as many connections of others are open as requests are inside",
    "light": "of the light requests wait as those of the work do",
    "added": "as many processes or threads were added as there were",
    "rises": "times as many are answered in the end as at first",
    "falls": "times the best throughput is left with most requests in flight",
    "half_sent": "of the throughput is left beside half-sent requests",
    "silent": "of the throughput is left beside silent connections",
    "waiting": "of the throughput is left beside requests that only wait",
    "longer": "times as many are answered after some seconds of the load",
    "spaced": "times as long takes a request after a pause as after another",
    "other_key": "times the throughput with another key for each request",
    "one_core": "of the throughput is left on one core",
    "one_thread": "of the throughput is left while its busiest thread is stopped",
    "stuck": "of its connections wait while what is behind it is stopped",
    "pooled": "of its threads with work wait for a connection of a pool, as its runtime lists them",
    "gated": "of its threads with work wait for a lock or a permit, as its runtime lists them",
    "occupied": "of its busiest pool of workers have work, as its runtime lists them",
    "held_up": "of the sessions or workers behind it are held up there, as these say",
    "answered": "of the requests were answered",
    "answers_alone": "of single requests are answered",
}
# The logarithmic weight, in nats, below which a reading is named as evidence against a cause.
AGAINST = -1.0


def value(reading: Reading) -> str:
    """Return a reading's value: a share, or a ratio."""
    if reading.scale == "share":
        return numerals.share(reading.value)
    return numerals.significant(math.exp(reading.value), 2)


def said(name: str, reading: Reading) -> str:
    """Return a reading in words."""
    return f"{value(reading)} {READINGS[name]}"


def against(way: Way, scene: Scene) -> str | None:
    """Return the reading that says most against a way, in words; None: none says much."""
    read, expects = scene.readings, usual.expected(way)
    weights = {name: weight(read[name], expected) for name, expected in expects.items() if name in read}
    worst = min(weights, key=lambda name: weights[name], default=None)
    if worst is None or weights[worst] > AGAINST:
        return None
    return f"{said(worst, read[worst])}, where {range_(expects[worst], read[worst])} would be"


def range_(expected: Range, like: Reading) -> str:
    """Return the range in which a reading was expected."""
    low, high = (value(Reading(each, 1.0, like.scale)) for each in (expected.low, expected.high))
    if like.scale == "share" and expected.high >= 1.0:
        return f"{low} or more"
    if expected.low <= 0.0 and like.scale == "share":
        return f"{high} or less"
    if like.scale == "ratio" and expected.high >= 3.0:
        return f"{low} or more"
    if like.scale == "ratio" and expected.low <= -3.0:
        return f"{high} or less"
    return f"{low} to {high}"
