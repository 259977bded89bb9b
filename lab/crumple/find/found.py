"""What came of a search: its levels, where it broke, and why it ended."""

from dataclasses import dataclass
from typing import Literal

from crumple.find import next_level
from crumple.find.level import Level
from crumple.find.seen import Base
from crumple.stats.stats import Interval

# "gone": the server answered no more; "interrupted": by the user.
Ending = Literal[next_level.Ending, "gone", "interrupted"]

# So many connections are as much as a server can do where each answer takes so much longer than one alone.
FLAT_OUT_FACTOR = 2.0


@dataclass(frozen=True)
class Guess:
    """Right answers that so many connections got in so many seconds, each asking again at once."""

    answers: int
    seconds: float
    connections: int
    p50_ns: float

    @property
    def per_s(self) -> float:
        """Answers per second."""
        return self.answers / self.seconds

    def is_flat_out(self, calm: Base) -> bool:
        """Whether it was as much as the server can: connections had to wait for each other."""
        return self.p50_ns / 1e9 > FLAT_OUT_FACTOR * calm.median_s


@dataclass(frozen=True)
class Found:
    """What came of it. `point` None: the levels do not say where it breaks, and `ending` says why.

    `breaks_by`: the part of the objective that `point` is of; `queue`: its slow answers came out of a queue.
    `guess` None: by connections, where it takes none; `calm`: what requests took one by one.
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
        """The highest load at which the objective held; one level may be luck."""
        return max((each.load for each in self.levels if each.outcome == "held"), default=None)

    @property
    def is_flat_out(self) -> bool:
        """Whether the guess was as much as the server can: its connections had to wait for each other."""
        if self.guess is None or self.calm is None:
            return False
        return self.guess.is_flat_out(self.calm)
