"""Which I/O model a server has. Pure: what was observed → the model, or those between which it cannot tell.

Each line of evidence leaves some models and excludes the others. The model is named if every line leaves it,
no other is left, and two lines or more excluded something: one line alone may be an accident. If the lines
leave no model at all, they contradict each other, and none is named.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import get_args

from crumple.cause import parallelism
from crumple.cause.observed import Held, Many, Observed
from crumple.cause.parallelism import Parallelism
from crumple.cause.unknown import Unknown
from crumple.drawing import numerals
from crumple.machine.process_tree import Tree
from crumple.stats import shares
from crumple.subject.server_toml import IoModel

Models = frozenset[IoModel]
ALL: Models = frozenset(get_args(IoModel))
PER_CONNECTION: Models = frozenset({"process-per-connection", "thread-per-connection"})
POOLS: Models = frozenset({"process-pool", "thread-pool"})
BLOCKING: Models = PER_CONNECTION | POOLS
LOOPS: Models = frozenset({"event-loop", "event-loop-per-core"})
UNBLOCKED: Models = ALL - BLOCKING

# With this share of a process or thread more for each connection, every connection has one of its own.
OWN_SHARE = 0.5
# A blocking server has a thread for each request that waits. With fewer than this share of them, it has not.
THREADS_SHARE = 0.8
# Fewer idle connections than this could be held by chance as they are.
HELD_MIN = 8
# With this many times as many threads as requests that wait, the threads are not there for these.
MANY_THREADS_FACTOR = 2
# Fewer requests at a time could wait in the threads that any runtime has.
WAITING_MIN = 24
# As if so many threads shared the CPU time evenly: at most, where one runs all handlers, and at least, where
# several do.
ONE_BUSY_MAX = 1.3
SEVERAL_BUSY_MIN = 1.6
# Processes with so many threads on average, or fewer, have one thread each that serves.
SINGLE_THREADS = 1.5
# So many threads more than cores that share the CPU time are more than a runtime's threads for the cores.
MORE_BUSY = 0.7
# Fewer cores than this on which requests compute are one.
TWO_CORES = 1.5
# Of several event loops, one is busy with one heavy request. While requests spread over them, this share of
# the light ones meets it, and waits; if it is less than `ONE_OF_MIN`, it cannot be told from none.
ONE_OF_SHARE, ONE_OF_MIN = 0.75, 0.16
# From this share of light requests on that wait for one heavy request, all of them do.
ALL_WAIT_SHARE = 0.55
# With this share, none does; a machine of few cores lets some of them wait for a core.
NONE_WAIT_SHARE = 0.08
# From this share on, some do.
SOME_WAIT_SHARE = 0.16
# If the threads that compute use this share of the CPU time of requests that wait, they take these in, too.
SAME_THREADS_SHARE = 0.8
# The same beside more heavy requests than there are cores.
MANY_WAIT_SHARE, FEW_WAIT_SHARE = 0.6, 0.3


@dataclass(frozen=True)
class Line:
    """One line of evidence: a sentence, and the models that it leaves."""

    says: str
    leaves: Models


@dataclass(frozen=True)
class Named:
    """The models that are left, one if it is `known`, and the lines that left them."""

    left: Models
    lines: tuple[Line, ...]

    @property
    def known(self) -> IoModel | None:
        """The model, if there is one that can be named."""
        if len(self.left) != 1 or sum(line.leaves != ALL for line in self.lines) < 2:
            return None
        return next(iter(self.left))

    @property
    def contradicts(self) -> bool:
        """Whether no model is left."""
        return not self.left


def named(seen: Observed) -> Named:
    """Return the I/O model of the server."""
    lines = tuple(line for of in LINES if (line := of(seen)) is not None)
    return Named(reduce(frozenset.intersection, (line.leaves for line in lines), ALL), lines)


def _held(seen: Observed) -> Line | None:
    """What idle connections cost."""
    held = seen.held
    if held is None or held.before is None or held.after is None or held.connections < HELD_MIN:
        return None
    many = held.connections
    processes = held.after.processes - held.before.processes
    threads = held.after.threads - held.before.threads
    idle = f"{many} idle connections"
    if processes >= OWN_SHARE * many:
        return Line(f"{processes} processes are added for {idle}", frozenset({"process-per-connection"}))
    if threads >= OWN_SHARE * many:
        return Line(f"{threads} threads are added for {idle}", frozenset({"thread-per-connection"}))
    return _held_otherwise(held, idle, threads)


def _held_otherwise(held: Held, idle: str, threads: int) -> Line | None:
    """The same of a server that adds no process or thread for each. `threads`: how many it adds."""
    accepted, holders = held.accepted, held.holders
    if accepted is None or holders is None:
        return None
    if accepted and holders > 1 and held.most == 1:
        said = f"{holders} processes hold one idle connection each"
        return Line(said, frozenset({"process-per-connection", "process-pool"}))
    if accepted < OWN_SHARE * held.connections and held.answered is False:
        return Line(f"{accepted} of {idle} are accepted, and nobody else is answered", BLOCKING)
    if accepted == held.connections and held.answered:
        by = "one process holds" if holders == 1 else f"{holders} processes hold"
        added = numerals.count(max(0, threads), "thread")
        return Line(f"{by} {idle}, with {added} added", ALL - PER_CONNECTION)
    return None


def _growth(seen: Observed) -> Line | None:
    """What requests that wait cost: in the load with most of them that tells it."""
    loads = range(len(seen.waiting), 0, -1)
    lines = (_growth_in_last(replace(seen, waiting=seen.waiting[:many])) for many in loads)
    return next((line for line in lines if line is not None), None)


def _growth_in_last(seen: Observed) -> Line | None:
    """The same, of the last load with slow requests."""
    load = _most_waiting(seen)
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
        return Line(said, frozenset({"process-per-connection", "process-pool"}))
    threads = load.most.threads - load.at_rest.threads
    if threads >= OWN_SHARE * waiting:
        said = f"{threads} threads are added for {waiting:.0f} requests that wait"
        return Line(said, frozenset({"thread-per-connection", "thread-pool"}))
    return None


def _limit(seen: Observed) -> Line | None:
    """How many wait at a time, and who there is for them."""
    at_a_time, load = parallelism.waits(seen), _most_waiting(seen)
    if isinstance(at_a_time, Unknown) or load is None or load.most is None:
        return None
    if at_a_time.kind == "at-least":
        return None
    number, there = round(at_a_time.value), load.most
    if at_a_time.is_one:
        if there.processes == 1:
            return Line("one request waits at a time, in the only process", frozenset({"event-loop"}))
        said = f"one request waits at a time, in {there.processes} processes"
        return Line(said, POOLS)
    said = f"{number} requests wait at a time"
    if there.threads < THREADS_SHARE * number:
        return Line(f"{said}, and it has {numerals.count(there.threads, 'thread')}", UNBLOCKED)
    if _may_have_no_pool(seen, number, there):
        # Something else than threads may limit them: a pool of connections, for instance.
        return None
    if there.processes < THREADS_SHARE * number:
        leaves = BLOCKING - {"process-per-connection", "process-pool"}
        return Line(f"{said}, and it has {there.threads} threads in {_processes(there)}", leaves)
    said = f"{said}, and it has {_processes(there)} with {there.threads} threads"
    if there.threads <= SINGLE_THREADS * there.processes:
        return Line(said, frozenset({"process-per-connection", "process-pool"}))
    return Line(said, BLOCKING - {"thread-per-connection"})


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
    load = _most_waiting(seen)
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
    if load is None or load.busy is None or isinstance(cores, Unknown) or seen.cores < 2:
        return None
    if load.busy <= ONE_BUSY_MAX:
        return Line("one thread computes", ALL - {"event-loop-per-core"})
    if load.busy >= OWN_SHARE * load.connections and load.busy > seen.cores + MORE_BUSY:
        said = f"{load.busy:.0f} threads compute in turn for {load.connections} requests"
        return Line(said, BLOCKING | {"hybrid"})
    if load.busy >= SEVERAL_BUSY_MIN:
        said = f"{load.busy:.2g} threads compute for {load.connections} requests"
        return Line(said, ALL - PER_CONNECTION - {"event-loop"})
    return None


def _same_threads(seen: Observed) -> Line | None:
    """Whether the threads that compute are those that take in requests, of which many wait at a time.

    A pool for handlers takes no requests in. If it has many threads, or one for each request that waits, the
    threads that take requests in may be among them.
    """
    load, computing, at_a_time = _most_waiting(seen), seen.computing, parallelism.waits(seen)
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
        return Line("requests compute on one core", ALL - {"event-loop-per-core", "process-per-connection"})
    return None


def _beside_one(seen: Observed) -> Line | None:
    """Whether a light request waits for one heavy request."""
    beside = seen.beside_one
    if beside is None or not beside.light or beside.disturbed or _tells_nothing(seen):
        return None
    share = beside.waited / beside.light
    said = f"{beside.waited} of {beside.light} light requests wait for one heavy request"
    if share <= NONE_WAIT_SHARE:
        return Line(said, ALL - (LOOPS if _would_meet_one(seen) else {"event-loop"}))
    if seen.cores < 2:
        # On one core a light request waits for its turn, whatever the model is.
        return None
    if _may_be_a_lock(seen):
        # A light request that runs on a thread of its own waits for the lock as well.
        return None
    if share >= ALL_WAIT_SHARE:
        one: Models = frozenset({"event-loop"})
        return Line(said, one | POOLS if _one_at_a_time(seen) else one)
    if share <= SOME_WAIT_SHARE:
        return None
    if shares.interval(beside.waited, beside.light)[1] < ONE_OF_SHARE / max(2, round(_loops_at_most(seen))):
        # Fewer than would have met the busy one of several loops: they may have waited for a core.
        return Line(said, ALL - {"event-loop"})
    return Line(said, ALL - {"event-loop", "green-threads", "hybrid"})


def _tells_nothing(seen: Observed) -> bool:
    """Whether light requests beside heavy ones tell nothing: a quota stops both, or the heavy ones wait."""
    return seen.quota_cores is not None or parallelism.heavy_waits(seen)


def _may_be_a_lock(seen: Observed) -> bool:
    """Whether several threads may compute one at a time, because a lock lets only one of them run."""
    cores = parallelism.computes(seen)
    busy = seen.computing.busy if seen.computing is not None else None
    if isinstance(cores, Parallelism) and cores.value >= TWO_CORES:
        return False
    return busy is None or busy > ONE_BUSY_MAX


def _beside_many(seen: Observed) -> Line | None:
    """Whether a light request waits where more heavy requests than cores compute."""
    beside = seen.beside_many
    if beside is None or not beside.light or beside.disturbed or _tells_nothing(seen):
        return None
    if beside.heavy <= seen.cores:
        return None
    share = beside.waited / beside.light
    said = f"{beside.waited} of {beside.light} light requests wait for {beside.heavy} heavy requests"
    if share >= MANY_WAIT_SHARE and not _may_be_a_lock(seen):
        return Line(said, ALL - {"hybrid"})
    if share <= FEW_WAIT_SHARE:
        loops = LOOPS if _loops_at_most(seen) <= beside.heavy else frozenset[IoModel]({"event-loop"})
        return Line(said, ALL - loops - _few_green(seen))
    return None


def _would_meet_one(seen: Observed) -> bool:
    """Whether one heavy request would keep more light ones waiting than it did if there were loops."""
    return ONE_OF_SHARE / max(1.0, _loops_at_most(seen)) > ONE_OF_MIN


def _loops_at_most(seen: Observed) -> float:
    """About how many loops there are, if there are any: as many threads as compute."""
    load = seen.computing
    return load.busy if load is not None and load.busy is not None else float(seen.cores)


def _few_green(seen: Observed) -> Models:
    """Green threads, if they are excluded where light requests do not wait for many heavy ones.

    A runtime that takes turns on as many threads as there are cores lets light requests in as well.
    """
    busy = seen.computing.busy if seen.computing is not None else None
    green: Models = frozenset({"green-threads"})
    return green if busy is not None and busy > seen.cores + MORE_BUSY else frozenset()


def _one_at_a_time(seen: Observed) -> bool:
    at_a_time = parallelism.waits(seen)
    return isinstance(at_a_time, Parallelism) and at_a_time.is_one


def _most_waiting(seen: Observed) -> Many | None:
    return seen.waiting[-1] if seen.waiting else None


LINES: tuple[Callable[[Observed], Line | None], ...] = (
    _held,
    _growth,
    _limit,
    _fixed,
    _busy,
    _same_threads,
    _computing,
    _beside_one,
    _beside_many,
)
