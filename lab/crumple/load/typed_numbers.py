"""Numbers as typed, with letters for thousands and millions as in oha and wrk: 500, 10k, 1.5m."""

import re
from decimal import Decimal

from crumple.errors import UsageError

SCALES = {"k": 1_000, "m": 1_000_000}
# Python converts no text of thousands of digits.
NUMBER = r"\d{1,40}(?:\.\d{1,40})?[km]?"
_SIGNED = re.compile(f"-?{NUMBER}")


def scaled(text: str) -> Decimal | None:
    """Return the number that the text is; None if it is none. Letters may be capitals."""
    written = text.strip().lower()
    if not _SIGNED.fullmatch(written):
        return None
    return Decimal(written.rstrip("km")) * SCALES.get(written[-1], 1)


def read_count(flag: str, text: str | int) -> int:
    """Return a whole number, such as 500 or 10k. Raises UsageError. `flag`: for the message."""
    number = scaled(str(text))
    if number is None:
        raise UsageError(f"{flag} {text}: that is no number", "write 500 or 10k, for instance")
    if number != number.to_integral_value():
        raise UsageError(f"{flag} {text}: that is no whole number", "write 500 or 10k, for instance")
    return int(number)
