"""How many requests a server has waiting, and computing, at a time. Pure: what was observed → figures.

By Little's law, a load that gets `per_s` answers per second, each of which takes a server `s` seconds, has
`per_s` × `s` of them served at a time. What lies beyond waits in a queue, and adds to the response time only.
"""

from dataclasses import dataclass
from typing import Literal

from crumple.machine import at_rest
from crumple.observation import crowding, group_words
from crumple.observation.observed import Many, Observed
from crumple.observation.unknown import Unknown

# The most busy threads (the effective number, `loaded.sharing`) that count as one: a second one that collects
# garbage or compiles adds up to a third.
ONE_BUSY_MAX = 1.3
# The least share of the connections served at a time with which all count as served: the engine takes the
# rest.
ALL_SHARE = 0.9
# The least share of the cores in use with which CPU time may have been the limit. A server that is not always
# ready to run, or shares the machine, does not get all of them.
BUSY_SHARE = 0.6
# The most of the used cores that the engine may take for the rest to count as the server's.
FOR_OTHERS = 0.5
# The least share of CPU time in a request that computes.
COMPUTES_SHARE = 0.5
# The largest share of CPU time in a request that waits.
WAITS_SHARE = 0.5

# The shortest slow request and the shortest heavy one from which a number is computed, in seconds: of shorter
# ones, what the engine and the network take is a large part.
SLOW_S_MIN, HEAVY_S_MIN = 0.02, 0.004
# The least ratio of connections that wait for a dependency to requests served at a time from which requests
# are taken to queue behind the server: it has as many waiting as it has connections.
BEHIND_FACTOR = 1.5
# The widest half interval of a steady rate, as a share of it.
STEADY_SHARE = 0.3

# "limit": no more than this at a time. "at-least": the load showed no limit of this kind.
Kind = Literal["limit", "at-least"]
# Why no limit was seen: all were served, or may have been; CPU time was the limit; the server still grew; its
# rate moved; what it used could not be read, so that CPU time may have been the limit; many were not answered
# as expected; or more of them waited behind the server than were served.
Why = Literal["all", "perhaps-all", "cpu", "growing", "unsteady", "unread", "failing", "behind"]


@dataclass(frozen=True)
class Parallelism:
    """How many at a time, with a 95 % interval. `why`: why no limit was seen; None for a limit."""

    kind: Kind
    value: float
    low: float
    high: float
    why: Why | None = None

    @property
    def is_one(self) -> bool:
        """Whether it is one at a time."""
        return self.kind == "limit" and round(self.value) <= 1

    @property
    def may_be_all(self) -> bool:
        """Whether all that were sent may have been served at a time, so that more have to be sent."""
        return self.why in ("all", "perhaps-all")


def waits(seen: Observed) -> Parallelism | Unknown:
    """Return how many requests can wait at a time."""
    if "slow" in seen.failed:
        return Unknown(f"the slow request is not answered as expected: {seen.failed['slow']}")
    if (seen.slow is None or not seen.waiting) and (
        found := crowding.places(seen.outcomes.half_sent)
    ) is not None:
        return Parallelism("limit", *found)
    if seen.slow is None or not seen.waiting:
        return Unknown("no request that only waits was given; name its path: --slow PATH")
    served_s = seen.slow.served_s
    if served_s < SLOW_S_MIN:
        return Unknown(f"the slow request takes {1e3 * served_s:.2g} ms; name one that takes 50 ms or more")
    if seen.slow.cpu_s is not None and seen.slow.cpu_s > WAITS_SHARE * served_s:
        return Unknown("the slow request computes rather than waits; name another path: --slow PATH")
    last = seen.waiting[-1]
    if disturbed := seen.slow.disturbed or last.disturbed:
        return Unknown(f"{disturbed}; diagnose it on a calm machine")
    if not last.per_s:
        return Unknown("no slow request was answered under load")
    low, high = (seen.slow.mean_s * each for each in (last.per_s_low, last.per_s_high))
    if low >= ALL_SHARE * last.connections:
        return Parallelism("at-least", last.connections, last.connections, last.connections, "all")
    if high >= ALL_SHARE * last.connections:
        return Parallelism("at-least", low, low, low, "perhaps-all")
    # What waits in the kernel to be acknowledged is served.
    value, low, high = (served_s * each for each in (last.per_s, last.per_s_low, last.per_s_high))
    if last.failed >= last.connections:
        # It may allow that rate, however many requests wait.
        return Parallelism("at-least", value, low, high, "failing")
    if last.cores is None:
        return Parallelism("at-least", value, low, high, "unread")
    if is_cpu_limited(last, seen):
        return Parallelism("at-least", value, low, high, "cpu")
    if last.growing:
        return Parallelism("at-least", value, low, high, "growing")
    if last.behind is not None and last.behind.waiting >= BEHIND_FACTOR * max(1.0, high):
        number = min(last.behind.waiting, last.connections)
        return Parallelism("at-least", number, number, number, "behind")
    if high - value > STEADY_SHARE * value:
        most = served_s * max(each.per_s_low for each in seen.waiting)
        if not most:
            return Unknown("too few slow requests ended under load; name a path that takes less: --slow PATH")
        return Parallelism("at-least", most, most, most, "unsteady")
    return Parallelism("limit", value, low, high)


