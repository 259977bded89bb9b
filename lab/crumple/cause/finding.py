"""What a rule reads (`Facts`), and what it says: a finding, that a cause is out, or that it cannot tell."""

from dataclasses import dataclass
from typing import Literal

from crumple.cause import parallelism
from crumple.cause.at_load import AtLoad, Stage
from crumple.cause.observed import Observed
from crumple.cause.parallelism import Parallelism

Cause = Literal[
    "workers",
    "idle-connections",
    "one-loop",
    "one-lock",
    "cpu",
    "connection-pool",
    "dependency",
    "accept-queue",
    "disk",
    "memory",
    "throttled",
    "descriptors",
    "slow-pool",
    "switches",
    "engine",
    "none",
]
# "shown": what was measured leaves no other reading. "consistent": another cause could look the same.
Sure = Literal["shown", "consistent"]

# Requests wait if the mean takes longer than alone by this factor.
HARM_FACTOR = 1.3
# With this share of the cores idle, CPU time is not what requests wait for.
IDLE_SHARE = 0.25
# A queue in front of the server holds at least this share of the requests in flight.
QUEUE_SHARE = 0.25
# If it is not known how long a request takes alone, so many threads without a core show that requests wait.
RUNNABLE_MIN = 1.0
# What most requests wait for has at least this share of those inside.
MOST_SHARE = 0.5


@dataclass(frozen=True)
class Finding:
    """A cause. `share_s`: the part of the mean response time that it accounts for, in seconds."""

    cause: Cause
    sure: Sure
    share_s: float
    evidence: str
    remedy: str


@dataclass(frozen=True)
class Out:
    """The cause is ruled out, and by what."""

    cause: Cause
    why: str


@dataclass(frozen=True)
class Unclear:
    """Whether it is the cause cannot be told, and why."""

    cause: Cause
    why: str


Said = Finding | Out | Unclear


@dataclass(frozen=True)
class Facts:
    """What the rules judge. `beyond`: a load beyond the limit; `alone_s`: a request of the work without load.

    `others`: connections of other clients that the server held meanwhile; `switch_s`: what a context switch
    costs on this machine; None: not measured.
    """

    seen: Observed
    beyond: AtLoad
    alone_s: float | None
    others: int = 0
    switch_s: float | None = None

    @property
    def waited_s(self) -> float:
        """By how much the mean response time is longer than alone."""
        if self.alone_s is None:
            return self.outside_s if self.is_queued_outside else 0.0
        return max(0.0, self.beyond.mean_s - self.alone_s)

    @property
    def at_a_time(self) -> float:
        """How many requests of the work are served at a time, by Little's law."""
        if self.alone_s is None:
            return self.stage.inside if self.stage is not None else self.beyond.in_flight
        return self.beyond.per_s * self.alone_s

    @property
    def is_harmed(self) -> bool:
        """Whether requests wait, or get no answer."""
        load, alone_s = self.beyond, self.alone_s
        if load.unanswered > 0 or load.failed > 0:
            return True
        if alone_s is not None:
            return load.mean_s > HARM_FACTOR * alone_s
        runnable = load.threads.runnable if load.threads is not None else None
        return self.is_queued_outside or (runnable is not None and runnable >= RUNNABLE_MIN)

    @property
    def idle_cores(self) -> float | None:
        """Cores that neither server nor engine used."""
        cores = self.beyond.cores
        return None if cores is None else max(0.0, self.beyond.all_cores - cores - self.beyond.engine_cores)

    @property
    def has_idle_cores(self) -> bool:
        """Whether so many cores were idle that requests did not wait for them; False if it is not known."""
        idle = self.idle_cores
        return idle is not None and idle > IDLE_SHARE * self.beyond.all_cores

    @property
    def stage(self) -> Stage | None:
        """Where requests in flight were."""
        return self.beyond.stage

    @property
    def is_queued_outside(self) -> bool:
        """Whether requests wait in front of the server, not accepted or not read."""
        stage = self.stage
        return stage is not None and stage.outside >= QUEUE_SHARE * self.beyond.in_flight

    @property
    def outside_s(self) -> float:
        """How long a request waits in front of the server."""
        load = self.beyond
        return load.stage.outside / load.per_s if load.stage and load.per_s else 0.0

    @property
    def workers(self) -> float | None:
        """How many requests can wait at a time, if that is limited and known."""
        waits = parallelism.waits(self.seen)
        return waits.value if isinstance(waits, Parallelism) and waits.kind == "limit" else None

    @property
    def are_workers_busy(self) -> bool:
        """Whether as many requests are served at a time as there are workers, or nearly."""
        workers = self.workers
        return workers is not None and self.at_a_time >= MOST_SHARE * workers
