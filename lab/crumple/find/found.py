"""The result of a search: its levels, where the server broke, and why the search ended."""

from dataclasses import dataclass
from typing import Literal

from crumple.find import next_level
from crumple.find.level import Level
from crumple.find.seen import Base
from crumple.stats.stats import Interval

# "gone": the server stopped answering; "interrupted": by the user.
Ending = Literal[next_level.Ending, "gone", "interrupted"]

# A server is at its limit if answers take this many times as long as without a load.
FLAT_OUT_FACTOR = 2.0


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
    queue. `guess` None: a search by connections needs none; `calm`: times of requests sent one by one.
    """

    ending: Ending
    levels: tuple[Level, ...]
    point: Interval | None
    breaks_by: str | None
    queue: bool
    guess: Guess | None
    calm: Base | None
    took_s: float

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
