"""What a search is given (a question, a server, a watcher), and its result: levels, and where it broke.

Types only. `conduct` runs the search.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from crumple import contract
from crumple.contract import ProgressLine
from crumple.find import next_level
from crumple.find.level import Level
from crumple.find.next_level import NextLevel, SearchOutlook
from crumple.find.seen import Base
from crumple.load.load_shape import ArrivalKind
from crumple.load.objective import Objective
from crumple.record.loss import Lost
from crumple.stats.interval import Interval

Ending = Literal[next_level.Ending, "gone", "interrupted", "disturbed"]
"""Why a search ended. "gone": the server is lost; "interrupted": by the user."""

By = Literal["rate", "connections"]
# The multiple of the response time without load above which a server is at its limit: a request waits for
# half of that time.
FLAT_OUT_FACTOR = 2.0


@dataclass(frozen=True)
class SearchQuestion:
    """What is searched."""

    objective: Objective
    by: By
    budget_s: float
    warm_up_s: float
    """The warm-up before the first level of each start."""
    connections_most: int
    """The limit of an open shape, or the highest load by connections."""
    arrivals: ArrivalKind
    pause_ms: float
    pause: contract.PauseKind
    seed: int


class SearchWatcher(Protocol):
    """Receives the progress of a search."""

    def starting(self, start: int) -> None:
        """A start begins; starts count from 0."""

    def guessing(self, connections: int) -> None:
        """The first guess of a rate is made."""

    def planned(self, outlook: SearchOutlook) -> None:
        """What the rest of the budget can reach; called once, before the first level."""

    def trying(self, step: NextLevel) -> None:
        """A level begins."""

    def progress(self, progress: ProgressLine) -> None:
        """The engine has written a line of progress."""

    def tried(self, level: Level, left_s: float) -> None:
        """A level is over, and `left_s` of the budget is left."""


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
class SearchResult:
    """The result of a search."""

    ending: Ending
    levels: tuple[Level, ...]
    point: Interval | None
    """None: the levels do not show where it breaks, and `ending` says why."""
    breaks_by: str | None
    """The part of the objective that breaks at `point`."""
    queue: bool
    """Whether its slow answers came out of a queue."""
    guess: Guess | None
    """None: a search by connections needs no guess, or the server was lost in it."""
    calm: Base | None
    """Times of requests that were sent one by one."""
    took_s: float
    lost: Lost | None = None
    """How the server was lost, with which the search ended."""
    lost_at: float | None = None
    """The load at which that was; None: before the first level, or between levels."""

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
