"""Reads TOML into a frozen type, or reports all its faults, each with key, what is there, and what to write.

Studies, workloads, servers and the engine's JSON share it. It checks types, not what a document means; the
reader of a document says whose it is.
"""

import difflib
import json
import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from crumple.errors import FileInvalid, Problem

Loc = Sequence[int | str]

# The remedy for each type of pydantic's errors; {…} is filled from the error's context.
REMEDIES = {
    "missing": "add it",
    "greater_than": "write a number above {gt:g}",
    "greater_than_equal": "write {ge:g} or more",
    "less_than": "write a number below {lt:g}",
    "less_than_equal": "write {le:.12g} or less",
    "finite_number": "write a finite number",
    "int_type": "write a whole number, without quotes",
    "int_from_float": "write a whole number",
    "float_type": "write a number, without quotes",
    "string_type": "write it in quotes",
    "string_too_short": "write something",
    "string_pattern_mismatch": "write what {pattern} matches",
    "bool_type": "write true or false",
    "tuple_type": "write a list: […]",
    "too_short": "write at least {min_length}",
    "too_long": "write {max_length} at most",
    "dict_type": "write a table",
    "model_type": "write a table",
    "model_attributes_type": "write a table",
    "literal_error": "choose among {expected}",
    "union_tag_invalid": "choose among {expected_tags}",
    "union_tag_not_found": "add {discriminator} = …",
    "impossible": "{remedy}",
}
EITHER = "write a number, or text in quotes"
# Where a value may have several types, pydantic reports an error for each, and appends the type to the place.
BRANCHES = ("int", "float", "str")
# The most letters of a value that an error repeats.
SHOWN_MAX = 60


@dataclass(frozen=True)
class Fault:
    """One error. `key`: the dotted key, empty for the whole document; `message`: such as "is missing"."""

    key: str
    message: str
    remedy: str

    def __str__(self) -> str:
        """Return key and message without the remedy: "claims.entry 2.id: is missing"."""
        return f"{self.key}: {self.message}" if self.key else self.message


def first_fault(error: ValidationError, document: Any = None) -> Fault:
    """Return the first error. `document`: as it was read, if known; it has the names of arrays' entries."""
    return fault(error.errors(include_url=False)[0], document)


def fault(finding: Any, document: Any) -> Fault:
    """Return one of pydantic's errors in words."""
    loc, kind = finding["loc"], finding["type"]
    context = {name: _listed(name, value) for name, value in finding.get("ctx", {}).items()}
    remedy = REMEDIES.get(kind, "").format_map(context)
    if loc and loc[-1] in BRANCHES and kind.endswith("_type"):
        remedy = EITHER
    return Fault(key_of(loc, document), _message(finding, context), remedy)


def told_twice(finding: Any, findings: Sequence[Any]) -> bool:
    """Return whether another of the errors says the same.

    pydantic calls a list too short if all its entries are wrong, and reports an error for each type that a
    value may have.
    """
    loc = finding["loc"]
    if finding["type"] == "too_short":
        return any(other["loc"][: len(loc)] == loc for other in findings if other is not finding)
    if not loc or loc[-1] not in BRANCHES:
        return False
    alike = [each for each in findings if each["loc"][:-1] == loc[:-1] and each["loc"][-1] in BRANCHES]
    return finding is not alike[0]


def key_of(loc: Loc, document: Any) -> str:
    """Return the dotted key of a place; an array's entry is named by its `id` or `name`, if it has one."""
    parts: list[str] = []
    here = document
    for step in loc:
        if step == "[key]" or _is_no_place(step, here):
            continue
        if isinstance(step, int):
            here = here[step] if isinstance(here, list) and step < len(here) else None
            parts.append(_name_of(here) or entry(step))
        else:
            here = here.get(step) if isinstance(here, dict) else None
            parts.append(step)
    return ".".join(parts)


def entry(index: int) -> str:
    """Return the name of an entry that has none: "entry 1" for the first."""
    return f"entry {index + 1}"


def _is_no_place(step: int | str, here: Any) -> bool:
    """Return whether pydantic inserted the step: the kind of a table, or the type of a value."""
    if isinstance(here, dict) and step in here:
        return False
    return step in BRANCHES or (isinstance(here, dict) and step == here.get("kind"))


