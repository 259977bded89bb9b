"""Threads that wait for each other while cores are idle: a lock, or what looks like one. Pure."""

import math

from crumple.cause import behind_rules, cpu_time, grown_since, model, model_lines, parallelism, places
from crumple.cause.at_load import Threads
from crumple.cause.finding import BUSY_MIN, MOST_SHARE, SEVERAL_LET_IN, Facts, Finding, Out, Said, Unclear
from crumple.cause.parallelism import Parallelism
from crumple.drawing import numerals

HOLD_FOR_LESS = "hold a connection only while the database is asked, or have more of them"
# Two kinds of requests have the same limit if as many of both are served at a time, within this share.
SAME_LIMIT_SHARE = 0.1
# With so many threads asleep in a lock that is no futex, they wait for it.
HOLDS_UP = 0.5
# Fewer requests inside do not show that they wait for each other.
INSIDE_MIN = 3.0
PLACES_UNREAD = "where its threads sleep could not be read: run as the server's user"


def at_locks(threads: Threads) -> float | None:
    """How many threads sleep in a lock; None: of most that sleep the kernel does not say where."""
    if threads.places.get("", 0.0) > MOST_SHARE * sum(threads.places.values()):
        return None
    return places.under_load(threads, places.is_lock)


def _is_only_lock(place: str) -> bool:
    """Whether only threads that wait for a lock sleep there. Idle workers sleep in a futex, too."""
    return places.is_lock(place) and not places.is_futex(place)


def lock(facts: Facts) -> Said | None:
    """Threads wait for each other while cores are idle."""
    load, stage, served = facts.beyond, facts.stage, facts.at_a_time
    if load.threads is None:
        return Unclear("one-lock", facts.unread("threads", "its threads"))
    if stage is None:
        return Unclear("one-lock", facts.unread("stage", "how many requests are inside"))
    if not facts.has_idle_cores or not facts.is_harmed:
        return None
    if served is None:
        return Unclear("one-lock", "how long a request takes alone is not known")
    asleep = at_locks(load.threads)
    inside = f"{numerals.significant(stage.inside, 2)} requests are inside"
    if stage.inside < INSIDE_MIN:
        return Out("one-lock", inside)
    if asleep is None:
        return Unclear("one-lock", PLACES_UNREAD)
    said = f"{inside}, of which {numerals.significant(served, 2)} are served at a time"
    if served >= MOST_SHARE * stage.inside:
        return Out("one-lock", said)
    if since := grown_since.said(facts):
        # A lock lets in no more where there are more threads.
        return Out("one-lock", since)
    if let_in := _by_another_limit(facts, served, stage.inside):
        return Out("one-lock", f"{said}, {let_in}")
    # The workers that have no request sleep in a futex, too.
    waiting = asleep - max(0.0, (facts.workers or 0.0) - stage.inside - places.FREE_MAX)
    number = f"{numerals.significant(max(0.0, waiting), 2)} threads sleep in a lock"
    # Behind a loop or a proxy no more can wait for it than there are workers.
    workers = facts.workers or math.inf
    workers_wait = places.under_load(load.threads, _is_only_lock) >= MOST_SHARE * workers
    there = facts.seen.tree_waiting
    if there is not None and there.processes == 1 and workers <= stage.inside and served < SEVERAL_LET_IN:
        # Requests wait for a worker, so none is idle: of all threads those that sleep nowhere else may be. A
        # proxy in another process may hold the requests while workers are idle.
        elsewhere = load.threads.number - asleep
        workers_wait = workers_wait or workers - elsewhere >= MOST_SHARE * workers
    if waiting < MOST_SHARE * stage.inside and not workers_wait:
        return Out("one-lock", f"{inside}, and {number}")
    idle = numerals.significant(facts.idle_cores or 0.0, 2)
    said = f"{said}, and {number} while {idle} cores are idle"
    remedy = "hold the lock for less, or split it"
    if (load.cores or 0.0) >= BUSY_MIN:
        # Who holds the lock may be what computes.
        said = f"{said}{cpu_time.most(load.cpu_time)}"
    if served >= SEVERAL_LET_IN:
        if held := behind_rules.held_by(facts, served):
            said = f"{said}; as many as {held}: requests may hold them while they do something else"
            return Finding("connection-pool", "consistent", facts.waited_s, said, HOLD_FOR_LESS)
        remedy = f"{remedy}; if it is a semaphore or a pool in the program, let in more at a time"
    return Finding("one-lock", "consistent", facts.waited_s, said, remedy)


def _by_another_limit(facts: Facts, served: float, inside: float) -> str:
    """Say what shows that several requests are let in by something else than a lock; empty: nothing does.

    Idle threads of a pool sleep in a futex, and so do those of a JVM that wait for a time to pass.
    """
    load, rest = facts.beyond, facts.seen.rest
    if served < SEVERAL_LET_IN or load.threads is None:
        return ""
    added = places.more_than_at_rest(load.threads, rest, places.is_lock)
    if (slow := as_many_slow(facts)) and added < MOST_SHARE * inside:
        return slow
    idle = places.at_rest(rest, places.is_futex)
    if idle is None or idle < served or places.under_load(load.threads, _is_only_lock) >= HOLDS_UP:
        return ""
    more = places.more_than_at_rest(load.threads, rest, places.is_futex)
    left = model.named(facts.seen).left
    needs_no_thread = facts.never_short is not None or bool(left and left <= model_lines.UNBLOCKED)
    if needs_no_thread and parallelism.is_whole(served) and more <= places.FREE_MAX:
        # Where requests can wait without a thread, those that slept there before may be idle still.
        return "and no more threads than at rest sleep in a lock"
    if places.as_many(more, served) and more < MOST_SHARE * inside:
        return f"and {numerals.significant(more, 2)} threads more than at rest sleep in a lock"
    return ""


def as_many_slow(facts: Facts) -> str:
    """Say that as many slow requests wait at a time as are served here, in a pool; empty: it is not known.

    A lock is held for a part of each request, and lets in another number of other requests. A pool of workers
    serves as many of all, and light requests wait for it, too. What slow requests share with others may be a
    semaphore or a dependency; so the I/O model must be one of pools.
    """
    limit, served, left = parallelism.waits(facts.seen), facts.at_a_time, model.named(facts.seen).left
    if not isinstance(limit, Parallelism) or limit.kind != "limit" or served is None:
        return ""
    if served < SEVERAL_LET_IN or abs(served - limit.value) > SAME_LIMIT_SHARE * limit.value:
        return ""
    if facts.light_waits is False or not left or not left <= model_lines.POOLS:
        return ""
    return f"as many as of the slow requests ({numerals.significant(limit.value, 2)})"
