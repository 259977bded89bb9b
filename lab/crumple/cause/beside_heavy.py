"""What light requests beside heavy ones tell of the I/O model: whether they wait for them. Pure."""

from crumple.cause import parallelism
from crumple.cause.model_lines import (
    ALL,
    HELD_MIN,
    LOOPS,
    MORE_BUSY,
    ONE_BUSY_MAX,
    POOLS,
    SAME_THREADS_SHARE,
    TWO_CORES,
    Line,
    Models,
)
from crumple.cause.observed import WAITED_SHARE, Beside, Observed
from crumple.cause.parallelism import Parallelism
from crumple.stats import shares
from crumple.subject.server_toml import IoModel

# Of several event loops, one is busy with one heavy request. While requests spread over them, this share of
# the light ones meets it, and waits; if it is less than `ONE_OF_MIN`, it cannot be told from none.
ONE_OF_SHARE, ONE_OF_MIN = 0.75, 0.16
# And this share waits for long.
LONG_OF_SHARE = 0.4
# From this share of light requests on that wait for one heavy request, all of them do.
ALL_WAIT_SHARE = 0.55
# With this share, none does; a machine of few cores lets some of them wait for a core.
NONE_WAIT_SHARE = 0.08
# From this share on, some do.
SOME_WAIT_SHARE = 0.16
# Of those that wait for one heavy request until it is over, (1 - 0.6) / (1 - 0.25) wait for long. With fewer
# than this share, they are let in before.
LET_IN_SHARE = 0.35
# Connections are spread over processes if none holds more than this share. By chance none of those that were
# open meets a busy loop less often than this.
EVEN_SHARE, BY_CHANCE = 0.7, 0.02
# What these lines rest on: one heavy request, and how long it takes alone.
HEAVY = "heavy"
# What lets light requests in before a heavy one is over, or has other threads for it.
TURNS: Models = frozenset({"green-threads", "hybrid"})
# The same beside more heavy requests than there are cores.
MANY_WAIT_SHARE, FEW_WAIT_SHARE = 0.6, 0.3


def one(seen: Observed) -> Line | None:
    """Whether a light request waits for one heavy request, if it comes on a connection of its own."""
    beside = seen.beside_one
    if beside is None or not beside.light or beside.disturbed or _tells_nothing(seen):
        return None
    share = beside.waited / beside.light
    said = f"{beside.waited} of {beside.light} light requests wait for one heavy request"
    if share <= NONE_WAIT_SHARE:
        return Line(said, ALL - (LOOPS if _would_meet_one(seen) else {"event-loop"}), HEAVY)
    # A loop whose handler gives way once lets light requests in as well.
    if share <= SOME_WAIT_SHARE or _hides_models(seen) or _is_let_in(beside) or _takes_long(seen):
        return None
    if share >= ALL_WAIT_SHARE:
        # The loop that is busy may be the one that accepts for the others.
        return Line(said, LOOPS | POOLS if _one_at_a_time(seen) else LOOPS, HEAVY)
    if _are_too_few(beside, seen.cores) or _others_take_in(seen):
        # Fewer than would have met the busy one of several loops: they may have waited for a core.
        return Line(said, ALL - {"event-loop"}, HEAVY)
    return Line(said, ALL - {"event-loop"} - TURNS, HEAVY)


def held(seen: Observed) -> Line | None:
    """Whether it waits if it comes on a connection that was open before, which its loop keeps.

    Loops may hold very different numbers of these, so that it tells one loop from several no better.
    """
    beside = seen.beside_held
    if beside is None or not _tells(beside) or _tells_nothing(seen):
        return None
    said = f"{beside.waited} of {beside.light} light requests on connections that were open"
    said = f"{said} wait for one heavy request"
    if not beside.waited:
        return Line(said, ALL - (LOOPS if _would_be_held(seen, beside) else {"event-loop"}), HEAVY)
    if shares.interval(beside.waited, beside.light)[0] <= SOME_WAIT_SHARE or _hides_models(seen):
        return None
    return None if _is_let_in(beside) or _others_take_in(seen) else Line(said, ALL - TURNS, HEAVY)


def _tells(held_: Beside) -> bool:
    return held_.light >= HELD_MIN and not held_.disturbed


