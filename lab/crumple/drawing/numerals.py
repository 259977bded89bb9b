"""Formats numbers for readers: three significant digits, a unit after a narrow space, no false precision.

Text only, no markup. `NARROW` separates number and unit; the terminal replaces it.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crumple.stats.interval import Interval

NARROW = "\u202f"
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[nµm]?s|seconds|min|minutes|h|/s|%|[KMG]iB)(?!\w))")
ABSENT = "–"

_FEW = {1: "one", 2: "two"}
# The units of a time, each with its nanoseconds, the largest first.
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
# The units of a size, each with its bytes, the largest first.
_SIZES = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))


def joined(text: str) -> str:
    """The text with `NARROW` for a plain space between a number and its unit."""
    return _BEFORE_UNIT.sub(NARROW, text)


def decimals(value: float, digits: int = 3) -> int:
    """Decimal places that show `value` with `digits` significant digits; negative: left of the point."""
    if value == 0 or not math.isfinite(value):
        return 0
    # The digits of the rounded value count: 0.9998 is shown as 1.00.
    rounded = float(f"{value:.{digits - 1}e}")
    return digits - 1 - math.floor(math.log10(abs(rounded)))


def fixed(value: float, places: int) -> str:
    """`value` rounded to `places` (which may be negative), with thousands separated: 32600 → "32,600"."""
    rounded = round(value, places)
    return f"{rounded + 0.0:,.{max(0, places)}f}"


def significant(value: float, digits: int = 3) -> str:
    """`value` to `digits` significant digits: 32626 → "32,600", 0.5123 → "0.512"."""
    return fixed(value, decimals(value, digits))


def raised(value: float) -> str:
    """`value` to two significant digits, rounded up: a limit must not look lower than it is."""
    places = decimals(value, 2)
    return fixed(math.ceil(round(value * 10.0**places, 6)) / 10.0**places, places)


def duration(ns: float | None) -> str:
    """A time in the unit that suits it: 931000 → "931 µs"."""
    return _scaled(ns, _TIMES)


def decided(ns: float, low_ns: float, high_ns: float, whole_ns: float = math.inf) -> str:
    """A time with the digits that its interval decides, three at most: "70 µs"; "< 150 µs" if it may be none.

    The last digit shown is that of half the interval's width. `whole_ns`: what it is a part of, which it does
    not exceed as shown: it then has a digit more, or that of the whole.
    """
    if low_ns <= 0 < high_ns:
        factor, unit = _unit(high_ns, _TIMES)
        bound = raised(high_ns / factor)
        return (
            f"<{NARROW}{bound}{NARROW}{unit}"
            if float(bound.replace(",", "")) * factor <= whole_ns
            else f"<{NARROW}{duration(whole_ns)}"
        )
    factor, unit = _unit(ns, _TIMES)
    half = (high_ns - low_ns) / 2 / factor
    most = decimals(ns / factor)
    places = min(most, decimals(half, 1)) if half else most
    while places < most and round(ns / factor, places) * factor > whole_ns:
        places += 1
    return f"{fixed(ns / factor, places)}{NARROW}{unit}"


def size(byte_count: float | None) -> str:
    """A size in binary units: 31457280 → "30.0 MiB"."""
    return _scaled(byte_count, _SIZES)


def rate(per_s: float | None) -> str:
    """Requests per second: "32,600 /s"."""
    return ABSENT if per_s is None else f"{significant(per_s)}{NARROW}/s"


def share(part: float | None) -> str:
    """A share as per cent. Only exactly 0 is "0 %", and only 1 is "100 %": others have digits enough."""
    if part is None:
        return ABSENT
    if part == 0:
        return f"0{NARROW}%"
    if part < 0.0001:
        return f"below 0.01{NARROW}%"
    if 0.995 <= part < 1:
        return f"above 99.99{NARROW}%" if part >= 0.99995 else f"{part * 100:.4g}{NARROW}%"
    return f"{significant(part * 100, 2)}{NARROW}%"


# The unit of a metric → how a value in it is worded.
IN_WORDS: Mapping[str, Callable[[float], str]] = {
    "requests/s": rate,
    "ns": duration,
    "µs": lambda value: duration(1e3 * value),
    "bytes": size,
    "share": share,
}


def probability(value: float) -> str:
    """A probability as whole per cent. A computed one is never known so well that it is 0 or 1."""
    if value > 0.99:
        return f">{NARROW}99{NARROW}%"
    return f"<{NARROW}1{NARROW}%" if value < 0.01 else f"{value * 100:.0f}{NARROW}%"


def seconds(value: float) -> str:
    """A time that a person waits, in seconds: "4.2 s", "3 min 20 s", "1 h 12 min"."""
    if value < 60:
        return f"{significant(value, 2)}{NARROW}s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}{NARROW}h {minutes}{NARROW}min"
    return f"{minutes}{NARROW}min {rest}{NARROW}s" if rest else f"{minutes}{NARROW}min"


def clock(seconds: float | None) -> str:
    """A time in minutes and seconds: "2:05", with hours "1:02:05"; "?" for None."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


