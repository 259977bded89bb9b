"""What idle connections tell of the I/O model: what is added for them, and who holds them. Pure."""

from crumple.cause import parallelism
from crumple.cause.model_lines import (
    ALL,
    BLOCKING,
    HELD_MIN,
    OWN_SHARE,
    PER_CONNECTION,
    PROCESSES,
    UNBLOCKED,
    Line,
    Models,
)
from crumple.cause.observed import Held, Observed
from crumple.cause.parallelism import Parallelism
from crumple.drawing import numerals
from crumple.machine.process_tree import Tree

# If so many times as many threads were added for connections as requests can wait at a time, other threads
# serve these.
READERS_FACTOR = 1.25
# Of HOLDERS_MIN processes or more that hold one each, those that were not added were there before: a process
# for each connection is not. Where they are few, others may have ended meanwhile.
HOLDERS_MIN, THERE_BEFORE_SHARE = 4, 0.7


def of_idle(seen: Observed) -> Line | None:
    """What idle connections cost."""
    held = seen.held
    if held is None or held.before is None or held.after is None or held.connections < HELD_MIN:
        return None
    many = held.connections
    processes = held.after.processes - held.before.processes
    threads = held.after.threads - held.before.threads
    idle = f"{many} idle connections"
    if held.kept and held.asked >= HELD_MIN and held.grown >= OWN_SHARE * held.asked:
        # A pool that is still being filled adds one for each request, on whichever connection it comes.
        said = f"{held.grown} threads were added for {held.asked} requests that came one at a time"
        return Line(said, ALL - PER_CONNECTION)
    if processes >= OWN_SHARE * many:
        said = f"{processes} processes are added for {idle}"
        if seen.is_held_up:
            # A pool may grow until it is full, and its processes each keep a connection.
            return Line(f"{said}, and nobody else is answered", PROCESSES)
        return Line(said, frozenset({"process-per-connection"}))
    if threads >= OWN_SHARE * many:
        own: Models = frozenset({"thread-per-connection"})
        said = f"{threads} threads are added for {idle}"
        if seen.is_held_up:
            return Line(f"{said}, and nobody else is answered", own | {"thread-pool"})
        return Line(said, own | _pool_behind(seen, held.before, threads))
    return _held_otherwise(seen, held, idle, Tree(processes, threads))


def _pool_behind(seen: Observed, before: Tree, threads: int) -> Models:
    """The pool that may serve what so many threads take in, if fewer requests can wait at a time."""
    at_a_time, load = parallelism.waits(seen), seen.most_waiting
    most = load.most.threads - before.threads if load is not None and load.most is not None else 0
    is_fewer = (
        isinstance(at_a_time, Parallelism)
        and at_a_time.kind == "limit"
        and max(threads, most) > READERS_FACTOR * at_a_time.value
        # Connections that were never accepted make fewer, too.
        and load is not None
        and not load.unanswered
    )
    return frozenset({"thread-pool"}) if is_fewer else frozenset()


def _held_otherwise(seen: Observed, held: Held, idle: str, added: Tree) -> Line | None:
    """The same of a server that adds no process or thread for each."""
    accepted, holders, processes = held.accepted, held.holders, added.processes
    if accepted is None or holders is None:
        return None
    if accepted and holders > 1 and held.most == 1:
        said = f"{holders} processes hold one idle connection each"
        if holders >= HOLDERS_MIN and 0 <= processes <= THERE_BEFORE_SHARE * holders:
            there = "none was" if not processes else f"{processes} of them were"
            return Line(f"{said}, and {there} added for it", frozenset({"process-pool"}))
        return Line(said, PROCESSES)
    if 0 < accepted < OWN_SHARE * held.connections and seen.is_held_up:
        said = f"{accepted} of {idle} are accepted, and nobody else is answered"
        return _few_accepted(held, said, accepted)
    if accepted == held.connections and held.answered:
        by = "one process holds" if holders == 1 else f"{holders} processes hold"
        threads = numerals.count(max(0, added.threads), "thread")
        return Line(f"{by} {idle}, with {threads} added", ALL - PER_CONNECTION)
    return None


def _few_accepted(held: Held, said: str, accepted: int) -> Line | None:
    """What it tells that no more are accepted; None: nothing. A loop may have a limit on them, too.

    If most threads hold one, as far as numbers tell, they wait for these. If more are accepted than there are
    threads, a loop holds them, or some wait in a queue of a pool.
    """
    there = held.after.threads if held.after is not None else 0
    if held.runtime or not there:
        return None
    said = f"{said}, in {numerals.count(there, 'thread')}"
    if accepted > there:
        return Line(said, UNBLOCKED | {"thread-pool"})
    return Line(said, BLOCKING if accepted >= OWN_SHARE * there else ALL - PER_CONNECTION)
