"""The help of every command is plain text, fits the terminal, breaks no word, and names every flag."""

import os
import re
import shlex
import subprocess
import sys
from typing import Any
from unittest.mock import Mock

import pytest
from command_line import Call, caller
from crumple import cli

TOP: Any = cli.group()
NAMES = TOP.list_commands(TOP.context_class(TOP))
COMMANDS = {"": TOP, **{name: TOP.get_command(TOP.context_class(TOP), name) for name in NAMES}}
SHARED = [
    "Request", "Expected answer", "Target", "Engine", "Output", "Store", "As in hey and oha", "Options"
]  # fmt: skip
GROUPS = {
    "": ["Load", "Compare", "Studies", "Results", "Servers and the machine", "Options"],
    "verify": ["Arguments", "Options"],
    "studies": ["Options"],
    "load": ["Arguments", "Load", *SHARED],
    "find": ["Arguments", "Search", "Server", *SHARED],
}
HELP = """
import sys
from crumple.start import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
print(*({"rich", "pydantic", "crumple.commands.help_text"} & {*sys.modules}), file=sys.stderr)
"""


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return caller(monkeypatch, capsys)


def help_of(call: Call, name: str) -> str:
    code, out, err = call(*name.split(), "--help")
    assert (code, err) == (0, "")
    return out


def typed(parameter: Any) -> str:
    """A parameter as help names it: "-n, --requests N"."""
    if parameter.param_type_name == "argument":
        return parameter.metavar
    shown = [name for name in parameter.opts if name.startswith("--") or len(name) == 2]
    names = ", ".join(sorted(shown, key=lambda name: len(name) > 2))
    return names if parameter.is_flag else f"{names} {parameter.metavar}"


@pytest.mark.parametrize("columns", [100, 80, 60, 40])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_is_there_with_its_whole_text(
    call: Call, monkeypatch: pytest.MonkeyPatch, name: str, columns: int
) -> None:
    """A word that a line end divides would not be found."""
    monkeypatch.setenv("COLUMNS", str(columns))
    words = " ".join(help_of(call, name).split())
    for parameter in COMMANDS[name].params:
        assert f" {typed(parameter)} {parameter.help}" in words
    assert " -h, --help Show this message and exit." in words
    assert " ".join(COMMANDS[name].help.split()) in words


@pytest.mark.parametrize("columns", [100, 80, 60])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_longer_than_the_terminal_is_wide(
    call: Call, monkeypatch: pytest.MonkeyPatch, name: str, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert [line for line in help_of(call, name).splitlines() if len(line) > columns] == []


def test_beyond_100_columns_and_below_40_it_is_as_wide_as_there(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = {}
    for columns in (20, 40, 100, 300):
        monkeypatch.setenv("COLUMNS", str(columns))
        drawn[columns] = help_of(call, "load")
    assert drawn[20] == drawn[40] != drawn[100] == drawn[300]


def test_where_stdout_is_no_terminal_it_has_80_columns(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(os, "get_terminal_size", Mock(side_effect=OSError))
    assert 70 < max(len(line) for line in help_of(call, "load").splitlines()) <= 80


@pytest.mark.parametrize(("name", "groups"), GROUPS.items())
def test_groups_are_in_their_order_and_hold_their_flags(call: Call, name: str, groups: list[str]) -> None:
    _, *parts = re.split(r"^(\w[\w ]*):\n", help_of(call, name), flags=re.MULTILINE)
    assert parts[::2] == groups
    held = dict(zip(parts[::2], parts[1::2], strict=True))
    for parameter in COMMANDS[name].params:
        own = "Arguments" if parameter.param_type_name == "argument" else "Options"
        group = getattr(parameter, "rich_help_panel", None) or own
        assert f"\n  {typed(parameter)}" in "\n" + held[group]


def test_the_command_lists_the_others_with_their_first_paragraph(call: Call) -> None:
    words = " ".join(help_of(call, "").split())
    for name in NAMES:
        assert f" {name} {' '.join(COMMANDS[name].help.split(chr(10) * 2)[0].split())} " in words


def test_the_help_begins_with_what_to_type_and_with_the_commands_that_load(call: Call) -> None:
    out = help_of(call, "")
    assert out.startswith("Begin with: crumple http://localhost:8080/\n\n")
    names = re.findall(r"^  ([a-z][a-z-]+) ", out, re.MULTILINE)
    assert names == NAMES
    assert names[:6] == ["load", "find", "diagnose", "import", "versus", "compare"]
    assert names.index("try") < names.index("list") < names.index("completion")


def test_meanings_begin_in_one_column_beside_names_that_are_short_enough(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = help_of(call, "load")
    assert "\n  -n, --requests N            End after" in out
    assert "\n  -H, --header 'NAME: VALUE'  Send this header." in out
    monkeypatch.setenv("COLUMNS", "50")
    assert "\n  -n, --requests N\n        End after" in help_of(call, "load")


def test_usage_shows_which_arguments_may_be_left_out(call: Call) -> None:
    assert "\nUsage: crumple [OPTIONS] URL | COMMAND [ARGS]...\n\n" in help_of(call, "")
    assert help_of(call, "verify").startswith("Usage: crumple verify [OPTIONS] [SERVER…]\n\n")
    assert help_of(call, "compare").startswith("Usage: crumple compare [OPTIONS] [BEFORE] [AFTER]\n\n")


@pytest.mark.parametrize("columns", [100, 60, 40])
@pytest.mark.parametrize("name", NAMES)
def test_an_example_can_be_pasted_into_a_shell_even_if_it_takes_several_lines(
    call: Call, monkeypatch: pytest.MonkeyPatch, name: str, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = help_of(call, name).split("\nExample: ")[1].split("\n\n")[0].replace("\\\n", "")
    examples = COMMANDS[name].epilog.removeprefix("Example: ")
    assert [shlex.split(line) for line in shown.splitlines()] == [
        shlex.split(line) for line in examples.splitlines()
    ]


@pytest.mark.parametrize(
    ("variables", "is_terminal", "bold"),
    [({}, True, True), ({}, False, False), ({"NO_COLOR": "1"}, True, False), ({"TERM": "dumb"}, True, False)],
)
def test_headings_are_bold_on_terminals_only(
    call: Call, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], is_terminal: bool, bold: bool
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    out = help_of(call, "load")
    assert ("\n\x1b[1mEngine:\x1b[0m\n" in out, "\x1b" in out) == (bold, bold)
    assert re.findall(r"\x1b\[1m(.*?)\x1b\[0m", out) == (
        [f"{each}:" for each in ("Usage", "Example", *GROUPS["load"])] if bold else []
    )


@pytest.mark.parametrize("name", ["load", "run", "completion"])
def test_help_behind_a_command_is_what_typer_would_show(call: Call, name: str) -> None:
    """It is printed without typer, which imports much for it."""
    assert call(name, "--help") == call(name, "-h") == call(name, "--help", "--help")


def test_each_table_has_the_commands_that_are_named_for_it() -> None:
    for names in cli.TABLES.values():
        for name in names:
            assert {*cli.group(name).commands} == {*names}
    assert {*NAMES} == {*cli.COMMANDS} == {*cli.group("no-such-command").commands}


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("arguments", ["", "--help", "load --help", "run -h"])
def test_help_imports_what_it_needs_only(arguments: str) -> None:
    command = [sys.executable, "-c", HELP, *arguments.split()]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Usage: crumple " in ended.stdout
    assert ended.stderr == "crumple.commands.help_text\n"
