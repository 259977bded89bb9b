"""The three dialects of JSON Schema that OpenAPI documents have, and whether a value satisfies a schema.

The keywords are those of the package jsonschema: draft 4 for Swagger 2 and OpenAPI 3.0, 2020-12 for 3.1.
What these documents have beside them is added: `nullable`, properties that only answers have (`readOnly`).
Each keyword counts its steps. A keyword whose value is not of its type is ignored, and reported. Nothing is
fetched.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jsonschema import Draft4Validator, Draft202012Validator, FormatChecker, ValidationError
from jsonschema import validators as kept
from jsonschema.exceptions import UnknownType
from referencing import Registry
from referencing.exceptions import Unresolvable

from crumple.importing import pattern_text
from crumple.importing.json_values import listed, table
from crumple.importing.openapi_document import NoExample, Parts, short

# Those that say what a text is, and not only what it is for.
FORMATS = ("date", "email", "ipv4", "ipv6", "uuid")
CHECKED = FormatChecker(formats=FORMATS)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
# A keyword counts where its value is of this type.
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains")
_LISTS = ("enum", "required", "allOf", "anyOf", "oneOf", "prefixItems")
_TABLES = ("properties", "patternProperties", "dependentRequired", "dependentSchemas", "dependencies")
_SCHEMAS = ("additionalProperties", "items", "not", "if", "contains", "propertyNames")
_TEXTS = ("$ref", "pattern", "format")
_FLAGS = ("uniqueItems", "nullable", "x-nullable", "readOnly")
# Those whose schemas are about the same value.
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
# What the package raises where a schema is not as its keywords expect.
_UNFIT = (
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    LookupError,
    TypeError,
    ValueError,
    Unresolvable,
    re.error,
)
# To check one keyword takes as long as 16 other steps.
STEPS_A_KEYWORD = 16
Keyword = Callable[[Any, Any, Any, Any], Any]


@CHECKED.checks("date-time")
def _is_time(value: object) -> bool:
    if not isinstance(value, str):
        return True
    if not _TIME.fullmatch(value):
        return False
    try:
        # A leap second, which Python has not.
        datetime.fromisoformat(value.upper().replace(":60", ":59", 1))
    except ValueError:
        return False
    return True


@CHECKED.checks("int32")
def _is_short(value: object) -> bool:
    return not isinstance(value, int | float) or -(2**31) <= value < 2**31


@CHECKED.checks("int64")
def _is_long(value: object) -> bool:
    return not isinstance(value, int | float) or -(2**63) <= value < 2**63


@dataclass(frozen=True)
class Dialect:
    """What differs between the dialects."""

    siblings: bool
    """Whether keywords beside a $ref count."""
    null: str = ""
    """The keyword that allows null; empty: the type does."""

    @property
    def skips_read_only(self) -> bool:
        """Whether a property that only answers have need not be sent, even if it is required."""
        return not self.siblings


def dialect_of(document: Mapping[str, Any]) -> Dialect:
    """Return the dialect of a document."""
    if "swagger" in document:
        return Dialect(siblings=False, null="x-nullable")
    is_old = str(document.get("openapi", "")).startswith("3.0")
    return Dialect(siblings=False, null="nullable") if is_old else Dialect(siblings=True)


def is_fit(keyword: str, value: Any) -> bool:
    """Whether the value of a keyword is one that it may have, so that the keyword counts."""
    if keyword in _NUMBERS:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and (keyword != "multipleOf" or value > 0)
    if keyword in _COUNTS:
        return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    if keyword in _LISTS:
        return isinstance(value, list) and (keyword != "required" or all(isinstance(e, str) for e in value))
    if keyword in _TABLES:
        return isinstance(value, dict)
    if keyword in _SCHEMAS:
        return isinstance(value, dict | bool)
    if keyword in _FLAGS:
        return isinstance(value, bool)
    return isinstance(value, str) if keyword in _TEXTS else True


class Schemas:
    """Checks values against the schemas of one document.

    `ignored` is called with each keyword whose value is not of its type, once for each schema.
    """

    def __init__(self, parts: Parts, dialect: Dialect, ignored: Callable[[str], None]) -> None:
        self._parts, self.dialect, self._ignored = parts, dialect, ignored
        # By the identity of a schema, which is kept, so that no other has it.
        self._ignored_in: dict[tuple[int, str], Any] = {}
        self._checker = self._made_checker()

    def fault(self, value: Any, schema: Any) -> str:
        """Return in words what the value breaks first; empty if it satisfies the schema.

        Raises NoExample where that cannot be known, TooManySteps.
        """
        try:
            first = next(self._checker.evolve(schema=schema).iter_errors(value), None)
        except UnknownType as error:
            raise NoExample("with a schema of a type that JSON has not", short(str(error.type))) from None
        except RecursionError:
            return "it is nested too deep to be checked"
        except pattern_text.Unchecked as error:
            raise NoExample("with a pattern that cannot be checked", short(str(error))) from None
        except _UNFIT as error:
            raise NoExample("with a schema that cannot be read", short(str(error))) from None
        if first is None:
            return ""
        at = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first.absolute_path)
        return short(f"{at.lstrip('.')}: {first.message}" if at else first.message)

    def _made_checker(self) -> Any:
        base = Draft202012Validator if self.dialect.siblings else Draft4Validator
        own: dict[str, Keyword] = {
            "$ref": self._reference, "pattern": _pattern, "patternProperties": self._named_by_pattern,
            "type": self._type(base), "uniqueItems": _unique, "required": self._required,
            "additionalProperties": _besides,
            # They are heeded elsewhere; here it is seen whether they have the right type.
            "readOnly": _heeded_elsewhere,
            **({self.dialect.null: _heeded_elsewhere} if self.dialect.null else {}),
            # As numbers in 3.1; some documents of 3.0 have them so, too.
            "exclusiveMinimum": Draft202012Validator.VALIDATORS["exclusiveMinimum"],
            "exclusiveMaximum": Draft202012Validator.VALIDATORS["exclusiveMaximum"],
        }  # fmt: skip
        if self.dialect.siblings:
            own["unevaluatedProperties"] = self._unevaluated
        keywords = {**base.VALIDATORS, **own}
        made: Any = kept.create(
            meta_schema={},
            validators={name: self._counted(name, keyword) for name, keyword in keywords.items()},
            type_checker=base.TYPE_CHECKER,
            format_checker=CHECKED,
            id_of=lambda _: "",
            applicable_validators=self._applicable,
        )

        # The package's own looks at $schema, by which a document could choose another checker.
        def evolve(self: Any, schema: Any = None, **_: Any) -> Any:
            return made(schema=schema, format_checker=CHECKED, _resolver=self._resolver)

        made.evolve = evolve
        return made(schema=self._parts.document, registry=Registry(), format_checker=CHECKED)

    def _applicable(self, schema: Any) -> list[tuple[str, Any]]:
        if not isinstance(schema, dict):
            return []
        if isinstance(reference := schema.get("$ref"), str) and not self.dialect.siblings:
            return [("$ref", reference)]
        return list(schema.items())

    def _counted(self, name: str, keyword: Keyword) -> Keyword:
        def counted(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
            is_sized = isinstance(value, list | dict)
            self._parts.take(STEPS_A_KEYWORD + (len(value) if is_sized else 0))
            if is_fit(name, wanted):
                for error in keyword(validator, wanted, value, schema) or ():
                    # Its message shows the value.
                    self._parts.take(letters=len(error.message))
                    yield error
            elif not self._has_another_sense(name, wanted, schema):
                self._ignore(name, wanted, schema)

        return counted

    def _has_another_sense(self, name: str, wanted: Any, schema: Any) -> bool:
        """Whether a flag is heeded in this dialect, or is that of a parameter that is its own schema."""
        if not isinstance(wanted, bool):
            return False
        is_bound = name in ("exclusiveMinimum", "exclusiveMaximum")
        return (is_bound and not self.dialect.siblings) or (name == "required" and "in" in schema)

    def _ignore(self, name: str, wanted: Any, schema: Any) -> None:
        if (id(schema), name) not in self._ignored_in:
            self._ignored_in[id(schema), name] = schema
            is_small = wanted is None or isinstance(wanted, bool | int | float | str)
            shown = json.dumps(wanted, ensure_ascii=False) if is_small else "a list or a table"
            self._ignored(f"{name}: {short(shown)}")

    def _reference(self, validator: Any, wanted: str, value: Any, _: Any) -> Iterator[ValidationError]:
        yield from validator.descend(value, self._parts.at(wanted))

    def _type(self, base: Any) -> Keyword:
        plain: Keyword = base.VALIDATORS["type"]

        def checked(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
            if value is not None or schema.get(self.dialect.null) is not True:
                yield from plain(validator, wanted, value, schema)

        return checked

    def _required(self, _: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        if not isinstance(value, dict):
            return
        described = table(schema.get("properties"))
        for name in wanted:
            if name not in value and not self.is_read_only(described.get(name)):
                yield ValidationError(f"{name!r} is a required property")

    def is_read_only(self, schema: Any) -> bool:
        """Whether only answers have this property, so that it need not be sent, even if it is required."""
        if not self.dialect.skips_read_only:
            return False
        return table(schema).get("readOnly") is True or (
            "$ref" in table(schema) and table(self._parts.pointed(schema)).get("readOnly") is True
        )

    def _unevaluated(self, validator: Any, wanted: Any, value: Any, schema: Any) -> Any:
        """The package's own matches patterns without a bound of time, also those of schemas inside."""
        waiting, seen = [schema], set[int]()
        while waiting and isinstance(value, dict):
            each = waiting.pop()
            if isinstance(each, list):
                waiting += each
            if not isinstance(each, dict) or id(each) in seen:
                continue
            seen.add(id(each))
            self._parts.take(len(value))
            for pattern in table(each.get("patternProperties")):
                for name in value:
                    pattern_text.quick(pattern, name)
            if isinstance(reference := each.get("$ref"), str):
                waiting.append(self._parts.at(reference))
            inner = (table(each.get("dependentSchemas")).values(), map(each.get, _IN_PLACE))
            waiting += [one for some in inner for one in some]
        return Draft202012Validator.VALIDATORS["unevaluatedProperties"](validator, wanted, value, schema)

    def _named_by_pattern(self, validator: Any, wanted: Any, value: Any, _: Any) -> Iterator[ValidationError]:
        if not isinstance(value, dict):
            return
        for written, schema in wanted.items():
            for name, each in value.items():
                if pattern_text.is_match(written, name):
                    yield from validator.descend(each, schema, path=name, schema_path=written)


