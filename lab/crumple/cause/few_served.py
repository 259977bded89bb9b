"""Requests that wait inside for one another, where nothing that can be read from outside is used up. Pure.

A runtime's own locks, queues and semaphores are no locks of the kernel: where light threads wait for them, no
thread of the kernel sleeps there. What tells of them is that few of the requests inside are served at a time.
"""

from collections.abc import Sequence

from crumple.cause import behind_rules, model, parallelism, places
from crumple.cause.at_load import Peer, Stage
from crumple.cause.behind_rules import FEW, MORE_CONNECTIONS, MORE_WORKERS
from crumple.cause.finding import MOST_SHARE, QUEUE_SHARE, Cause, Facts, Finding, Out, Said, Unclear
from crumple.cause.lock_rules import INSIDE_MIN, as_many_slow
from crumple.cause.model_lines import PER_CONNECTION, UNBLOCKED
from crumple.cause.places import FREE_MAX, FREE_SHARE_MAX, WORKERS_MIN, as_many
from crumple.drawing import numerals

# So many served at a time, by Little's law, are one.
ONE_SERVED = (0.85, 1.15)
# A lock or a queue in the program is named only if all of these are ruled out: requests may wait for one that
# is not, and its rule has said why it cannot tell.
OTHERWISE = ("disk", "dependency", "throttled", "one-lock")
# Connections to a dependency are as many as requests served at a time within these.
POOL_SHARES = (0.9, 1.1)
# Nearly all connections to a dependency wait for an answer if this share of them does.
MOST_WAIT = 0.75
# Connections come and go if on average there are fewer than this share of the most.
COMES_AND_GOES = 0.99
# Where many can wait, each in a thread: also where slow requests do not tell how many.
THREADS_EACH = PER_CONNECTION | {model.LIGHT}
# A loop with nothing to do but to wait for events does so for this share of the time.
LOOP_WAITS = 0.7
REMEDY = "find what lets in one request at a time: a lock in the program, or a queue with one worker"
LET_IN_MORE = "let in more at a time: a larger pool or semaphore, or more workers behind the queue"
LOCK_OF_ANY_KIND = (
    "find what lets in one request at a time: a lock of a database, of a file, or in the program"
)


def said(facts: Facts, others: Sequence[Said]) -> Said | None:
    """Say what few served at a time tell; None: nothing. `others`: what the rules said that found nothing."""
    load, stage, served = facts.beyond, facts.stage, facts.at_a_time
    if stage is None or served is None or load.rose or not facts.has_idle_cores:
        return None
    at_a_time = f"of which {numerals.significant(served, 2)} are served at a time, while {facts.idle_said}"
    if (workers := _busy_workers(facts, stage, served, others)) is not None:
        evidence = f"{numerals.significant(load.in_flight, 2)} requests are in flight, {at_a_time}"
        threads = f"as many as threads of it that wait for something: {numerals.significant(workers, 2)}"
        evidence = f"{evidence}, {threads}{_by_udp(facts, others)}"
        return Finding("workers", "consistent", facts.waited_s, evidence, MORE_WORKERS)
    if (lock := _one_of_workers(facts, served, others)) is not None:
        return lock
    low, high = ONE_SERVED
    is_inside = stage.inside >= max(INSIDE_MIN, MOST_SHARE * load.in_flight)
    if not is_inside or not low <= served < MOST_SHARE * stage.inside:
        return None
    evidence = f"{numerals.significant(stage.inside, 2)} requests are inside, {at_a_time}"
    light = "; light requests do not wait meanwhile" if facts.light_waits is False else ""
    if served <= high and _is_nothing_else(facts, others):
        evidence = f"{evidence}{light}{_by_udp(facts, others)}"
        return Finding("one-lock", "consistent", facts.waited_s, evidence, REMEDY)
    # Slow requests wait for no dependency: where no more of them are served, no connection holds them up.
    slow = as_many_slow(facts)
    if slow and _ruled_out(facts, others).issuperset({"disk", "throttled", "one-lock"}):
        evidence = f"{evidence}, {slow}; a semaphore that both pass looks the same"
        return Finding("workers", "consistent", facts.waited_s, evidence, MORE_WORKERS)
    if (pool := _of_connections(facts, served)) is not None:
        connections = behind_rules.connections_to(pool)
        evidence = f"{evidence}, as many as {connections} wait, or may wait, for an answer{light}"
        if behind_rules.is_asked_in_turn(pool):
            return Finding("one-lock", "consistent", facts.waited_s, evidence, behind_rules.ONE_AT_A_TIME)
        return Finding("connection-pool", "consistent", facts.waited_s, evidence, MORE_CONNECTIONS)
    if parallelism.is_whole(served) and _ruled_out(facts, others).issuperset(OTHERWISE):
        limit = "a pool, a semaphore or a queue in the program may let in no more"
        like = f"a lock that is held for 1/{served:.0f} of a request's time looks the same"
        evidence = f"{evidence}: {limit}; {like}{light}{_by_udp(facts, others)}"
        return Finding("workers", "consistent", facts.waited_s, evidence, LET_IN_MORE)
    within = (
        "what lets in no more may be a lock, a semaphore or a queue in the program, which is not looked into"
    )
    tells = "" if facts.seen.has_slow else "; crumple diagnose with --slow PATH tells more"
    return Unclear("none", f"{evidence}; {within}{light}{tells}")


