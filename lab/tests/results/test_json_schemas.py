"""Every JSON that a command prints or stores is as its published schema says."""

import copy
import importlib.util
import json
from pathlib import Path
from typing import Any

import made_changes
import made_comparisons
import made_results
import made_searches
import made_versus
import pytest
import real_engine
import synthetic_load
import synthetic_ramp
import synthetic_run
import tiny_servers
from command_line import Call, with_store
from conforming import SCHEMAS, conforms
from crumple import contract
from crumple.gate.condition import Outcome
from crumple.results import json_schemas, result_store
from crumple.run.report import report_document
from crumple.run.report.view import view
from crumple.words import answer_sentences
from crumple.words.answer_sentences import Exchange

ROOT = Path(__file__).parents[3]
LOADS = ("constant", "stepped", "closed", "failing", "several", "starved", "closing", "frozen", "silent")


def as_json(document: object) -> Any:
    return json.loads(json.dumps(document, allow_nan=False))


@pytest.mark.long
def test_the_published_files_are_up_to_date() -> None:
    script = importlib.util.spec_from_file_location("json_schemas_page", ROOT / "docs" / "json_schemas.py")
    assert script is not None and script.loader is not None
    module = importlib.util.module_from_spec(script)
    script.loader.exec_module(module)
    written: dict[Path, str] = module.files()
    there = set(SCHEMAS.iterdir())
    assert there == {path for path in written if path.parent == SCHEMAS}
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text, (
            "write it again: .venv/bin/python docs/json_schemas.py"
        )


@pytest.mark.long
def test_a_field_is_described_by_the_text_below_it_whether_in_a_model_or_in_a_dataclass() -> None:
    parts = json_schemas.schema("find")
    assert parts["properties"]["took_s"]["description"] == "How long it took."
    lost = parts["$defs"]["Lost"]["properties"]
    assert lost["gaps"]["description"] == "When it was lost within the load, and answered again."


@pytest.mark.long
@pytest.mark.parametrize("name", json_schemas.DOCUMENTS)
def test_every_class_says_what_it_holds(name: str) -> None:
    made = json_schemas.schema(name)
    unsaid = [part for part, each in made.get("$defs", {}).items() if not each.get("description")]
    # An enumeration says what it is by its values.
    assert [part for part in unsaid if "enum" not in made["$defs"][part]] == []


@pytest.mark.parametrize("name", ["load", "find", "diagnose", "versus", "compare"])
def test_every_field_of_a_result_is_described(name: str) -> None:
    fields = json_schemas.schema(name)["properties"]
    assert [field for field, part in fields.items() if not part.get("description")] == []


@pytest.mark.long
@pytest.mark.parametrize("name", LOADS)
def test_a_load_conforms(name: str) -> None:
    conditions = (Outcome("p99>1s", "not known", "no answer came"), Outcome("failed>1%", "does not hold", ""))
    conforms(as_json(made_results.of_load(getattr(synthetic_load, name)(fail_if=conditions))), "load")


LONG = [pytest.param(kind, marks=pytest.mark.long) for kind in ("found", "connections", "gone")]


@pytest.mark.weighs
@pytest.mark.parametrize("kind", ["never", *LONG])
def test_a_search_conforms(kind: str) -> None:
    conforms(as_json(made_results.of_search(made_searches.finding(kind))), "find")


@pytest.mark.parametrize("kind", ["faster", "three", "interrupted", "gone", "limited"])
def test_a_comparison_of_versions_conforms(kind: str) -> None:
    conforms(as_json(made_results.of_versions(made_versus.result(kind))), "versus")


@pytest.mark.long
def test_a_diagnosis_conforms() -> None:
    conforms(as_json(made_results.of_diagnosis(made_results.diagnosis())), "diagnose")
    ended = made_results.diagnosis(plan=_unwatched(), facts=None, said=(), beyond=None, interrupted=True)
    conforms(as_json(made_results.of_diagnosis(ended)), "diagnose")


