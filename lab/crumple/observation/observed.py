"""What a diagnosis saw of a server: a few loads and held connections, each as plain figures.

Types only. `diagnose` fills them in; `who_waits`, `parallelism` and `judged` draw conclusions from them.
Times are in seconds. None in a field: it was not asked for, or could not be read.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from crumple.machine.at_rest import AtRest
from crumple.machine.group_limits import GroupLimits, Limit
from crumple.machine.process_tree import Tree
from crumple.observation.at_load import Peer
from crumple.observation.outcome import ExperimentOutcomes

# For how long Linux puts off an acknowledgement, at least: 40 ms, and then until the next tick of its clock.
PUT_OFF_S = (0.038, 0.05)


@dataclass(frozen=True)
class WorkAlone:
    """Requests sent one after the other, to a server that does nothing else.

    `mean_s`, `spread_s` and `least_s`: the mean of the response times, their standard deviation, and the
    shortest; `first_byte_s`: the mean time to the first byte; `cpu_s`:
    CPU time of the server for one request.
    `disturbed`: who else used the machine; empty if nobody did, or it could not be read. `failed`:
    how many more were sent, and not answered as expected. `waits_s`: for how much of the mean each waits for
    something outside the server, by its name; empty: for nothing, or that was not read. `rest_s`: from the
    median time to the first byte to the median response time; None: not known.
    """

    answers: int
    mean_s: float
    least_s: float
    cpu_s: float | None
    disturbed: str = ""
    alike: bool = True
    first_byte_s: float | None = None
    failed: int = 0
    waits_s: Mapping[str, float] = field(default_factory=dict)
    rest_s: float | None = None
    spread_s: float = 0.0

    @property
    def unacknowledged_s(self) -> float:
        """How long the rest of an answer waits for its first part to be acknowledged; 0: it does not.

        If a server writes an answer in parts without TCP_NODELAY, the kernel keeps the last of them back
        until the first is acknowledged (Nagle's algorithm), and the client's kernel puts that off for 40 ms.
        On a new connection it puts the first ones off for less, so the median shows whether it does.
        """
        late_s = self.mean_s - self.first_byte_s if self.first_byte_s is not None else 0.0
        low, high = PUT_OFF_S
        return late_s if low <= (late_s if self.rest_s is None else self.rest_s) <= high else 0.0

    @property
    def served_s(self) -> float:
        """How long the server takes: the mean without what waits to be acknowledged."""
        return self.mean_s - self.unacknowledged_s


@dataclass(frozen=True)
class FailuresAlone:
    """How many requests were answered as expected, and how many failed, without the load that is judged.

    `how`: how they were sent instead.
    """

    answers: int
    failed: int
    how: str = "one at a time"


@dataclass(frozen=True)
class IdleHeld:
    """Connections that were opened and then left idle, each after one answer where the server keeps it.

    `kept`: whether the server keeps a connection after its answer; if not, each has sent half a request.
    `connections`: still open at the end. `accepted`: those that a process of the server holds. `holders`: how
    many processes hold at least one; `most`: of how many connections the busiest of these holds the end.
    `answered`: whether a light request was answered beside them; None: it was not tried. `grown`: how many
    processes and threads were added before, for the `asked` requests that came one at a time. `runtime`: that
    which all processes that hold them have, Go, Erlang, Haskell or JavaScript; empty: another, or not known.
    """

    connections: int
    kept: bool
    accepted: int | None
    holders: int | None
    most: int | None
    before: Tree | None
    after: Tree | None
    answered: bool | None
    grown: int = 0
    asked: int = 0
    runtime: str = ""


@dataclass(frozen=True)
class MemoryStep:
    """How many idle connections the server holds, and its memory after it stopped growing, in bytes."""

    connections: int
    memory_bytes: int


@dataclass(frozen=True)
class MemorySteps:
    """Its memory with more connections at each step. `why`: why there are no more; empty: all were taken."""

    steps: tuple[MemoryStep, ...]
    why: str = ""


@dataclass(frozen=True)
class Many:
    """A closed load without pauses.

    `per_s`: answers per second, with the ends of a 95 % interval that holds the rate without other programs.
    `unanswered`: connections without any
    answer. `cores`: CPU seconds that the server used per second, `engine_cores`: the engine, on the cores
    that the server may use. `at_rest`: the tree before the load; `most`: at its largest. `growing`: whether
    the tree still grew at the end. `busy`: the number of busy threads, (Σt)² ÷ Σt² over their CPU times t.
    `disturbed`: who took more of it than was left; `taken_cores`: CPU seconds per second that others took
    from it at most. `behind`: the dependency of which most connections waited for an answer; None: none did,
    or it could not be read.
    """

    connections: int
    per_s: float
    per_s_low: float
    per_s_high: float
    mean_s: float
    failed: int
    unanswered: int
    cores: float | None
    engine_cores: float
    at_rest: Tree | None
    most: Tree | None
    growing: bool
    busy: float | None
    disturbed: str = ""
    behind: Peer | None = None
    taken_cores: float = 0.0


@dataclass(frozen=True)
class Observed:
    """All that was seen. `cores`: those that the server may use.

    `limits`: what its control groups allow. `failed`: of which requests ("work",
    "light", "slow", "heavy") none was answered as expected, and what came instead. `closes_unsaid`: it closes
    connections after an answer that says that it keeps them, and each request had a connection of its own.
    `light_new`: light requests alone, each on a new connection; None: not measured, as where `light` has new
    ones. `given_up`: parts for which no time was left. `tried`: how often requests of the work fail without
    the load, where `work` does not say it.
    `asks_at_rest`: by the address of a dependency, on how many connections the server waits for its answer
    while nobody asks the server, as a consumer of a queue does; those on which it does for half of the time.
    `outcomes`: what came of experiments.
    """

    cores: int
    limits: GroupLimits = field(default_factory=GroupLimits)
    rest: AtRest | None = None
    asks_at_rest: Mapping[str, float] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    work: WorkAlone | None = None
    light: WorkAlone | None = None
    slow: WorkAlone | None = None
    heavy: WorkAlone | None = None
    held: IdleHeld | None = None
    memory: MemorySteps | None = None
    waiting: tuple[Many, ...] = ()
    computing: Many | None = None
    closes_unsaid: bool = False
    light_new: WorkAlone | None = None
    given_up: tuple[str, ...] = ()
    tried: FailuresAlone | None = None
    outcomes: ExperimentOutcomes = field(default_factory=ExperimentOutcomes)

    @property
    def quota(self) -> Limit | None:
        """How many cores' time its control groups allow, if that is less than its cores have."""
        found = self.limits.quota
        return found if found is not None and found.amount < self.cores else None

    @property
    def quota_cores(self) -> float:
        """As much CPU time as control groups allow it, in cores; infinite without a limit."""
        return self.quota.amount if self.quota is not None else math.inf

    @property
    def light_alone(self) -> WorkAlone | None:
        """A light request alone as it comes beside a load: on a connection of its own, as far as known.

        A server that starts a program, a process or a thread for each connection takes longer for these.
        """
        return self.light_new or self.light
