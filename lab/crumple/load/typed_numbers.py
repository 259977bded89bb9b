"""Numbers as typed, with letters for thousands and millions as in oha and wrk: 500, 10k, 1.5m."""

import re
from fractions import Fraction

from crumple.errors import UsageError

SCALES = {"k": 1_000, "m": 1_000_000}
NUMBER = r"[0-9]+(?:\.[0-9]+)?[km]?"
# Python converts no text of thousands of digits, and a float holds none of more than 308.
_DIGITS_MAX = 300
_SIGNED = re.compile(f"-?{NUMBER}")


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
