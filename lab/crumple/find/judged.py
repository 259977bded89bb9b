"""A level as the breaking point sees it: its load, on which start, and what it says of each part."""

from dataclasses import dataclass
from typing import Literal

from crumple.find.seen import Evidence

# "limited": it measured the engine or its limits, and says nothing of the server.
Outcome = Literal["held", "broke", "undecided", "limited"]

# A level shorter than that has seen too few moments of the server, however many its answers.
LEAST_S = 1.0
FEW = 5


@dataclass(frozen=True)
class Base:
    """What requests take without a queue: their median, and their variance over the square of their mean.

    `pace`: how many the server answered, and in how many seconds, when it had more to do than it could; None:
    not known beforehand.
    """

    median_s: float
    variation: float
    pace: tuple[int, float] | None = None


@dataclass(frozen=True)
class Judged:
    """A level that was put on. `base`: of its response times, queue and all; None: too few were answered."""

    load: float
    start: int
    outcome: Outcome
    evidence: tuple[Evidence, ...]
    base: Base | None = None

    @property
    def leans_against(self) -> bool:
        """Whether it rather broke than held."""
        if self.outcome == "undecided":
            # One of many may be chance.
            return any(
                each.leans_against and (each.against > 1 or each.known < FEW) for each in self.evidence
            )
        return self.outcome == "broke"

    def of(self, name: str) -> Evidence | None:
        """What it says of that part."""
        return next((each for each in self.evidence if each.name == name), None)
