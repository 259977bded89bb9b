"""What is read of most servers: each hypothesis expects it, unless it says otherwise. Pure."""

from collections.abc import Mapping

from crumple.cause.hypothesis import FEW, NONE, SAME, SOME, Range, Scene, Way, around

# The kernel does not stop the server, and it may open more files, start more threads and use more memory. No
# thread waits for a disk or a timer. The server starts no threads, its CPU time is its requests', and
# connections that only wait take no place. Few threads wait for one another, and few sessions of a database
# do.
USUAL: Mapping[str, Range] = {
    "throttled": Range(0.0, 0.05),
    "stopped": NONE,
    "files": Range(0.0, 0.98),
    "tasks": Range(0.0, 0.98),
    "stalled": NONE,
    "disk": FEW,
    "only_stops": FEW,
    "timed": FEW,
    "late": NONE,
    "added": NONE,
    "rises": SAME,
    "switching": Range(0.0, 0.15),
    "garbage": FEW,
    "held": NONE,
    "taken_at_rest": FEW,
    "burning": NONE,
    "answered": Range(0.5, 1.0),
    "half_sent": around(1.0),
    "silent": around(1.0),
    "waiting": around(1.0),
    "falls": SAME,
    "longer": SAME,
    "spaced": Range(-0.25, 3.0),
    "other_key": SAME,
    "one_core": around(1.0),
    "pooled": FEW,
    "gated": FEW,
    "held_up": FEW,
}
# No thread is busy all the time.
NOT_BUSY = Range(0.0, 0.85)
# A share of the cores is idle, and no thread is busy.
WAITS: Mapping[str, Range] = {"idle": SOME, "busiest": NOT_BUSY}


def at_least_shared(scene: Scene) -> Range:
    """Return what is left on one core where all are used: its share, or more, as less is wasted."""
    return Range(around(1.0 / scene.cores, 0.1).low, around(1.0).high)


def expected(way: Way) -> Mapping[str, Range]:
    """Return all that a way expects: what is usual, unless it says otherwise."""
    return {**USUAL, **way.expects}
