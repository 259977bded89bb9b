"""What is known of a server when it is judged: what was seen of it, and a load beyond its limit. Pure."""

import math
from dataclasses import dataclass

from crumple.drawing import numerals
from crumple.machine import at_rest
from crumple.observation import parallelism
from crumple.observation.at_load import AtLoad, Peer, Stage
from crumple.observation.observed import FailuresAlone, Observed
from crumple.observation.parallelism import Parallelism
from crumple.stats import shares

# The relative error of what is counted at random instants: the number of requests that wait, for instance.
COUNTED = 0.08
# The error of the mean of n times is their standard deviation over the square root of n. The deviation of few
# times may be small by chance, so it is taken for 0.3 of the mean at least.
UNEVEN = 0.3
# The least ratio of the mean response time under load to that alone from which requests are said to wait.
HARM_FACTOR = 1.3
# The largest share of failed requests, and of connections without an answer, that counts as no harm.
FAILED_SHARE = 0.01
# The least part of the failures for which the load must account to be to blame. Below it most fail without
# the load.
FAILED_BY_LOAD = 0.5
# How many times as long as a request alone a load must last for a connection without an answer to show that
# it waits: in a shorter one it may just not have had its turn.
LONG_ENOUGH = 2.0
# The least number of threads without a core, on average, that shows that requests wait for one.
RUNNABLE_MIN = 1.0
# The least share of the requests in flight, and the least number on average, that make a queue in front of
# the server. Fewer wait for the server to be woken, not for one another.
QUEUE_SHARE, QUEUE_MIN = 0.25, 0.1
# A supposed limit is dismissed if 1.25 times as many requests are in service as it would admit. This is not
# judged for requests of less than 5 ms alone, of which the engine and the network take a large part.
EXCEEDED_FACTOR, EXCEEDED_S_MIN = 1.25, 0.005
# The least share of the time in which threads wait for memory at the limit of a control group that makes it a
# limit. Some wait wherever a cache of files fills a group; they then wait for a few per cent of it.
STALLED_MIN = 0.15
# The least number of idle cores that is mentioned.
IDLE_MIN = 0.05


