"""`crumple list` and `crumple show`: what was stored is found, and shown as it was printed."""

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import made_results
import made_searches
import made_versus
import pytest
import synthetic_load
import synthetic_run
from command_line import Call, with_store
from crumple.diagnose.report import diagnose_report
from crumple.drawing import report_text
from crumple.drawing.numerals import NARROW
from crumple.find.report import find_report
from crumple.gate.condition import Outcome
from crumple.results import restored, result_store
from crumple.run import run_file
from crumple.run.store import RunStore
from crumple.versus import turn
from crumple.versus.report import versus_report
from crumple.versus.report.versus_figures import VersusFigures

LOADS = ("constant", "stepped", "closed", "failing", "several", "starved", "closing", "frozen", "silent")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple …` with a store of its own; return (exit code, stdout, stderr)."""
    monkeypatch.setenv("COLUMNS", "100")
    return with_store(monkeypatch, capsys, tmp_path)


def stored(document: dict[str, Any], name: str, age_s: int = 0) -> dict[str, Any]:
    """Store a document that is so old."""
    kept = result_store.keep(document, name)
    path = result_store.folder() / f"{name}.json"
    os.utime(path, (2e9 - age_s, 2e9 - age_s))
    return kept


@pytest.mark.parametrize("name", LOADS)
def test_a_load_is_shown_again_as_it_was_printed(call: Call, name: str) -> None:
    load = getattr(synthetic_load, name)()
    stored(made_results.of_load(load), "a")
    assert call("show", "last") == (0, synthetic_load.screen(load, 100, styled=False), "")


def test_a_diagnosis_is_shown_again_as_it_was_printed(call: Call) -> None:
    found = made_results.diagnosis()
    stored(made_results.of_diagnosis(found), "a")
    assert call("show", "a") == (
        0,
        made_results.screen_of_diagnosis(found, 100),
        "",
    )


def test_a_stored_diagnosis_is_asked_what_if(call: Call) -> None:
    found = made_results.diagnosis()
    stored(made_results.of_diagnosis(found), "a")
    code, out, err = call("show", "a", "--if", "workers=16")
    assert (code, err) == (0, "") and "With workers=16: 160 /s → 320 /s" in out
    asked = json.loads(call("show", "a", "--if", "workers=16", "--json")[1])
    assert asked["what_if"]["predicted"]["then"] == "workers"
    # What is stored stays as it was.
    assert call("show", "a") == (
        0,
        made_results.screen_of_diagnosis(found, 100),
        "",
    )


def test_what_if_is_about_a_diagnosis(call: Call) -> None:
    stored(made_results.of_load(synthetic_load.closed()), "b")
    code, out, err = call("show", "b", "--if", "workers=16")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("--if is about a diagnosis, and b is none; name a result of crumple diagnose")
    stored(made_results.of_diagnosis(made_results.diagnosis()), "a")
    assert call("show", "a", "--if", "worker=1")[2].startswith("--if worker=1: that changes nothing")


@pytest.mark.weighs
@pytest.mark.parametrize(
    "kind", ["never", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("found", "dies"))]
)
def test_a_search_is_shown_again_as_it_was_printed(call: Call, kind: str) -> None:
    found = made_searches.finding(kind)
    stored(made_results.of_search(found), "a")
    assert call("show", "1") == (
        0,
        report_text.text(find_report.report(found.document), 100, styled=False),
        "",
    )


@pytest.mark.parametrize("kind", ["faster", "three", "gone", "limited"])
def test_a_comparison_of_versions_is_shown_again_as_it_was_printed(call: Call, kind: str) -> None:
    found = made_versus.result(kind)
    stored(made_results.of_versions(found), "a")
    shown = report_text.text(versus_report.report(found.document), 100, styled=False)
    assert call("show", "1") == (0, shown, "")


def test_what_came_of_conditions_is_shown_again_and_stands_on_the_page(call: Call, tmp_path: Path) -> None:
    outcomes = (Outcome("slower>0", "holds", "p50 of B"), Outcome("p99>+10%", "does not hold", ""))
    came = [*map(asdict, outcomes)]
    whole = [
        (made_results.of_search(made_searches.finding("never"), fail_if=came), "find"),
        (made_results.of_diagnosis(made_results.diagnosis(), fail_if=came), "diagnose"),
        (made_results.of_versions(made_versus.result(), fail_if=came), "versus"),
    ]
    for document, kind in whole:
        stored(document, kind)
        _, out, _ = call("show", kind)
        assert out.endswith(
            "✗ fail if slower>0: holds, so it fails: p50 of B\n✓ fail if p99>+10%: does not hold\n"
        )
        call("show", kind, "--html", "--out", str(tmp_path / "a.html"))
        page = (tmp_path / "a.html").read_text()
        assert (
            "✗ fail if slower&gt;0: holds, so it fails: p50 of B." in page
            and 'class="condition holds"' in page
        )


def test_no_figure_is_lost_or_changed_on_the_way() -> None:
    load = synthetic_load.several()
    again = restored.read(json.loads(load.model_dump_json()), "x")
    assert synthetic_load.printed(again) == synthetic_load.printed(load)
    diagnosis = diagnose_report.document_of(made_results.diagnosis())
    assert restored.read(json.loads(diagnosis.model_dump_json()), "x") == diagnosis
    search = made_searches.finding("never")
    assert restored.read(json.loads(search.document.model_dump_json()), "x") == search.document
    for kind in ("faster", "three", "interrupted", "gone", "limited"):
        versions = made_versus.result(kind)
        assert restored.read(json.loads(versions.document.model_dump_json()), "x") == versions.document


def test_what_is_only_a_bound_is_stored_as_one() -> None:
    found = made_versus.bounded(made_versus.result("faster"))
    kept = VersusFigures(restored.read(json.loads(found.document.model_dump_json()), "x"))
    assert turn.bounded(kept.compared.blocks) == {"p99": {"B": [1]}}


def test_no_secret_of_a_diagnosis_is_stored() -> None:
    said = json.dumps(made_results.of_diagnosis(made_results.diagnosis()))
    assert "abcdefghijklmnop" not in said and "Bearer x" not in said and "token=" in said


def test_an_early_end_is_marked(call: Call) -> None:
    stored(made_results.of_load(synthetic_load.closed(), ended_early=True), "a")
    _, _, err = call("show", "last")
    assert err == "interrupted; the result covers the time before\n"
    _, out, _ = call("list")
    assert "(ended early)" in out


def test_the_page_is_written_beside_the_result_or_where_the_user_says(call: Call, tmp_path: Path) -> None:
    load = synthetic_load.closed()
    stored(made_results.of_load(load), "a")
    code, out, err = call("show", "a", "--html")
    page = result_store.folder() / "a.html"
    assert (code, out, err) == (0, "", f"page: {page}\n")
    assert page.read_text() == synthetic_load.page(load.model_copy(update={"name": "a"}))
    call("show", "a", "--html", "--out", str(tmp_path / "b.html"))
    assert (tmp_path / "b.html").read_text() == page.read_text()


def test_json_is_what_was_stored_and_is_a_result_itself(call: Call, tmp_path: Path) -> None:
    document = stored(made_results.of_load(synthetic_load.closed()), "a")
    _, out, _ = call("show", "a", "--json")
    assert json.loads(out) == document
    (tmp_path / "kept.json").write_text(out)
    assert call("show", str(tmp_path / "kept.json"))[1] == call("show", "a")[1]


@pytest.fixture
def three(call: Call) -> None:
    """A store with three results and a run, of which `b` is the latest."""
    stored(made_results.of_load(synthetic_load.closed(), tags=["main", "x"]), "a", age_s=30)
    stored(made_results.of_load(synthetic_load.failing(), tags=["main"]), "b", age_s=10)
    stored(made_results.of_diagnosis(made_results.diagnosis()), "c", age_s=20)
    run = RunStore(Path(os.environ["CRUMPLE_RUNS"]) / "todo-json-quick-20261121-063012")
    run_file.write(run, synthetic_run.run_file())
    os.utime(run.run_file, (2e9 - 40, 2e9 - 40))


def listed(call: Call, *arguments: str) -> list[str]:
    return [each["name"] for each in json.loads(call("list", *arguments, "--json")[1])["results"]]


@pytest.mark.usefixtures("three")
def test_the_list_has_results_and_runs_the_latest_first(call: Call) -> None:
    run = "todo-json-quick-20261121-063012"
    assert listed(call) == ["b", "c", "a", run]
    assert listed(call, "--tag", "main") == ["b", "a"]
    assert listed(call, "--tag", "x", "--tag", "y") == ["a"]
    assert listed(call, "--verb", "diagnose") == ["c"] and listed(call, "--verb", "run") == [run]
    assert listed(call, "--url", "/work") == ["c"]
    assert listed(call, "--limit", "2") == ["b", "c"]
    code, out, err = call("list", "--limit", "2")
    assert code == 0 and err == "the latest 2 are shown; --limit shows more\n"
    assert out.splitlines()[1].split()[:2] == ["1", "b"]
    assert call("list", "--url", "no such")[1:] == ("", "nothing that is stored is like that\n")


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("what", "name"), [("last", "b"), ("1", "b"), ("3", "a"), ("a", "a"), ("tag:main", "b"), ("tag:x", "a")]
)
def test_a_result_is_named_in_several_ways(call: Call, what: str, name: str) -> None:
    assert json.loads(call("show", what, "--json")[1])["name"] == name


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("d", "no result or run is called d, and there is no such file; see: crumple list"),
        (
            "todo-json-quick",
            "no result or run is called todo-json-quick, and there is no such file; did ",
        ),
        ("5", "there is no result 5: there are 4; see: crumple list"),
        ("tag:mian", "no result has the tag mian; did you mean main?"),
    ],
)
def test_a_name_that_does_not_exist_is_a_sentence(call: Call, what: str, said: str) -> None:
    code, out, err = call("show", what)
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith(said)


@pytest.mark.usefixtures("three")
def test_a_run_is_shown_as_its_report(call: Call) -> None:
    name = "todo-json-quick-20261121-063012"
    shown = call("show", name)
    assert shown == call("report", name) and shown[0] == 0 and shown[1]


def test_an_empty_store_says_what_to_do(call: Call) -> None:
    assert call("list") == (0, "", "nothing is stored yet; measure with: crumple load URL\n")
    assert call("show")[2] == "there is no result last: nothing is stored yet; see: crumple list\n"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda whole: whole | {"version": 99}, "(version: is 99"),
        (lambda whole: whole | {"kind": "dream"}, "a kind that this version of crumple does not know: dream"),
        (lambda whole: whole | {"record": {}}, "is not a result of this version of crumple (record."),
    ],
)
def test_a_result_of_another_version_is_a_sentence(
    call: Call, spoil: Callable[[dict[str, Any]], dict[str, Any]], said: str
) -> None:
    stored(spoil(made_results.of_load(synthetic_load.silent())), "a")
    code, out, err = call("show", "a")
    assert (code, out, err.count("\n")) == (1, "", 1) and said in err


def test_a_damaged_result_is_a_row_and_the_others_are_listed(call: Call) -> None:
    stored(made_results.of_load(synthetic_load.closed()), "a")
    (result_store.folder() / "b.json").write_text("{")
    (result_store.folder() / "c.json").write_text('{"kind": "load"}')
    rows = {each["name"]: each["damaged"] for each in json.loads(call("list", "--json")[1])["results"]}
    assert rows["a"] == "" and "is not JSON, or is damaged" in rows["b"] and "lacks a part" in rows["c"]
    assert call("list")[0] == 0
    # The newest ones are damaged, and hide no other.
    for place, name in enumerate(("a", "b", "c")):
        os.utime(result_store.folder() / f"{name}.json", ns=(place, place))
    code, out, _ = call("show", "last", "--json")
    assert (code, json.loads(out)["name"]) == (0, "a")
    code, _, err = call("show", "b")
    assert code != 0 and err.endswith("b.json is not JSON, or is damaged: " + err.partition("damaged: ")[2])
    assert err.rstrip().endswith("; remove it")


@pytest.mark.usefixtures("three")
def test_prune_keeps_what_has_a_name_or_a_tag(call: Call) -> None:
    result_store.keep(made_results.of_load(synthetic_load.closed()))
    _, _, err = call("list", "--prune", "0")
    assert err.startswith("removed 1 result\n")
    assert {each.name for each in result_store.entries()} == {"a", "b", "c"}


@pytest.mark.parametrize("command", [("list",), ("show", "last"), ("compare", "last", "last")])
def test_colours_are_chosen_as_for_a_load(
    call: Call, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    # Restored after the test, as the flag sets them.
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setenv("FORCE_COLOR", "")
    stored(made_results.of_load(synthetic_load.constant()), "a")
    drawn = {when: call(*command, "--color", when)[1] for when in ("never", "always")}
    assert "\x1b" in drawn["always"] and "\x1b" not in drawn["never"]
    assert call(*command, "--color", "blue")[0] == 2


def test_no_name_is_broken_at_80_columns(call: Call, monkeypatch: pytest.MonkeyPatch, three: None) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = call("list")
    assert max(map(len, out.splitlines())) <= 80
    assert all(any(name in line.split() for line in out.splitlines()) for name in ("a", "b", "c"))


@pytest.mark.parametrize("columns", [80, 60])
def test_a_narrow_list_leaves_nothing_out(call: Call, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    found = made_versus.result("three")
    stored(made_results.of_versions(found, tags=["main"]), "a")
    (result_store.folder() / "b.json").write_text("{")
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, err = call("list")
    assert err == "" and max(map(len, out.splitlines())) <= columns
    said = " ".join(out.split())
    assert "1 a versus 2026-11-21 06:30 main A http://127.0.0.1:1/, B" in said
    assert "C http://127.0.0.1:3/ B answers" in said and "2 b /" in said
    headline = " ".join(found.document.headline.replace(NARROW, " ").split())
    assert headline[:columns] in said.replace(NARROW, " ")
