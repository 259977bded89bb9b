"""A schema as a whole: every part of it that a value must satisfy at the same time.

What `$ref` and `allOf` name is brought together. Of `oneOf` and `anyOf` one branch is taken at a time.
What the document gives as a value, its examples, defaults and constants, is found here as well.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from crumple.importing.json_values import listed, table, text
from crumple.importing.openapi_dialect import Dialect, is_fit, kinds_of
from crumple.importing.openapi_document import Parts

# Branches of a `oneOf` or `anyOf`, levels of these in each other, and ways to choose among
# their branches.
BRANCHES_MAX, NESTED_MAX, WAYS_MAX = 100, 8, 60
# Schemas that may hold at the same time.
PARTS_MAX = 1_000
# A keyword that only values of this type have.
_TYPES = {
    "object": ("properties", "additionalProperties", "required", "minProperties", "patternProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "string": ("minLength", "maxLength", "pattern"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_NUMBER_FORMATS = ("int32", "int64", "float", "double")
# What these ask cannot be seen from the parts alone.
JUDGED = frozenset({
    "not", "if", "dependentRequired", "dependentSchemas", "dependencies", "propertyNames", "contains",
    "unevaluatedProperties", "unevaluatedItems", "uniqueItems", "patternProperties", "$dynamicRef",
})  # fmt: skip


@dataclass(frozen=True)
class Group:
    """Branches of which one must hold."""

    branches: Sequence[Any]
    property_name: str = ""
    """The property whose value names the branch."""
    mapping: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WholeSchema:
    """The schemas that must hold at the same time."""

    parts: tuple[Mapping[str, Any], ...]
    """The outermost schema first."""
    groups: tuple[Group, ...] = ()
    """One branch of each group must hold."""

    @property
    def is_plain(self) -> bool:
        """Whether what it asks of a table or a list can be seen from the one part that it has."""
        return len(self.parts) == 1 and not self.groups and not JUDGED & set(self.parts[0])

    def of(self, keyword: str) -> list[Any]:
        """Return the values that a keyword has in the parts, if it may have them."""
        return [each[keyword] for each in self.parts if keyword in each and is_fit(keyword, each[keyword])]

    def described(self) -> dict[str, list[Any]]:
        """Return the schemas of each property that is described."""
        described = dict[str, list[Any]]()
        for part in self.of("properties"):
            for name, schema in part.items():
                described.setdefault(name, []).append(schema)
        return described

    def types(self) -> list[str]:
        """Return the types that all parts allow; if none is named, the one that the keywords are for."""
        named = [found for each in self.parts if (found := kinds_of(each))]
        if named:
            first = [*named[0], *(["integer"] if "number" in named[0] else [])]
            both = [each for each in first if all(_allows(others, each) for others in named[1:])]
            return sorted(dict.fromkeys(both), key=lambda each: each == "null")
        for kind, keywords in _TYPES.items():
            if any(keyword in each for each in self.parts for keyword in keywords):
                return [kind]
        formats = {each.get("format") for each in self.parts if isinstance(each.get("format"), str)}
        return ["number"] if formats & set(_NUMBER_FORMATS) else ["string"]


def _allows(kinds: Sequence[str], kind: str) -> bool:
    return kind in kinds or (kind == "integer" and "number" in kinds)


class Wholes:
    """Brings together the schemas of one document. Its methods raise NoExample and TooManySteps."""

    def __init__(self, parts: Parts, dialect: Dialect) -> None:
        self._parts, self._dialect = parts, dialect
        # What is joined is kept, so that the same schemas are known again, and no other has their identity.
        self._joined: dict[tuple[int, ...], tuple[dict[str, Any], Sequence[Any]]] = {}

    def joined(self, schemas: Sequence[Any]) -> Any:
        """Return a schema that asks for all that these ask for."""
        if len(schemas) == 1:
            return schemas[0]
        key = tuple(map(id, schemas))
        if key not in self._joined:
            self._joined[key] = ({"allOf": list(schemas)}, schemas)
        return self._joined[key][0]

    def whole(self, schema: Any, known: WholeSchema | None = None) -> WholeSchema:
        """Return the schema as a whole; `known`: what must hold besides."""
        parts = list(known.parts) if known else []
        groups = list(known.groups) if known else []
        seen, waiting = {id(each) for each in parts}, [schema]
        while waiting:
            each = waiting.pop()
            self._parts.take()
            if not isinstance(each, dict) or id(each) in seen or len(parts) > PARTS_MAX:
                continue
            seen.add(id(each))
            if isinstance(reference := each.get("$ref"), str):
                waiting.append(self._parts.at(reference))
                if not self._dialect.siblings:
                    continue
            parts.append(each)
            inner = listed(each.get("allOf"))[:PARTS_MAX]
            waiting += reversed(inner)
            for keyword in ("oneOf", "anyOf"):
                if branches := listed(each.get(keyword))[:BRANCHES_MAX]:
                    groups.append(Group(branches, *_named(each)))
        return WholeSchema(tuple(parts), tuple(groups))

    def ways(self, whole: WholeSchema) -> Iterator[WholeSchema]:
        """Yield the whole once for each way to choose the branches, the first branches first."""
        yield from islice(self._ways(whole, 0), WAYS_MAX)

    def _ways(self, whole: WholeSchema, depth: int) -> Iterator[WholeSchema]:
        if not whole.groups or depth > NESTED_MAX:
            yield WholeSchema(whole.parts)
            return
        group, *others = whole.groups
        for branch in group.branches:
            chosen = self.whole(branch, WholeSchema(whole.parts, tuple(others)))
            if group.property_name and (name := _name(branch, group.mapping)):
                named = self.whole(self._with(group.property_name, name), chosen)
                yield from self._ways(named, depth + 1)
            yield from self._ways(chosen, depth + 1)

    def _with(self, property_name: str, value: str) -> Any:
        """Return a schema for tables in which a property has this value."""
        named = {"required": [property_name], "properties": {property_name: {"enum": [value]}}}
        # Kept, so that no other schema has its identity.
        return self._joined.setdefault((id(named),), (named, ()))[0]

    def discriminated(self, schema: Any, whole: WholeSchema) -> Iterator[WholeSchema]:
        """Yield the whole with the name of a schema where a property must hold it, and then as it is."""
        name = _last(table(schema).get("$ref"))
        for each in whole.parts:
            property_name, mapping = _named(each)
            if not property_name or whole.groups:
                continue
            key = next((key for key, target in mapping.items() if _last(target) == name), "")
            if not key and mapping:
                # The schema is that of no kind of its own: the first kind that is named is taken.
                key, target = next(iter(mapping.items()))
                if isinstance(target, str) and target.startswith("#"):
                    whole = self.whole({"$ref": target}, whole)
            if key or name:
                yield self.whole(self._with(property_name, key or name), whole)
                break
        yield whole


def _named(schema: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the name of the property that names the branch, and which value stands for which."""
    given = schema.get("discriminator")
    if isinstance(given, str):
        return given, {}
    return text(table(given).get("propertyName")), table(table(given).get("mapping"))


