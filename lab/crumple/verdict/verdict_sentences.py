"""Word verdicts in plain English, for readers without statistics. Every ratio is written with its interval.

verdict.py decides; this module only words the decision.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from crumple.stats.decision import Extent
from crumple.stats.interval import Interval
from crumple.verdict.effect import Effect, VerdictWord

# The most servers, or comparisons, that a sentence names; it counts the others.
NAMED_MAX = 3
IN_SIZE_ONLY = "in size only"
VAGUE = "two blocks; their interval is too wide to be of use"
# Numbers above this get an exponent: few blocks and a high confidence give intervals with such ends.
LARGEST = 1e12
# The most decimals that are shown to distinguish an interval from a bound.
PLACES_MAX = 6
_STEPS = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")),
    "bytes": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "bytes")),
}
_PAIRS = "comparisons of a server with one of a later tier,"


def verdict(kind: str, answer: VerdictWord, in_size_only: bool, effects: Sequence[Effect]) -> str:
    """Return a verdict in words: the answer, what was measured, what was published, and the reason."""
    lead = f"{capital(answer.value)}{f' {IN_SIZE_ONLY}' if in_size_only else ''}."
    if kind == "order" and len(effects) > 1:
        body = _ranking(answer, effects)
    else:
        body = " ".join(capital(_comparison(effect)) + "." for effect in effects)
    return f"{lead} {body}"


def near_limit(warned: Sequence[tuple[str, int, int]]) -> str:
    """Return a sentence on the trials in which the engine may have been the limit; empty if there are none.

    `warned`: server, how many of its trials warn of that, and how many it has.
    """
    if not warned:
        return ""
    parts = [f"{number} of {of} trials of {server}" for server, number, of in warned[:NAMED_MAX]]
    if len(warned) > NAMED_MAX:
        parts.append(f"half or more of those of {len(warned) - NAMED_MAX} other servers")
    return (
        "The engine may be part of that: it was near its own limit, or that of cores which it shares with "
        f"the server, in {enumerate_parts(parts)}."
    )


def took(shares: Mapping[str, float]) -> str:
    """How much of the cores the engine took beside each server (0..1); of several the most and the least."""

    def beside(server: str) -> str:
        return f"{float(f'{shares[server] * 100:.2g}'):g} % beside {server}"

    most, least = (of(shares, key=lambda server: shares[server]) for of in (max, min))
    rest = f", and {beside(least)}" if least != most else ""
    return f"The engine ran on the server's cores and took {beside(most)}{rest}."


def why_unasked(scale: str, scales: Sequence[str]) -> str:
    """Return why a run at `scale` does not answer a claim, and which scales would."""
    enough = " or ".join(f"--scale {each}" for each in scales)
    return f"scale {scale} is too short to answer this, as the study explains; {enough} answers it"


def number(value: float, places: int | None = None) -> str:
    """Return `value` with `places` decimals or three significant digits: 0.5123 → "0.512", 7.25 → "7.25".

    Numbers above LARGEST or below 1 / LARGEST get one digit and an exponent, and infinity is a word. Few
    blocks and a high confidence give intervals with such ends.
    """
    if value < 0:
        return f"−{number(-value, places)}"
    if value > LARGEST:
        return "infinity" if math.isinf(value) else f"{value:.0e}"
    if 0 < value < 1 / LARGEST:
        return f"{value:.0e}"
    if places is None:
        # A bound of 1 or 1.5 is exact, so it gets no trailing zeros.
        text = f"{value:,.{max(0, 2 - _magnitude(value))}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:,.{places}f}"


def times(span: Extent) -> str:
    """Return a span of ratios: "0.952 to 1.05 times"."""
    return f"{number(span.low)} to {number(span.high)} times"


def between(interval: Interval, bounds: Sequence[float] = (1.0,)) -> str:
    """Return the interval in words: "(between 2.10 and 2.40 times, 95 % interval, 5 blocks)"."""
    low, _, high = ends(interval, bounds)
    confidence = f"{interval.confidence * 100:g} % interval"
    return f"(between {low} and {high} times, {confidence}, {interval.n} blocks)"


def amount(value: float, unit: str) -> str:
    """Return a value in the unit that suits it: 3.2e8 ns → "320 ms", 0.031 share → "3.1 %"."""
    scale, name = _scale(value, unit)
    return f"{number(value / scale)}{name}"


def amounts(low: float, high: float, unit: str) -> str:
    """Return a value, or the span between two, with one unit."""
    if math.isinf(high):
        return f"{amount(low, unit)} or more"
    scale, name = _scale(high, unit)
    return amount(low, unit) if low == high else f"{number(low / scale)} to {number(high / scale)}{name}"


def _scale(value: float, unit: str) -> tuple[float, str]:
    """Return the divisor, and the unit as it follows a number."""
    if unit == "share":
        return 0.01, " %"
    if unit == "µs":
        scale, name = _scale(value * 1e3, "ns")
        return scale / 1e3, name
    steps = _STEPS.get(unit, ((1.0, unit),))
    scale, name = next((step for step in steps if abs(value) >= 0.9995 * step[0]), steps[-1])
    return scale, f" {name}" if name else ""


def _ranking(answer: VerdictWord, effects: Sequence[Effect]) -> str:
    if answer is VerdictWord.SUPPORTED:
        closest = min(effects, key=lambda effect: abs(math.log(effect.ratio.estimate)) if effect.ratio else 0)
        return (
            f"In all {len(effects)} {_PAIRS} the first did better, beyond chance. "
            f"The closest: {_measured_value(closest)}{_left_out(closest)}."
        )
    decisive = [effect for effect in effects if effect.answer is answer]
    what = {
        VerdictWord.CONTRADICTED: "it is the other way round, beyond chance",
        VerdictWord.UNDECIDED: "it is open which did better",
        VerdictWord.NOT_TESTABLE: "the two cannot be compared",
    }[answer]
    named = [f"{capital(_comparison(effect))}." for effect in decisive[:NAMED_MAX]]
    if len(decisive) > NAMED_MAX:
        named.append(f"So it is in {len(decisive) - NAMED_MAX} more.")
    return " ".join([f"In {len(decisive)} of {len(effects)} {_PAIRS} {what}.", *named])


def _comparison(effect: Effect) -> str:
    if effect.measured is None:
        return _unmeasured(effect)
    published = "" if effect.published is None else f" The published ratio is {effect.published:g};"
    if effect.expected is not None:
        published = f" The study expects a ratio of {effect.expected:g};"
    separator = "." if published else ";"
    return f"{_measured_value(effect)}{separator}{published} {effect.reason}"


def _unmeasured(effect: Effect) -> str:
    if effect.to:
        compared = f"the {effect.what} of {effect.of} cannot be compared with that of {effect.to}"
        return f"{compared}: {effect.reason}"
    if effect.answer is VerdictWord.NOT_TESTABLE:
        return f"the {effect.what} of {effect.of} is not known: {effect.reason}"
    return f"as for the {effect.what} of {effect.of}: {effect.reason}"


def _measured_value(effect: Effect) -> str:
    if effect.value is not None:
        return f"the {effect.what} of {effect.of} was {_value_clause(effect)}"
    assert effect.ratio is not None
    low, times, high = ends(effect.ratio, effect.bounds)
    if effect.is_vague:
        about = f"{effect.limit} " if effect.limit else ""
        return f"the {effect.what} of {effect.of} was {about}{times} times that of {effect.to} ({VAGUE})"
    if effect.limit:
        end = low if effect.limit == "at least" else high
        limited = f"(95 % sure, {effect.ratio.n} blocks; the engine was the limit of some trials)"
        return (
            f"the {effect.what} of {effect.of} was {effect.limit} {end} times that of {effect.to} {limited}"
        )
    compared = f"the {effect.what} of {effect.of} was {times} times that of {effect.to}"
    return f"{compared} {between(effect.ratio, effect.bounds)}"


def _value_clause(effect: Effect) -> str:
    """Return the value with its interval: "320 ms (between 310 and 331 ms, 95 % interval, 5 blocks)"."""
    value, repeated = effect.value, effect.repeated
    assert value is not None
    low, middle, high, name = value_ends(effect)
    if value.low == value.high == 0:
        return f"0{name} in all {value.n} {repeated}"
    if effect.is_vague:
        return f"{effect.limit} {middle}{name} ({VAGUE})".lstrip()
    if effect.limit:
        return f"{effect.limit} {low}{name} (the engine was the limit of some of {value.n} {repeated})"
    if effect.unit == "times":
        middle, name = f"a factor of {middle}", ""
    confidence = f"{value.confidence * 100:g} % interval"
    return f"{middle}{name} (between {low} and {high}{name}, {confidence}, {value.n} {repeated})"


def value_ends(effect: Effect) -> tuple[str, str, str, str]:
    """Return low, value and high of an effect that has a value, and the unit as it follows each: " ms"."""
    value = effect.value
    assert value is not None
    scale, name = _scale(value.estimate, effect.unit)
    scaled = replace(value, estimate=value.estimate / scale, low=value.low / scale, high=value.high / scale)
    return *ends(scaled, [bound / scale for bound in effect.bounds]), name


def _left_out(effect: Effect) -> str:
    _, mark, why = effect.reason.partition("; left out: ")
    return f"{mark}{why}"


def ends(interval: Interval, bounds: Sequence[float] = (1.0,)) -> tuple[str, str, str]:
    """Return low, estimate and high, with the digits that the width justifies or that `bounds` require."""
    shown = (interval.low, interval.estimate, interval.high)
    half_width = (interval.high - interval.low) / 2
    if interval.high > 2 * interval.low:
        # If the ends are far apart, no one number of decimals suits all three.
        low, estimate, high = (
            number(end, _places(end, max(0, 1 - _magnitude(end)), bounds)) if end else "0" for end in shown
        )
        return low, estimate, high
    places = 2 - _magnitude(interval.estimate)
    if half_width > 0:
        places = min(places, 1 - _magnitude(half_width))
    places = max(_places(end, max(0, places), bounds) for end in shown[::2])
    low, estimate, high = (number(end, places) for end in shown)
    return low, estimate, high


def _places(end: float, places: int, bounds: Sequence[float]) -> int:
    """Return enough decimals that rounding moves no end onto a bound or to its other side."""

    def misleads(bound: float) -> bool:
        end_shown, beside = float(f"{end:.{places}f}"), float(number(bound).replace(",", ""))
        return math.isfinite(end) and abs(end - bound) > 1e-6 * abs(bound) and (
            (end_shown > beside) - (end_shown < beside) != (end > bound) - (end < bound)
        )  # fmt: skip

    while places < PLACES_MAX and any(misleads(bound) for bound in bounds if 0 < bound < LARGEST):
        places += 1
    return places


def _magnitude(value: float) -> int:
    """Return the power of ten of the first digit; 0 for 0 and for infinity."""
    return math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def enumerate_parts(parts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
