"""A loop that is stopped by a call which blocks: its thread sleeps, and not where it waits for events. Pure.

A loop's one thread accepts, reads and answers for all. While a handler's call blocks it, requests wait as if
for a pool of one connection, or one worker, and the core is idle. What tells it from these: the thread that
does everything is hardly ever found where it waits for events, though it does not compute.
"""

from crumple.cause import model, places
from crumple.cause.at_load import Threads
from crumple.cause.finding import MOST_SHARE, Facts, Finding
from crumple.cause.model_lines import UNBLOCKED
from crumple.drawing import numerals

# So many requests are served at a time for each loop, by Little's law.
ONE_SERVED = (0.8, 1.2)
# A loop that runs, or is ready to, for this share of the time or more is not asleep in a call.
BUSY_SHARE = 0.5
# As if so many threads shared the CPU time, at most, for each loop.
SHARING_MAX = 1.3
# For each loop that is stopped, so many threads fewer wait for events than without a load.
LOST_MIN = 0.6
# If it is not known how many do without a load, none does under it.
NONE_MAX = 0.3
REMEDY = "keep calls that block out of the loop: wait for them by events, or in other threads"


def said(facts: Facts) -> Finding | None:
    """Say that a loop, or each of several, is stopped by what it waits for; None: it is not shown."""
    load, threads, served = facts.beyond, facts.beyond.threads, facts.at_a_time
    if threads is None or served is None or load.rose or not facts.is_harmed or not facts.has_idle_cores:
        return None
    if facts.light_waits is False:
        # A loop that answers light requests meanwhile is not stopped.
        return None
    if threads.busiest >= BUSY_SHARE or threads.saturated:
        return None
    if threads.disk < LOST_MIN and (stopped := _stops_light_requests(facts, served)) is not None:
        return stopped
    loops = _loops(facts, threads)
    low, high = (each * loops for each in ONE_SERVED)
    if not loops or not low <= served <= high or load.in_flight < 2 * loops:
        return None
    if threads.disk >= LOST_MIN * loops:
        return None
    is_known = _sleeps_in_a_call(facts, threads, loops)
    if is_known is None:
        return None
    where = f" ({threads.busiest_at})" if threads.busiest_at else ""
    whose = f"the {loops} threads that serve sleep" if loops > 1 else "the one thread that serves sleeps"
    evidence = f"{whose} in a call{where}, and not waiting for events"
    asked = next((each for each in facts.peers or () if each.waiting >= LOST_MIN), None)
    if asked is not None:
        evidence = f"{evidence}; {asked.listener or 'what listens'} at {asked.address} is to answer meanwhile"
    number, all_ = (numerals.significant(each, 2) for each in (served, load.in_flight))
    evidence = f"{evidence}; {number} of {all_} requests are served at a time"
    if loops > 1:
        # Loops that are stopped are workers: so many requests are served at a time.
        return Finding("workers", "consistent", facts.waited_s, evidence, f"{REMEDY}; or more of them")
    return Finding("one-loop", "shown" if is_known else "consistent", facts.waited_s, evidence, REMEDY)


def _stops_light_requests(facts: Facts, served: float) -> Finding | None:
    """Say that light requests wait in front of a loop as all do, while one is served at a time.

    It need not be seen where the loop's thread sleeps: a call may wait for events of its own, or for another
    process.
    """
    left, (low, high), light = model.named(facts.seen).left, ONE_SERVED, facts.beyond.light
    if light is None or not facts.light_waits or not facts.is_queued_outside or not low <= served <= high:
        return None
    if "event-loop" not in left:
        return None
    number, all_ = (numerals.significant(each, 2) for each in (served, facts.beyond.in_flight))
    evidence = f"{number} of {all_} requests are served at a time, and others are not read"
    evidence = f"{evidence}: {light.waited} of {light.asked} light ones wait, too, while {facts.idle_said}"
    if left == {"event-loop"}:
        return Finding("one-loop", "shown", facts.waited_s, evidence, REMEDY)
    evidence = f"{evidence}; a pool of one worker looks the same"
    return Finding("one-loop", "consistent", facts.waited_s, evidence, REMEDY)


def _loops(facts: Facts, threads: Threads) -> int:
    """How many loops there are; 0: the server has a worker for each request, or it is not known."""
    left = model.named(facts.seen).left
    if not left or not left <= UNBLOCKED or threads.sharing is None:
        return 0
    if "event-loop" in left and threads.sharing <= SHARING_MAX:
        return 1
    if "event-loop-per-core" not in left:
        return 0
    before = places.at_rest(facts.seen.rest, places.is_event)
    lost = (before or 0) - places.under_load(threads, places.is_event)
    served = facts.at_a_time or 0.0
    if left == {"event-loop-per-core"} and lost >= 2 * LOST_MIN and places.as_many(served, lost):
        # As many do not wait for events any more as requests are served at a time.
        return round(served)
    number = round(threads.sharing)
    return number if abs(threads.sharing - number) <= SHARING_MAX - 1 else 0


def _sleeps_in_a_call(facts: Facts, threads: Threads, loops: int) -> bool | None:
    """Whether loops sleep elsewhere than where they wait for events; False: it seems so; None: no."""
    place = threads.busiest_at
    if places.is_event(place):
        return None
    waiting = places.under_load(threads, places.is_event)
    before = places.at_rest(facts.seen.rest, places.is_event)
    if before is None:
        # Without knowing where the loop waits for events, it may be one of the places for anything.
        found = places.under_load(threads, lambda each: not places.is_free(each) and not places.is_lock(each))
        return False if waiting <= NONE_MAX and found >= LOST_MIN * loops else None
    if before - waiting < LOST_MIN * loops:
        # A call that blocks may poll its one socket as a loop polls all. A loop would read what has come.
        outside = facts.stage.outside if facts.stage is not None else 0.0
        leaves_unread = outside >= MOST_SHARE * facts.beyond.in_flight
        return False if places.is_polled(place) and leaves_unread else None
    # A thread of a pool of light threads sleeps in a lock while it has nothing to do.
    may_be_idle = places.is_lock(place) and "green-threads" in model.named(facts.seen).left
    return None if not place or may_be_idle else True
