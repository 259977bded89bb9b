"""A page is its result: shown, compared and exported as the stored one, and drawn again as the same page."""

import contextlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crumple
import made_changes
import made_comparisons
import made_results
import made_searches
import made_versus
import own_scripts
import pytest
import synthetic_load
import synthetic_run
from command_line import Call, with_store
from crumple.drawing import page_document
from crumple.errors import CrumpleError
from crumple.exports import measured
from crumple.results import compare_report, comparing, result_store, selection, shown_again
from crumple.run import run_file
from crumple.run.report import run_report
from crumple.run.report.view import view
from crumple.run.store import RunStore

KINDS = ("load", "find", "diagnose", "versus")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple …` with a store of its own; return (exit code, stdout, stderr)."""
    monkeypatch.setenv("COLUMNS", "100")
    return with_store(monkeypatch, capsys, tmp_path)


def made(kind: str) -> dict[str, Any]:
    """A document of that kind."""
    return {
        "load": lambda: made_results.of_load(synthetic_load.failing()),
        "find": lambda: made_results.of_search(made_searches.finding("never")),
        "diagnose": lambda: made_results.of_diagnosis(made_results.diagnosis()),
        "versus": lambda: made_results.of_versions(made_versus.result("three")),
    }[kind]()


@pytest.fixture
def page(call: Call, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The page of a result of the kind, which is stored as `a`."""
    result_store.keep(made(request.param), "a")
    path = tmp_path / "a.html"
    assert call("show", "a", "--html", "--out", str(path))[0] == 0
    return path


@pytest.fixture
def run_page(tmp_path: Path) -> Path:
    """The page of a run."""
    path = tmp_path / "run.html"
    path.write_text(run_report.html(view(synthetic_run.run_file(), synthetic_run.trials())))
    return path


@pytest.mark.parametrize("page", KINDS, indirect=True)
def test_a_page_is_shown_and_drawn_as_the_result_that_it_holds(
    call: Call, page: Path, tmp_path: Path
) -> None:
    stored = json.loads(call("show", "a", "--json")[1])
    code, out, err = call("show", str(page), "--json")
    assert (code, json.loads(out), err) == (0, stored, "")
    assert page_document.read(page.read_text(), "") == stored
    assert call("show", str(page)) == call("show", "a")
    again = tmp_path / "again.html"
    assert call("show", str(page), "--html", "--out", str(again))[0] == 0
    assert again.read_bytes() == page.read_bytes()
    opened = crumple.open(str(page))
    assert opened.document == stored and opened.headline == stored["headline"]


@pytest.mark.parametrize(
    ("page", "named"),
    [("load", ["a.series.csv", "a.trials.csv"]), ("find", ["a.levels.csv"]), ("versus", ["a.turns.csv"])],
    indirect=["page"],
)
def test_a_page_is_exported_as_its_result(call: Call, page: Path, named: list[str], tmp_path: Path) -> None:
    written = {}
    for what, folder in (("a", tmp_path / "one"), (str(page), tmp_path / "other")):
        folder.mkdir()
        assert call("export", what, "--to", str(folder / "a.csv"))[0] == 0
        written[what] = {each.name: each.read_text() for each in folder.iterdir()}
    assert set(named) <= set(written["a"])
    of_name, of_page = ({name: text.splitlines() for name, text in each.items()} for each in written.values())
    # Rows begin with the name of the result, which is that of the file.
    assert {name: rows[0] for name, rows in of_page.items()} == {
        name: rows[0] for name, rows in of_name.items()
    }
    for name, rows in of_page.items():
        assert [row.removeprefix(str(page)) for row in rows[1:]] == [
            row.removeprefix("a") for row in of_name[name][1:]
        ]


def test_pages_are_compared_with_pages_files_and_names(call: Call, tmp_path: Path) -> None:
    for name, factor in (("a", 1.0), ("b", 1.5)):
        made_changes.load(name, factor)
        call("show", name, "--html", "--out", str(tmp_path / f"{name}.html"))
    a, b = (str(tmp_path / f"{name}.html") for name in "ab")

    def differences(before: str, after: str) -> Any:
        return json.loads(call("compare", before, after, "--json")[1])["differences"]

    assert differences(a, b) == differences("a", b) == differences(a, "b") == differences("a", "b")
    assert call("compare", f"{a},{a}", b)[0] in (0, 1, 3)
    code, _, err = call("compare", a, b, "--out", a, "--format", "html")
    assert code == 2 and "that is the file" in err


def test_the_page_of_a_run_is_compared_and_says_what_it_holds(
    call: Call, run_page: Path, tmp_path: Path
) -> None:
    baseline = tmp_path / "slower.json"
    document = made_comparisons.document(1.4)
    baseline.write_text(json.dumps(document))
    code, out, _ = call("compare", str(run_page), str(baseline), "--json")
    said = json.loads(out)
    assert (code, said["compared"]) == (1, "run")
    assert {each["server"] for each in said["differences"] if each["change"] == "slower"} == {"node-http"}
    # What is compared is what the report has.
    assert json.loads(call("show", str(run_page), "--json")[1]) == made_comparisons.document()
    code, out, err = call("show", str(run_page))
    assert (code, err) == (0, "")
    for claim in document["claims"]:
        assert (f"\n{claim['id']} " in out) == claim["asked"]
    for server in {each["server"] for each in document["experiments"][0]["servers"]}:
        assert server in out
    assert document["question"].split()[0] in out and f"crumple report {document['run']} --open" in out
    assert crumple.open(str(run_page)).headline == document["answer"]


def test_the_page_of_a_comparison_says_what_it_holds(call: Call, tmp_path: Path) -> None:
    made_changes.load("a")
    made_changes.load("b", 1.5)
    page = tmp_path / "c.html"
    asked = ("compare", "a", "b", "--any-machine")
    assert call(*asked, "--format", "html", "--out", str(page))[0] == 3
    document = json.loads(call(*asked, "--json")[1])
    assert json.loads(call("show", str(page), "--json")[1]) == document
    code, out, _ = call("show", str(page))
    assert code == 0 and "What changed from a to b?" in out and "0.667" in out and "not known" in out
    assert "a.html" not in crumple.open(str(page)).headline


def test_what_a_page_cannot_give_is_refused_in_one_line(call: Call, run_page: Path, tmp_path: Path) -> None:
    def refused(*arguments: str) -> str:
        code, out, err = call(*arguments)
        assert code in (1, 2) and out == "" and err.count("\n") == 1, (code, out, err)
        return err

    out = str(tmp_path / "again.html")
    said = refused("show", str(run_page), "--html", "--out", out)
    assert "drawn from its trials" in said and "crumple report RUN --open" in said
    said = refused("export", str(run_page), "--to", str(tmp_path / "a.csv"))
    assert "is the report of a run, which has no records; name the run" in said
    made_changes.load("a")
    made_changes.load("b")
    page = str(tmp_path / "c.html")
    call("compare", "a", "b", "--format", "html", "--out", page)
    assert "compare them again" in refused("show", page, "--html", "--out", out)
    assert "is a comparison, which has no records" in refused("export", page, "--as", "openmetrics")
    assert "a result of compare is not compared" in refused("compare", page, page)
    assert "results of load and run cannot be compared" in refused("compare", "a", str(run_page))
    assert not Path(out).exists()


@pytest.mark.parametrize("page", ["load"], indirect=True)
def test_a_page_is_not_replaced_by_itself(call: Call, page: Path) -> None:
    before = page.read_bytes()
    for more in ((), ("--open",), ("--out", str(page))):
        code, _, err = call("show", str(page), "--html", *more)
        assert code == 2 and f"that is the file {page}, which is read; name another file" in err
    assert page.read_bytes() == before
    code, _, err = call("export", str(page), "--as", "openmetrics", "--to", str(page))
    assert code == 2 and "which is read" in err
    assert page.read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "lode"}, "of a kind that this version of crumple does not know: lode"),
        ({"kind": ["load"]}, "is no result of crumple"),
        ({"version": 99}, "is not a result of this version of crumple (version: "),
        ({"record": None}, "is not a result of this version of crumple (record: "),
        ({"kind": "find"}, "is not a result of this version of crumple ("),
        ({"kind": "report"}, "is not a result of this version of crumple ("),
    ],
)
def test_a_document_of_another_kind_or_version_is_refused(
    call: Call, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    page = tmp_path / "a.html"
    page.write_text("<!doctype html>" + page_document.element(made("load") | changes))
    for command in (["show"], ["compare", str(page)], ["export", "--as", "openmetrics"]):
        code, out, err = call(*command, str(page))
        assert code in (1, 2) and out == "" and err.count("\n") == 1, err
    assert said in call("show", str(page))[2]


def test_a_page_that_is_too_large_or_holds_nothing_is_refused(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "a.html"
    page.write_text("<!doctype html><p>a</p>")
    assert (
        "is a page without a document of crumple; take the page as crumple wrote it"
        in call("show", str(page))[2]
    )
    monkeypatch.setattr(page_document, "PAGE_MAX", 10)
    code, _, err = call("show", str(page))
    assert (code, err.count("\n")) == (1, 1) and "larger than the pages of crumple" in err
    page.write_bytes(b"")
    assert "is not JSON, or is damaged" in call("show", str(page))[2]


def test_a_page_without_its_document_says_so_where_it_is_written_and_read(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_document, "WRITTEN_MAX", 100)
    result_store.keep(made("load"), "a")
    page = tmp_path / "a.html"
    assert call("show", "a", "--html", "--out", str(page))[0] == 0
    assert "does not hold its document" in page.read_text() and "<script" not in own_scripts.without(
        page.read_text()
    )
    assert "holds no document, as it is larger" in call("show", str(page))[2]


def test_a_strangers_page_writes_nothing_to_the_terminal_or_another_page(call: Call, tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07<script>alert(1)</script>\u202e"
    document = made("load") | {"asked": hostile, "headline": hostile, "command": hostile, "url": hostile}
    page, again = tmp_path / "a.html", tmp_path / "again.html"
    page.write_text("<!doctype html>" + page_document.element(document))
    for arguments in ((), ("--json",), ("--html", "--out", str(again))):
        _, out, err = call("show", str(page), *arguments)
        assert "\x1b" not in out + err and "\u202e" not in out + err
    assert "<script>" not in again.read_text() and "\x1b" not in again.read_text()


def test_a_page_whose_parts_contradict_each_other_is_refused_in_one_line(call: Call, tmp_path: Path) -> None:
    page = tmp_path / "a.html"

    def refused(kind: str, change: Callable[[dict[str, Any]], None], *arguments: str) -> None:
        document = made(kind)
        change(document)
        page.write_text("<!doctype html>" + page_document.element(document))
        code, out, err = call(*arguments, str(page))
        assert code in (1, 2) and out == "" and err.count("\n") == 1, err
        assert err.startswith(f"parts of {page} ") and "contradict each other" in err
        assert err.endswith("; take the file as crumple wrote it\n")

    def no_time(versions: dict[str, Any]) -> None:
        versions["blocks"][0][0]["at_rate"]["figures"]["p90"] = 0

    def no_series(load: dict[str, Any]) -> None:
        load["record"]["series"]["max_ns"] = [None]

    refused("versus", no_time, "show")
    refused("versus", no_time, "compare", str(page))
    refused("load", no_series, "export", "--to", str(tmp_path / "a.csv"))


# What a stranger may write in any place of a document.
STRANGE = (None, "", -1, 0, 1e308, [], {}, "\ud800", "\x1b[31m", 2**70, True, "1", [None], -0.5)


@pytest.mark.long
@pytest.mark.parametrize("kind", [*KINDS, "report"])
def test_whatever_stands_in_a_document_is_shown_or_refused(kind: str, tmp_path: Path) -> None:
    draw = random.Random(kind)
    whole = made_comparisons.document() if kind == "report" else made(kind)
    for _ in range(60):
        document = json.loads(json.dumps(whole))
        place: Any = document
        while isinstance(place, dict | list) and place:
            at = draw.choice([*place] if isinstance(place, dict) else range(len(place)))
            if not (isinstance(place[at], dict | list) and place[at]) or draw.random() < 0.1:
                break
            place = place[at]
        place[at] = draw.choice(STRANGE)
        page = tmp_path / "a.html"
        page.write_text("<!doctype html>" + page_document.element(document))
        entry = selection.one(str(page), tmp_path)
        for draws in (shown_again.text, shown_again.html):
            with contextlib.suppress(CrumpleError), selection.whole(entry):
                draws(entry.document, entry.name)
        with contextlib.suppress(CrumpleError), selection.whole(entry):
            measured.measure(entry)
        with contextlib.suppress(CrumpleError), selection.whole(entry):
            compare_report.document(comparing.compare([entry], [entry], []))


def test_the_page_of_a_stored_run_holds_its_report(call: Call, tmp_path: Path) -> None:
    run = RunStore(tmp_path / "runs" / "r")
    run_file.write(run, synthetic_run.run_file())
    page = tmp_path / "r.html"
    assert call("report", str(run.folder), "--format", "html", "--out", str(page))[0] == 0
    report = json.loads(call("report", str(run.folder), "--format", "json")[1])
    assert json.loads(call("show", str(page), "--json")[1]) == report
