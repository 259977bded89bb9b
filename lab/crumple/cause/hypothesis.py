"""What a hypothesis is: a cause, the ways in which it shows, and where each expects which readings. Pure.

A reading is a share (of requests, threads, cores or time), or the natural logarithm of a ratio, with a
standard error. A way expects some readings in a range. Of the others it says nothing.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from crumple.limit.finding import Cause
from crumple.observation.server_facts import ServerFacts

Scale = Literal["share", "ratio"]
# Where a reading may lie if nothing is known: a share, and the logarithm of a ratio.
SCALES: Mapping[Scale, tuple[float, float]] = {"share": (0.0, 1.0), "ratio": (-3.0, 3.0)}
# The probability that a reading is wrong and lies anywhere, whatever is true; and that of what the kernel
# counts for the server alone.
ASTRAY, ASTRAY_COUNTED = 0.005, 0.0001


@dataclass(frozen=True)
class Reading:
    """A figure with its standard error. `scale`: a share, or the logarithm of a ratio.

    `astray`: with which probability it says nothing of the server.
    """

    value: float
    sd: float
    scale: Scale = "share"
    astray: float = ASTRAY


@dataclass(frozen=True)
class Range:
    """Where a reading is expected: evenly between `low` and `high`."""

    low: float
    high: float


# Shares: any, next to nothing, a few, a part of all, most, nearly all.
ANY, NONE, FEW, SOME = Range(0.0, 1.0), Range(0.0, 0.1), Range(0.0, 0.25), Range(0.15, 1.0)
MOST, ALL = Range(0.5, 1.0), Range(0.8, 1.0)
# The share of those inside that a gate does not let in: at least as many as it lets in, or nearly.
HALF = Range(0.45, 1.0)
# Logarithms of ratios: the same within a quarter, more than that, and less.
SAME, MORE, LESS = Range(-0.25, 0.25), Range(0.25, 3.0), Range(-3.0, -0.25)

Readings = Mapping[str, Reading]


@dataclass(frozen=True)
class Scene:
    """What a hypothesis is asked about: the facts, and what was read of them."""

    facts: ServerFacts
    readings: Readings

    @property
    def cores(self) -> int:
        """How many cores the server may use."""
        return self.facts.beyond.all_cores

    @property
    def inside(self) -> float:
        """How many requests are inside the server; at least 1."""
        stage, served = self.facts.stage, self.facts.at_a_time
        return max(1.0, stage.inside if stage is not None else served or 1.0)


@dataclass(frozen=True)
class Way:
    """One way in which a cause shows. `name`: of the way; `expects`: where it expects which readings."""

    name: str
    expects: Mapping[str, Range]


@dataclass(frozen=True)
class CauseWords:
    """What is said of a cause: what was seen, what to change, and what it adds to the mean time, in s."""

    evidence: str
    change: str
    share_s: float | None = None


@dataclass(frozen=True)
class Hypothesis:
    """A cause. `odds`: how usual each of its ways is, beside the most usual ones (1).

    `ways`: how it may show, one of them at a time. `words`: what is said if it is believed.
    """

    cause: Cause
    odds: float
    ways: Callable[[Scene], Iterable[Way]]
    words: Callable[[Scene], CauseWords]


def around(value: float, within: float = 0.07) -> Range:
    """Return the range about a value that was predicted."""
    return Range(value - within, value + within)


def weight(reading: Reading, expected: Range) -> float:
    """Return by how much a reading speaks for this range, against any value, in nats.

    Errors have Student's t with three degrees of freedom: a figure that is far off happens.
    """
    least, most = SCALES[reading.scale]
    # A range that reaches the end of its scale has no error beyond it.
    low = 1.0 if expected.low <= least else _below((reading.value - expected.low) / reading.sd)
    high = 0.0 if expected.high >= most else _below((reading.value - expected.high) / reading.sd)
    density = (low - high) * (most - least) / (expected.high - expected.low)
    return math.log((1.0 - reading.astray) * max(0.0, density) + reading.astray)


def _below(t: float) -> float:
    """Return with which probability Student's t with three degrees of freedom is below this."""
    x = t / math.sqrt(3.0)
    return 0.5 + (x / (1.0 + x * x) + math.atan(x)) / math.pi
