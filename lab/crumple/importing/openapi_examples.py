"""Examples for parameters and bodies of an OpenAPI document: what it gives, or else what its schema allows.

An example that does not satisfy its schema is not taken: it is counted, and the first is named.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from crumple.drawing import numerals
from crumple.importing import openapi_dialect
from crumple.importing.json_values import listed, table
from crumple.importing.openapi_document import NoExample, Parts, short
from crumple.importing.openapi_making import Made, Maker
from crumple.importing.openapi_whole import SIZE_MAX, Wholes, WholeSchema, coerce, size_of

# What a parameter without `schema` has where it is its own schema, as in Swagger 2.
_OWN = ("type", "enum", "items", "format", "properties")


@dataclass
class _Faults:
    """How many faults of one kind the document has, and the first of them."""

    number: int = 0
    first: str = ""


class Examples:
    """Gives examples for one document. Its methods raise NoExample and TooManySteps."""

    def __init__(self, parts: Parts) -> None:
        dialect = openapi_dialect.dialect_of(table(parts.document))
        self._unfit, self._ignored, self._where = _Faults(), _Faults(), ""
        count_ignored = partial(self._count, self._ignored)
        self._parts, self._schemas = parts, openapi_dialect.Schemas(parts, dialect, count_ignored)
        self._wholes = Wholes(parts, dialect)
        self._maker = Maker(parts, self._schemas, partial(self._count, self._unfit))

    def begin(self, where: str) -> None:
        """Begin an operation, which is named where an example of it is."""
        self._where = where

    def _count(self, faults: _Faults, fault: str) -> None:
        faults.number += 1
        faults.first = faults.first or short(f"{self._where}: {fault}")

    def faults(self) -> Iterator[str]:
        """Yield in words how many examples were not taken, and how many keywords were ignored, if any."""
        if unfit := self._unfit.number:
            ends = "its schema and is" if unfit == 1 else "their schemas and are"
            verb = "does" if unfit == 1 else "do"
            said = f"{numerals.count(unfit, 'example')} {verb} not satisfy {ends} not sent"
            yield f"{said}, first {self._unfit.first}"
        if ignored := self._ignored.number:
            have = "has a value" if ignored == 1 else "have values"
            are = "is" if ignored == 1 else "are"
            said = (
                f"{numerals.count(ignored, 'keyword')} of schemas {have} of the wrong type and {are} ignored"
            )
            yield f"{said}, first {self._ignored.first}"

    def is_given(self, media: Mapping[str, Any]) -> bool:
        """Whether the document gives an example of a parameter, so that it is sent even if it need not be."""
        inner = (media, *map(table, table(media.get("content")).values()))
        return any(key in each for each in inner for key in ("example", "examples")) or any(
            key in table(media.get("schema")) for key in ("example", "examples")
        )

    def of_media(self, media: Mapping[str, Any]) -> Made:
        """Return an example for a parameter or a body, which satisfies its schema."""
        schema = _schema_of(media)
        fault = ""
        for value in self._given(media):
            size = size_of(value)
            if schema is None:
                return Made(value, size, is_made_up=False)
            if size >= SIZE_MAX:
                raise NoExample("with an example that is too large to be checked")
            self._parts.take(size)
            whole = self._wholes.whole(schema)
            for each in (value, *coerce(value, whole.types()), self._mended(value, whole)):
                why = self._schemas.fault(each, schema)
                if not why:
                    return Made(each, size, is_made_up=False)
                fault = fault or why
        if fault:
            self._count(self._unfit, fault)
        return self.of_schema({} if schema is None else schema)

    def _mended(self, value: Any, whole: WholeSchema) -> Any:
        """Return a table whose values are of the types of its properties, as "5" in a form is 5."""
        if not isinstance(value, dict):
            return value
        described = whole.described()
        mended = dict(value)
        for name, each in value.items() if described else ():
            schema = self._wholes.joined(described.get(name, [{}]))
            for one in (each, *coerce(each, self._wholes.whole(schema).types())):
                if not self._schemas.fault(one, schema):
                    mended[name] = one
                    break
        return mended

    def of_schema(self, schema: Any) -> Made:
        """Return a value that satisfies a schema."""
        return self._maker.made(schema)

    def is_satisfied(self, media: Mapping[str, Any], value: Any) -> bool:
        """Whether a value satisfies the schema of a parameter or a body."""
        return not self._schemas.fault(value, media.get("schema", True))

    def required(self, media: Mapping[str, Any]) -> set[str]:
        """Return the names of the properties that a form must have."""
        return {name for each in self._wholes.whole(media.get("schema")).of("required") for name in each}

    def files(self, media: Mapping[str, Any]) -> set[str]:
        """Return the names of the properties of a form that are files, or lists of files."""
        ways = self._wholes.ways(self._wholes.whole(media.get("schema")))
        described = (pair for way in ways for pair in way.described().items())
        return {name for name, schemas in described if any(map(self._is_file, schemas))}

    def _is_file(self, schema: Any) -> bool:
        parts = self._wholes.whole(schema).parts
        inner = [part for each in parts for part in self._wholes.whole(each.get("items")).parts]
        return any(each.get("format") == "binary" or "contentMediaType" in each for each in (*parts, *inner))

    def _given(self, media: Mapping[str, Any]) -> Iterator[Any]:
        if "example" in media:
            # A $ref is not defined here, and some documents have one.
            found = self._parts.pointed(media["example"])
            is_led = found is not media["example"] and "value" in table(found)
            yield found["value"] if is_led else found
        if "x-example" in media:
            yield media["x-example"]
        examples = media.get("examples")
        for each in table(examples).values():
            self._parts.take()
            found = table(self._parts.pointed(each))
            if "value" in found:
                yield found["value"]
        yield from listed(examples)


def _schema_of(media: Mapping[str, Any]) -> Any:
    """Return the schema of a parameter or body; None if it has none."""
    if isinstance(media.get("schema"), dict | bool):
        return media["schema"]
    return media if any(key in media for key in _OWN) else None