def _heeded_elsewhere(_: Any, __: Any, ___: Any, ____: Any) -> Iterator[ValidationError]:
    yield from ()


def _pattern(_: Any, wanted: str, value: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not pattern_text.is_match(wanted, value):
        yield ValidationError(f"{short(value)!r} does not match {short(wanted)!r}")


def _besides(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    """The package's own matches patterns without a bound of time."""
    if not isinstance(value, dict):
        return
    described, patterns = table(schema.get("properties")), table(schema.get("patternProperties"))
    for name, each in value.items():
        if name not in described and not any(pattern_text.is_match(pattern, name) for pattern in patterns):
            if wanted is False:
                yield ValidationError(f"{short(name)!r} is not allowed")
            elif wanted is not True:
                yield from validator.descend(each, wanted, path=name)


def _unique(_: Any, wanted: Any, value: Any, __: Any) -> Iterator[ValidationError]:
    """The package's own compares each with each where they cannot be sorted."""
    if wanted is True and isinstance(value, list):
        seen = {json.dumps(each, sort_keys=True) for each in value}
        if len(seen) < len(value):
            yield ValidationError("it holds the same value twice")


def kinds_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the types that a schema names."""
    named = schema.get("type")
    return [each for each in ([named] if isinstance(named, str) else listed(named)) if isinstance(each, str)]