def _name(branch: Any, mapping: Mapping[str, Any]) -> str:
    """Return the value that stands for a branch; empty if it has no name."""
    reference = table(branch).get("$ref")
    if not isinstance(reference, str):
        return ""
    name = _last(reference)
    return next((key for key, target in mapping.items() if _last(target) == name), name)


def _last(target: Any) -> str:
    return text(target).rpartition("/")[2]


# Values that are taken of those that one schema gives.
GIVEN_MAX = 50
# Values within a value up to which they are counted: an example from YAML may name one part a million times.
SIZE_MAX = 128 << 10
# Letters of a text that is read as a list; what follows is left out.
LETTERS_MAX = 10_000


def given_values(whole: WholeSchema) -> Iterator[Any]:
    """Yield the values that a schema gives, the outermost first; each is yet to be checked."""
    yield from islice(_all_given(whole), GIVEN_MAX)


def _all_given(whole: WholeSchema) -> Iterator[Any]:
    for keyword in ("example", "const", "default"):
        for part in whole.parts:
            if keyword in part and part[keyword] is not None:
                yield part[keyword]
        if keyword == "example":
            for part in whole.parts:
                yield from listed(part.get("examples"))
    named = [each for part in whole.parts for each in listed(part.get("enum"))[:GIVEN_MAX]]
    yield from sorted(named, key=lambda each: each is None)


def coerce(value: Any, kinds: Sequence[str]) -> Iterator[Any]:
    """Yield a value as the types of its schema: 07030 as "07030", "5" as 5, "[5]" as a list."""
    if isinstance(value, bool | int | float):
        if "string" in kinds:
            yield text(value) or json.dumps(value)
        if "integer" in kinds and not isinstance(value, bool) and value == int(value):
            yield int(value)
    elif isinstance(value, str) and kinds != ["string"]:
        yield read_json(value)
        if "array" in kinds:
            parts = [each.strip() for each in value[:LETTERS_MAX].split(",")]
            yield parts
            yield [read_json(each) for each in parts]


def read_json(written: str) -> Any:
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
