"""Load shapes as typed (-n, -c, -z, --rate, --steps, --ramp, --pause) → when requests are due, until when.

Pure; every mistake is reported with its remedy.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

from crumple import contract
from crumple.errors import Mistakes, UsageError
from crumple.load.load_flags import ShapeFlags
from crumple.load.typed_values import (
    CONNECTIONS_MAX,
    DURATION_MAX_S,
    NUMBER,
    REQUESTS_MAX,
    bounded,
    check_rate,
    read_duration_s,
    read_rate_per_s,
    scaled,
)

ArrivalKind = Literal["even", "poisson"]

# Connections if neither -c nor a rate is typed, as hey and oha have it.
CONNECTIONS = 50
# The most connections under a rate, if -c is not typed: they are opened as needed.
CONNECTIONS_OPEN_MAX = 1_000
# Seconds of a load if neither -z nor -n is typed.
DURATION_S = 10.0
# Seconds that a load with -n and without -z may take.
WITHIN_S = 3_600.0
# Durations that differ by less, in seconds, are the same: they are typed in decimal and added up in binary.
_SAME_S = 1e-6
_END = rf"\s*({NUMBER})\s*(/s)?\s*"
_RAMP = re.compile(rf"{_END}-{_END}(?::(.*))?")


@dataclass(frozen=True)
class MeantShape:
    """When requests are due, and what ends the measured phase."""

    shape: contract.ClosedShapeSpec | contract.RampShapeSpec | contract.OpenShapeSpec
    stop: contract.RequestsStopSpec | contract.DurationStopSpec


@dataclass(frozen=True)
class Ramp:
    """A --ramp as typed."""

    low: float
    high: float
    of_rates: bool
    over_s: float | None
    """How long it rises; None: it was typed without a duration."""


def shape_of(written: ShapeFlags) -> MeantShape:
    """Return the shape that the flags mean together. Raises UsageError with every mistake in them."""
    mistakes = Mistakes()
    drawn = mistakes.of(lambda: ramp(written.ramp))
    _check_together(written, drawn, mistakes)
    # A count that is too small or too large is left out from here on, since no shape can have it.
    requests = mistakes.of(lambda: bounded("-n", written.requests, most=REQUESTS_MAX))
    connections = mistakes.of(lambda: bounded("-c", written.connections, most=CONNECTIONS_MAX))
    typed = written.duration
    duration_s = None if typed is None else mistakes.of(lambda: read_duration_s("-z", typed))
    if written.rate is not None:
        mistakes.of(lambda: read_rate_per_s("--rate", str(written.rate)))
    waits = mistakes.of(lambda: pause(written.pause)) or (0.0, "fixed")
    counted = replace(written, requests=requests, connections=connections)
    shape = mistakes.of(lambda: _shape(counted, drawn, waits, duration_s))
    mistakes.none()
    assert shape
    return shape


def steps(text: str, duration_s: float | None = None) -> tuple[contract.RateSpec, ...]:
    """Rates one after the other: "1000,2000:30s", 30 seconds each. Raises UsageError.

    A duration applies to its step and to the steps before it that have none. Steps after the last duration
    share evenly what the others leave of `duration_s`; if that is not given, each takes DURATION_S.
    """
    written = [_step(part) for part in text.split(",")]
    following: float | None = None
    for number in reversed(range(len(written))):
        per_s, own_s = written[number]
        following = own_s if own_s is not None else following
        written[number] = (per_s, following)
    said_s = sum(long_s for _, long_s in written if long_s is not None)
    open_ended = sum(long_s is None for _, long_s in written)
    share_s = DURATION_S
    if duration_s is not None:
        left_s = duration_s - said_s
        if open_ended == 0 and abs(left_s) > _SAME_S:
            raise UsageError(f"--steps last {said_s:g} s, but -z says {duration_s:g} s", "leave out -z")
        if open_ended and left_s <= _SAME_S:
            raise UsageError(
                f"--steps last {said_s:g} s without those that say no duration, and -z {duration_s:g} s "
                "leaves nothing for these",
                "give them durations, and leave out -z",
            )
        share_s = left_s / open_ended if open_ended else share_s
    rates = tuple(_flat(per_s, share_s if long_s is None else long_s) for per_s, long_s in written)
    _check_day("--steps", sum(rate.duration_s for rate in rates))
    return rates


def ramp(text: str | None) -> Ramp | None:
    """Users "0-500:5m", or rates "1000-5000/s:1m". Raises UsageError."""
    if text is None:
        return None
    found = _RAMP.fullmatch(text.lower())
    if found is None:
        raise UsageError(
            f"--ramp {text}: that is no ramp", "write users as 0-500:5m, or rates as 1000-5000/s:1m"
        )
    low, high = (float(scaled(end) or 0) for end in (found[1], found[3]))
    of_rates = bool(found[2] or found[4])
    unit = "/s" if of_rates else ""
    if high < low:
        raise UsageError(
            f"--ramp {text}: it runs backwards, from {low:.15g} down to {high:.15g}",
            f"write --ramp {high:.15g}-{low:.15g}{unit}",
        )
    if high == low:
        instead = f"--rate {high:.15g}" if of_rates else f"-c {high:.15g}"
        raise UsageError(f"--ramp {text}: it does not rise", f"write {instead}" if high else "end it higher")
    if of_rates:
        check_rate("--ramp", text, high)
    elif high > CONNECTIONS_MAX:
        raise UsageError(f"--ramp {text}: that is too many users", f"end it at {CONNECTIONS_MAX} or less")
    if not of_rates and not (low.is_integer() and high.is_integer()):
        raise UsageError(
            f"--ramp {text}: there are no parts of users", "write whole numbers, or rates: 0.5-2/s"
        )
    if not of_rates:
        bounded("--ramp", int(high))
    over_s = read_duration_s("--ramp", found[5]) if found[5] is not None else None
    return Ramp(low, high, of_rates, over_s)


def pause(text: str | None) -> tuple[float, contract.PauseKind] | None:
    """The pause in milliseconds and its kind: "100ms" is fixed, "~100ms" exponential. Raises UsageError."""
    if text is None:
        return None
    about = text.strip().startswith("~")
    seconds = read_duration_s("--pause", text.strip().removeprefix("~"))
    return round(seconds * 1e3, 6), "exponential" if about else "fixed"


def _check_together(written: ShapeFlags, drawn: Ramp | None, mistakes: Mistakes) -> None:
    shapes = {"--rate": written.rate, "--steps": written.steps, "--ramp": written.ramp}
    given = [flag for flag, text in shapes.items() if text is not None]
    if len(given) > 1:
        mistakes.add(f"{' and '.join(given)} each set the rate or the users", "keep one of them")
    for flag in given:
        if flag != "--rate" and written.requests is not None:
            mistakes.add(f"-n would end {flag} before its course is over", f"leave out -n, or {flag}")
    of_users = drawn is not None and not drawn.of_rates
    if of_users and written.connections is not None:
        mistakes.add("-c and a --ramp of users both set the connections", "leave out -c")
    if written.arrivals is not None and (of_users or not given):
        mistakes.add("--arrivals is about a rate, and there is none", "add one, for instance --rate 1000")
    is_open = written.rate is not None or written.steps is not None or (drawn and drawn.of_rates)
    if written.pause is not None and is_open:
        mistakes.add("--pause is for users who wait for an answer, and a rate waits for none", "leave it out")


def _shape(
    written: ShapeFlags,
    drawn: Ramp | None,
    waits: tuple[float, contract.PauseKind],
    duration_s: float | None,
) -> MeantShape | None:
    """Return the shape; None where the ramp is invalid, which has been reported already."""
    arrivals = read_arrivals(written.arrivals)
    limit = CONNECTIONS_OPEN_MAX if written.connections is None else written.connections
    if written.steps is not None:
        return _stepped(steps(written.steps, duration_s), limit, arrivals)
    if written.rate is not None:
        per_s = read_rate_per_s("--rate", written.rate)
        return _constant(per_s, limit, arrivals, written.requests, duration_s)
    if drawn is not None:
        return _ramped(drawn, limit, arrivals, waits, duration_s)
    return _closed(written, waits, duration_s) if written.ramp is None else None


def read_arrivals(text: str | None) -> ArrivalKind:
    """Return the kind of arrivals of an open shape. Raises UsageError."""
    if text in (None, "poisson"):
        return "poisson"
    if text == "even":
        return "even"
    raise UsageError(f"--arrivals {text}: arrivals are even or poisson", "write --arrivals poisson")


def _step(part: str) -> tuple[float, float | None]:
    rate, colon, long = part.partition(":")
    if not rate.strip():
        raise UsageError("--steps has an empty step", "write rates, for instance 1000,2000,3000:30s")
    per_s = read_rate_per_s("--steps", rate.strip())
    return per_s, read_duration_s("--steps", long.strip()) if colon else None


def _flat(per_s: float, duration_s: float) -> contract.RateSpec:
    return contract.RateSpec(from_per_s=per_s, to_per_s=per_s, duration_s=duration_s)


def _check_day(flag: str, total_s: float) -> None:
    if total_s > DURATION_MAX_S:
        raise UsageError(f"{flag} lasts {total_s:g} s, more than a day", "make it 24h or less")


def _stepped(rates: tuple[contract.RateSpec, ...], connections: int, arrivals: ArrivalKind) -> MeantShape:
    shape = contract.OpenShapeSpec(connections=connections, arrivals=arrivals, rates=rates)
    return MeantShape(shape, contract.DurationStopSpec(duration_s=sum(rate.duration_s for rate in rates)))


def _constant(
    per_s: float, connections: int, arrivals: ArrivalKind, requests: int | None, duration_s: float | None
) -> MeantShape:
    if requests is None:
        within_s = duration_s or DURATION_S
        stop: contract.DurationStopSpec | contract.RequestsStopSpec = contract.DurationStopSpec(
            duration_s=within_s
        )
    else:
        # Twice as long as the schedule needs, since the last answers may be slow.
        within_s = duration_s or max(WITHIN_S, 2 * requests / per_s)
        _check_day(f"-n {requests:,} at --rate {per_s:g}", within_s / 2)
        within_s = min(within_s, DURATION_MAX_S)
        stop = contract.RequestsStopSpec(requests=requests, within_s=within_s)
    rates = (_flat(per_s, within_s),)
    return MeantShape(contract.OpenShapeSpec(connections=connections, arrivals=arrivals, rates=rates), stop)


def _ramped(
    drawn: Ramp,
    connections: int,
    arrivals: ArrivalKind,
    waits: tuple[float, contract.PauseKind],
    duration_s: float | None,
) -> MeantShape:
    over_s = drawn.over_s or duration_s or DURATION_S
    if duration_s is not None and duration_s < over_s - _SAME_S:
        raise UsageError(
            f"--ramp takes {over_s:g} s, but -z ends it after {duration_s:g} s", "leave out -z, or raise it"
        )
    stop = contract.DurationStopSpec(duration_s=max(over_s, duration_s or 0.0))
    if drawn.of_rates:
        rate = contract.RateSpec(from_per_s=drawn.low, to_per_s=drawn.high, duration_s=over_s)
        return MeantShape(
            contract.OpenShapeSpec(connections=connections, arrivals=arrivals, rates=(rate,)), stop
        )
    shape = contract.RampShapeSpec(
        from_connections=int(drawn.low),
        to_connections=int(drawn.high),
        over_s=over_s,
        pause_ms=waits[0],
        pause=waits[1],
    )
    return MeantShape(shape, stop)


def _closed(
    written: ShapeFlags, waits: tuple[float, contract.PauseKind], duration_s: float | None
) -> MeantShape:
    connections, requests = written.connections, written.requests
    if connections is None:
        # More connections than requests would have nothing to send.
        connections = min(CONNECTIONS, requests or CONNECTIONS)
    elif requests is not None and connections > requests:
        raise UsageError(
            f"-c {connections} is more than the -n {requests} requests there are",
            f"write -c {requests} or less, or more requests",
        )
    shape = contract.ClosedShapeSpec(connections=connections, pause_ms=waits[0], pause=waits[1])
    if requests is None:
        return MeantShape(shape, contract.DurationStopSpec(duration_s=duration_s or DURATION_S))
    return MeantShape(shape, contract.RequestsStopSpec(requests=requests, within_s=duration_s or WITHIN_S))
