"""Reads TOML into a frozen type, or reports all problems of the file, each with dotted key and remedy.

The readers of studies, workloads and servers share it. It checks types, not what they mean.
"""

import difflib
import json
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from crumple import faults
from crumple.errors import FileInvalid, Problem
from crumple.faults import Loc

Model = TypeVar("Model", bound=BaseModel)


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
        findings = invalid.errors(include_url=False)
        return None, [
            _problem(finding, written, schema, file)
            for finding in findings
            if not faults.told_twice(finding, findings)
        ]


def _problem(finding: Any, written: dict[str, Any], schema: dict[str, Any], file: Path) -> Problem:
    found, loc = faults.fault(finding, written), finding["loc"]
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
