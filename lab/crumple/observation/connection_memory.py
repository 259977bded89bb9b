"""How much memory a server spends on a connection. Pure: what was seen of more and more → bytes, or why not.

The slope of its memory over the number of connections that it holds, by least squares. The first step is left
out: the first connections make a server touch memory that all later ones share.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from crumple.drawing import numerals
from crumple.observation.observed import MemoryStep, MemorySteps
from crumple.observation.unknown import Unknown
from crumple.stats import student

# The fewest steps of a growing number of connections from which a slope is fitted: with three, one degree of
# freedom would be left for its interval.
STEPS_MIN = 4
# The widest half interval, as a share of the slope, with which a figure is given.
WIDE_SHARE = 0.5


@dataclass(frozen=True)
class PerConnection:
    """Bytes for each idle connection, with a 95 % interval."""

    value: float
    low: float
    high: float


def per_connection(held: MemorySteps | None) -> PerConnection | Unknown:
    """Return what a connection that asked once and is idle costs the server."""
    if held is None:
        return Unknown("its memory was not looked at")
    steps = held.steps[1:]
    if len(steps) < STEPS_MIN:
        return Unknown(held.why or "too few connections could be held")
    slope, off = _slope(steps)
    if off > WIDE_SHARE * abs(slope):
        most = numerals.significant(max(0.0, slope + off) / 1024, 2)
        return Unknown(f"the server's memory changed for other reasons as well; {most} KiB or less")
    if slope <= 0:
        return Unknown("the server's memory shrank while the connections were opened")
    return PerConnection(slope, slope - off, slope + off)


def _slope(steps: Sequence[MemoryStep]) -> tuple[float, float]:
    """Return the slope, and how far off the ends of its interval are."""
    x = [float(step.connections) for step in steps]
    y = [float(step.memory_bytes) for step in steps]
    x_mean, y_mean = fmean(x), fmean(y)
    spread = math.fsum((at - x_mean) ** 2 for at in x)
    slope = math.fsum((at - x_mean) * value for at, value in zip(x, y, strict=True)) / spread
    rest = math.fsum((value - y_mean - slope * (at - x_mean)) ** 2 for at, value in zip(x, y, strict=True))
    freedom = len(steps) - 2
    error = (rest / freedom / spread) ** 0.5
    return slope, student.of_interval(freedom) * error
