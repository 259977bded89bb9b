"""Values for schemas: the example that a document gives, or the simplest that the schema allows, checked.

A schema may lead back to itself: a property that need not be there is left out then, and a list is empty.
Depth and size are bounded.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from crumple.importing import openapi_text, pattern_text
from crumple.importing.json_values import listed, table
from crumple.importing.openapi_dialect import Schemas, is_fit
from crumple.importing.openapi_document import NoExample, Parts
from crumple.importing.openapi_whole import SIZE_MAX, Wholes, WholeSchema, coerce, given_values, size_of

# How deep a value may be, and how many values may be in it: what needs more is not made.
DEPTH_MAX, VALUES_MAX = 24, 5_000
# Values that are tried for one schema; and of each way to satisfy it, before the next way is tried.
TRIES_MAX, FEW = 80, 8
# A schema that allows everything.
_ANY: Mapping[str, Any] = {}
UNMADE = "for which no value was found that satisfies the schema"


@dataclass(frozen=True)
class Made:
    """A value."""

    value: Any
    size: int = 1
    """How many values are in it."""
    is_made_up: bool = True
    """Whether some of them are not in the document."""


class _Unmade(Exception):  # noqa: N818 - says what happened
    """No value was found: why."""

    def at(self, name: str) -> "_Unmade":
        """Return the same of a property."""
        return _Unmade(f"{name}.{self}" if "." in str(self) or ":" in str(self) else f"{name}: {self}")


class Maker:
    """Makes values for the schemas of one document. Every method raises TooManySteps.

    `unfit` is called with what is wrong in an example that does not satisfy its own schema.
    """

    def __init__(self, parts: Parts, schemas: Schemas, unfit: Callable[[str], None]) -> None:
        self._parts, self._schemas, self._unfit = parts, schemas, unfit
        self._wholes = Wholes(parts, schemas.dialect)
        # By identity: a schema, what it stands for, and what was made of it. They are kept, so that no other
        # schema has their identity.
        self._known: dict[int, tuple[Any, Any, Made | _Unmade]] = {}
        self._faults: dict[int, str] = {}
        # Which schemas were not entered once more, because they are being made.
        self._cuts: set[int] = set()
        self._calls = 0

    def made(self, schema: Any) -> Made:
        """Return a value that satisfies the schema. Raises NoExample."""
        self._calls, self._cuts = 0, set()
        try:
            found = self._best(schema, frozenset(), 0)
        except _Unmade as why:
            raise NoExample(UNMADE, str(why)) from None
        key = self._key(schema)
        if key not in self._faults:
            self._faults[key] = self._schemas.fault(found.value, schema)
        if self._faults[key]:
            raise NoExample(UNMADE, self._faults[key])
        return found

    def _key(self, schema: Any) -> int:
        """Return the identity of a schema, or of the one that it stands for."""
        stands_for_another = not self._schemas.dialect.siblings or len(table(schema)) == 1
        return id(self._parts.pointed(schema) if stands_for_another else schema)

    def _best(self, schema: Any, inside: frozenset[int], depth: int) -> Made:
        """Return the first value that satisfies the schema. Raises _Unmade, NoExample."""
        self._parts.take()
        self._calls += 1
        key = self._key(schema)
        if key not in self._known:
            before, self._cuts = self._cuts, set()
            found = self._tried(schema, inside, depth)
            target = self._parts.pointed(schema)
            self._cuts.discard(id(target))
            if not self._cuts:
                self._known[key] = (schema, target, found)
            self._cuts |= before
        else:
            found = self._known[key][2]
        if isinstance(found, _Unmade):
            raise found
        return found

    def _tried(self, schema: Any, inside: frozenset[int], depth: int) -> Made | _Unmade:
        if schema is False:
            return _Unmade("nothing is allowed")
        target = self._parts.pointed(schema)
        whole = self._wholes.whole(schema)
        own = [table(target).get(keyword) for keyword in ("example", "default")]
        first_fault, unfit = "", ""
        try:
            for each in islice(self._candidates(schema, whole, inside, depth, id(target)), TRIES_MAX):
                is_trusted = isinstance(each.value, dict | list) and each.is_made_up and whole.is_plain
                self._parts.take(0 if each.is_made_up else each.size)
                fault = "" if is_trusted else self._fault(each, schema)
                if not fault:
                    if unfit and each.is_made_up:
                        self._unfit(unfit)
                    return each
                first_fault = first_fault or fault
                if any(each.value is value for value in own):
                    unfit = unfit or fault
        except _Unmade as why:
            return why
        except (pattern_text.Unchecked, ArithmeticError) as why:
            return _Unmade(f"no text is known for {str(why) or 'the pattern'}")
        return _Unmade(first_fault or "nothing is allowed")

    def _fault(self, made: Made, schema: Any) -> str:
        return "it is too large" if made.size >= SIZE_MAX else self._schemas.fault(made.value, schema)

    def _candidates(
        self, schema: Any, whole: WholeSchema, inside: frozenset[int], depth: int, target: int
    ) -> Iterator[Made]:
        for value in given_values(whole):
            yield Made(value, size_of(value), is_made_up=False)
            for changed in coerce(value, whole.types()):
                yield Made(changed, size_of(changed), is_made_up=False)
        if target in inside or depth > DEPTH_MAX or self._calls > VALUES_MAX:
            self._cuts.add(target if target in inside else 0)
            raise _Unmade("it leads back to itself" if target in inside else "it is too large")
        starts = self._wholes.discriminated(schema, whole)
        ways = [way for each in starts for way in self._wholes.ways(each)]
        for way in ways:
            for value in given_values(way) if way.parts != whole.parts else ():
                yield Made(value, size_of(value), is_made_up=False)
        failed: _Unmade | None = None
        # A few of each way first, as one way may have many that all fail.
        for most in (FEW, TRIES_MAX):
            for each, kind in ((way, kind) for way in ways for kind in way.types()):
                try:
                    yield from islice(self._of_type(kind, each, inside | {target}, depth), most)
                except _Unmade as why:
                    failed = failed or why
            if failed:
                raise failed

    def _of_type(self, kind: str, whole: WholeSchema, inside: frozenset[int], depth: int) -> Iterator[Made]:
        if kind == "object":
            yield from self._objects(whole, inside, depth)
        elif kind == "array":
            yield from self._arrays(whole, inside, depth)
        elif kind in ("integer", "number"):
            yield from map(Made, openapi_text.numbers(whole.parts, kind == "integer"))
        elif kind == "boolean":
            yield from (Made(True), Made(False))
        elif kind == "null":
            yield Made(None)
        elif kind == "string":
            yield from map(Made, openapi_text.texts(whole.parts))
        else:
            raise NoExample("with a schema of a type that JSON has not", kind[:40])

    def _arrays(self, whole: WholeSchema, inside: frozenset[int], depth: int) -> Iterator[Made]:
        least = int(max(whole.of("minItems"), default=0))
        most = int(min(whole.of("maxItems"), default=VALUES_MAX))
        items = self._wholes.joined(whole.of("items") or [_ANY])
        first = listed(next(iter(whole.of("prefixItems")), ()))
        if contained := whole.of("contains"):
            first = [*first, self._wholes.joined([*whole.of("items"), *contained])]
        if least > VALUES_MAX:
            raise _Unmade(f"it has {least:,} values at least")
        made: list[Made] = []
        try:
            made = [self._best(each, inside, depth + 1) for each in first[: max(most, 0)]]
            wanted = min(most, max(least, len(made), 1)) - len(made)
            if wanted > 0 and items is not False:
                made += self._several(items, wanted, any(whole.of("uniqueItems")), inside, depth)
        except _Unmade as why:
            if least:
                raise why.at("[]") from None
        yield _list(made)
        if not least and made:
            yield Made([])

    def _several(
        self, items: Any, wanted: int, are_different: bool, inside: frozenset[int], depth: int
    ) -> list[Made]:
        one = self._best(items, inside, depth + 1)
        if wanted == 1 or not are_different:
            if one.size * wanted > VALUES_MAX:
                raise _Unmade("it is too large")
            return [one] * wanted
        found, whole, target = [one], self._wholes.whole(items), id(self._parts.pointed(items))
        for each in islice(self._candidates(items, whole, inside, depth + 1, target), TRIES_MAX):
            if each.value not in [other.value for other in found] and not self._schemas.fault(
                each.value, items
            ):
                found.append(each)
            if len(found) == wanted:
                break
        return found

    def _objects(self, whole: WholeSchema, inside: frozenset[int], depth: int) -> Iterator[Made]:
        described = whole.described()
        required = [name for each in whole.of("required") for name in each]
        sent = {
            name: schemas
            for name, schemas in described.items()
            if name in required or not any(map(self._is_of_answers, schemas))
        }
        needed = dict[str, Made]()
        only_answers = dict[str, list[Any]]()
        for name in dict.fromkeys(required):
            schemas = described.get(name) or _besides(whole, name)
            if name in described and any(map(self._schemas.is_read_only, schemas)):
                only_answers[name] = schemas
                continue
            needed[name] = self._property(name, self._wholes.joined(schemas), inside, depth)
        full = dict(needed)
        most = int(min(whole.of("maxProperties"), default=VALUES_MAX))
        size = sum(each.size for each in needed.values())
        for name, schemas in sent.items():
            if name in full or name in only_answers or len(full) >= most or not _is_allowed(whole, name):
                continue
            try:
                each = self._property(name, self._wholes.joined(schemas), inside, depth)
            except _Unmade:
                continue
            if size + each.size <= VALUES_MAX:
                full[name], size = each, size + each.size
        self._fill(full, whole, inside, depth)
        ordered = {name: full[name] for name in (*described, *full) if name in full}
        yield _table(ordered)
        if len(needed) < len(full):
            yield _table(needed)
        if only_answers:
            for name, schemas in only_answers.items():
                needed[name] = self._property(name, self._wholes.joined(schemas), inside, depth)
            yield _table(needed)

    def _is_of_answers(self, schema: Any) -> bool:
        return any(table(each).get("readOnly") is True for each in (schema, self._parts.pointed(schema)))

    def _property(self, name: str, schema: Any, inside: frozenset[int], depth: int) -> Made:
        self._parts.take()
        try:
            return self._best(schema, inside, depth + 1)
        except _Unmade as why:
            raise why.at(name) from None

    def _fill(self, made: dict[str, Made], whole: WholeSchema, inside: frozenset[int], depth: int) -> None:
        """Add properties until there are as many as there must be."""
        least = int(max(whole.of("minProperties"), default=0))
        if least > VALUES_MAX:
            raise _Unmade(f"it has {least:,} properties at least")
        patterns = [each for found in whole.of("patternProperties") for each in found]
        names = (text for each in patterns for text in pattern_text.matching(each, 1, 100))
        for name in (*islice(names, 10), *(f"name{number}" for number in range(1, least + 1))):
            if len(made) >= least:
                return
            if name not in made:
                made[name] = self._property(name, self._wholes.joined(_besides(whole, name)), inside, depth)


def _besides(whole: WholeSchema, name: str) -> list[Any]:
    """Return the schemas of a property that is not described by its name."""
    found = list[Any]()
    for part in whole.parts:
        by_pattern = [
            schema
            for pattern, schema in table(part.get("patternProperties")).items()
            if pattern_text.is_match(pattern, name)
        ]
        found += by_pattern
        if not by_pattern and is_fit("additionalProperties", part.get("additionalProperties")):
            found.append(part["additionalProperties"])
    return [each for each in found if each is not True] or [_ANY]


def _is_allowed(whole: WholeSchema, name: str) -> bool:
    """Whether no part forbids a property by `additionalProperties`."""
    return all(
        part.get("additionalProperties") is not False
        or name in table(part.get("properties"))
        or any(pattern_text.is_match(each, name) for each in table(part.get("patternProperties")))
        for part in whole.parts
    )


def _table(made: Mapping[str, Made]) -> Made:
    parts = made.values()
    value = {name: each.value for name, each in made.items()}
    return Made(
        value, 1 + sum(each.size for each in parts), any(each.is_made_up for each in parts) or not made
    )


def _list(made: Sequence[Made]) -> Made:
    value = [each.value for each in made]
    return Made(value, 1 + sum(each.size for each in made), any(each.is_made_up for each in made) or not made)
