"""Texts that match a regular expression, and whether one does. The time that both take is bounded. Pure.

A document may hold an expression whose search takes longer than anybody waits, so what it could take is
estimated from its repeats. Where that is too long, an engine without backtracking searches.
"""

import re
import string
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

# No other parser of Python's expressions is kept; the names have been the same since Python 3.11.
from re import _constants as kind  # type: ignore[attr-defined]  # it is not in the stubs
from re import _parser  # type: ignore[attr-defined]  # it is not in the stubs
from typing import Annotated, Any

from pydantic import StringConstraints, TypeAdapter, ValidationError
from pydantic_core import SchemaError

# Letters of a text that is written for an expression; and letters of an expression that is read.
LETTERS_MAX, PATTERN_MAX = 10_000, 2_000
# Steps of a search. One that could take more is left to an engine without backtracking.
SEARCH_STEPS_MAX = 5_000_000
_REPEATS = (kind.MAX_REPEAT, kind.MIN_REPEAT, kind.POSSESSIVE_REPEAT)
_PREFERRED = string.ascii_lowercase + string.digits + string.ascii_uppercase + "-_. :/" + string.punctuation
_OF_CATEGORY: Mapping[Any, Callable[[str], bool]] = {
    kind.CATEGORY_DIGIT: str.isdigit,
    kind.CATEGORY_SPACE: str.isspace,
    kind.CATEGORY_WORD: lambda letter: letter.isalnum() or letter == "_",
    kind.CATEGORY_NOT_DIGIT: lambda letter: not letter.isdigit(),
    kind.CATEGORY_NOT_SPACE: lambda letter: not letter.isspace(),
    kind.CATEGORY_NOT_WORD: lambda letter: not letter.isalnum() and letter != "_",
}
# As JavaScript names groups, and then as Python does.
_NAMED_GROUP = re.compile(r"\(\?<(?=[A-Za-z_])")


class Unchecked(Exception):  # noqa: N818 - says what happened
    """The expression cannot be read, or matching it may take too long."""


@lru_cache(maxsize=1_000)
def _read(pattern: str) -> tuple[re.Pattern[str], Any, int, bool]:
    """Return the expression, its parts, how many repeats it has, and whether one is inside another."""
    if len(pattern) > PATTERN_MAX:
        raise Unchecked(pattern)
    try:
        written = _NAMED_GROUP.sub("(?P<", pattern)
        parts = _parser.parse(written)
        compiled = re.compile(written)
    except (re.error, OverflowError, RecursionError, ValueError):
        raise Unchecked(pattern) from None
    repeats, nested = _repeats(parts, False)
    return compiled, parts, repeats, nested


def _repeats(parts: Any, inside: bool) -> tuple[int, bool]:
    """Return how many repeats there are, and whether one of them or a choice is repeated itself."""
    number, nested = 0, False
    for operation, given in parts:
        repeated = operation in _REPEATS and given[1] != given[0]
        number += repeated
        nested = nested or (inside and (repeated or operation is kind.BRANCH))
        for inner in _inner(operation, given):
            more, deeper = _repeats(inner, inside or (operation in _REPEATS and given[1] > 1))
            number, nested = number + more, nested or deeper
    return number, nested


def _inner(operation: Any, given: Any) -> list[Any]:
    if operation in _REPEATS:
        return [given[2]]
    if operation is kind.BRANCH:
        return list(given[1])
    if operation is kind.SUBPATTERN:
        return [given[3]]
    if operation in (kind.ASSERT, kind.ASSERT_NOT):
        return [given[1]]
    if operation is kind.ATOMIC_GROUP:
        return [given]
    return [each for each in given[1:] if each] if operation is kind.GROUPREF_EXISTS else []


def is_match(pattern: str, text: str) -> bool:
    """Whether a part of the text matches. Raises Unchecked."""
    try:
        compiled = quick(pattern, text)
    except Unchecked:
        return _is_match_at_once(pattern, text)
    return compiled.search(text) is not None


def quick(pattern: str, text: str) -> re.Pattern[str]:
    """Return the expression if Python searches the text for it in bounded time. Raises Unchecked."""
    compiled, _, repeats, nested = _read(pattern)
    length = len(text) + 1
    # A repeat inside another may try each way to divide the text, and one behind another each place between.
    steps_bits = length if nested else length.bit_length() * (1 + repeats)
    if steps_bits > SEARCH_STEPS_MAX.bit_length():
        raise Unchecked(pattern)
    return compiled


