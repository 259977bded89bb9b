"""The structure of a document: which keys it has at its top, and below these. It is read as a stream.

Only what decides is read, so a HAR of gigabytes is known by its first bytes, and a document whose deciding
key comes last is read to its end. Memory does not grow with texts (`json_stream`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import IO, Any

import ijson
from ijson.common import JSONError

from crumple.importing.json_stream import Shortened, TooDeep

# A key, or one and one below it.
Way = tuple[str, ...]
Shape = AbstractSet[Way]
# Keys of a document, and keys below one of these, and letters of one. A document with more is known by its
# first.
WAYS_MAX, BELOW_MAX, KEY_LETTERS = 10_000, 100, 256
_ARRAY = re.compile(rb"\s*\[\s*\{")
_YAML_KEY = re.compile(
    r"""( *)(?:"([^"\\]{1,256})"|'([^']{1,256})'|([^\s#&*!|>%@`"'{\[,][^:#]{0,255}?)) *:(?: |$)"""
)
# What may stand at the beginning of a line of YAML beside a key.
_YAML_OTHER = re.compile(r"(?:---|\.\.\.|%[A-Z]+|- |-$|#|[\]}])")


def of_json(stream: IO[bytes], decides: Callable[[Shape], object]) -> Shape:
    """Return the shape of JSON, as far as it was read until it decides.

    The shape of an array is that of its first item.
    """
    ways: set[Way] = set()
    try:
        for way in _json_ways(stream):
            ways.add(way)
            if len(ways) > WAYS_MAX or decides(ways):
                break
    except (TooDeep, JSONError, ValueError):
        # What follows is not JSON, or the file is cut off: the reader of the format says so.
        pass
    return ways


def _json_ways(stream: IO[bytes]) -> Iterator[Way]:
    depth = arrays = 0
    top, below = "", Counter[str]()
    for event, value in ijson.basic_parse(Shortened(stream), use_float=True):
        if event == "map_key" and depth == 1:
            top = str(value)[:KEY_LETTERS]
            yield (top,)
        elif event == "map_key" and depth == 2 and not arrays:
            below[top] += 1
            if below[top] <= BELOW_MAX:
                yield top, str(value)[:KEY_LETTERS]
        elif event == "start_map":
            depth += 1
        elif event == "end_map":
            depth -= 1
            if not depth:
                return
        # What is in an array is at neither level, unless the array is all there is.
        elif event == "start_array" and depth:
            arrays += 1
        elif event == "end_array" and depth:
            arrays -= 1


def keys(*sets: str) -> tuple[frozenset[Way], ...]:
    """Return sets of keys, each written as "a b/c": a, and c below b."""
    return tuple(frozenset(tuple(way.split("/")) for way in each.split()) for each in sets)


def of_table(found: Mapping[str, Any]) -> Shape:
    """Return the shape of a table."""
    below = {(key, inner) for key, each in found.items() if isinstance(each, dict) for inner in each}
    return {(key,) for key in found} | below


def of_yaml(lines: Iterator[str], decides: Callable[[Shape], object]) -> Shape:
    """Return the keys at the top of YAML, as far as it was read until it decides; none if it is no table."""
    ways: set[Way] = set()
    indent: int | None = None
    for line in lines:
        written = line.rstrip()
        if not written or written.lstrip().startswith("#"):
            continue
        blank = len(written) - len(written.lstrip(" "))
        if indent is not None and blank > indent:
            continue
        key = _YAML_KEY.match(written)
        if key is None:
            if _YAML_OTHER.match(written):
                continue
            return frozenset()
        indent = blank if indent is None else indent
        if blank < indent:
            return frozenset()
        ways.add((key[2] or key[3] or key[4],))
        if len(ways) > WAYS_MAX or decides(ways):
            break
    return ways


def begins_array(stream: IO[bytes]) -> bool:
    """Return whether an array of tables begins; nothing is read."""
    peek = getattr(stream, "peek", None)
    return bool(peek and _ARRAY.match(peek(64)))
