"""Requests that wait inside for one another, where nothing that can be read from outside is used up. Pure.

A runtime's own locks, queues and semaphores are no locks of the kernel: where light threads wait for them, no
thread of the kernel sleeps there. What tells of them is that few of the requests inside are served at a time.
"""

from collections.abc import Sequence

from crumple.cause.cpu_rules import INSIDE_MIN
from crumple.cause.finding import MOST_SHARE, Facts, Finding, Out, Said, Unclear
from crumple.drawing import numerals

# So many served at a time, by Little's law, are one.
ONE_SERVED = (0.85, 1.15)
# Where one of these is not ruled out, it may be what requests wait for, or what is said of it says more.
OTHERWISE = ("disk", "dependency", "throttled", "one-lock")
REMEDY = "find what lets in one request at a time: a lock in the program, or a queue with one worker"


def said(facts: Facts, others: Sequence[Said]) -> Said | None:
    """Say what few served at a time tell; None: nothing. `others`: what the rules said that found nothing."""
    load, stage, served = facts.beyond, facts.stage, facts.at_a_time
    if stage is None or served is None or load.rose or not facts.has_idle_cores:
        return None
    low, high = ONE_SERVED
    is_inside = stage.inside >= max(INSIDE_MIN, MOST_SHARE * load.in_flight)
    if not is_inside or not low <= served < MOST_SHARE * stage.inside:
        return None
    idle = f"while {numerals.significant(facts.idle_cores or 0.0, 2)} of {load.all_cores} cores are idle"
    inside = f"{numerals.significant(stage.inside, 2)} requests are inside"
    evidence = f"{inside}, of which {numerals.significant(served, 2)} are served at a time, {idle}"
    if served <= high and _is_nothing_else(facts, others):
        return Finding("one-lock", "consistent", facts.waited_s, evidence, REMEDY)
    within = (
        "what lets in no more may be a lock, a semaphore or a queue in the program, which is not looked into"
    )
    tells = "; crumple diagnose with --slow PATH tells more" if facts.never_short is None else ""
    return Unclear("none", f"{evidence}; {within}{tells}")


def _is_nothing_else(facts: Facts, others: Sequence[Said]) -> bool:
    """Whether many requests can wait, there are threads to wait for one another, and nothing else is left."""
    threads = facts.beyond.threads
    out = {each.cause for each in others if isinstance(each, Out)}
    return (
        facts.never_short is not None
        and threads is not None
        and threads.number >= 2
        and out.issuperset(OTHERWISE)
    )
