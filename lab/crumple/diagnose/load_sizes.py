"""How many connections the loads of a diagnosis have, and how long they last. Pure."""

from crumple.contract import TrialRecord
from crumple.observation import parallelism, who_waits
from crumple.observation.observed import Observed
from crumple.observation.outcome import IN_FLIGHT_MOST
from crumple.observation.parallelism import Parallelism
from crumple.observation.server_facts import ServerFacts
from crumple.observation.unknown import Unknown
from crumple.record import flow

# Beyond its limit the server is loaded with a multiple of the connections that it had in flight below it,
# BEYOND_FACTOR, and with BEYOND_MIN connections at least.
BEYOND_FACTOR, BEYOND_MIN = 4.0, 64
# The shortest time, in seconds, for which the server is looked at under a load.
LOOK_S = 5.0
# For how many response times of a request alone the server is looked at if one takes long, and for how many
# seconds at most.
LOOK_ANSWERS, LOOK_S_MAX = 3.0, 15.0
# For how many response times a load must last to be divided by stages. A fifth more than the division needs,
# as response times vary beyond a limit.
DIVIDED_TIMES = 1.2 * flow.BATCHES_MIN * flow.BATCH_RESPONSE_TIMES
# How much more than below its breaking point a server may answer beyond it, as a factor. Within it, the
# longest look may be enough to divide the response time.
MAY_BE_ENOUGH = 1.5


def may_be_too_few(found: ServerFacts) -> bool:
    """Whether more connections may show a limit: these did not, or it is unknown what made requests fail."""
    return found.is_harmed is False or (found.is_harmed is None and found.fails and found.tried is not None)


def light_tells(seen: Observed) -> bool:
    """Whether light requests beside a load may show what limits the server: whether a loop is stopped.

    A server that has a thread or a process for each connection would start one for each of them, which ends
    with it and takes what it had counted along: then context switches are no longer known.
    """
    found = who_waits.of(seen)
    return isinstance(found, Unknown) or found.who == "nobody"


def alone_s(seen: Observed) -> float | None:
    """How long a request of the work takes alone; None: not known, or others used the machine."""
    return None if seen.work is None or seen.work.disturbed else seen.work.mean_s


def look_s(seen: Observed) -> float:
    """How long the server is looked at under a load."""
    alone = seen.work.mean_s if seen.work is not None else 0.0
    return max(LOOK_S, min(LOOK_S_MAX, LOOK_ANSWERS * alone))


def beyond_s(least_s: float, connections: int, per_s: float | None) -> float:
    """How long the server is looked at under `connections`, if it answers `per_s` requests per second.

    It is for as long as dividing the response time by stages needs, if that is no longer than LOOK_S_MAX, or
    may be no longer: beyond its breaking point a server answers more than it held below.
    """
    needed_s = DIVIDED_TIMES * connections / per_s if per_s else 0.0
    return least_s if needed_s > MAY_BE_ENOUGH * LOOK_S_MAX else max(least_s, min(needed_s, LOOK_S_MAX))


def beyond_connections(seen: Observed, below: TrialRecord | None) -> int:
    """How many connections the load beyond the limit has: several times what the server can hold."""
    held = 0.0
    waits = parallelism.waits(seen)
    if isinstance(waits, Parallelism) and waits.kind == "limit":
        held = waits.value
    if below is not None and below.histograms.response_time.mean_ns is not None:
        held = max(held, below.scheduled / below.measured_ns * below.histograms.response_time.mean_ns)
    return min(IN_FLIGHT_MOST, max(BEYOND_MIN, round(BEYOND_FACTOR * held)))
