"""What the rules know of a server under one load. Types only; `from_record` in `loaded` fills them in.

Numbers of threads and requests are means over the measured phase. None: it could not be read.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Peer:
    """What the server has opened connections to.

    `connections` and `waiting`: how many there are, and how many of them wait for an answer; `unknown`: of
    how many it could not be told; `most`: the most there were. `listener`: the program that listens there, if
    it is on this machine and can be read.
    """

    address: str
    listener: str | None
    connections: float
    waiting: float
    most: int
    unknown: float = 0.0


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
class Threads:
    """The server's threads.

    `busiest`: the share of a core that the busiest of them used; `sharing`: how many threads, had they shared
    the CPU time evenly, would have shared it as unevenly; `runnable`: how many were ready to run and had no
    core. `disk`, `stopped`: how many waited for a disk, or were stopped. `places`: where those that slept
    did so, by the kernel's names, as shares of all threads.
    """

    number: float
    busiest: float
    sharing: float
    runnable: float | None
    disk: float
    stopped: float
    places: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class AtLoad:
    """A server under one load.

    `per_s`: answers per second; `mean_s`: of their response times. `cores`: CPU seconds that the server used
    per second; `engine_cores`: the engine; `all_cores`: those that the server may use. `grew`: by how many
    processes and threads the server grew, from the first sample to the last. `late_connects`: connections
    that took a second or more. `engine_limited`: the engine was the bottleneck. `switches_per_s`: context
    switches. `resident_bytes`: its memory. `disturbed`: who else used the machine; empty if
    nobody did, or it could not be read.
    """

    per_s: float
    mean_s: float
    in_flight: float
    failed: int
    unanswered: int
    cores: float | None
    engine_cores: float
    all_cores: int
    grew: int
    late_connects: int
    engine_limited: bool
    switches_per_s: float | None
    resident_bytes: int | None
    stage: Stage | None
    threads: Threads | None
    peers: tuple[Peer, ...] | None
    descriptors: tuple[int, int] | None
    throttled_share: float | None
    disturbed: str = ""
