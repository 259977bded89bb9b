"""A pool that has grown since the load with slow requests, if not in the seconds of this load. Pure.

A runtime may add a thread only now and then. What shows the pool: it has more threads than it ever had under
the slow requests, and as many more requests are served at a time. A lock would let in no more.
"""

from crumple.cause import parallelism
from crumple.cause.finding import Facts
from crumple.cause.parallelism import Parallelism
from crumple.drawing import numerals

# At least this many more requests are served at a time, and no more than threads were added, by this much.
MORE_MIN, OFF_MAX = 0.5, 0.5


def said(facts: Facts) -> str:
    """Say by how much it has grown since; empty: it has not, or it is not known."""
    load, before, served = facts.beyond, parallelism.waits(facts.seen), facts.at_a_time
    there = facts.seen.tree_waiting
    if there is None or load.grew_from is None or served is None:
        return ""
    if not isinstance(before, Parallelism) or before.kind != "limit" or load.rose:
        return ""
    added, more = load.grew_from - there.threads, served - before.value
    if added < 1 or served < before.high + MORE_MIN or more > added + OFF_MAX:
        return ""
    work = facts.seen.work
    if work is not None and (not work.alike or load.per_s * work.least_s < before.high + MORE_MIN):
        # One may take less time by now than it took, on average, without load. Of requests that are not
        # alike, that mean is too inaccurate.
        return ""
    number, earlier = (numerals.significant(each, 2) for each in (served, before.value))
    return (
        f"{number} are served at a time by {load.grew_from} threads, and {earlier} were by "
        f"{there.threads} of the requests that only wait"
    )
