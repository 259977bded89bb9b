"""Parts that documents of several kinds have: where the time went, and what limits a server.

Each class is made of what the reports are drawn from, and gives it back.
"""

import math
from dataclasses import asdict
from typing import Annotated, Any, Self

from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter

from crumple.contract_base import Lenient
from crumple.limit.finding import Said
from crumple.record.flow import Name, StageTime
from crumple.record.inside import Divided, Inside, NotDivided, Unexplained
from crumple.record.stages import Budget, NoBudget
from crumple.stats.interval import Interval


class IntervalData(Lenient):
    """An estimate with its interval."""

    estimate: float
    low: float | None
    high: float | None
    """Null: that end is not known."""
    confidence: float
    n: int
    """The number of starts or blocks."""

    @classmethod
    def of(cls, found: Interval | None) -> Self | None:
        """Return the interval as data; None if there is none."""
        if found is None:
            return None
        return cls(
            estimate=found.estimate,
            low=finite(found.low),
            high=finite(found.high),
            confidence=found.confidence,
            n=found.n,
        )

    @property
    def interval(self) -> Interval:
        """The interval that it was made of."""
        low, high = (0.0 if self.low is None else self.low), (math.inf if self.high is None else self.high)
        return Interval(self.estimate, low, high, self.confidence, self.n)


def finite(value: float | None) -> float | None:
    """Return the number; None if it is infinite, because JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None


class TimeAt(Lenient):
    """The mean time of a request at one stage, with its 95 % interval."""

    mean_ns: float
    low_ns: float
    high_ns: float
    readings: float


class PieceData(TimeAt):
    """The mean time of a request at a stage, or at a piece of the stage *inside*. `of`: the dependency."""

    name: Name
    of: str


class BudgetData(Lenient):
    """The mean response time by stages, in ns. `pieces`: the stage *inside* is divided, if that is known."""

    why: None
    parts: dict[Name, TimeAt]
    pieces: tuple[PieceData, ...]
    sum_ns: float
    sum_low_ns: float
    sum_high_ns: float
    measured_ns: float
    readings: int
    late_ns: float
    cost_ns: float
    cost_cores: float
    from_server_end: bool = False
    inside_untold: tuple[Unexplained, ...]
    inside_not_divided: str | None

    @classmethod
    def of(cls, found: Budget) -> Self:
        """Return the budget as data."""
        data = asdict(found)
        return cls.model_validate(
            data
            | {
                "why": None,
                "parts": {part["name"]: part for part in data["parts"]},
                "pieces": [asdict(part) for part in found.pieces],
                "inside_untold": found.inside.untold if isinstance(found.inside, Divided) else (),
                "inside_not_divided": found.not_divided or None,
            }
        )

    def restored(self) -> Budget:
        """Return the budget."""
        own = {"why", "parts", "pieces", "inside_untold", "inside_not_divided"}
        parts = tuple(StageTime(name=name, **each.model_dump()) for name, each in self.parts.items())
        return Budget(parts=parts, inside=self._inside(), **self.model_dump(exclude=own))

    def _inside(self) -> Inside | None:
        if self.inside_not_divided is not None:
            return NotDivided(self.inside_not_divided)
        inside = tuple(StageTime(**each.model_dump()) for each in self.pieces if each.name not in self.parts)
        return Divided(inside, self.inside_untold) if inside else None


class NoBudgetData(Lenient):
    """Why it is not known where the time went."""

    why: str
    remedy: str | None = None

    @classmethod
    def of(cls, found: NoBudget) -> Self:
        """Return the reason as data."""
        return cls(why=found.why, remedy=found.remedy or None)


TimeData = BudgetData | NoBudgetData


def time(data: TimeData | None) -> Budget | NoBudget | None:
    """Return where the time went, or why that is not known."""
    if data is None:
        return None
    return data.restored() if isinstance(data, BudgetData) else NoBudget(data.why, data.remedy or "")


def _as_time(value: Any) -> Budget | NoBudget | None:
    """Return where the time went, of data or as it is."""
    if isinstance(value, (Budget, NoBudget)):
        return value
    return time(_TIME.validate_python(value))


def _time_data(value: Budget | NoBudget | None) -> TimeData | None:
    if value is None:
        return None
    return BudgetData.of(value) if isinstance(value, Budget) else NoBudgetData.of(value)


_TIME: TypeAdapter[TimeData | None] = TypeAdapter(TimeData | None)
# What is said of a cause, as a field of a document.
SaidField = Annotated[Said, Field(discriminator="kind")]
# What the reports are drawn from, which a document writes as the classes above.
TimeField = Annotated[
    Budget | NoBudget | None,
    PlainValidator(_as_time),
    PlainSerializer(_time_data, return_type=TimeData | None),
]
