"""Scales of charts: where on an axis a value lies, round ticks, and their labels. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crumple.drawing import numerals

# An axis ends this factor beyond the highest value, so that a mark there is drawn whole.
HEAD_ROOM = 1.08
# On a logarithmic axis, the least factor between its ends and what is drawn.
BESIDE = 1.05
# No axis of times has a label below a microsecond: no answer is faster.
LEAST_NS = 1e3
# Ends and values are computed in different ways, so that they may differ by this share without meaning it.
ROUNDING = 1e-9
_ROUND = (1, 2, 5)
_FINER = [10.0**power * step for power in range(3, 12) for step in _ROUND]


@dataclass(frozen=True)
class AxisScale:
    """The span of an axis, linear or logarithmic."""

    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Return where a value lies: 0 at the lower end, 1 at the upper; values beyond are set to the end."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return (at - low) / (high - low)

    def has(self, value: float) -> bool:
        """Return whether a value lies between the ends, but for rounding."""
        low, high = self.low - ROUNDING * abs(self.low), self.high + ROUNDING * abs(self.high)
        return low <= value <= high


@dataclass(frozen=True)
class AxisTick:
    """A value that the axis names."""

    at: float
    label: str
    is_wide: bool = False
    """Whether a narrow screen has no room for it."""


@dataclass(frozen=True)
class ChartAxis:
    """A scale with its ticks, and the unit or subject of its values."""

    scale: AxisScale
    ticks: Sequence[AxisTick]
    title: str = ""
    unit: str = ""
    """What the script of a page words values in: ns, s, bytes, share, or q, a quantile at 1/(1−q)."""


def from_zero(values: Iterable[float], room: float = HEAD_ROOM) -> AxisScale:
    """Return a linear scale from 0 to beyond the highest value; to 1 if there is none above 0."""
    return AxisScale(0.0, (max(values, default=0.0) * room) or 1.0)


def around(values: Sequence[float], factor: float = BESIDE) -> AxisScale:
    """Return a logarithmic scale that reaches a factor beyond positive values."""
    return AxisScale(min(values) / factor, max(values) * factor, log=True)


def times(low: float, high: float) -> AxisScale:
    """Return a logarithmic scale of times in ns whose ends are round and at least BESIDE away from them."""
    below = [tick for tick in _FINER if tick * BESIDE < low]
    above = [tick for tick in _FINER if tick > high * BESIDE]
    return AxisScale(below[-1] if below else low / BESIDE, above[0] if above else high * BESIDE, log=True)


def round_between(low: float, high: float) -> list[float]:
    """Powers of ten from `low` to `high` (above 0), if there are three; else 1, 2 and 5 times them."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    tens = [10.0**power for power in powers if low <= 10.0**power <= high]
    if len(tens) > 2:
        return tens
    return [step * 10.0**power for power in powers for step in _ROUND if low <= step * 10.0**power <= high]


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers between two ends, at most `most` of them."""
    if not high > low:
        return [high]
    decade = 10.0 ** math.floor(math.log10((high - low) / most))
    steps = (decade * factor for factor in (1, 2, 2.5, 5, 10, 20))
    step = next(step for step in steps if math.floor(high / step) - math.ceil(low / step) < most)
    return [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def count_axis(scale: AxisScale, title: str = "", most: int = 5) -> ChartAxis:
    """Return an axis of numbers: 1,000, or 12k where there are 10,000 or more."""
    return ChartAxis(scale, [AxisTick(at, short(at)) for at in _ticks(scale, most)], title)


def time_axis(scale: AxisScale, title: str = "", most: int = 5) -> ChartAxis:
    """Return an axis of times in ns, each tick with its own unit."""
    ticks = round_between(max(scale.low, LEAST_NS), scale.high) if scale.log else []
    if len(ticks) < 2:
        ticks = round_ticks(scale.low, scale.high, most)
    return ChartAxis(scale, [AxisTick(at, duration(at)) for at in ticks], title, "ns")


def seconds_axis(until_s: float, most: int = 6) -> ChartAxis:
    """Return an axis of the seconds since the first request."""
    ticks = [AxisTick(at, f"{at:g} s") for at in round_ticks(0.0, until_s, most)]
    return ChartAxis(AxisScale(0.0, until_s or 1.0), ticks, unit="s")


def share_axis(scale: AxisScale, title: str = "", most: int = 5, *, signed: bool = False) -> ChartAxis:
    """Return an axis of shares from 0 to 1, in per cent."""
    sign = "+" if signed else ""
    ticks = round_ticks(scale.low, scale.high, most)
    return ChartAxis(
        scale, [AxisTick(at, f"{at * 100:{sign if at else ''}.3g} %") for at in ticks], title, "share"
    )


def quantile_axis(depth: int) -> ChartAxis:
    """Return an axis on which a quantile q lies at 1/(1−q), which ends at 10**depth."""
    ticks = [2.0, *(10.0**power for power in range(1, depth + 1))]
    labels = [AxisTick(at, f"{100 - 100 / at:.6g} %") for at in ticks]
    return ChartAxis(AxisScale(1.0, 10.0**depth, log=True), labels, unit="q")


def ratio_axis(scale: AxisScale, title: str = "", most: int = 7) -> ChartAxis:
    """Return an axis of ratios; where it has room for few, they are those that lie furthest apart."""
    fine = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.3, 1.5, 2)
    coarse = [10.0**power * step for power in range(-3, 4) for step in _ROUND]
    for ticks in (fine, (0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2), coarse, [10.0**p for p in range(-3, 4)]):
        inside = [at for at in ticks if scale.has(at)]
        if 2 <= len(inside) <= most and ticks[0] <= scale.low and scale.high <= ticks[-1]:
            return ChartAxis(scale, [AxisTick(at, short(at)) for at in inside], title)
    inside = [at for at in coarse if scale.has(at)]
    inside = inside[:: math.ceil(len(inside) / most) or 1]
    if len(inside) < 2:
        inside = round_ticks(scale.low, scale.high, most)
    return ChartAxis(scale, [AxisTick(at, short(at)) for at in inside], title)


def duration(ns: float) -> str:
    """Return a time in ns in the unit that suits it: "2 ms"."""
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= unit:
            return f"{ns / unit:g} {name}"
    return f"{ns:g} ns" if ns else "0"


def short(number: float) -> str:
    """Return a number for an axis: 0.5, 1,000, 12k, 3.4M."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= unit:
            return f"{number / (1e3 if name == 'k' else unit):.6g}{name}"
    return f"{number:,.6g}"


def size_axis(scale: AxisScale, title: str = "", most: int = 4) -> ChartAxis:
    """Return an axis of bytes, whose unit suits its upper end and stands behind each number."""
    unit, name = numerals.size_scale(scale.high)
    ticks = round_ticks(scale.low / unit, scale.high / unit, most)
    labels = [AxisTick(at * unit, f"{at:g} {name}" if at else "0") for at in ticks]
    return ChartAxis(scale, labels, title, "bytes")


def _ticks(scale: AxisScale, most: int) -> list[float]:
    if not scale.log:
        return round_ticks(scale.low, scale.high, most)
    found: list[float] = []
    powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    for steps in (_ROUND, (1, 3), (1,)):
        found = [each for power in powers for step in steps if scale.has(each := 10.0**power * step)]
        if len(found) <= most:
            break
    # An axis shorter than a decade may hold one power of ten or none; round numbers give it several ticks.
    return found if len(found) > 1 else round_ticks(scale.low, scale.high, most)
