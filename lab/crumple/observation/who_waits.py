"""Whether a process or a thread waits with each request, and how many there are. Pure.

That decides what to change: more of them, or something else. The first observation that shows it counts:
requests that wait show more than idle connections do, and these more than the program's runtime.
"""

from dataclasses import dataclass, replace
from typing import Literal

from crumple.drawing import numerals
from crumple.machine.process_tree import Tree
from crumple.observation import crowding, parallelism
from crumple.observation.observed import Observed
from crumple.observation.parallelism import Parallelism
from crumple.observation.unknown import Unknown

# The least ratio of threads to waiting requests with which requests may wait in threads.
THREADS_SHARE = 0.8
# The least number of processes or threads added per connection or request that shows that each has its own.
OWN_SHARE = 0.5
# The fewest requests that wait at a time, and the fewest idle connections, that are compared with threads: a
# runtime has some twenty threads anyway.
WAITING_MIN, HELD_MIN = 24, 8
# The ratio of threads to waiting requests from which the threads may be there for something else.
MANY_THREADS_FACTOR = 2
# The most threads per process, on average, with which each process has one that serves.
SINGLE_THREADS = 1.5
# Where requests wait by the runtimes that are known.
RUNTIMES = {**dict.fromkeys(("Go", "Erlang", "Haskell"), "green threads"), "JavaScript": "a loop"}

Who = Literal["processes", "threads", "either", "nobody"]


@dataclass(frozen=True)
class WhoWaits:
    """Who waits with each request; "nobody": requests wait in a loop or in green threads.

    `number`: how many there are, where that is fixed; None: it is not, or not known. `grows`: whether more
    are added as requests or connections come. `evidence`: what shows it.
    """

    who: Who
    evidence: str
    number: int | None = None
    grows: bool = False


def of(seen: Observed) -> WhoWaits | Unknown:
    """Return who waits with each request, or what would show it."""
    found = next((shown for question in QUESTIONS if (shown := question(seen)) is not None), None)
    waits = parallelism.waits(seen)
    return found or (waits if isinstance(waits, Unknown) else Unknown("what was measured shows no more"))


def _of_half_sent(seen: Observed) -> WhoWaits | None:
    """Who waits for the rest of requests that are sent by half. A limit of connections looks the same."""
    crowd, there = seen.outcomes.half_sent, seen.held.after if seen.held is not None else None
    places = crowding.places(crowd)
    if crowd is None or places is None or there is None or there.threads < THREADS_SHARE * places[0]:
        return None
    number = round(places[0])
    # Where all are taken, there are as many as were taken, or fewer.
    is_known, said = number > crowd.others, "half-sent requests take the places of others"
    return WhoWaits(_by(number, there), said, number if is_known else None)


def _of_requests(seen: Observed) -> WhoWaits | None:
    """Who there is for requests that wait, in the load with most of them that shows it."""
    for number in range(len(seen.waiting), 0, -1):
        waits = parallelism.waits(replace(seen, waiting=seen.waiting[:number]))
        load = seen.waiting[number - 1]
        if not isinstance(waits, Parallelism) or load.most is None:
            continue
        found = _of_limit(seen, waits, load.most) or _of_added(waits.value, load.most, load.at_rest)
        if found is not None:
            return found
    return None


def _of_limit(seen: Observed, at_a_time: Parallelism, there: Tree) -> WhoWaits | None:
    """Who waits where no more than a number of requests wait at a time."""
    number = round(at_a_time.value)
    if at_a_time.kind != "limit":
        return None
    if at_a_time.is_one:
        return WhoWaits(_by(1, there), "one request waits at a time", 1)
    said = f"{number} requests wait at a time, and it has {_there(there)}"
    if there.threads < THREADS_SHARE * number:
        return WhoWaits("nobody", said)
    return None if _are_for_others(seen, number, there) else WhoWaits(_by(number, there), said, number)


def _are_for_others(seen: Observed, number: int, there: Tree) -> bool:
    """Whether a thread for each of them may be there by chance, and another limit lets in that number.

    A pool computes on all of its threads. Where that is not known, a few threads, or many more than requests,
    may be those that any runtime has.
    """
    load = seen.computing
    if load is None or load.busy is None or isinstance(parallelism.computes(seen), Unknown):
        is_few = number < WAITING_MIN or there.threads > MANY_THREADS_FACTOR * number
        return is_few and there.processes < THREADS_SHARE * number
    return load.busy < OWN_SHARE * min(number, load.connections)


def _of_added(waiting: float, most: Tree, rest: Tree | None) -> WhoWaits | None:
    """Who is added while many requests wait."""
    if waiting < WAITING_MIN or rest is None:
        return None
    if most.threads < THREADS_SHARE * waiting:
        return WhoWaits("nobody", f"{waiting:.0f} requests wait at a time in {_there(most)}")
    return _added(rest, most, waiting, f"{waiting:.0f} requests that wait")


def _added(before: Tree, after: Tree, number: float, for_: str) -> WhoWaits | None:
    """Who is added, one for each of `number`."""
    if (added := after.processes - before.processes) >= OWN_SHARE * number:
        return WhoWaits("processes", f"{added} processes are added for {for_}", grows=True)
    if (added := after.threads - before.threads) >= OWN_SHARE * number:
        return WhoWaits("threads", f"{added} threads are added for {for_}", grows=True)
    return None


def _of_idle(seen: Observed) -> WhoWaits | None:
    """Who holds idle connections, or is added for them."""
    held = seen.held
    if held is None or held.before is None or held.after is None or held.connections < HELD_MIN:
        return None
    if held.kept and held.asked >= HELD_MIN and held.grown >= OWN_SHARE * held.asked:
        said = f"{held.grown} threads were added for {held.asked} requests, one after the other"
        return WhoWaits("threads", said, grows=True)
    found = _added(held.before, held.after, held.connections, f"{held.connections} idle connections")
    if found is None and held.holders is not None and held.holders > 1 and held.most == 1:
        return WhoWaits("processes", f"{held.holders} processes hold one idle connection each")
    return found


def _of_runtime(seen: Observed) -> WhoWaits | None:
    """Where requests wait by the runtime of all processes that hold connections."""
    runtime = seen.held.runtime if seen.held is not None else ""
    said = f"the runtime is that of {runtime}, with {RUNTIMES.get(runtime)}"
    return WhoWaits("nobody", said) if runtime in RUNTIMES else None


def _by(number: int, there: Tree) -> Who:
    """Who waits with that many requests."""
    if there.processes < max(2.0, THREADS_SHARE * number):
        return "threads"
    return "processes" if there.threads <= SINGLE_THREADS * there.processes else "either"


def _there(tree: Tree) -> str:
    processes = numerals.count(tree.processes, "process", "processes")
    return f"{numerals.count(tree.threads, 'thread')} in {processes}"


QUESTIONS = (_of_half_sent, _of_requests, _of_idle, _of_runtime)
