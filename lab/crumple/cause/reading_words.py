"""Readings and the ranges that causes expect of them, in words. Pure."""

import math
from collections.abc import Mapping

from crumple.cause.hypotheses import usual
from crumple.cause.hypothesis import Range, Reading, Scene, Way, weight
from crumple.drawing import numerals

# What each reading is: "3 % of the cores are idle". Its value stands in the braces, or first.
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
    "inside": "for each request that is served, {} are inside",
    "one_inside": "of one request is inside at a time",
    "places": "it can hold {} times as many requests as are inside",
    "locked": "threads that sleep in a lock are {} of the requests inside",
    "timed": "threads that sleep for a time that the program chose are {} of the requests inside",
    "receiving": "threads that wait for data are {} of the requests inside",
    "receiving_each": "for each connection that waits for an answer, {} threads wait for data",
    "waiting_each": "for each request that is served, {} threads wait for data or a time",
    "burning": "of a core is used while nobody asks, by threads that use most of one",
    "asks": "of the time it waits for an answer of what it asks",
    "asking": "of the requests inside wait for an answer of what it asks",
    "full": "of the connections to what it asks wait for an answer",
    "one_connection": "of what it asks goes over one connection",
    "steady": "of its connections are always the same",
    "as_many": "for each connection to what it asks, {} requests are served at a time",
    "slower": "what it asks takes {} times as long as alone",
    "disk": "threads that wait for a disk are {} of the requests served",
    "garbage": "of its CPU time collects garbage",
    "switching": "of its CPU time are context switches",
    "dearer": "a request takes {} times the CPU time that it takes alone",
    "throttled": "of the time its control group stops it",
    "stopped": "of its threads are stopped",
    "stalled": "of the time threads wait for memory, as its control group has no more",
    "tasks": "of the processes and threads that its control group allows are there",
    "files": "of the files that it may open are open",
    "late": "of the connections took a second or more",
    "empty_queue": "of the looks find no connection that waits to be accepted",
    "held": "of the idle connections keep others waiting",
    "taken_at_rest": "of its threads are held by connections that were open before",
    "held_each": "for each connection of others, {} of its threads waited for data at rest",
    "others": "connections of others are {} of the requests inside",
    "light": "of the light requests wait as those of the work do",
    "added": "it added {} to its processes or threads",
    "rises": "in the end it answers {} times as many as at first",
    "falls": "times the best throughput is left with most requests in flight",
    "half_sent": "of the throughput is left beside half-sent requests",
    "silent": "of the throughput is left beside silent connections",
    "waiting": "of the throughput is left beside requests that only wait",
    "longer": "after some seconds of the load it answers {} times as many",
    "spaced": "a request after a pause takes {} times as long as after another",
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
    return filled(name, value(reading))


def filled(name: str, told: str) -> str:
    """Return the words of a reading with a value in them."""
    words = READINGS[name]
    return (words if "{}" in words else f"{{}} {words}").format(told)


def against(way: Way, scene: Scene) -> str | None:
    """Return the reading that says most against a way, in words; None: none says much."""
    read, expects = scene.readings, usual.expected(way)
    weights = {name: weight(read[name], expected) for name, expected in expects.items() if name in read}
    worst = min(weights, key=lambda name: weights[name], default=None)
    if worst is None or weights[worst] > AGAINST:
        return None
    return instead(said(worst, read[worst]), range_(expects[worst], read[worst]))


def instead(seen: str, expected: str) -> str:
    """Return what was read and what was expected of a cause that is ruled out by it."""
    return f"{seen}; with this cause it would be {expected}"


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