def _hides_models(seen: Observed) -> bool:
    """Whether light requests wait whatever the model is: for a turn on one core, or for a lock."""
    return seen.cores < 2 or _may_be_a_lock(seen)


def _takes_long(seen: Observed) -> bool:
    """Whether a light request on a connection of its own needs a core for so long that it may wait for one.

    It does where a server executes a program for each connection.
    """
    light, heavy = seen.light_alone, seen.heavy
    if light is None or heavy is None:
        return False
    needs_s = light.served_s if light.cpu_s is None else light.cpu_s
    return needs_s >= WAITED_SHARE * heavy.served_s


def _are_too_few(beside: Beside, cores: int) -> bool:
    """Whether more light requests would have waited, and for long, if there were a loop for each core."""
    loops = max(2, cores)
    if beside.long is None:
        return shares.interval(beside.waited, beside.light)[1] < ONE_OF_SHARE / loops
    return shares.interval(beside.long, beside.light)[1] < LONG_OF_SHARE / loops


def _others_take_in(seen: Observed) -> bool:
    """Whether other threads of the one process take in requests than those that compute.

    Loops do both, so they are as many where requests wait as where they compute. A runtime of light threads
    may compute on one of its threads without a break, and then looks like loops beside heavy requests.
    """
    load, waiting = seen.computing, seen.most_waiting
    if load is None or waiting is None or not _is_one_process(seen) or waiting.disturbed or load.disturbed:
        return False
    if waiting.by_computing is None or waiting.busy is None or load.busy is None:
        return False
    return waiting.by_computing < SAME_THREADS_SHARE and waiting.busy > load.busy + MORE_BUSY


def _is_let_in(beside: Beside) -> bool:
    """Whether light requests that wait for a heavy one get their turn before it is over.

    If all wait until it is over, and come at any time of it, about half of those that wait (0.4 of 0.75) wait
    for long.
    """
    if beside.long is None or not beside.waited:
        return False
    return shares.interval(beside.long, beside.waited)[1] < LET_IN_SHARE


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


def many(seen: Observed) -> Line | None:
    """Whether a light request waits where more heavy requests than cores compute."""
    beside = seen.beside_many
    if beside is None or not beside.light or beside.disturbed or _tells_nothing(seen):
        return None
    if beside.heavy <= seen.cores:
        return None
    share = beside.waited / beside.light
    said = f"{beside.waited} of {beside.light} light requests wait for {beside.heavy} heavy requests"
    # A loop that gets no core at once lets them wait, too, but not for as long as heavy requests take.
    is_long = beside.long is None or beside.long >= MANY_WAIT_SHARE * beside.light
    if share >= MANY_WAIT_SHARE and is_long and not _may_be_a_lock(seen) and not _takes_long(seen):
        return Line(said, ALL - {"hybrid"}, HEAVY)
    if share <= FEW_WAIT_SHARE:
        all_busy = _is_one_process(seen) and _loops_at_most(seen) <= beside.heavy
        loops = LOOPS if all_busy else frozenset[IoModel]({"event-loop"})
        return Line(said, ALL - loops - _few_green(seen), HEAVY)
    return None


def _would_meet_one(seen: Observed) -> bool:
    """Whether one heavy request would keep more light ones waiting than it did if there were loops.

    A new connection may be accepted by whichever of several processes is free.
    """
    if not _is_one_process(seen) or (seen.beside_held is not None and _tells(seen.beside_held)):
        return False
    return ONE_OF_SHARE / max(1.0, _loops_at_most(seen)) > ONE_OF_MIN


def _is_one_process(seen: Observed) -> bool:
    """Whether one process accepts all connections; False: several may, or it is not known."""
    return seen.held is not None and seen.held.holders == 1


def _would_be_held(seen: Observed, beside: Beside) -> bool:
    """Whether one of the loops that are busy would hold some of these connections, if there were loops."""
    held_ = seen.held
    if held_ is None or not held_.accepted or held_.most is None:
        return False
    # Of several processes one may have accepted nearly all of them.
    if (held_.holders or 1) > 1 and held_.most > EVEN_SHARE * held_.accepted:
        return False
    met = ONE_OF_SHARE / max(1, round(_loops_at_most(seen)))
    return (1 - met) ** beside.light < BY_CHANCE


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