def _name_of(here: Any) -> str:
    names = [here.get("id"), here.get("name")] if isinstance(here, dict) else []
    return next((name for name in names if isinstance(name, str) and name), "")


def _message(finding: Any, context: dict[str, Any]) -> str:
    kind, value = finding["type"], finding.get("input")
    match kind:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return "unknown key"
        case "impossible":
            return str(context["message"])
        case "json_invalid":
            return "is not JSON"
        case "union_tag_not_found":
            return f"has no {context['discriminator']}"
        case "union_tag_invalid":
            name = context["discriminator"]
            return f"{name} is {_shown(value.get(name) if isinstance(value, dict) else context['tag'])}"
        case "too_short" | "too_long":
            number = context["actual_length"]
            return f"has {number}" if number else "is empty"
        case "string_too_short":
            return "is empty"
    if finding["loc"][-1:] == ("[key]",):
        return "unknown key"
    return f"is {_shown(value)}"


def _shown(value: Any) -> str:
    """Return a value as a file has it; of a table or a list only what it is."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "nothing"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def _listed(name: str, value: Any) -> Any:
    """Return names without pydantic's quotes: "'a', 'b' or 'c'" → "a, b, c"."""
    if name in ("expected", "expected_tags", "discriminator"):
        return ", ".join(re.findall(r"'([^']*)'", str(value))) or value
    return value


Model = TypeVar("Model", bound=BaseModel)


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The remedy for an unknown name: the nearest known ones, or all of them."""
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known: {', '.join(sorted(known))}" if known else "none are known"


def read_toml(path: Path, remedy: str = "mend that line") -> dict[str, Any]:
    """The file's tables. Raises FileInvalid if it does not exist, is not UTF-8 or is not TOML.

    `remedy`: what to do about the last of these.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileInvalid([Problem(path, "", "does not exist", "check the path")]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FileInvalid([Problem(path, "", f"cannot be read: {error}", "check the file")]) from None
    except tomllib.TOMLDecodeError as error:
        raise FileInvalid([Problem(path, "", f"is not TOML: {error}", remedy)]) from None
    except ValueError:
        # Python parses no whole number of more than 4,300 digits.
        raise FileInvalid(
            [Problem(path, "", "holds a number of thousands of digits", "shorten it")]
        ) from None


def meant(model: type[Model], written: dict[str, Any], file: Path) -> tuple[Model | None, list[Problem]]:
    """The tables as a `model` and no problems, or None and all problems."""
    try:
        # Through JSON: strict mode then rejects "32" as a number, and still accepts a list for a tuple.
        return model.model_validate_json(json.dumps(written, default=str), strict=True), []
    except ValidationError as invalid:
        schema = _schema(model)
        findings = invalid.errors(include_url=False)
        return None, [
            _problem(finding, written, schema, file)
            for finding in findings
            if not told_twice(finding, findings)
        ]


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _problem(finding: Any, written: dict[str, Any], schema: dict[str, Any], file: Path) -> Problem:
    found, loc = fault(finding, written), finding["loc"]
    remedy = found.remedy
    if finding["type"] == "extra_forbidden":
        remedy = did_you_mean(str(loc[-1]), _keys_at(schema, loc[:-1]))
    return Problem(file, found.key, found.message, remedy)


def _keys_at(schema: dict[str, Any], loc: Loc) -> list[str]:
    """The keys that the JSON schema allows at a place; empty where it does not list them."""
    here = _resolved(schema, schema)
    for step in loc:
        if step in here.get("discriminator", {}).get("mapping", {}):
            here = {"$ref": here["discriminator"]["mapping"][step]}
        elif isinstance(step, int):
            here = here.get("items", {})
        else:
            here = here.get("properties", {}).get(step) or here.get("additionalProperties") or {}
        here = _resolved(here, schema) if isinstance(here, dict) else {}
    return list(here.get("properties", {}))


def _resolved(part: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in part:
        part = next((option for option in part["anyOf"] if option.get("type") != "null"), {})
    while "$ref" in part:
        part = schema["$defs"][part["$ref"].rsplit("/", 1)[-1]]
    return part
