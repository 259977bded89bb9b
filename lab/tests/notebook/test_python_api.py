"""The Python API: light to import, the same results as the command line, and shown by a notebook."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import crumple
import made_results
import made_searches
import made_versus
import pytest
import real_engine
import stand_ins
import synthetic_load
import synthetic_run
import tiny_servers
from crumple.drawing import report_markdown
from crumple.drawing.report_parts import plain
from crumple.errors import CrumpleError, NotFound, UsageError
from crumple.machine import process_tree
from crumple.notebook import measuring
from crumple.notebook.kept_result import KeptResult
from crumple.record.validity import Validity
from crumple.results import result_store
from crumple.run import run_file
from crumple.run.store import RunStore

PAGE = Path(__file__).parents[3] / "docs" / "kept-results.md"
RUN = "todo-json-quick-20261121-063012"


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = stand_ins.project(tmp_path / "project")
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    monkeypatch.setenv("CRUMPLE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.starts
@pytest.mark.parallel
def test_import_crumple_imports_nothing_else() -> None:
    asks = "import sys, crumple; print(*(n for n in sys.modules if n.startswith('crumple.') or n == 'numpy'))"
    ended = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True)
    assert ended.stdout == "\n"


@pytest.mark.starts
@pytest.mark.parallel
def test_the_rooms_stay_rooms_whichever_is_imported_first() -> None:
    for first in ("import crumple.load.request", "import crumple", "from crumple.find import level"):
        asks = f"{first}; import crumple; from crumple.load import request; assert callable(crumple.load)"
        asks += "; assert callable(crumple.find); assert crumple.load.request is request"
        subprocess.run([sys.executable, "-c", asks], check=True)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'laod'"):
        crumple.laod  # noqa: B018


def test_a_stored_load_has_its_figures_and_tables() -> None:
    made = synthetic_load.constant()
    result_store.keep(made_results.of_load(made), "a")
    found = crumple.open("last")
    assert (found.name, found.kind, found.headline) == ("a", "load", found.document["headline"])
    response = made.times["response_time"]
    quantiles_ns = found.quantiles_ns()
    assert {q: quantiles_ns[q] for q in response.quantile_ns} == response.quantile_ns
    assert quantiles_ns[1.0] == response.max_ns
    assert found.quantiles_ns("service_time")[0.5] == made.times["service_time"].quantile_ns[0.5]
    assert found.to_polars()["ok"].to_list() == [made.record.outcomes.ok]
    assert len(found.to_polars("series")) == len(made.record.series.at_ns)
    with pytest.raises(NotFound, match="did you mean series"):
        found.to_polars("serie")
    with pytest.raises(NotFound, match="there are no quantiles of x"):
        found.quantiles_ns("x")


def test_a_notebook_shows_the_answer_and_nothing_acts_in_it() -> None:
    made = synthetic_load.failing()
    evil = made_results.of_load(made, asked="GET http://127.0.0.1/<script>alert(1)</script>```")
    result_store.keep(evil, "a")
    found = crumple.open("a")
    shown = found._repr_html_()
    assert "<script" not in shown and "<pre" not in shown and "<p><b>" in shown
    assert "<script" not in found._repr_markdown_().replace("\\<script", "")
    assert "valid" in repr(found) and "load a" in repr(found)
    result_store.keep(made_results.of_load(made), "b")
    assert crumple.open("b").screen() == synthetic_load.screen(made, 100, styled=False)
    assert crumple.open("b").html() == synthetic_load.page(made.model_copy(update={"name": "b"}))


def test_a_notebook_shows_each_warning_and_how_to_read_the_chart() -> None:
    warned = synthetic_load.load(
        synthetic_load.closed().record, Validity("valid", (), ("<b>others</b> ran",))
    )
    result_store.keep(made_results.of_load(warned), "w")
    found = crumple.open("w")
    assert "<p>! &lt;b&gt;others&lt;/b&gt; ran</p>" in found._repr_html_()
    assert "others" in found._repr_markdown_()
    result_store.keep(made_results.of_versions(made_versus.result()), "v")
    shown = crumple.open("v")._repr_html_()
    assert shown.count("Better or worse, and by which factor") == 1 and "Each version beside A." in shown


@pytest.mark.long
def test_a_search_a_diagnosis_a_comparison_of_versions_and_a_run_are_shown_too() -> None:
    result_store.keep(made_results.of_search(made_searches.finding("never")), "f")
    result_store.keep(made_results.of_diagnosis(made_results.diagnosis()), "d")
    result_store.keep(made_results.of_versions(made_versus.result("three")), "v")
    run = RunStore(Path(os.environ["CRUMPLE_RUNS"]) / RUN)
    run_file.write(run, synthetic_run.run_file())
    for each in synthetic_run.trials():
        run.add(each)
    tables = {
        ("f", "find"): ["levels"],
        ("d", "diagnose"): ["trials", "series", "quantiles"],
        ("v", "versus"): ["turns", "ratios"],
        (RUN, "run"): ["trials", "series", "quantiles"],
    }
    for (what, kind), names in tables.items():
        found = crumple.open(what)
        assert list(found.tables) == names
        assert (found.name, found.kind) == (what, kind)
        assert found.to_polars().equals(found.to_polars(names[0]))
        assert found.screen().strip() and what in repr(found)
        assert_shown(found)
    assert crumple.open(RUN).quantiles_ns(trial="shared/b01/go-nethttp")[0.5] > 0


def assert_shown(found: KeptResult) -> None:
    """Assert that a notebook shows the answer, one table, and one picture at most, and fetches nothing."""
    shown, answer = found._repr_html_(), found._report.answer
    assert answer is not None
    said = unescape(re.sub(r"<[^>]+>", "", shown))
    assert plain(answer.found[0]) in said and plain(answer.sure) in said
    assert shown.count("<table") == 1 and shown.count('<svg xmlns="http://www.w3.org/2000/svg"') <= 1
    assert not re.search(r"(?:src|href|class)=", shown) and shown.count("\n") < 60
    assert report_markdown.escaped(answer.asked) in found._repr_markdown_()


def test_a_notebook_leads_to_the_page_that_was_written() -> None:
    result_store.keep(made_results.of_versions(made_versus.result()), "v")
    entry = crumple.open("v")._entry
    assert '<a href="v.html">the whole page</a>' in KeptResult(entry, page="v.html")._repr_html_()
    assert "the whole page" not in KeptResult(entry)._repr_html_()
    assert KeptResult(entry)._repr_html_().count("<svg xmlns") == 1


def test_flags_are_typed_as_on_the_command_line() -> None:
    given = {
        "rate": 500,
        "duration": "1s",
        "no_store": True,
        "insecure": False,
        "csv": None,
        "tag": ["a", "b"],
    }
    assert [*measuring._arguments(given)] == [
        "--rate=500", "--duration=1s", "--no-store", "--tag=a", "--tag=b",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="json is not for the Python API"):
        [*measuring._arguments({"json": True})]
    with pytest.raises(UsageError, match=r"--rate: \{\} cannot be typed"):
        [*measuring._arguments({"rate": {}})]


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A small server, and the real engine."""
    real_engine.used(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program, port = tmp_path / "server.py", process_tree.free_port()
    program.write_text(tiny_servers.PROGRAM)
    with subprocess.Popen([sys.executable, str(program), str(port), str(tmp_path)]) as server:
        until_s = time.monotonic() + 10
        while time.monotonic() < until_s:
            try:
                process_tree.owner(port)
                break
            except UsageError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/hello"
        server.terminate()


def called(verb: str, *given: Any, **flags: Any) -> Any:
    return getattr(crumple, verb)(*given, **flags)


@pytest.mark.starts
@pytest.mark.parallel
def test_a_load_from_python_is_measured_and_stored(url: str) -> None:
    found = called("load", url, rate=200, duration=0.5, name="mine", tag=["x"])
    assert found.document["outcomes"]["ok"] > 0 and found.code in (0, 3)
    assert found.document["record"]["spec"]["shape"]["kind"] == "open"
    kept = crumple.open("tag:x")
    assert (kept.name, kept.document) == ("mine", found.document)
    gone = called("load", url, connections=2, duration=0.3, no_store=True)
    assert gone.name is None and gone.quantiles_ns()[0.5] > 0
    assert crumple.open("last").name == "mine"


@pytest.mark.starts
@pytest.mark.parallel
def test_a_mistake_is_the_line_of_the_command_line(url: str) -> None:
    with pytest.raises(UsageError, match="-z soon: that is no duration; write 30s"):
        called("load", url, duration="soon")
    with pytest.raises(UsageError, match="No such option: --sped"):
        called("load", url, sped=1)
    with pytest.raises(CrumpleError, match=r"nobody listens at 127\.0\.0\.1:1"):
        called("load", "http://127.0.0.1:1/")


@pytest.mark.starts
@pytest.mark.parallel
def test_an_interrupted_load_is_stored_and_marked(url: str) -> None:
    program = f"import crumple; crumple.load({url!r}, duration='1m', name='cut')"
    with subprocess.Popen(
        [sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as python:
        # Starting takes longer on a busy machine; the engine, which the command starts, loads soon after.
        until_s = time.monotonic() + 60
        while len(list(process_tree.descendants(python.pid))) < 2 and time.monotonic() < until_s:
            time.sleep(0.1)
        time.sleep(3)
        # Only to Python itself, as a notebook may do.
        python.send_signal(signal.SIGINT)
        _, err = python.communicate(timeout=30)
    assert "KeyboardInterrupt" in err
    kept = crumple.open("cut")
    assert kept.document["ended_early"] and kept.document["outcomes"]["ok"] > 0


def example() -> str:
    """The example in the documentation, without its indentation."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return textwrap.dedent(found[1])


@pytest.mark.starts
@pytest.mark.parallel
def test_the_example_in_the_documentation_runs(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = example()
    assert "http://localhost:8080/" in said and len(said.splitlines()) <= 12
    monkeypatch.chdir(tmp_path)
    program = said.replace("http://localhost:8080/", url).replace('duration="10s"', 'duration="1s"')
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "shape: (" in ended.stdout and (tmp_path / "load.html").read_text().startswith("<!doctype html>")
