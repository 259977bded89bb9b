"""Texts and numbers that a schema allows, the simplest first. What is yielded is yet to be checked. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

from crumple.importing import pattern_text
from crumple.importing.openapi_dialect import is_fit

# Letters of a text that is made; a schema that asks for more is not satisfied.
LETTERS_MAX = 5_000
# Different texts or numbers that are made for one schema, so that an array may hold different ones.
DIFFERENT_MAX = 50
# The second is for a schema that allows few letters.
_OF_FORMAT: Mapping[str, tuple[str, ...]] = {
    "uuid": ("00000000-0000-4000-8000-000000000000",),
    "guid": ("00000000-0000-4000-8000-000000000000",),
    "date": ("2026-01-01",),
    "full-date": ("2026-01-01",),
    "date-time": ("2026-01-01T00:00:00Z",),
    "datetime": ("2026-01-01T00:00:00Z",),
    "time": ("12:00:00Z",),
    "partial-time": ("12:00:00",),
    "duration": ("PT1H",),
    "email": ("someone@example.org", "a@b.org"),
    "idn-email": ("someone@example.org", "a@b.org"),
    "hostname": ("example.org", "a.org"),
    "idn-hostname": ("example.org", "a.org"),
    "uri": ("http://example.org/", "http://a/"),
    "url": ("http://example.org/", "http://a/"),
    "iri": ("http://example.org/", "http://a/"),
    "uri-reference": ("/text",),
    "iri-reference": ("/text",),
    "uri-template": ("/text",),
    "ipv4": ("192.0.2.1",),
    "ip": ("192.0.2.1",),
    "ipv6": ("2001:db8::1", "::1"),
    "cidr": ("192.0.2.0/24",),
    "mac": ("00:00:5e:00:53:01",),
    "byte": ("dGV4dA==",),
    "base64": ("dGV4dA==",),
    "base64url": ("dGV4dA==",),
    "json-pointer": ("/text",),
    "relative-json-pointer": ("0",),
    "regex": ("text",),
    "phone": ("+12025550123",),
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "decimal", "number"), ("1",)),
}


def texts(schemas: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield texts that all of the schemas may allow."""
    least = int(max(_numbers(schemas, "minLength"), default=0))
    most = int(min(_numbers(schemas, "maxLength"), default=LETTERS_MAX))
    formats = [each["format"] for each in schemas if isinstance(each.get("format"), str)]
    patterns = [each["pattern"] for each in schemas if isinstance(each.get("pattern"), str)]
    if least > LETTERS_MAX:
        return
    known = [text for name in formats for text in _OF_FORMAT.get(name, ())]
    for text in known:
        yield text.ljust(least, "x")
    for pattern in patterns:
        # Where no text can be written for it, another may match.
        with suppress(pattern_text.Unchecked):
            yield from pattern_text.matching(pattern, least, most)
    plain = "text".ljust(least, "x")[:most]
    yield plain
    for number in range(2, DIFFERENT_MAX):
        yield f"{plain[: max(0, most - len(str(number)))]}{number}"


def numbers(schemas: Sequence[Mapping[str, Any]], is_whole: bool) -> Iterator[int | float]:
    """Yield numbers that all of the schemas may allow."""
    low, is_above = _bound(schemas, "minimum", "exclusiveMinimum", max)
    high, is_below = _bound(schemas, "maximum", "exclusiveMaximum", min)
    steps = [Fraction(str(each)) for each in _numbers(schemas, "multipleOf")]
    step = max(steps, default=Fraction(1))
    if is_whole and step.denominator > 1:
        step *= step.denominator
    if low is None or low <= 1 <= (high if high is not None else 1):
        yield 1
    first = low if low is not None else high if high is not None and high < 1 else Fraction(0)
    start = math.ceil(first / step) if low is not None else math.floor(first / step)
    turn = 1 if low is not None or high is None or high >= 1 else -1
    if low is not None and not is_above and (not steps or (low / step).denominator == 1):
        yield _plain(low, is_whole)
    if high is not None and not is_below:
        yield _plain(high, is_whole)
    for number in range(DIFFERENT_MAX):
        yield _plain((start + turn * number) * step, is_whole)
        if number == 1 and not is_whole and not steps:
            yield _plain(start + Fraction(turn, 2), is_whole)
    if low is not None and high is not None:
        # Between bounds that are nearer to each other than a whole number.
        yield _plain((low + high) / 2, is_whole)
        yield _plain(low + (high - low) / 10, is_whole)


def _plain(number: Fraction, is_whole: bool) -> int | float:
    return int(number) if is_whole or number.denominator == 1 else float(number)


def _bound(
    schemas: Sequence[Mapping[str, Any]], plain: str, exclusive: str, nearest: Any
) -> tuple[Fraction | None, bool]:
    """Return the bound, None if there is none, and whether it is not allowed itself."""
    found = [(number, False) for number in _numbers(schemas, plain)]
    found += [(number, True) for number in _numbers(schemas, exclusive)]
    # In 3.0 it is no number: it says what the other means.
    found += [
        (each[plain], True)
        for each in schemas
        if each.get(exclusive) is True and is_fit(plain, each.get(plain))
    ]
    finite = [(Fraction(str(number)), is_out) for number, is_out in found if math.isfinite(number)]
    if not finite:
        return None, False
    bound = nearest(number for number, _ in finite)
    return bound, any(is_out for number, is_out in finite if number == bound)


def _numbers(schemas: Sequence[Mapping[str, Any]], keyword: str) -> list[int | float]:
    return [each[keyword] for each in schemas if keyword in each and is_fit(keyword, each[keyword])]
