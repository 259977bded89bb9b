"""Checks documents against the published schemas, and that these name every field. Not a test itself."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from crumple.results import json_schemas
from jsonschema import Draft202012Validator

SCHEMAS = Path(__file__).parents[3] / "docs" / "reference" / "schemas"


def conforms(document: Any, name: str) -> None:
    """Assert that a document is as its schema says, and has no field that the schema does not name."""
    faults = [
        f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"
        for error in _validator(name).iter_errors(document)
    ]
    assert faults[:5] == []


@cache
def _validator(name: str) -> Draft202012Validator:
    published = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(published)
    return Draft202012Validator(json_schemas.strict(published))