def _of_connections(facts: Facts, served: float) -> Peer | None:
    """Return the dependency with as many connections as requests are served at a time; None: there is none.

    Of some it may not be known whether they wait for an answer.
    """
    low, high = POOL_SHARES
    for peer in filter(behind_rules.is_steady, facts.peers or ()):
        may_wait, connections = peer.waiting + peer.unknown, peer.connections
        comes_and_goes = connections < COMES_AND_GOES * peer.most
        if comes_and_goes and peer.waiting >= MOST_WAIT * connections and connections <= high * served:
            # Where a request opens a connection of its own, it waits before and after as well.
            may_wait = max(may_wait, connections)
        if FEW <= peer.waiting <= high * served and low * served <= may_wait <= high * served:
            return peer
    return None


def _one_of_workers(facts: Facts, served: float, others: Sequence[Said]) -> Finding | None:
    """All workers are busy, and no more is done than one alone does: they wait for one another.

    A database's lock, or one that is a file, is often asked for again and again, with a pause. Then no thread
    sleeps in a lock of the kernel.
    """
    workers, (low, high) = facts.workers, ONE_SERVED
    if workers is None or not low <= served <= high < QUEUE_SHARE * workers:
        return None
    # If no request waits in front of the server, a proxy may hold those inside while workers are idle.
    if not facts.are_workers_busy or not facts.is_queued_outside:
        return None
    if not _ruled_out(facts, others).issuperset(OTHERWISE):
        return None
    said = f"all {workers:,.0f} workers are busy, and no more is answered than one at a time would answer"
    evidence = f"{said}, while {facts.idle_said}{_by_udp(facts, others)}"
    return Finding("one-lock", "consistent", facts.waited_s, evidence, LOCK_OF_ANY_KIND)


def _busy_workers(facts: Facts, stage: Stage, served: float, others: Sequence[Said]) -> float | None:
    """How many threads serve requests, in loops or behind them, if all are busy waiting; None: not known."""
    threads, queued = facts.beyond.threads, stage.inside + stage.unread
    if queued < max(INSIDE_MIN, MOST_SHARE * facts.beyond.in_flight) or served >= MOST_SHARE * queued:
        return None
    if threads is None or not _ruled_out(facts, others).issuperset({"disk", "dependency", "throttled"}):
        return None
    locked, busy = places.under_load(threads, places.is_lock), places.under_load(threads, _is_busy)
    if busy < WORKERS_MIN or not as_many(served, busy):
        return None
    return busy if locked <= max(FREE_MAX, FREE_SHARE_MAX * busy) else None


def _is_busy(place: str) -> bool:
    """Whether a thread that sleeps there waits for something else than a lock, or something to do."""
    return not places.is_lock(place) and not places.is_free(place)


def _ruled_out(facts: Facts, others: Sequence[Said]) -> set[Cause]:
    """The causes that are ruled out, or a dependency of which there is no sign but a UDP socket."""
    by_udp: set[Cause] = {"dependency"} if _by_udp(facts, others) else set()
    return {each.cause for each in others if isinstance(each, Out)} | by_udp


def _by_udp(facts: Facts, others: Sequence[Said]) -> str:
    """That it may wait for what it asks by UDP, as the end of a sentence; empty: other signs, or none.

    Most that have such a socket only write to it, measurements or lines of a log.
    """
    load = facts.beyond
    why = load.unread.get("udp")
    is_unclear = any(isinstance(each, Unclear) and each.cause == "dependency" for each in others)
    # Of connections that are there, the rule says why it cannot tell.
    seen = any(each.missed or max(each.unknown, each.waiting) >= FEW for each in facts.peers or ())
    return f"; {why}" if why and is_unclear and load.peers is not None and not seen else ""


def _is_nothing_else(facts: Facts, others: Sequence[Said]) -> bool:
    """Whether many requests can wait, and for one another, and nothing else is left.

    They do in threads, or in a loop that waits for events meanwhile. That many can is known by slow requests,
    or where each connection has a thread, a light one for instance. A loop that is busy while nobody asks is
    seen to use no more under load, so whether requests wait for it is not known.
    """
    threads, rest = facts.beyond.threads, facts.seen.rest
    burns, left = rest is not None and bool(rest.burning), model.named(facts.seen).left
    return (
        (facts.never_short is not None or bool(left and left <= THREADS_EACH))
        and not (burns and left <= UNBLOCKED)
        and threads is not None
        and (threads.number >= 2 or places.under_load(threads, places.is_event) >= LOOP_WAITS)
        and _ruled_out(facts, others).issuperset(OTHERWISE)
    )