def heavy_waits(seen: Observed) -> bool:
    """Whether the heavy request waits rather than computes, as if handed on; False: it is not known."""
    alone = seen.heavy
    return alone is not None and alone.cpu_s is not None and alone.cpu_s < COMPUTES_SHARE * alone.served_s


def computes(seen: Observed) -> Parallelism | Unknown:
    """Return how many cores requests compute on at a time; "at-least" where these are all cores."""
    if "heavy" in seen.failed:
        return Unknown(f"the heavy request is not answered as expected: {seen.failed['heavy']}")
    if seen.heavy is None or seen.computing is None:
        return Unknown("no request that only computes was given; name its path: --heavy PATH")
    load, alone = seen.computing, seen.heavy
    if disturbed := alone.disturbed or load.disturbed:
        return Unknown(f"{disturbed}; diagnose it on a calm machine")
    if alone.cpu_s is None or load.cores is None:
        return Unknown("the server's CPU time cannot be read; name its process: --watch PID")
    if heavy_waits(seen):
        return Unknown("the heavy request waits rather than computes; name another path: --heavy PATH")
    if alone.served_s < HEAVY_S_MIN:
        return Unknown(
            f"the heavy request takes {1e3 * alone.served_s:.2g} ms; name one that takes 10 ms or more"
        )
    if not load.per_s:
        return Unknown("no heavy request was answered under load")
    if seen.quota is not None:
        return Unknown(f"{group_words.allows('quota', seen.quota)}, of {seen.cores} cores")
    # What the server computes while nobody asks is for no request.
    cores = max(0.0, load.cores - at_rest.cores(seen.rest))
    off = (load.per_s_high - load.per_s_low) / (2 * load.per_s)
    low, high = cores * max(0.0, 1 - off), cores * (1 + off)
    if load.cores + load.engine_cores + load.taken_cores >= ALL_SHARE * seen.cores:
        return Parallelism("at-least", cores, low, high, "cpu")
    return Parallelism("limit", cores, low, high)


def is_on_all_cores(found: Parallelism, seen: Observed) -> bool:
    """Whether requests compute on all cores that the server may use, but for what the engine takes.

    Where all cores were in use, and some of them by the server's other threads, it is not known.
    """
    return found.kind == "at-least" and (seen.cores == 1 or found.value > seen.cores - FOR_OTHERS)


def is_cpu_limited(load: Many, seen: Observed) -> bool:
    """Whether CPU time was the limit: that of all cores, or of as many as requests compute on."""
    if load.cores is None:
        return False
    computing = seen.computing
    tells = computing is not None and not computing.disturbed and not heavy_waits(seen)
    most = computing.cores if computing is not None and tells else None
    if most is not None and load.cores >= BUSY_SHARE * most:
        return True
    if load.busy is not None and load.busy <= ONE_BUSY_MAX and load.cores >= BUSY_SHARE:
        # The one thread that takes in requests has hardly more time, on however many cores others compute.
        return True
    used = load.cores + load.engine_cores + load.taken_cores
    return used >= BUSY_SHARE * min(seen.cores, seen.quota_cores)