@dataclass(frozen=True)
class ServerFacts:
    """What is judged. `beyond`: a load beyond the limit.

    `alone_s`: a request of the work without load. `others`: connections of other clients that the server held
    during the load. `switch_s`: what a context switch costs on this machine. None: not known.
    """

    seen: Observed
    beyond: AtLoad
    alone_s: float | None
    others: int | None = 0
    switch_s: float | None = None

    @property
    def peers(self) -> tuple[Peer, ...] | None:
        """What the server asks, without the connections that wait for no request; None: not read."""
        at_rest, peers = self.seen.asks_at_rest, self.beyond.peers
        return peers and tuple(each.without(at_rest) for each in peers)

    def share(self, seconds: float | None) -> float | None:
        """Return a part of the mean response time, which is no longer than the whole.

        Requests that are never answered are in no mean. Where only they wait, the part would be longer.
        """
        return None if seconds is None or not self.beyond.answers else min(seconds, self.beyond.mean_s)

    @property
    def waited_s(self) -> float | None:
        """By how much the mean response time is longer than alone."""
        if self.alone_s is None:
            return self.outside_s if self.is_queued_outside else None
        return self.share(max(0.0, self.beyond.mean_s - self.alone_s))

    @property
    def on_the_way_s(self) -> float:
        """How long a request is with a program that passes connections on; 0: there is none."""
        load = self.beyond
        if not load.passed_on or load.stage is None or not load.per_s:
            return 0.0
        return max(0.0, load.mean_s - load.in_flight / load.per_s)

    @property
    def at_a_time(self) -> float | None:
        """How many requests of the work are served at a time, by Little's law.

        What waits in the kernel to be acknowledged is served.
        """
        if self.alone_s is None:
            return None
        work = self.seen.work
        return self.beyond.per_s * max(
            0.0, self.alone_s - (work.unacknowledged_s if work is not None else 0.0)
        )

    @property
    def alone_error(self) -> float:
        """Return the relative error of the time that a request takes alone."""
        work = self.seen.work
        if work is None:
            return UNEVEN
        return max(UNEVEN, work.spread_s / work.mean_s) / math.sqrt(max(1, work.answers))

    @property
    def is_harmed(self) -> bool | None:
        """Whether requests wait, fail, or get no answer by the load.

        None: it is not known how long a request takes alone, or whether as many fail without the load.
        """
        fails, waits = self.fails_by_load, self._waits
        if fails or waits:
            return True
        return None if fails is None else waits

    @property
    def _waits(self) -> bool | None:
        """Whether requests wait, or get no answer; None: it is not known how long one takes alone."""
        load, alone_s = self.beyond, self.alone_s
        if load.overloaded:
            return True
        unanswered = load.unanswered > FAILED_SHARE * load.in_flight
        if unanswered and (alone_s is None or load.spent_s > LONG_ENOUGH * alone_s):
            return True
        if alone_s is not None and load.answers:
            return load.mean_s > HARM_FACTOR * alone_s
        runnable = load.threads.runnable if load.threads is not None else None
        queued = self.is_queued_outside or (runnable is not None and runnable >= RUNNABLE_MIN)
        return True if queued else None

    @property
    def fails(self) -> bool:
        """Whether more requests fail than may."""
        load = self.beyond
        return load.failed > FAILED_SHARE * (load.answers + load.failed)

    @property
    def tried(self) -> FailuresAlone | None:
        """How often requests fail without the load; None: not known."""
        work = self.seen.work
        of_work = FailuresAlone(work.answers, work.failed) if work is not None else None
        found = self.seen.tried or of_work
        return found if found is not None and found.answers + found.failed else None

    @property
    def fails_by_load(self) -> bool | None:
        """Whether the load makes requests fail; None: it is not known if they fail as often without it."""
        if not self.fails:
            return False
        load, tried = self.beyond, self.tried
        if tried is None:
            return None
        every = load.answers + load.failed
        low, high = shares.difference(load.failed, every, tried.failed, tried.answers + tried.failed)
        if low > 0:
            return True
        return False if high < FAILED_BY_LOAD * load.failed / every else None

    @property
    def cores(self) -> float:
        """As many cores' time as the server may use: of the cores that it may run on, and of its quota."""
        return min(float(self.beyond.all_cores), self.seen.quota_cores)

    @property
    def idle_cores(self) -> float | None:
        """Cores that the server may use and nobody used."""
        idle, used = self.unused_cores, self.beyond.cores
        return None if idle is None or used is None else max(0.0, min(idle, self.cores - used))

    @property
    def unused_cores(self) -> float | None:
        """Cores that the server may run on and nobody used, also if its quota does not let it use them."""
        load, left = self.beyond, self.left_cores
        if left is None:
            return None
        return left if load.idle_most is None else max(0.0, min(left, load.idle_most))

    @property
    def idle_said(self) -> str:
        """How many of all cores are idle, as a part of a sentence."""
        if (self.idle_cores or 0.0) < IDLE_MIN:
            if self.seen.quota is not None:
                return "no CPU time of its quota is left"
            return f"none of {numerals.count(self.beyond.all_cores, 'core')} is idle"
        idle = numerals.significant(self.idle_cores or 0.0, 2)
        return f"{idle} of {self.beyond.all_cores} cores are idle"

    @property
    def asked_cores(self) -> float | None:
        """Cores that the server kept busy for requests: without what it uses while nobody asks."""
        cores = self.beyond.cores
        return None if cores is None else max(0.0, cores - at_rest.cores(self.seen.rest))

    @property
    def left_cores(self) -> float | None:
        """Cores that neither server nor engine used."""
        load = self.beyond
        if load.cores is None or load.engine_cores is None:
            return None
        return max(0.0, load.all_cores - load.cores - load.engine_cores)

    @property
    def others_cores(self) -> float:
        """About how many of its cores other programs used: what is left and not idle."""
        return (self.left_cores or 0.0) - (self.unused_cores or 0.0)

    @property
    def waits_for_memory(self) -> bool:
        """Whether threads wait for memory for much of the time, as their control group is at its limit."""
        return (self.beyond.stalled_share or 0.0) >= STALLED_MIN

    @property
    def others_use_most(self) -> bool:
        """Whether other programs used more of its cores than the server did."""
        return self.others_cores > (self.beyond.cores or 0.0)

    @property
    def stage(self) -> Stage | None:
        """Where requests in flight were."""
        return self.beyond.stage

    @property
    def is_queued_outside(self) -> bool:
        """Whether requests wait in front of the server, not accepted or not read."""
        stage = self.stage
        return stage is not None and stage.outside >= max(QUEUE_MIN, QUEUE_SHARE * self.beyond.in_flight)

    @property
    def outside_s(self) -> float | None:
        """How long a request waits in front of the server."""
        return self._time_s(self.stage.outside) if self.stage else None

    @property
    def not_accepted_s(self) -> float | None:
        """How long a request waits to be accepted."""
        return self._time_s(self.stage.not_accepted) if self.stage else None

    def _time_s(self, requests: float) -> float | None:
        """How long a request is where so many are on average, by Little's law; None: none was answered."""
        return self.share(requests / self.beyond.per_s) if self.beyond.per_s else None

    @property
    def workers(self) -> float | None:
        """How many requests can wait at a time, if that is limited and known.

        Where more are served at a time under load, it was no limit: connections may not have got through. Of
        requests that take next to no time alone, what the engine and the network take is a large part.
        """
        waits = parallelism.waits(self.seen)
        if not isinstance(waits, Parallelism) or waits.kind != "limit":
            return None
        exceeds = (self.at_a_time or 0.0) > EXCEEDED_FACTOR * waits.value
        return None if exceeds and (self.alone_s or 0.0) >= EXCEEDED_S_MIN else waits.value

    @property
    def never_short(self) -> float | None:
        """How many requests were seen to wait at a time, if all that were sent could."""
        waits = parallelism.waits(self.seen)
        return waits.value if isinstance(waits, Parallelism) and waits.why == "all" else None

    def unread(self, what: str, otherwise: str) -> str:
        """Why a part of the load could not be read, as the engine said it."""
        why = self.beyond.unread.get(what, "")
        return f"{otherwise} could not be read{': ' if why else ''}{why}"
