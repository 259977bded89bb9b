"""Quantities as people type them: 500ms, 1m30s, 1000/s, 0-3,7. Text → number, nothing else.

`flag` in every call says where the text came from, for the error message.
"""

import math
import re

from crumple.errors import UsageError

UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
# The engine's own limit.
DURATION_MAX_S = 86_400.0
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|us|µs|ns|s)")


def duration_s(flag: str, text: str) -> float:
    """A duration above zero in seconds: "500ms", "2m", "1m30s"; without a unit it is seconds.

    Raises UsageError.
    """
    # Accept the Greek mu as well, which looks like the micro sign.
    written = text.strip().lower().replace("μ", "µ")
    if _NUMBER.fullmatch(written):
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


def rate_per_s(flag: str, text: str) -> float:
    """A rate above zero per second: "1000", "0.5", "1000/s". Raises UsageError."""
    written = text.strip().lower().removesuffix("/s")
    if not _NUMBER.fullmatch(written):
        raise UsageError(f"{flag} {text}: that is no rate", "write requests per second, for instance 1000")
    if float(written) == 0:
        raise UsageError(f"{flag} {text}: at a rate of 0 nothing is sent", "write 1 or more, or 0.1")
    return float(written)


def cores(flag: str, text: str) -> tuple[int, ...]:
    """Numbers of cores: "2", "0,2", "0-3,7". Raises UsageError."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,4})(?:-(\d{1,4}))?\s*", part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if low > high:
            raise UsageError(f"{flag} {text}: these are no cores", "write 2, 0,2 or 0-3, for instance")
        found += range(low, high + 1)
    return tuple(dict.fromkeys(found))


def whole(flag: str, number: int | None, least: int = 1) -> None:
    """Return if `number` is `least` or more, or not given. Raises UsageError."""
    if number is not None and number < least:
        raise UsageError(f"{flag} {number}: that is too few", f"write {least} or more")
