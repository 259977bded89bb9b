"""All workers are busy: processes or threads, each of which stays with one request or connection.

There may be no more because their control group allows none. Pure.
"""

from collections.abc import Iterator, Mapping

from crumple.cause.hypotheses.usual import USUAL, WAITS
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
from crumple.limit.gain_words import with_more
from crumple.observation import group_words, places


def _ways(scene: Scene) -> Iterator[Way]:
    front = in_front(scene)
    yield Way("they work", {**front, "locked": FEW, "slower": SAME})
    if "only_one" in scene.readings:
        # Each may be a loop, which reads what comes beside its work. On one core they share it.
        loops = {"half_sent": ANY, "waiting": ANY, "one_core": Range(around(1.0 / scene.cores, 0.1).low, 1.0)}
        several = {"busiest": ALL, "only_one": Range(0.0, MOST.low), "slower": SAME}
        yield Way("they compute", {**front, **several, **loops})
    yield Way("a loop accepts for them", {**front, "slower": SAME, **LOOP_IN_FRONT})
    yield Way("they wait for a dependency", {**front, "asking": ALL, "slower": SAME})
    yield Way(
        "behind a loop",
        {**WAITS, "unread": FEW, "inside": MORE, "locked": FEW, "full": ALL, "as_many": SAME, "slower": SAME,
         "light": NONE, "receiving_each": SAME, "waiting_each": SAME, "timed": ANY},
    )  # fmt: skip
    if "tasks" in scene.readings:
        yield Way("no more may be started", {**WAITS, **REFUSED})


def beside_waiting(scene: Scene) -> Range:
    """Return what is left beside requests that only wait, if these stand in one queue with the work."""
    found = scene.facts.seen.outcomes.waiting
    alone_s = scene.facts.alone_s
    if found is None or found.other_s is None or not alone_s:
        return around(LEFT)
    return around(1.0 / (1.0 + found.others * found.other_s / (found.connections * alone_s)))


def in_front(scene: Scene) -> dict[str, Range]:
    """Return what is expected of workers for which requests wait unread."""
    sent = scene.facts.seen.outcomes.half_sent
    others = sent.others if sent is not None else OTHERS * scene.inside
    left = max(0.0, 1.0 - others / scene.inside)
    # The busiest thread may be none of them.
    stopped = Range(around(1.0 - 1.0 / scene.inside).low, around(1.0).high)
    front = {"unread": MOST, "inside": SAME, "places": SAME, "light": MOST, "timed": ANY, "occupied": ALL,
             "only_stops": ANY}  # fmt: skip
    tried = {
        "half_sent": around(left),
        "silent": ANY,
        "waiting": beside_waiting(scene),
        "one_thread": stopped,
    }
    return {**WAITS, **front, **tried}


def _words(scene: Scene) -> CauseWords:
    facts, load = scene.facts, scene.facts.beyond
    stage = facts.stage
    waiting = numerals.significant(stage.outside if stage is not None else 0.0, 2)
    inside = numerals.significant(scene.inside, 2)
    said = f"{inside} requests are inside, {waiting} wait to be accepted or read, and {facts.idle_said}"
    if facts.workers is not None:
        number = round(facts.workers)
        busy = "its only worker is busy" if number == 1 else f"all {number:,} workers are busy"
        said = (
            f"{busy} at {numerals.rate(load.per_s)}, {waiting} requests wait for one, and {facts.idle_said}"
        )
    limit = facts.seen.limits.tasks
    if limit is not None and load.tasks is not None and load.tasks[0] >= REFUSED["tasks"].low * load.tasks[1]:
        said = f"{group_words.allows('tasks', limit)}, and there are {load.tasks[0]:,}; {said}"
        change = f"allow more: {group_words.raised('tasks', limit, 2 * limit.amount)}"
        return CauseWords(said, change, facts.outside_s)
    threads = load.threads
    if threads is not None and places.under_load(threads, places.is_timer) > scene.inside / 2:
        said = f"{said}; most of the workers sleep for a time that the program chose"
    return CauseWords(said, with_more(facts, "workers", "workers"), facts.outside_s)


# No process or thread is started for a connection any more, which is refused, or waits. Others hold some.
REFUSED: Mapping[str, Range] = {
    "tasks": Range(0.98, 1.0),
    "answered": ANY,
    "late": ANY,
    "added": ANY,
    "rises": ANY,
    "longer": ANY,
    "falls": ANY,
    "timed": ANY,
    "half_sent": ANY,
    "silent": ANY,
    "waiting": ANY,
    "asking": ANY,
}
# What has sent no whole request takes no worker.
LOOP_IN_FRONT = {name: USUAL[name] for name in ("half_sent", "silent")}
# What is assumed before an experiment was made: which part of the places half-sent requests will hold, and
# which part of the throughput requests that only wait will leave.
OTHERS, LEFT = 0.25, 0.6
HYPOTHESIS = Hypothesis("workers", 1.0, _ways, _words)
