"""The Python types of the contract: golden documents survive a round trip, and the module is the schema's."""

import ast
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import documents
import pytest
from crumple import contract
from pydantic import ValidationError, create_model

CONTRACT = Path(__file__).parents[3] / "contract"
DOCUMENTS = {"spec": contract.TrialSpec, "record": contract.TrialRecord, "progress": contract.ProgressLine}


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


def _generator() -> ModuleType:
    script = importlib.util.spec_from_file_location("python_types", CONTRACT / "python_types.py")
    assert script is not None and script.loader is not None
    module = importlib.util.module_from_spec(script)
    script.loader.exec_module(module)
    return module


def test_the_module_is_what_the_schema_says() -> None:
    # As trees: `make lint` sees to the format.
    ours, theirs = Path(contract.__file__).read_text(encoding="utf-8"), _generator().text()
    assert ast.dump(ast.parse(ours)) == ast.dump(ast.parse(theirs)), "make contract"


def _documents() -> dict[str, Any]:
    schemas: dict[str, Any] = json.loads((CONTRACT / "schema.json").read_text(encoding="utf-8"))
    return {name: schemas[name] for name in _generator().DOCUMENTS}


def test_a_field_that_may_be_left_out_is_not_generated() -> None:
    documents = _documents()
    documents["progress"]["required"].remove("left_s")
    with pytest.raises(ValueError, match="ProgressLine has fields that may be left out, without"):
        _generator().Models(documents)


def test_a_default_of_a_field_that_is_no_more_is_found() -> None:
    documents = _documents()
    for name in ("spec", "record"):
        expected = documents[name]["$defs"]["RequestSpec"]
        expected["required"].remove("weight")
        del expected["properties"]["weight"]
    with pytest.raises(ValueError, match=r"has none of these: RequestSpec\.weight"):
        _generator().Models(documents)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "object", "additionalProperties": True},
        {"type": "integer"},
        {"type": "integer", "format": "uint128", "minimum": 0},
    ],
    ids=str,
)
def test_a_type_that_is_not_known_is_refused(part: dict[str, Any]) -> None:
    documents = _documents()
    documents["progress"]["properties"]["left_s"] = part
    with pytest.raises(ValueError, match="no type yet"):
        _generator().Models(documents)


@pytest.mark.parametrize(
    ("document", "field", "least", "most"),
    [
        (documents.spec(), "seed", 0, 2**64 - 1),
        (documents.spec(), "threads", 0, 2**64 - 1),
        (documents.spec().requests[0], "weight", 0, 2**32 - 1),
        (documents.spec().requests[0].expect, "status", 0, 2**16 - 1),
        (documents.spec().probe, "server_pid", -(2**31), 2**31 - 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_number_that_the_engine_cannot_hold_is_refused(
    document: contract.Frozen, field: str, least: int, most: int
) -> None:
    written = document.model_dump(by_alias=True)
    for number in (least, most):
        assert getattr(type(document).model_validate(written | {field: number}), field) == number
    for number in (least - 1, most + 1):
        with pytest.raises(ValidationError, match=field):
            type(document).model_validate(written | {field: number})


def test_an_unknown_field_is_refused() -> None:
    written = documents.record().model_dump(by_alias=True)
    with pytest.raises(ValidationError, match="surprise"):
        contract.TrialRecord.model_validate(written | {"surprise": 1})


def test_the_outcomes_are_those_of_the_glossary() -> None:
    assert tuple(documents.outcomes().as_dict()) == contract.OUTCOMES


def test_failed_leaves_out_unsent_and_unfinished_requests() -> None:
    counted = documents.outcomes(ok=5, timeout=2, not_sent=3, unfinished=4)
    assert (counted.total, counted.failed) == (14, 2)


def test_what_checks_a_record_is_built_when_one_is_read_not_when_it_is_imported() -> None:
    for each in (contract.TrialRecord, contract.Outcomes):
        assert each.model_config["defer_build"] and each.model_config["extra"] == "forbid"
    fresh = create_model("Fresh", __base__=contract.TrialRecord)
    assert not fresh.__pydantic_complete__
    assert fresh.model_validate(documents.record().model_dump(by_alias=True)).scheduled == 20_032
    assert fresh.__pydantic_complete__
