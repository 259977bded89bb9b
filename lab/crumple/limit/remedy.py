"""A remedy that was tried: what was predicted, what it gave, and what limits the server then. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from crumple.limit.finding import Said
from crumple.observation.outcome import SD_MIN, LoadPairs
from crumple.stats import student
from crumple.stats.interval import CONFIDENCE, Interval

Outcome = Literal["as predicted", "less than predicted", "more than predicted"]


@dataclass(frozen=True)
class Number:
    """A number that is changed. `before` None: it is not known."""

    name: str
    before: float | None
    after: float


@dataclass(frozen=True)
class Expected:
    """Between which multiples of the throughput a change is expected to give. `limit`: what it ends at."""

    low: float
    high: float
    limit: str = ""


@dataclass(frozen=True)
class BeforeAndAfter:
    """A server as it is and with a change, by loads in turn: answers per second, and their ratio."""

    before_per_s: float
    per_s: float
    gain: Interval


@dataclass(frozen=True)
class Remedy:
    """What was tried. `change`: in words; `connections`: how many the loads had.

    `why_none`: why nothing is predicted; empty: something is. `compared` None: nothing was compared, and
    `problem` says why. `then`: what is said of the changed server by one load alone.
    """

    change: str
    predicted: Expected | None
    why_none: str
    compared: BeforeAndAfter | None = None
    connections: int = 0
    then: tuple[Said, ...] = ()
    problem: str = ""

    @property
    def outcome(self) -> Outcome | None:
        """How what it gave compares with what was predicted; None: one of these is not known."""
        if self.predicted is None or self.compared is None:
            return None
        gain = self.compared.gain
        if gain.high < self.predicted.low:
            return "less than predicted"
        return "more than predicted" if gain.low > self.predicted.high else "as predicted"


def compared(paired: LoadPairs, before: Sequence[float], changed: Sequence[float]) -> BeforeAndAfter:
    """Return what pairs of loads came to. `before`, `changed`: the answers per second of each load."""
    # Of a large ratio the error of a load is as large a part.
    half = student.of_interval(paired.pairs - 1) * max(paired.sd, SD_MIN * paired.ratio)
    gain = Interval(
        paired.ratio, max(0.0, paired.ratio - half), paired.ratio + half, CONFIDENCE, paired.pairs
    )
    return BeforeAndAfter(fmean(before), fmean(changed), gain)
