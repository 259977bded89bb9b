"""What a document gives as a value: its examples, defaults and constants, also as another type. Pure."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from crumple.importing.json_values import listed, text
from crumple.importing.openapi_whole import Whole

# Of one schema.
GIVEN_MAX = 50
# An example from YAML may name one part a million times, or hold itself.
SIZE_MAX = 128 << 10
# Of a text that is read as a list.
LETTERS_MAX = 10_000


def given(whole: Whole) -> Iterator[Any]:
    """Yield the values that a schema gives, the outermost first; each is yet to be checked."""
    yield from islice(_given(whole), GIVEN_MAX)


def _given(whole: Whole) -> Iterator[Any]:
    for keyword in ("example", "const", "default"):
        for part in whole.parts:
            if keyword in part and part[keyword] is not None:
                yield part[keyword]
        if keyword == "example":
            for part in whole.parts:
                yield from listed(part.get("examples"))
    named = [each for part in whole.parts for each in listed(part.get("enum"))[:GIVEN_MAX]]
    yield from sorted(named, key=lambda each: each is None)


def coerced(value: Any, kinds: Sequence[str]) -> Iterator[Any]:
    """Yield a value as the types of its schema: 07030 as "07030", "5" as 5, "[5]" as a list."""
    if isinstance(value, bool | int | float):
        if "string" in kinds:
            yield text(value) or json.dumps(value)
        if "integer" in kinds and not isinstance(value, bool) and value == int(value):
            yield int(value)
    elif isinstance(value, str) and kinds != ["string"]:
        yield read(value)
        if "array" in kinds:
            parts = [each.strip() for each in value[:LETTERS_MAX].split(",")]
            yield parts
            yield [read(each) for each in parts]


def read(written: str) -> Any:
    """Return what a text of JSON holds, or the text."""
    try:
        return json.loads(written)
    # RecursionError: it is nested too deep.
    except (ValueError, RecursionError):
        return written


def size_of(value: Any) -> int:
    """Return how many values are in a value; SIZE_MAX if there are as many or more."""
    number, waiting = 0, [value]
    while waiting and number < SIZE_MAX:
        each = waiting.pop()
        number += 1
        if isinstance(each, dict | list):
            number += len(each) if len(waiting) > SIZE_MAX else 0
            waiting += each.values() if isinstance(each, dict) else each
    return min(number, SIZE_MAX)
