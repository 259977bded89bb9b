"""`crumple report --site`: what it says, what it refuses, and how far it is while it works."""

import io
from pathlib import Path

import made_sites
import pytest
from command_line import Call, with_store
from crumple.commands.report_site import EVERY_S, SOON_S, SiteProgress
from crumple.results import result_store
from rich.console import Console


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple report …` with a store of its own; return (exit code, stdout, stderr)."""
    return with_store(monkeypatch, capsys, tmp_path, "report")


def test_it_says_how_much_was_drawn_and_where_the_pages_are(call: Call, tmp_path: Path) -> None:
    made_sites.stored_load("a")
    made_sites.stored_load("b", 1)
    (result_store.folder() / "cut.json").write_text("{")
    index = tmp_path / "public" / "index.html"
    code, out, err = call("--site", str(tmp_path / "public"))
    assert (code, out) == (0, "") and index.is_file()
    damaged, drawn, where = err.splitlines()
    assert damaged.startswith("! cut has no page: ") and "is not JSON, or is damaged" in damaged
    assert (drawn, where) == ("3 results: 5 pages drawn, 0 unchanged", f"page: {index}")
    assert (
        call("--site", str(tmp_path / "public"))[2].splitlines()[1]
        == "3 results: no pages drawn, 5 unchanged"
    )


@pytest.mark.parametrize(
    "given", [("a-run",), ("--format", "md"), ("--json",), ("--out", "x.html")], ids=lambda given: given[0]
)
def test_what_is_about_one_report_is_refused_beside_it(
    call: Call, tmp_path: Path, given: tuple[str, ...]
) -> None:
    code, _, err = call("--site", str(tmp_path / "public"), *given)
    assert code == 2 and not (tmp_path / "public").exists()
    assert err.startswith("--site writes all results and runs; leave out names, --format, --json and --out")


def test_a_folder_of_something_else_is_refused(call: Call, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years")
    code, _, err = call("--site", str(tmp_path))
    assert (code, err.count("\n")) == (2, 1) and "name another folder with --site" in err
    assert (tmp_path / "thesis.txt").read_text() == "years"


class Clock:
    """A clock that a test sets."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_progress_is_shown_with_the_time_left_once_it_takes_longer() -> None:
    clock, written = Clock(), io.StringIO()
    seen = SiteProgress(clock=clock, console=Console(file=written, width=80))
    seen.at("drawing", 0, 100)
    clock.now_s = SOON_S - 0.1
    seen.at("drawing", 5, 100)
    assert seen.line().plain == ""
    clock.now_s = 10.0
    seen.at("drawing", 20, 100)
    assert seen.line().plain == "drawing 20 of 100  (about 0:40 left)"
    # Where nothing can be redrawn, as in a log, a line now and then.
    assert written.getvalue() == "drawing 20 of 100  (about 0:40 left)\n"
    clock.now_s += EVERY_S - 0.1
    seen.at("drawing", 30, 100)
    assert written.getvalue().count("\n") == 1


def test_the_time_left_is_that_of_what_is_being_done() -> None:
    clock = Clock()
    seen = SiteProgress(clock=clock, console=Console(file=io.StringIO(), width=80))
    seen.at("reading", 0, 10)
    clock.now_s = 9.0
    seen.at("reading", 9, 10)
    seen.at("drawing", 0, 100)
    clock.now_s = 10.0
    seen.at("drawing", 10, 100)
    assert seen.line().plain == "drawing 10 of 100  (about 0:09 left)"
