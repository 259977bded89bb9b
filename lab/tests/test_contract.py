"""The Python types of the contract: golden documents survive a round trip, and the schemas agree."""

import json
from pathlib import Path
from typing import Any

import documents
import pytest
from crumple import contract
from pydantic import ValidationError

CONTRACT = Path(__file__).parents[2] / "contract"
DOCUMENTS = {"spec": contract.TrialSpec, "record": contract.TrialRecord}


def _normal(value: Any) -> Any:
    """The value with all integers as floats: JSON does not distinguish 1 from 1.0."""
    if isinstance(value, dict):
        return {key: _normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_normal(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("file", sorted((CONTRACT / "golden").glob("*.json")), ids=lambda file: file.name)
def test_a_golden_document_is_read_and_written_without_loss(file: Path) -> None:
    model = next(model for kind, model in DOCUMENTS.items() if kind in file.stem)
    written = json.loads(file.read_text())
    read = model.model_validate(written)
    assert _normal(json.loads(read.model_dump_json(by_alias=True))) == _normal(written)


def _keys(schema: dict[str, Any], part: dict[str, Any], seen: tuple[str, ...] = ()) -> Any:
    """Nested keys and which are required; leaves out all else, in which the two generators differ."""
    if "$ref" in part:
        name = part["$ref"].rsplit("/", 1)[-1]
        return _keys(schema, schema["$defs"][name], (*seen, name)) if name not in seen else name
    branches = [
        _keys(schema, branch, seen)
        for word in ("anyOf", "oneOf", "allOf")
        for branch in part.get(word, [])
        if branch.get("type") != "null"
    ]
    if branches:
        found = [branch for branch in branches if branch]
        return sorted(found, key=json.dumps) if len(found) > 1 else (found or [None])[0]
    if "properties" in part:
        return {key: _keys(schema, value, seen) for key, value in sorted(part["properties"].items())}
    if "items" in part and isinstance(part["items"], dict):
        return _keys(schema, part["items"], seen)
    return None


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_every_field_of_the_engines_schema_is_mirrored_and_no_other(kind: str) -> None:
    file = CONTRACT / "schema.json"
    if not file.exists():
        pytest.skip("no contract/schema.json")
    theirs = json.loads(file.read_text())[kind]
    ours = DOCUMENTS[kind].model_json_schema(mode="serialization", by_alias=True)
    assert _keys(ours, ours) == _keys(theirs, theirs)


def test_an_unknown_field_is_refused() -> None:
    written = documents.record().model_dump(by_alias=True)
    with pytest.raises(ValidationError, match="surprise"):
        contract.TrialRecord.model_validate(written | {"surprise": 1})


def test_the_outcomes_are_those_of_the_glossary() -> None:
    assert tuple(documents.outcomes().as_dict()) == contract.OUTCOMES


def test_failed_leaves_out_unsent_and_unfinished_requests() -> None:
    counted = documents.outcomes(ok=5, timeout=2, not_sent=3, unfinished=4)
    assert (counted.total, counted.failed) == (14, 2)
