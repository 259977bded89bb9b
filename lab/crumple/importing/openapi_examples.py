"""Examples for what an OpenAPI document describes: those that it gives, or the simplest that fits its schema.

Schemas may lead back to themselves, so depth and size are bounded.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from crumple.importing.json_values import listed, table

DEPTH_MAX, VALUES_MAX, SHOWN_MAX = 24, 5_000, 80
_INDEX = re.compile(r"[0-9]{1,9}")
_OF_FORMAT = {
    "uuid": "00000000-0000-4000-8000-000000000000",
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "email": "someone@example.org",
    "uri": "http://example.org/",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}


class NoExample(Exception):  # noqa: N818 - says what happened
    """Why a request cannot be made, as the end of a sentence about it."""


def pointed(document: Any, part: Any) -> Any:
    """Return what a $ref leads to, or the part itself. Raises NoExample."""
    seen: set[str] = set()
    while isinstance(part, dict) and isinstance(reference := part.get("$ref"), str):
        if not reference.startswith("#"):
            raise NoExample(f"with a $ref to another document ({_short(reference.partition('#')[0])})")
        if reference in seen:
            raise NoExample(f"with a $ref that leads back to itself ({_short(reference)})")
        seen.add(reference)
        part = document
        for step in filter(None, reference[1:].split("/")):
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(part, list) and _INDEX.fullmatch(name) and int(name) < len(part):
                part = part[int(name)]
            elif isinstance(part, dict) and name in part:
                part = part[name]
            else:
                raise NoExample(f"with a $ref to what is not there ({_short(reference)})")
    return part


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_MAX else f"{text[: SHOWN_MAX - 1]}…"


class Examples:
    """Makes examples from the schemas of one document."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._values = 0

    def of_media(self, media: Mapping[str, Any]) -> Any:
        """Return an example for a parameter or a body. Raises NoExample."""
        if "example" in media:
            return media["example"]
        for given in table(media.get("examples")).values():
            found = table(pointed(self._document, given))
            if "value" in found:
                return found["value"]
        # In Swagger 2 a parameter is its own schema.
        return self.of_schema(media.get("schema", media))

    def of_schema(self, schema: Any) -> Any:
        """Return the simplest value that a schema allows, with all of its properties. Raises NoExample."""
        self._values = 0
        return self._made(schema, (), 0)

    def _made(self, schema: Any, inside: tuple[int, ...], depth: int) -> Any:
        found = table(pointed(self._document, schema))
        self._values += 1
        # A schema that leads back to itself ends here, as does one that grows without bound.
        if id(found) in inside or depth > DEPTH_MAX or self._values > VALUES_MAX:
            return None
        for key in ("example", "default", "const"):
            if key in found:
                return found[key]
        for key in ("examples", "enum"):
            if given := listed(found.get(key)):
                return given[0]
        within = (*inside, id(found))
        for key in ("oneOf", "anyOf"):
            if given := listed(found.get(key)):
                return self._made(given[0], within, depth + 1)
        if isinstance(found.get("allOf"), list):
            parts = [self._made(each, within, depth + 1) for each in found["allOf"][:VALUES_MAX]]
            whole = {name: value for part in parts for name, value in table(part).items()}
            return {**whole, **self._object(found, within, depth)}
        return self._of_type(found, within, depth)

    def _of_type(self, schema: Mapping[str, Any], within: tuple[int, ...], depth: int) -> Any:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((each for each in kind if each != "null"), "null")
        if kind == "array":
            each = self._made(schema.get("items"), within, depth + 1)
            return [] if each is None else [each]
        if kind == "object" or "properties" in schema:
            return self._object(schema, within, depth)
        if kind in ("integer", "number"):
            least = schema.get("minimum", 1)
            return least if isinstance(least, int | float) else 1
        if kind == "boolean":
            return True
        if kind == "null":
            return None
        form = schema.get("format")
        text = _OF_FORMAT.get(form, "text") if isinstance(form, str) else "text"
        least = schema.get("minLength", 0)
        return text.ljust(least, "x") if isinstance(least, int) and least <= VALUES_MAX else text

    def _object(self, schema: Mapping[str, Any], within: tuple[int, ...], depth: int) -> dict[str, Any]:
        named = {each for each in listed(schema.get("required")) if isinstance(each, str)}
        made = {}
        for name, each in table(schema.get("properties")).items():
            if self._values > VALUES_MAX:
                break
            if table(each).get("readOnly"):
                continue
            value = self._made(each, within, depth + 1)
            if value is not None or name in named:
                made[name] = value
        return made