def count(number: int, one: str, many: str | None = None) -> str:
    """ "1 trial", "12 trials", "no trials"."""
    return f"{'no' if number == 0 else format(number, ',')} {one if number == 1 else many or one + 's'}"


def published(value: float | None) -> str:
    """A published figure with the digits that were printed, none added."""
    return ABSENT if value is None else f"{value:,.12g}"


def bounded(interval: "Interval") -> bool:
    """Whether the interval has two finite ends; from a single start it has none."""
    return math.isfinite(interval.low) and math.isfinite(interval.high)


def estimate(interval: "Interval", scale: float = 1.0) -> str:
    """The estimate of an interval, with no more decimal places than the interval's width allows."""
    return _worded(interval, scale)[1]


def worth_showing(interval: "Interval") -> bool:
    """Whether the interval's ends are worth showing: they are finite and not vague."""
    return bounded(interval) and not interval.is_vague


def ends(interval: "Interval", scale: float = 1.0, *, whole: bool = False, of: str = "start") -> str:
    """The ends of an interval: "0.498 – 0.529", or why it has none: "two starts".

    `whole`: vague ends, too. `of`: what the interval is over.
    """
    if not (bounded(interval) if whole else worth_showing(interval)):
        return f"{_FEW.get(interval.n, 'too few')} {of}{'' if interval.n == 1 else 's'}"
    low, _, high = _worded(interval, scale)
    return f"{low}{NARROW}–{NARROW}{high}"


def at_least(interval: "Interval", scale: float = 1.0) -> str:
    """A lower bound: "at least 10,900", the interval's low end; its estimate if that end is 0 or vague."""
    known = interval.low if interval.low > 0 and not interval.is_vague else interval.estimate
    return f"at least {significant(known / scale)}"


def with_interval(interval: "Interval | None", unit: str = "", of: str = "start") -> str:
    """The estimate and the ends, which are always shown together: "0.513 [0.498 – 0.529]".

    `of`: as for `ends`.
    """
    if interval is None:
        return ABSENT
    thin_unit = f"{NARROW}{unit}" if unit else ""
    return f"{estimate(interval)}{thin_unit} [{ends(interval, of=of)}]"


def time_scale(ns: float) -> tuple[float, str]:
    """Divisor and unit in which to show a time in nanoseconds."""
    return _unit(ns, _TIMES)


def unit_scale(value: float, unit: str) -> tuple[float, str]:
    """Divisor and unit in which to show a value in `unit`: a fitting unit of time, else `unit` itself."""
    if unit == "ns":
        return time_scale(value)
    if unit == "µs":
        scale, name = time_scale(value * 1e3)
        return scale / 1e3, name
    return 1.0, unit


def size_scale(byte_count: float) -> tuple[float, str]:
    """Divisor and unit in which to show a size in bytes."""
    return _unit(byte_count, _SIZES)


def _worded(interval: "Interval", scale: float) -> tuple[str, str, str]:
    """Low, estimate and high as text; low and high are empty if the interval is infinite."""
    values = (interval.low / scale, interval.estimate / scale, interval.high / scale)
    if not bounded(interval):
        return "", significant(values[1]), ""
    if interval.high > 2 * interval.low:
        # The ends are so far apart that the three values need different numbers of decimal places.
        low, middle, high = (significant(value, 2) for value in values)
        return low, middle, high
    places = decimals(values[1])
    if interval.high > interval.low:
        places = min(places, decimals((values[2] - values[0]) / 2, 2))
    low, middle, high = (fixed(value, places) for value in values)
    return low, middle, high


def _scaled(value: float | None, units: tuple[tuple[float, str], ...]) -> str:
    if value is None:
        return ABSENT
    factor, unit = _unit(value, units)
    return f"{significant(value / factor)}{NARROW}{unit}"


def _unit(value: float, units: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    # 999.7 µs rounds to 1,000 µs and is better shown as 1.00 ms.
    return next((unit for unit in units if abs(value) >= 0.9995 * unit[0]), units[-1])
