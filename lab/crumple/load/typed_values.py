"""Values of flags as typed → numbers: counts (500, 10k, 1.5m), durations (1m30s), rates, cores.

`flag` in each function is for the error message, which contains the remedy. Nothing is read but the text.
"""

import math
import re
from fractions import Fraction

from crumple.errors import UsageError

SCALES = {"k": 1_000, "m": 1_000_000}
NUMBER = r"[0-9]+(?:\.[0-9]+)?[km]?"
# Digits of a number that are read. Python converts no text of thousands of them, and no float has over 308.
_DIGITS_MAX = 300
_SIGNED = re.compile(f"-?{NUMBER}")
UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
# The engine's own limits, which are in engine/src/bounds.rs. The most seconds of a load.
DURATION_MAX_S = 86_400.0
# The most requests of a load.
REQUESTS_MAX = 1_000_000_000_000
# The most connections of a load.
CONNECTIONS_MAX = 4_000_000
# The most threads of the engine.
THREADS_MAX = 1_024
# The lowest and the highest rate, in requests per second.
RATE_MIN_PER_S, RATE_MAX_PER_S = 1e-6, 10_000_000.0
_DECIMAL = re.compile(r"\d+(?:\.\d+)?")
_BETWEEN = re.compile(r"(?<=[a-zµ])\s+(?=\d)")
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|us|µs|ns|s)")


def scaled(text: str) -> Fraction | None:
    """Return the number that the text is; None if it is none. Letters may be capitals.

    One that is longer than any that makes sense becomes shorter.
    """
    written = text.strip().lower()
    if not _SIGNED.fullmatch(written):
        return None
    whole, point, rest = written.rstrip("km").partition(".")
    return Fraction(whole[:_DIGITS_MAX] + point + rest[:_DIGITS_MAX]) * SCALES.get(written[-1], 1)


def read_count(flag: str, text: str | int) -> int:
    """Return a whole number, such as 500 or 10k. Raises UsageError. `flag`: for the message."""
    number = scaled(str(text))
    if number is None:
        raise UsageError(f"{flag} {text}: that is no number", "write 500 or 10k, for instance")
    if number.denominator != 1:
        raise UsageError(f"{flag} {text}: that is no whole number", "write 500 or 10k, for instance")
    return int(number)


def read_budget_s(text: str | None, default_s: float, least_s: float, why: str) -> float:
    """Return --budget in seconds; `default_s`: if it was not given. Raises UsageError.

    `why`: what a budget of less than `least_s` is too short for.
    """
    if text is None:
        return default_s
    budget_s = read_duration_s("--budget", text)
    if budget_s < least_s:
        raise UsageError(f"--budget {text}: too short for {why}", f"give it {least_s:g}s or more")
    return budget_s


def read_duration_s(flag: str, text: str) -> float:
    """A duration above zero in seconds: "500ms", "2m", "1m30s", "1m 30s"; without a unit it is seconds.

    Raises UsageError.
    """
    # Accept the Greek mu as well, which looks like the micro sign.
    written = _BETWEEN.sub("", text.strip().lower().replace("μ", "µ"))
    if _DECIMAL.fullmatch(written):
        seconds = float(written)
    elif "".join(found[0] for found in _PART.finditer(written)) == written != "":
        seconds = math.fsum(float(found[1]) * UNITS_S[found[2]] for found in _PART.finditer(written))
    else:
        raise UsageError(f"{flag} {text}: that is no duration", "write 30s, 2m or 500ms, for instance")
    if seconds <= 0:
        raise UsageError(f"{flag} {text}: a duration is more than 0", "write 30s, for instance")
    if seconds > DURATION_MAX_S:
        raise UsageError(f"{flag} {text}: that is more than a day", "write 24h or less")
    return seconds


def read_rate_per_s(flag: str, text: str) -> float:
    """A rate above zero per second: "1000", "0.5", "10k", "1000/s". Raises UsageError."""
    per_s = scaled(text.strip().lower().removesuffix("/s"))
    if per_s is None or per_s < 0:
        raise UsageError(f"{flag} {text}: that is no rate", "write requests per second, for instance 1000")
    if per_s == 0:
        raise UsageError(f"{flag} {text}: at a rate of 0 nothing is sent", "write 1 or more, or 0.1")
    check_rate(flag, text, float(per_s))
    return float(per_s)


def check_rate(flag: str, text: str, per_s: float) -> None:
    """Return if the engine takes the rate. Raises UsageError."""
    if per_s < RATE_MIN_PER_S:
        raise UsageError(f"{flag} {text}: that is too low a rate", f"write {RATE_MIN_PER_S:.6f} or more")
    if per_s > RATE_MAX_PER_S:
        raise UsageError(f"{flag} {text}: that is too high a rate", f"write {RATE_MAX_PER_S:.0f} or less")


def read_cores(flag: str, text: str) -> tuple[int, ...]:
    """Numbers of cores: "2", "0,2", "0-3,7". Raises UsageError."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,4})(?:-(\d{1,4}))?\s*", part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if low > high:
            raise UsageError(f"{flag} {text}: these are no cores", "write 2, 0,2 or 0-3, for instance")
        found += range(low, high + 1)
    return tuple(dict.fromkeys(found))


def bounded(flag: str, number: int | None, least: int = 1, most: int | None = None) -> int | None:
    """Return `number` if it is from `least` to `most`, or not given. Raises UsageError."""
    if number is not None and number < least:
        raise UsageError(f"{flag} {number}: that is too few", f"write {least} or more")
    if number is not None and most is not None and number > most:
        raise UsageError(f"{flag} {number}: that is too many", f"write {most} or less")
    return number
