"""What the rules know of a server under one load. Types only; `from_record` in `loaded` fills them in.

Numbers of threads and requests are means over the measured phase. None: it could not be read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from crumple.machine.at_rest import AtRest
from crumple.observation.cpu_time import CpuTime
from crumple.record.limiter_course import Limiter


@dataclass(frozen=True)
class Peer:
    """What the server has opened connections to.

    `connections` and `waiting`: how many there are, and how many of them wait for an answer; `unknown`: of
    how many it is not known; `most`: the most there were. `processes`: how many take connections there;
    None: it is on another machine, or another user's. `listener`: the program that listens there, if
    it is on this machine and can be read. `missed`: what is known of connections that no reading found; empty
    if there were none.
    """

    address: str
    listener: str | None
    connections: float
    waiting: float
    most: int
    unknown: float = 0.0
    missed: str = ""
    processes: int | None = None

    def without(self, at_rest: Mapping[str, float]) -> "Peer":
        """Return the peer without connections that wait for no request; by address, how many these are."""
        waiting = at_rest.get(self.address, 0.0)
        return replace(
            self,
            connections=max(0.0, self.connections - waiting),
            waiting=max(0.0, self.waiting - waiting),
            most=max(0, self.most - round(waiting)),
        )


@dataclass(frozen=True)
class Stage:
    """How many requests in flight are at each stage."""

    not_accepted: float
    unread: float
    inside: float
    other: float

    @property
    def outside(self) -> float:
        """Requests that the server has not read."""
        return self.not_accepted + self.unread


@dataclass(frozen=True)
class Saturated:
    """A thread that used a core, or was ready to, nearly all of the time.

    `share`: of a core that it used; `program`: the name of the thread.
    """

    share: float
    program: str


@dataclass(frozen=True)
class Threads:
    """The server's threads.

    `sharing`: the number of busy threads, (Σt)² ÷ Σt² over their CPU times t; None: not known, as for threads
    that live too briefly to be read. `saturated`: those that used a core nearly all of the time, without
    those that do so also while nobody asks. `runnable`: how many were ready to run and had no core. `disk`,
    `stopped`: how many waited for a disk, or were stopped. `places`: where those that slept did so, by the
    kernel's names, as shares of all threads. `busiest`: for which share of the time the busiest thread ran or
    was ready to; 0 where none is known. `busiest_at`: where the thread that used most CPU time was found
    asleep most often; empty: nowhere, or not known.
    """

    number: float
    sharing: float | None
    saturated: tuple[Saturated, ...]
    runnable: float | None
    disk: float
    stopped: float
    places: dict[str, float] = field(default_factory=dict)
    busiest: float = 0.0
    busiest_at: str = ""


@dataclass(frozen=True)
class Light:
    """Light requests beside a load, each on a connection of its own.

    `waited`: how many of those `asked` took longer than alone by `LIGHT_WAIT_SHARE` of what the load's own
    requests waited on average, or got no answer.
    """

    asked: int
    waited: int


# The least part of a request's time of the load for which a light request beside it must wait, to be called
# held up as the others are. Below a quarter it may only have waited for a core.
LIGHT_WAIT_SHARE = 0.25


@dataclass(frozen=True)
class AtLoad:
    """A server under one load.

    `spent_s`: how long the load was measured; `answers`: as expected; `per_s`: of these per second;
    `mean_s`: of their response times. `cores`: CPU seconds that the server used per second; `engine_cores`:
    the engine, on the cores that the server may use, `all_cores`, with the one that sends light requests
    beside it. `idle_most`: how many of these were idle at most, by the busy time of the whole machine: other
    programs, a database for instance, use cores too.
    `grew`: by how many processes and threads the server grew, from the first sample to the last, of
    `grew_from`. `late_connects`: connections that took a second or more, or never came about;
    `queue_empty_share`: at which share of looks none waited in the kernel to be accepted.
    `engine_limited`: the engine was the bottleneck. `switches_per_s`: context switches; where too many
    threads ended to know them, there are no fewer than `switches_least_per_s`, which were counted.
    `throttled_share`: for how much of the time its control group stopped it; `stalled_share`: its threads
    waited for memory at the limit of the group; `tasks`: processes and threads in it, and their limit;
    None: not known, or no limit. `rose`: the load had several
    rates or numbers of users. `overloaded`: requests
    came due faster than they ended. `rest`: the server while nobody asks it. `disturbed`: who else used the
    machine; empty if nobody did, or it could not be read. `unread`: why `stage`, `threads` or `peers` could
    not be read (`in_front`: as another program is in front of it), what `others` used, some `switches`, or
    whether threads wait for a `disk`; why there may be `dependencies` that no connection leads to, and `udp`
    if only those that are asked by it. `rates`: answers per second in the first third of the load and in the
    last; None: it was too short. `light`: light requests that were sent beside it; None: none were.
    `passed_on`: the program that passes connections on to it, and to which address; empty: none does.
    `cpu_time`: what its CPU time was spent on. `limiter`: what turned requests away by their number per time.
    """

    spent_s: float
    answers: int
    per_s: float
    mean_s: float
    in_flight: float
    failed: int
    unanswered: int
    cores: float | None
    engine_cores: float | None
    all_cores: int
    grew: int | None
    grew_from: int | None
    late_connects: int | None
    engine_limited: bool
    switches_per_s: float | None
    stage: Stage | None
    threads: Threads | None
    peers: tuple[Peer, ...] | None
    descriptors: tuple[int, int] | None
    throttled_share: float | None
    idle_most: float | None = None
    rose: bool = False
    overloaded: bool = False
    rest: AtRest | None = None
    disturbed: str = ""
    unread: Mapping[str, str] = field(default_factory=dict)
    switches_least_per_s: float | None = None
    queue_empty_share: float | None = None
    rates: tuple[float, float] | None = None
    light: Light | None = None
    cpu_time: CpuTime | None = None
    limiter: Limiter | None = None
    stalled_share: float | None = None
    tasks: tuple[int, int] | None = None
    passed_on: str = ""