def _unwatched() -> Any:
    plain = made_results.diagnosis().plan
    return type(plain)(plain.label, None, 3, plain.running, "nobody listens there")


@pytest.mark.long
@pytest.mark.parametrize("made", [synthetic_run, synthetic_ramp])
def test_a_run_conforms(made: Any) -> None:
    run, trials = made.run_file(), made.trials()
    conforms(json.loads(report_document.as_json(view(run, trials))), "report")
    conforms(json.loads(report_document.as_json(view(run, trials[:3]))), "report")
    conforms(json.loads(run.model_dump_json(indent=1, by_alias=True)), "run")
    for each in trials:
        conforms(json.loads(each.model_dump_json(by_alias=True)), "trial")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple …` in a small project with a store of its own."""
    return with_store(monkeypatch, capsys, tmp_path)


def printed(call: Call, *arguments: str) -> Any:
    return json.loads(call(*arguments, "--json")[1])


@pytest.mark.long
def test_comparisons_conform(call: Call, tmp_path: Path) -> None:
    made_changes.load("a")
    made_changes.load("b", 1.3)
    conforms(printed(call, "compare", "a", "b"), "compare")
    made_changes.load("c", 1.1, machine={"cpu_model": "x"})
    conforms(printed(call, "compare", "a,b", "c"), "compare")
    for name, factor in (("one", 1.0), ("other", 2.0)):
        (tmp_path / f"{name}.json").write_text(json.dumps(made_comparisons.document(factor)))
    conforms(printed(call, "compare", str(tmp_path / "one.json"), str(tmp_path / "other.json")), "compare")
    found = made_results.of_search(made_searches.finding("never"))
    for name in ("f", "g"):
        result_store.keep(found, name)
    conforms(printed(call, "compare", "f", "g"), "compare")


@pytest.mark.long
def test_lists_conform(call: Call) -> None:
    conforms(printed(call, "list"), "list")
    made_changes.load("a", tags=["x"])
    (result_store.folder() / "b.json").write_text("{")
    conforms(printed(call, "list"), "list")
    conforms(printed(call, "show", "a"), "load")
    conforms(printed(call, "workloads"), "workloads")
    conforms(printed(call, "studies"), "studies")
    conforms(printed(call, "new-server", "mine"), "new-server")


@pytest.mark.starts
@pytest.mark.parallel
def test_what_asks_the_servers_conforms(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    real_engine.used(monkeypatch)
    tiny_servers.write(Path(), "tiny")
    conforms(printed(call, "servers"), "servers")
    conforms(printed(call, "verify", "tiny"), "verify")
    conforms(printed(call, "setup", "tiny", "--yes"), "setup")
    conforms(printed(call, "costs"), "costs")
    conforms(printed(call, "fleet", "check", "--from", "env A=1", "--from", "false of-a-test"), "fleet")


def test_an_exchange_conforms() -> None:
    record = synthetic_load.failing().record
    conforms(as_json(answer_sentences.document([Exchange(record)])), "debug")


@pytest.mark.long
def test_the_schemas_refuse_what_is_wrong() -> None:
    right = as_json(made_results.of_load(synthetic_load.closed()))
    for field, value in (("version", 2), ("kind", "find"), ("users", "many"), ("began", None), ("extra", 1)):
        with pytest.raises(AssertionError):
            conforms(copy.deepcopy(right) | {field: value}, "load")
    for field in ("machine", "validity", "record"):
        with pytest.raises(AssertionError):
            conforms({name: part for name, part in right.items() if name != field}, "load")


def test_the_documents_of_the_engine_are_those_of_the_contract() -> None:
    """A load's record is validated twice: by the schema made from its class, and by the engine's own."""
    made = json_schemas.schema("load")["$defs"]["TrialRecord"]["properties"]
    assert set(made) == set(contract.TrialRecord.model_fields)
