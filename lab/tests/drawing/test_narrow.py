"""At 80 and at 60 columns no line is longer than the terminal is wide, and no word or number is broken."""

from collections.abc import Callable
from pathlib import Path

import made_kinds
import made_results
import made_searches
import made_versus
import pytest
import synthetic_load
import unbroken
import usual_page
from command_line import Call, with_store
from crumple.drawing import report_text, terminal
from crumple.drawing.numerals import NARROW
from crumple.find.report import find_report
from crumple.load.report.load_document import LoadDocument
from crumple.results import result_store
from crumple.run.report import run_report
from crumple.run.report.view import RunView
from crumple.versus.report import versus_report
from made_loads import LOADS
from rich.text import Text

COLUMNS = (80, 60)
COMMANDS = ("list", "show", "compare", "load", "find", "versus", "diagnose", "run", "export", "setup", "")


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("made", [*LOADS.values(), synthetic_load.frozen])
def test_a_load(made: Callable[[], LoadDocument], columns: int) -> None:
    unbroken.check(lambda wide: synthetic_load.screen(made(), wide, styled=False), columns)


@pytest.mark.weighs
@pytest.mark.long
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("kind", made_searches.KINDS)
def test_a_search(kind: str, columns: int) -> None:
    found = made_searches.finding(kind)
    unbroken.check(
        lambda wide: report_text.text(find_report.report(found.document), wide, styled=False), columns
    )


@pytest.mark.long
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("kind", ["faster", "three", "interrupted", "gone", "limited", "behind"])
def test_a_comparison_of_versions(kind: str, columns: int) -> None:
    report = versus_report.report(made_versus.result(kind).document)
    unbroken.check(lambda wide: report_text.text(report, wide, styled=False), columns)


@pytest.mark.parametrize("columns", COLUMNS)
def test_a_diagnosis(columns: int) -> None:
    found = made_results.diagnosis()
    unbroken.check(
        lambda wide: made_results.screen_of_diagnosis(found, wide),
        columns,
    )


@pytest.mark.long
@pytest.mark.long
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("seen", [usual_page.seen, made_kinds.seen])
def test_a_run(seen: Callable[[], RunView], columns: int) -> None:
    # A claim's text is cut where it has no room, and so are the names of servers beside its figure.
    words = " ".join(each.text for each in seen().verdicts)
    unbroken.check(lambda wide: run_report.text(seen(), wide, styled=False), columns, also=words)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    called = with_store(monkeypatch, capsys, tmp_path)
    for name, load in (("before-the-change", synthetic_load.closed()), ("after", synthetic_load.closed())):
        machine = {"cpu_model": "c", "cores": 2, "kernel": "6.1", "governor": "performance"}
        result_store.keep(made_results.of_load(load, machine=machine, tags=["main"]), name)
    return called


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize(
    "typed",
    [
        ("list",),
        ("show", "after"),
        ("compare", "before-the-change", "after", "--any-machine"),
        ("workloads",),
    ],
)
def test_tables_of_commands(
    call: Call, monkeypatch: pytest.MonkeyPatch, typed: tuple[str, ...], columns: int
) -> None:
    def drawn(wide: int) -> str:
        monkeypatch.setenv("COLUMNS", str(wide))
        code, out, err = call(*typed)
        assert code in (0, 1, 3) and out, err
        return out

    unbroken.check(drawn, columns)


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("command", COMMANDS)
def test_help(call: Call, monkeypatch: pytest.MonkeyPatch, command: str, columns: int) -> None:
    def drawn(wide: int) -> str:
        monkeypatch.setenv("COLUMNS", str(wide))
        return call(*filter(None, [command, "--help"]))[1]

    unbroken.check(drawn, columns, many=100)


def test_a_line_ends_before_a_number_that_does_not_fit_with_its_unit() -> None:
    said = terminal.printed(Text(f"answered after 245{NARROW}µs"), 18, styled=False)
    assert said == "answered after\n245 µs\n"


def test_the_check_finds_what_is_broken() -> None:
    assert unbroken.broken("throughpu\nt 5", "throughput 5") == ["t", "throughpu"]
    assert unbroken.broken("max 245\nµs", "max 245 µs") == ["245\nµs"]
    assert unbroken.broken("left out, because 60 columns are too\nfew: p75; --json has all\na", "a b") == []
