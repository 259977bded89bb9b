"""Reads TOML into a frozen type, or reports all problems of the file, each with dotted key and remedy.

The readers of studies, workloads and servers share it. It checks types, not what they mean.
"""

import difflib
import json
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from crumple.errors import FileInvalid, Problem

Model = TypeVar("Model", bound=BaseModel)
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
    "bool_type": "write true or false",
    "tuple_type": "write a list: […]",
    "too_short": "needs at least {min_length}",
    "dict_type": "write a table",
    "model_type": "write a table",
    "model_attributes_type": "write a table",
    "literal_error": "write {expected}",
    "union_tag_invalid": "write kind = {expected_tags}",
    "union_tag_not_found": 'add kind = "…"',
    "impossible": "{remedy}",
}


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The remedy for an unknown name: the nearest known ones, or all of them."""
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known: {', '.join(sorted(known))}" if known else "none are known"


def read(path: Path) -> dict[str, Any]:
    """The file's tables. Raises FileInvalid if it does not exist, is not UTF-8 or is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileInvalid([Problem(path, "", "does not exist")]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FileInvalid([Problem(path, "", f"cannot be read: {error}")]) from None
    except tomllib.TOMLDecodeError as error:
        raise FileInvalid([Problem(path, "", f"is not TOML: {error}", "mend that line")]) from None
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
        schema = model.model_json_schema()
        findings = invalid.errors(include_url=False, include_input=False)
        return None, [
            _problem(finding, written, schema, file)
            for finding in findings
            if not _follows(finding, findings)
        ]


def key_of(loc: Loc, written: Any) -> str:
    """The dotted key of a place in the tables; an array's entry is named by its `id` if it has one."""
    parts: list[str] = []
    here = written
    for step in loc:
        if step == "[key]" or (isinstance(here, dict) and step not in here and step == here.get("kind")):
            continue
        if isinstance(step, int):
            here = here[step] if isinstance(here, list) and step < len(here) else None
            name = here.get("id") if isinstance(here, dict) else None
            parts.append(name if isinstance(name, str) and name else str(step))
        else:
            here = here.get(step) if isinstance(here, dict) else None
            parts.append(step)
    return ".".join(parts)


def _follows(finding: Any, findings: Sequence[Any]) -> bool:
    """Whether others imply this finding: pydantic calls a list too short if all its entries are wrong."""
    loc = finding["loc"]
    return finding["type"] == "too_short" and any(
        other["loc"][: len(loc)] == loc for other in findings if other is not finding
    )


def _problem(finding: Any, written: dict[str, Any], schema: dict[str, Any], file: Path) -> Problem:
    loc, kind, context = finding["loc"], finding["type"], finding.get("ctx", {})
    key = key_of(loc, written)
    if kind == "missing":
        return Problem(file, key, "is missing", REMEDIES[kind])
    if kind == "extra_forbidden":
        return Problem(file, key, "unknown key", did_you_mean(str(loc[-1]), _keys_at(schema, loc[:-1])))
    message = finding["msg"].removeprefix("Input ").removeprefix("Value error, ")
    return Problem(file, key, message, REMEDIES.get(kind, "").format_map(context))


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
