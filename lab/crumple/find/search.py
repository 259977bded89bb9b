"""What a search is given (a question, a server, a watcher), and its result: levels, and where it broke.

Types only. `conduct` runs the search.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from crumple import contract
from crumple.contract import ProgressLine, TrialRecord
from crumple.find import next_level
from crumple.find.level import Level
from crumple.find.next_level import Outlook, Step
from crumple.find.seen import Base
from crumple.load.load_options import Options
from crumple.load.load_shape import ArrivalKind
from crumple.load.lost import NOT_KNOWN, ServerProcess
from crumple.load.objective import Objective
from crumple.machine.at_rest import AtRest
from crumple.record.disturbance import Disturbance, disturbance
from crumple.record.loss import Lost
from crumple.record.validity import Validity
from crumple.stats.interval import Interval

# "gone": the server is lost; "interrupted": by the user.
Ending = Literal[next_level.Ending, "gone", "interrupted", "disturbed"]

By = Literal["rate", "connections"]
# A server is at its limit if answers take this many times as long as without a load.
FLAT_OUT_FACTOR = 2.0


@dataclass(frozen=True)
class Question:
    """What is searched. `connections_most`: the limit of an open shape, or the highest load by connections.

    `warm_up_s`: the warm-up before the first level of each start.
    """

    objective: Objective
    by: By
    budget_s: float
    warm_up_s: float
    connections_most: int
    arrivals: ArrivalKind
    pause_ms: float
    pause: contract.PauseKind
    seed: int


@dataclass(frozen=True)
class Place:
    """A server that runs. `options`: include the pid to watch and the engine's cores.

    `process`: whether its process lives; `rest`: what it does without a load; None: not known.
    """

    target: contract.Target
    requests: tuple[contract.RequestSpec, ...]
    options: Options
    process: ServerProcess = NOT_KNOWN
    rest: AtRest | None = None


@dataclass(frozen=True)
class Site:
    """How to get the server: `opened` gives a start of it; `afresh`: each time a new process.

    `threads_most`: threads that the engine may have. `server_cores`: cores that the server may use; empty:
    not known. `taken`: what others took from a load on it.
    """

    label: str
    opened: Callable[[], AbstractContextManager[Place]]
    afresh: bool
    threads_most: int
    server_cores: tuple[int, ...]
    assess: Callable[[TrialRecord], Validity]
    taken: Callable[[TrialRecord], Disturbance] = disturbance


class Watcher(Protocol):
    """Receives the progress of a search."""

    def starting(self, start: int) -> None:
        """A start begins; starts count from 0."""

    def guessing(self, connections: int) -> None:
        """The first guess of a rate is made."""

    def planned(self, outlook: Outlook) -> None:
        """What the rest of the budget can reach; called once, before the first level."""

    def trying(self, step: Step) -> None:
        """A level begins."""

    def progress(self, progress: ProgressLine) -> None:
        """The engine has written a line of progress."""

    def tried(self, level: Level, left_s: float) -> None:
        """A level is over, and `left_s` of the budget is left."""


class Unanswered(Exception):  # noqa: N818 - it reads as what happened
    """No request of the first load was answered as expected. `record`: the record of that load."""

    def __init__(self, record: TrialRecord) -> None:
        self.record = record
        super().__init__("nothing was answered")


@dataclass(frozen=True)
class Guess:
    """Right answers that `connections` got in `seconds`, each sending its next request at once."""

    answers: int
    seconds: float
    connections: int
    p50_ns: float

    @property
    def per_s(self) -> float:
        """Answers per second."""
        return self.answers / self.seconds

    def is_flat_out(self, calm: Base) -> bool:
        """Whether the server was at its limit: connections had to wait for each other."""
        return self.p50_ns / 1e9 > FLAT_OUT_FACTOR * calm.median_s


@dataclass(frozen=True)
class Found:
    """The result of a search. `point` None: the levels do not show where it breaks, and `ending` says why.

    `breaks_by`: the part of the objective that breaks at `point`; `queue`: its slow answers came out of a
    queue. `guess` None: a search by connections needs none, or the server was lost in it; `calm`: times of
    requests sent one by one. `lost`: how the server was lost, with which the search ended; `lost_at`: the
    load at which that was; None: before the first level, or between levels.
    """

    ending: Ending
    levels: tuple[Level, ...]
    point: Interval | None
    breaks_by: str | None
    queue: bool
    guess: Guess | None
    calm: Base | None
    took_s: float
    lost: Lost | None = None
    lost_at: float | None = None

    @property
    def highest_held(self) -> float | None:
        """The highest load at which the objective held; a single level may hold by chance."""
        return max((each.load for each in self.levels if each.outcome == "held"), default=None)

    @property
    def is_flat_out(self) -> bool:
        """Whether the server was at its limit in the guess: connections had to wait for each other."""
        if self.guess is None or self.calm is None:
            return False
        return self.guess.is_flat_out(self.calm)
