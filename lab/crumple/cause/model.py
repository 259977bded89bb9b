"""Which I/O model a server has. Pure: what was observed → the model, or those between which it cannot tell.

Each line of evidence leaves some models and excludes the others. The model is named if every line leaves it,
no other is left, and two lines or more excluded something: one line alone may be an accident. If the lines
leave no model at all, they contradict each other, and none is named.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce

from crumple.cause import beside_heavy, held_lines, parallelism
from crumple.cause.model_lines import (
    ALL,
    BLOCKING,
    LOOPS,
    MORE_BUSY,
    ONE_BUSY_MAX,
    OWN_SHARE,
    PER_CONNECTION,
    POOLS,
    PROCESSES,
    SAME_THREADS_SHARE,
    TWO_CORES,
    UNBLOCKED,
    Line,
    Models,
)
from crumple.cause.observed import Many, Observed
from crumple.cause.parallelism import Parallelism
from crumple.cause.unknown import Unknown
from crumple.drawing import numerals
from crumple.machine.process_tree import Tree
from crumple.subject.server_toml import IoModel

LIGHT: IoModel = "green-threads"
LIGHT_RUNTIMES = ("Go", "Erlang", "Haskell")
# Models that have much in common, the narrowest kind first.
KINDS = (POOLS, PER_CONNECTION, LOOPS, BLOCKING, UNBLOCKED)
# A blocking server has a thread for each request that waits. With fewer than this share of them, it has not.
THREADS_SHARE = 0.8
# With this many times as many threads as requests that wait, the threads are not there for these.
MANY_THREADS_FACTOR = 2
# Where a thread waits for each request, about so many of them share the CPU time at least.
BUSY_WAITING_SHARE = 0.2
# Fewer requests at a time could wait in the threads that any runtime has.
WAITING_MIN = 24
# Of fewer the number is too inaccurate to be compared with that of processes.
PROCESSES_MIN = 8
# As if so many threads shared the CPU time evenly, at least, where several run handlers.
SEVERAL_BUSY_MIN = 1.6
# Processes with so many threads on average, or fewer, have one thread each that serves.
SINGLE_THREADS = 1.5


@dataclass(frozen=True)
class Named:
    """The models that are left, one if it is `known`, and the lines that left them."""

    left: Models
    lines: tuple[Line, ...]

    @property
    def known(self) -> IoModel | None:
        """The model, if there is one that can be named."""
        return next(iter(self.left)) if len(self.left) == 1 and self._rests_on_two(ALL) else None

    @property
    def in_common(self) -> Models | None:
        """The narrowest of `KINDS` that holds all models that are left; None: none does, or one is known.

        Two lines or more have excluded models of no such kind.
        """
        if not self.left or self.known is not None:
            return None
        return next((kind for kind in KINDS if self.left <= kind and self._rests_on_two(kind)), None)

    def _rests_on_two(self, kind: Models) -> bool:
        """Whether two lines or more, that do not rest on the same, excluded others than those of `kind`.

        Of all models: whether they excluded any.
        """
        beside = ALL - kind or ALL
        telling = [line for line in self.lines if beside - line.leaves]
        return sum(not line.of for line in telling) + len({line.of for line in telling if line.of}) >= 2

    @property
    def contradicts(self) -> bool:
        """Whether no model is left."""
        return not self.left


def named(seen: Observed) -> Named:
    """Return the I/O model of the server."""
    lines = tuple(line for of in LINES if (line := of(seen)) is not None)
    left = reduce(frozenset.intersection, (line.leaves for line in lines), ALL)
    if (by_runtime := _runtime(seen, left)) is not None:
        return Named(left & by_runtime.leaves, (*lines, by_runtime))
    return Named(left, lines)


def _runtime(seen: Observed, left: Models) -> Line | None:
    """What its runtime tells where what it does leaves several models, light threads among them.

    A program may have a loop of its own in such a runtime. So what is the only one left stays, unless it is
    light threads in a runtime that has none.
    """
    runtime = seen.held.runtime if seen.held is not None else ""
    if not runtime or LIGHT not in left or (len(left) == 1 and runtime in LIGHT_RUNTIMES):
        return None
    if runtime not in LIGHT_RUNTIMES:
        return Line(f"the runtime is that of {runtime}, which has no light threads", ALL - {LIGHT})
    return Line(
        f"the runtime is that of {runtime}, which serves connections in light threads", frozenset({LIGHT})
    )


def _growth(seen: Observed) -> Line | None:
    """What requests that wait cost: in the load with most of them that tells it."""
    loads = range(len(seen.waiting), 0, -1)
    lines = (_growth_in_last(replace(seen, waiting=seen.waiting[:many])) for many in loads)
    return next((line for line in lines if line is not None), None)


def _growth_in_last(seen: Observed) -> Line | None:
    """The same, of the last load with slow requests."""
    load = seen.most_waiting
    at_a_time = parallelism.waits(seen)
    if load is None or isinstance(at_a_time, Unknown) or load.at_rest is None or load.most is None:
        return None
    waiting = at_a_time.value
    if waiting < WAITING_MIN:
        return None
    if load.most.threads < THREADS_SHARE * waiting:
        said = f"{waiting:.0f} requests wait at a time in {numerals.count(load.most.threads, 'thread')}"
        return Line(said, UNBLOCKED)
    processes = load.most.processes - load.at_rest.processes
    if processes >= OWN_SHARE * waiting:
        said = f"{processes} processes are added for {waiting:.0f} requests that wait"
        return Line(said, PROCESSES)
    threads = load.most.threads - _threads_before(seen, load)
    if threads >= OWN_SHARE * waiting:
        said = f"{threads} threads are added for {waiting:.0f} requests that wait"
        return Line(said, frozenset({"thread-per-connection", "thread-pool"}))
    return None


def _threads_before(seen: Observed, load: Many) -> int:
    """How many threads there were before those were added that serve this load.

    Of each process that was added since, one thread counts as there before. A pool may have grown in an
    earlier load. Its threads are for requests that wait if many of them share the CPU time of this one.
    """
    now = load.at_rest.threads if load.at_rest is not None else 0
    earlier = seen.held.before if seen.held is not None else None
    if earlier is None or load.most is None or load.busy is None:
        return now
    if load.busy < max(BUSY_WAITING_SHARE * load.connections, 2 * seen.cores + MORE_BUSY):
        return now
    return min(now, earlier.threads + max(0, load.most.processes - earlier.processes))


def _limit(seen: Observed) -> Line | None:
    """How many wait at a time, and who there is for them."""
    at_a_time, load = parallelism.waits(seen), seen.most_waiting
    if isinstance(at_a_time, Unknown) or load is None or load.most is None:
        return None
    if at_a_time.kind == "at-least":
        return None
    number, there = round(at_a_time.value), load.most
    if at_a_time.is_one:
        if there.processes == 1:
            return Line("one request waits at a time, in the only process", frozenset({"event-loop"}))
        said = f"one request waits at a time, in {there.processes} processes"
        # Processes that are there only under load may be what the one request waits for.
        comes = load.at_rest is not None and load.at_rest.processes == 1
        return Line(said, POOLS | {"event-loop"} if comes else POOLS)
    said = f"{number} requests wait at a time"
    if there.threads < THREADS_SHARE * number:
        return Line(f"{said}, and it has {numerals.count(there.threads, 'thread')}", UNBLOCKED)
    if _may_have_no_pool(seen, number, there):
        # Something else than threads may limit them: a pool of connections, for instance.
        return None
    if there.processes < THREADS_SHARE * number:
        leaves = BLOCKING - PROCESSES
        return Line(f"{said}, and it has {there.threads} threads in {_processes(there)}", leaves)
    said = f"{said}, and it has {_processes(there)} with {there.threads} threads"
    if there.threads <= SINGLE_THREADS * there.processes:
        return Line(said, PROCESSES)
    return Line(said, BLOCKING - {"thread-per-connection"})


def _in_processes(seen: Observed) -> Line | None:
    """That more requests wait at a time than there are processes, where other lines say nothing of these.

    Processes that were forked twice have left the tree. Where they serve, the tree does not hold all idle
    connections, or does not compute.
    """
    held = seen.held
    is_whole = (
        held is not None
        and held.accepted == held.connections
        and not isinstance(parallelism.computes(seen), Unknown)
    )
    if not is_whole or _growth(seen) is not None or _limit(seen) is not None:
        return None
    at_a_time, load = parallelism.waits(seen), seen.most_waiting
    if isinstance(at_a_time, Unknown) or load is None or load.most is None:
        return None
    if at_a_time.why in ("failing", "behind") or at_a_time.low < PROCESSES_MIN:
        return None
    if load.most.processes >= THREADS_SHARE * at_a_time.low:
        return None
    said = f"{at_a_time.low:.0f} requests or more wait at a time in {_processes(load.most)}"
    return Line(said, ALL - PROCESSES)


def _may_have_no_pool(seen: Observed, number: int, there: Tree) -> bool:
    """Whether it may be by chance that there is a thread for each of the requests that wait at a time.

    A pool computes on all of its threads. Where it is not known on how many requests compute, a few threads,
    or many more than requests, may be those that any runtime has.
    """
    load = seen.computing
    if load is None or load.busy is None or isinstance(parallelism.computes(seen), Unknown):
        is_few = number < WAITING_MIN or there.threads > MANY_THREADS_FACTOR * number
        return is_few and there.processes < THREADS_SHARE * number
    return load.busy < OWN_SHARE * min(number, load.connections)


def _processes(there: Tree) -> str:
    return "one process" if there.processes == 1 else f"{there.processes} processes"


def _fixed(seen: Observed) -> Line | None:
    """Whether there are more processes or threads under load than at rest."""
    load = seen.most_waiting
    if load is None or load.at_rest is None or load.most is None:
        return None
    at_a_time = parallelism.waits(seen)
    if isinstance(at_a_time, Parallelism) and at_a_time.kind == "limit" and load.at_rest == load.most:
        return Line("no process and no thread is added under load", ALL - PER_CONNECTION)
    return None


def _busy(seen: Observed) -> Line | None:
    """How many threads compute when many requests do."""
    load = seen.computing
    cores = parallelism.computes(seen)
    if load is None or load.busy is None or seen.cores < 2:
        return None
    if load.busy <= ONE_BUSY_MAX:
        return _one_busy(seen, load)
    if isinstance(cores, Unknown):
        return None
    if load.busy >= OWN_SHARE * load.connections and load.busy > seen.cores + MORE_BUSY:
        said = f"{load.busy:.0f} threads compute in turn for {load.connections} requests"
        return Line(said, BLOCKING | {"hybrid"})
    if load.busy >= SEVERAL_BUSY_MIN:
        said = f"{load.busy:.2g} threads compute for {load.connections} requests"
        return Line(said, ALL - PER_CONNECTION - {"event-loop"})
    return None


def _one_busy(seen: Observed, load: Many) -> Line | None:
    """What it tells that one thread uses nearly all of the CPU time where many requests compute.

    However short these are, several loops would use all cores. But of several processes, one may have
    accepted all connections.
    """
    if load.disturbed or parallelism.heavy_waits(seen) or seen.quota_cores is not None:
        return None
    if load.cores is None or load.cores < parallelism.BUSY_SHARE or _may_miss_loops(seen):
        return None
    return Line("one thread computes", ALL - {"event-loop-per-core"})


def _may_miss_loops(seen: Observed) -> bool:
    """Whether several processes hold connections, or may, of which one may have accepted all of a load."""
    holders = seen.held.holders if seen.held is not None else None
    if holders is not None:
        return holders > 1
    load = seen.computing
    return load is not None and load.most is not None and load.most.processes > 1


def _single_threads(seen: Observed) -> Line | None:
    """That all of several processes have one thread each: none computes beside it.

    A process with light threads on its one thread is a loop, seen from outside.
    """
    load, held = seen.most_waiting, seen.held
    if load is None or load.most is None or held is None or held.accepted != held.connections:
        return None
    there, holders = load.most, held.holders or 0
    computing = seen.computing
    # A process that holds no connection and does not compute, as one that starts the others, does not count.
    has_one_each = there.threads <= there.processes or (
        held.holders_threads == holders and computing is not None and computing.by_holders is True
    )
    if holders < 2 or not has_one_each:
        return None
    if computing is None or computing.most != there or computing.busy is None:
        # Others may be started to compute.
        return None
    take_in = (load.by_computing or 0.0) >= SAME_THREADS_SHARE
    if computing.busy > holders + MORE_BUSY and not take_in:
        # Some of those that compute may take in no requests, unless one held no connection by chance.
        return None
    said = f"the {holders} processes that hold connections have one thread each"
    return Line(said, LOOPS | PROCESSES)


def _same_threads(seen: Observed) -> Line | None:
    """Whether the threads that compute are those that take in requests, of which many wait at a time.

    A pool for handlers takes no requests in. If it has many threads, or one for each request that waits, the
    threads that take requests in may be among them.
    """
    load, computing, at_a_time = seen.most_waiting, seen.computing, parallelism.waits(seen)
    if load is None or load.by_computing is None or load.most is None or isinstance(at_a_time, Unknown):
        return None
    if computing is None or computing.busy is None or computing.disturbed or load.disturbed:
        return None
    if load.most.threads >= THREADS_SHARE * at_a_time.value or computing.busy > seen.cores + MORE_BUSY:
        return None
    if load.by_computing < SAME_THREADS_SHARE or parallelism.heavy_waits(seen):
        return None
    return Line("the threads that compute are those that take in requests", ALL - {"hybrid"})


def _computing(seen: Observed) -> Line | None:
    """On how many cores requests compute."""
    cores = parallelism.computes(seen)
    if isinstance(cores, Unknown) or seen.cores < 2:
        return None
    if cores.value >= TWO_CORES:
        on = "all cores" if parallelism.is_on_all_cores(cores, seen) else f"{cores.value:.2g} cores"
        return Line(f"requests compute on {on}", ALL - {"event-loop"})
    if cores.kind == "limit":
        loops: Models = frozenset() if _may_miss_loops(seen) else frozenset({"event-loop-per-core"})
        return Line("requests compute on one core", ALL - loops - {"process-per-connection"})
    return None


LINES: tuple[Callable[[Observed], Line | None], ...] = (
    held_lines.of_idle,
    _growth,
    _limit,
    _in_processes,
    _single_threads,
    _fixed,
    _busy,
    _same_threads,
    _computing,
    beside_heavy.one,
    beside_heavy.held,
    beside_heavy.many,
)
