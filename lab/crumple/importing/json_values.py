"""Parts of an untrusted JSON document: what is asked for, or an empty value of its type. Pure."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

# Bits of a whole number: no server sends, and no person writes, a longer one.
_DIGITS_BITS = 64


class WrittenInt(int):
    """A whole number with its text in the document, such as 07030."""

    written: str


class WrittenFloat(float):
    """A number with its text in the document, such as 1.10."""

    written: str


def as_written(number: int | float, written: str) -> int | float:
    """Return a number that keeps its text, if Python would write another."""
    if str(number) == written:
        return number
    kept = WrittenInt(number) if isinstance(number, int) else WrittenFloat(number)
    kept.written = written
    return kept


def table(found: Any) -> Mapping[str, Any]:
    """Return what should be a table, or an empty one."""
    return found if isinstance(found, dict) else {}


def listed(found: Any) -> Sequence[Any]:
    """Return what should be a list, or an empty one."""
    return found if isinstance(found, list) else ()


def text(found: Any) -> str:
    """Return a text, or a number as its text; of anything else an empty one."""
    if isinstance(found, str):
        return found
    if isinstance(found, WrittenInt | WrittenFloat):
        return found.written
    if isinstance(found, bool):
        return "true" if found else "false"
    is_short = isinstance(found, float) or (isinstance(found, int) and found.bit_length() <= _DIGITS_BITS)
    return str(found) if is_short else ""


def whole(found: Any) -> int:
    """Return a number without its fraction; 0 of anything else, also of infinity."""
    if isinstance(found, float):
        return int(found) if math.isfinite(found) else 0
    return found if isinstance(found, int) else 0
