"""One search as a reader meets it: what was asked, what came of it, and what is read off its levels, once.

Everything that summary, page and export say is derived here; they only word and place it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from crumple.find import saturation
from crumple.find.find import Found, Question
from crumple.find.level import Level, Part
from crumple.find.saturation import Sign

# How far beyond the interval a level still tells how it breaks there.
EDGE_FACTOR = 1.25
FIRST_BROKEN_OF = 5
# Sentences that differ by their figures alone are of one kind.
_FIGURES = re.compile(r"[\d.,]+ ?(?:ns|µs|ms|s|%)?")


class Mark(NamedTuple):
    """A point of the chart: the time the objective is about, and the median beside it, in ns."""

    level: Level
    time_ns: float | None
    p50_ns: float | None


@dataclass(frozen=True)
class Finding:
    """A search that is over. `asked`: of whom, in words; `command`: what repeats it.

    `server_cores`: that the server may use, None where it was not watched; `is_local`: on this machine.
    """

    question: Question
    found: Found
    asked: str
    command: str
    afresh: bool
    server_cores: int | None
    is_local: bool
    engine_version: str
    began_unix_s: float

    @property
    def by_rate(self) -> bool:
        """Whether loads are requests per second; connections otherwise."""
        return self.question.by == "rate"

    @property
    def starts(self) -> int:
        """Starts that have a level."""
        return len({each.start for each in self.found.levels})

    @cached_property
    def rows(self) -> tuple[Level, ...]:
        """The levels by their load."""
        return tuple(sorted(self.found.levels, key=lambda each: (each.load, each.start)))

    @cached_property
    def edge(self) -> tuple[Level, ...]:
        """The levels that broke at the breaking point or little above; without one the lowest that broke."""
        broke = [each for each in self.rows if each.outcome == "broke"]
        point = self.found.point
        if point is None:
            return tuple(broke[:FIRST_BROKEN_OF])
        return tuple(
            each for each in broke if point.low / EDGE_FACTOR <= each.load <= point.high * EDGE_FACTOR
        )

    @cached_property
    def first_broken(self) -> Part | None:
        """What broke in most of the lowest levels of the edge, as the lowest of them had it."""
        lowest = self.edge[:FIRST_BROKEN_OF]
        names = Counter(part.name for each in lowest for part in each.broken)
        if not names:
            return None
        (name, _), *_ = names.most_common(1)
        return next(part for each in lowest for part in each.broken if part.name == name)

    @cached_property
    def first_broken_level(self) -> Level | None:
        """The level it is of."""
        part = self.first_broken
        return next((each for each in self.edge if part in each.broken), None)

    @cached_property
    def signs(self) -> tuple[Sign, ...]:
        """What was used up at the edge; nothing of a server far away, or where it answered nothing."""
        answering = [each for each in self.edge if each.ok]
        return saturation.signs(answering, self.server_cores) if self.is_local else ()

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What may have touched the held levels nearest to the breaking point; one of each kind."""
        held = [each for each in self.rows if each.outcome == "held"][-FIRST_BROKEN_OF:]
        return _one_of_each_kind([warning for each in reversed(held) for warning in each.warnings])

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """Why levels are not valid; one of each kind."""
        limited = [each for each in self.rows if each.outcome == "limited"]
        return _one_of_each_kind([problem for each in limited for problem in each.problems[:1]])

    @property
    def time_limit_ns(self) -> float | None:
        """The limit of the first part that is a response time."""
        terms = [term for term in self.question.objective.terms if term.is_time]
        return terms[0].limit if terms else None

    @property
    def time_name(self) -> str:
        """The quantity that the chart shows over the load."""
        terms = [term for term in self.question.objective.terms if term.is_time]
        return terms[0].quantity if terms else "p99"

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """A point of the chart for each level that has one."""
        return tuple(Mark(each, self.time_of(each), each.p50_ns) for each in self.rows)

    def time_of(self, level: Level) -> float | None:
        """Of a level what `time_name` says, in ns; without the requests for a quantile None."""
        parts = [part for part in level.parts if part.quantity == self.time_name]
        if not parts:
            return level.p99_ns
        return parts[0].value if parts[0].holds is not None else None


def _one_of_each_kind(sentences: Sequence[str]) -> tuple[str, ...]:
    kinds: dict[str, str] = {}
    for sentence in sentences:
        kinds.setdefault(_FIGURES.sub("", sentence), sentence)
    return tuple(kinds.values())
