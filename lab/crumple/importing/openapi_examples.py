"""Examples for what an OpenAPI document describes: those that it gives, or the simplest that fits its schema.

Schemas may lead back to themselves, so depth and size are bounded. By YAML's anchors a few bytes may name a
large part once more, so the steps that a whole document takes are bounded, too.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from crumple.importing.json_values import listed, table

DEPTH_MAX, VALUES_MAX, SHOWN_MAX = 24, 5_000, 80
# As a $ref may lead to another, and as long as one may be.
REFERENCES_MAX, REFERENCE_LETTERS_MAX = 100, 2_000
# The largest documents of an API take some millions. A step takes one to two microseconds.
STEPS_MAX = 20_000_000
# So many letters that are written take as long as a step.
LETTERS_A_STEP = 16
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


class TooManySteps(Exception):  # noqa: N818 - says what happened
    """The document takes more than STEPS_MAX steps."""


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_MAX else f"{text[: SHOWN_MAX - 1]}…"


class Examples:
    """Makes examples from the schemas of one document.

    Every method raises TooManySteps where the document took too many, in all.
    """

    def __init__(self, document: Any) -> None:
        self._document = document
        self._values = self._steps = 0

    def take(self, steps: int = 1, *, letters: int = 0) -> None:
        """Count steps, and letters that are written."""
        self._steps += steps + letters // LETTERS_A_STEP
        if self._steps > STEPS_MAX:
            raise TooManySteps

    def pointed(self, part: Any) -> Any:
        """Return what a $ref leads to, or the part itself. Raises NoExample."""
        seen: set[str] = set()
        while isinstance(part, dict) and isinstance(reference := part.get("$ref"), str):
            if not reference.startswith("#"):
                raise NoExample(f"with a $ref to another document ({_short(reference.partition('#')[0])})")
            if reference in seen:
                raise NoExample(f"with a $ref that leads back to itself ({_short(reference)})")
            if len(reference) > REFERENCE_LETTERS_MAX:
                raise NoExample(f"with a $ref of more than {REFERENCE_LETTERS_MAX:,} letters")
            if len(seen) == REFERENCES_MAX:
                raise NoExample(f"with more than {REFERENCES_MAX} $ref that lead to each other")
            seen.add(reference)
            part = self._at(reference)
        return part

    def _at(self, reference: str) -> Any:
        part = self._document
        for step in filter(None, reference[1:].split("/")):
            self.take()
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(part, list) and _INDEX.fullmatch(name) and int(name) < len(part):
                part = part[int(name)]
            elif isinstance(part, dict) and name in part:
                part = part[name]
            else:
                raise NoExample(f"with a $ref to what is not there ({_short(reference)})")
        return part

    def of_media(self, media: Mapping[str, Any]) -> Any:
        """Return an example for a parameter or a body. Raises NoExample."""
        if "example" in media:
            return media["example"]
        for given in table(media.get("examples")).values():
            self.take()
            found = table(self.pointed(given))
            if "value" in found:
                return found["value"]
        # In Swagger 2 a parameter is its own schema.
        return self.of_schema(media.get("schema", media))

    def of_schema(self, schema: Any) -> Any:
        """Return the simplest value that a schema allows, with all of its properties. Raises NoExample."""
        self._values = 0
        return self._made(schema, (), 0)

    def _made(self, schema: Any, inside: tuple[int, ...], depth: int) -> Any:
        found = table(self.pointed(schema))
        self.take()
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
            self.take(len(kind))
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
        required = listed(schema.get("required"))
        self.take(len(required))
        named = {each for each in required if isinstance(each, str)}
        made = {}
        for name, each in table(schema.get("properties")).items():
            if self._values > VALUES_MAX:
                break
            self.take()
            if table(each).get("readOnly"):
                continue
            value = self._made(each, within, depth + 1)
            if value is not None or name in named:
                made[name] = value
        return made