@lru_cache(maxsize=1_000)
def _at_once(pattern: str) -> TypeAdapter[str]:
    return TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])


def _is_match_at_once(pattern: str, text: str) -> bool:
    """The same by an engine whose time grows with the text only; it knows no look ahead. Raises Unchecked."""
    if len(pattern) > PATTERN_MAX:
        raise Unchecked(pattern)
    try:
        matcher = _at_once(pattern)
    except SchemaError:
        raise Unchecked(pattern) from None
    try:
        matcher.validate_python(text)
    except ValidationError:
        return False
    return True


def matching(pattern: str, least: int, most: int) -> Iterator[str]:
    """Yield a few texts that may match, those of `least` to `most` letters first; check them with `is_match`.

    Raises Unchecked.
    """
    _, parts, _, _ = _read(pattern)
    if least > LETTERS_MAX:
        raise Unchecked(pattern)
    for wanted in dict.fromkeys((max(least, 1), least, 0)):
        writer = _Writer(wanted, most)
        text = writer.of(parts)
        yield text
        if writer.ahead:
            # What a look ahead asks for must come, too.
            ahead = "".join(writer.ahead)
            yield ahead + text[len(ahead) :]
            yield ahead.ljust(wanted, ahead[:1] or "a")


class _Writer:
    """Writes one text. `ahead`: what looks ahead have asked for. Raises Unchecked."""

    def __init__(self, least: int, most: int) -> None:
        self._missing, self._left = least, LETTERS_MAX
        self.ahead: list[str] = []

    def of(self, parts: Any) -> str:
        # What must be there is written first, so that what may be repeated knows how much is missing.
        self._missing -= sum(_least(part) for part in parts) if self._missing else 0
        return "".join(self._part(*part) for part in parts)

    def _part(self, operation: Any, given: Any) -> str:
        self._left -= 1
        if self._left < 0:
            raise Unchecked("")
        if operation is kind.LITERAL:
            return chr(given)
        if operation is kind.ANY:
            return "a"
        if operation in (kind.IN, kind.NOT_LITERAL):
            return _letter(given if operation is kind.IN else [(kind.NEGATE, None), (kind.LITERAL, given)])
        if operation is kind.BRANCH:
            return "".join(self._part(*part) for part in given[1][0])
        if operation is kind.SUBPATTERN:
            return "".join(self._part(*part) for part in given[3])
        if operation is kind.ATOMIC_GROUP:
            return "".join(self._part(*part) for part in given)
        if operation in _REPEATS:
            return self._repeated(*given)
        if operation is kind.ASSERT and given[0] > 0:
            self.ahead.append("".join(self._part(*part) for part in given[1]))
        return ""

    def _repeated(self, least: int, most: int, parts: Any) -> str:
        times = int(least)
        unit = sum(_least(part) for part in parts) or 1
        if self._missing > 0:
            more = min(-(-self._missing // unit), int(most) - times)
            times, self._missing = times + more, self._missing - more * unit
        if times > LETTERS_MAX:
            raise Unchecked("")
        return "".join(self._part(*part) for _ in range(times) for part in parts)


def _least(part: tuple[Any, Any]) -> int:
    """Return how many letters a part has at least."""
    operation, given = part
    if operation in (kind.LITERAL, kind.NOT_LITERAL, kind.ANY, kind.IN):
        return 1
    if operation in _REPEATS:
        return int(given[0]) * sum(map(_least, given[2]))
    if operation is kind.BRANCH:
        return sum(map(_least, given[1][0]))
    inner = given[3] if operation is kind.SUBPATTERN else given if operation is kind.ATOMIC_GROUP else ()
    return sum(map(_least, inner))


def _letter(items: Any) -> str:
    negated = bool(items) and items[0][0] is kind.NEGATE
    choices = _PREFERRED + "".join(chr(given[0]) for operation, given in items if operation is kind.RANGE)
    choices += "".join(chr(given) for operation, given in items if operation is kind.LITERAL)
    for letter in choices:
        if negated != any(_holds(letter, *item) for item in items if item[0] is not kind.NEGATE):
            return letter
    raise Unchecked("")


def _holds(letter: str, operation: Any, given: Any) -> bool:
    if operation is kind.LITERAL:
        return bool(ord(letter) == given)
    if operation is kind.RANGE:
        return bool(given[0] <= ord(letter) <= given[1])
    return operation is kind.CATEGORY and bool(_OF_CATEGORY[given](letter))
