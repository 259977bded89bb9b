"""All output of commands goes through one module, which escapes control characters."""

import ast
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import stand_ins
import synthetic_load
import synthetic_run
import tiny_servers
from command_line import Call, caller
from crumple.commands import output
from crumple.drawing import terminal
from crumple.drawing.terminal import shown_json, shown_text
from crumple.run import run_file
from crumple.run.store import RunStore
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

LAB = Path(__file__).parents[2] / "crumple"
# Clears the screen, sets the title, writes the clipboard, also in C1; and reverses the writing direction.
EVIL = "\x1b[2J\x1b]0;pwned\x07\x1b]52;c;YQ==\x07\x00\x7f\x9b31m\u202e"
SHOWN = r"\x1b[2J\x1b]0;pwned"
# The modules that write to a terminal; `server` holds the program that a new server begins with.
SPEAKS = {
    "cli.py",
    "commands/output.py",
    "shell/complete.py",
    "subject/starter/server.py",
}
MAKES_CONSOLES = {"drawing/terminal.py"}


def is_harmless(said: str) -> bool:
    return all(letter in "\n\t" or ord(letter) >= 0x20 for letter in said) and not any(
        letter in said for letter in "\x7f\x9b\u202e"
    )


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple …` in a small project; return (exit code, stdout, stderr)."""
    root = stand_ins.project(tmp_path / "project")
    monkeypatch.chdir(root)
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    monkeypatch.setenv("CRUMPLE_RUNS", str(root / "runs"))
    monkeypatch.setenv("COLUMNS", "200")
    return caller(monkeypatch, capsys)


@pytest.mark.starts
@pytest.mark.parallel
def test_control_characters_in_a_servers_output_are_escaped(call: Call) -> None:
    folder = tiny_servers.write(Path(), "evil", here=f"print({EVIL!r}, flush=True); sys.exit(3)")
    code, out, err = call("verify", str(folder))
    assert code == 1 and SHOWN in out and r"\x07" in out
    assert is_harmless(out) and is_harmless(err)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["text", "md", "json", "html"])
def test_control_characters_in_a_study_are_escaped(call: Call, kind: str, tmp_path: Path) -> None:
    made = synthetic_run.run_file()
    claims = tuple(claim.model_copy(update={"text": f"claim {EVIL}"}) for claim in made.study.claims)
    prose = made.study.prose.model_copy(update={"did": f"did {EVIL}"})
    named = {"title": f"title {EVIL}", "question": f"title {EVIL}"}
    study = made.study.model_copy(update={**named, "claims": claims, "prose": prose})
    run_file.write(RunStore(tmp_path / "a"), made.model_copy(update={"study": study}))
    code, out, err = call("report", str(tmp_path / "a"), "--format", kind)
    said = (tmp_path / "a" / "report.html").read_text() if kind == "html" else out
    assert code == 0 and is_harmless(said) and is_harmless(err)
    if kind == "json":
        assert json.loads(said)["title"] == f"title {EVIL}"
    else:
        assert f"title {SHOWN}" in said.replace("\\\\", "\\").replace("\\[", "[")


@pytest.mark.parametrize(
    "arguments", [("report", f"a{EVIL}"), ("run", f"a{EVIL}"), ("load", f"http://a.b/{EVIL}"), (f"a{EVIL}",)]
)
def test_control_characters_in_an_argument_are_escaped_in_the_error(
    call: Call, arguments: tuple[str, ...]
) -> None:
    arguments = tuple(each.replace("\0", "") for each in arguments)
    _, out, err = call(*arguments)
    assert out == "" and is_harmless(err)


def test_control_characters_are_escaped_in_a_loads_text_and_files(tmp_path: Path) -> None:
    load = synthetic_load.remade(synthetic_load.closed(), url=f"http://127.0.0.1/{EVIL}")
    said = synthetic_load.screen(load, width=100, styled=False)
    assert SHOWN in said and is_harmless(said)
    output.write(tmp_path / "a.hdr", f"#[{load.url}]\n")
    assert is_harmless((tmp_path / "a.hdr").read_text())


def test_control_characters_in_a_table_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    output.as_table(("a", "b"), [(f"x{EVIL}", Text(f"y{EVIL}"))])
    output.say(f"z{EVIL}")
    out, err = capsys.readouterr()
    assert out.count(r"\x1b[2J") == 2 and is_harmless(out)
    assert rf"z{SHOWN}\x07" in err and is_harmless(err)


LONG = ("separate", "php-apache[workers=256]", "process-per-connection", "no: PHP is missing")


@pytest.mark.parametrize("columns", [40, 80, 100, 200])
def test_no_table_breaks_a_word(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    output.as_table(("a", "server", "model", "why"), [LONG, ("b", "go", "c d e", "yes")])
    out, err = capsys.readouterr()
    words = out.split()
    assert all(word in words for cell in LONG for word in cell.split()) and err == ""
    if columns >= 80:
        assert max(map(len, out.splitlines())) <= columns
        assert len(out.splitlines()) == 3


def test_a_narrow_table_leaves_out_columns_and_names_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    output.as_table(("a", "server", "model", "why"), [LONG], ("model", "a"))
    out, err = capsys.readouterr()
    assert out.split() == ["a", "server", "why", "separate", LONG[1], "no:", "PHP", "is", "missing"]
    assert err == "left out, because 60 columns are too few: model; --json has all\n"
    assert max(map(len, out.splitlines())) <= 60


def test_escaping_keeps_the_styles_in_place() -> None:
    said = terminal.printed(Text.assemble("a", (f"b{EVIL}c", "red"), "d"), 200, styled=True)
    assert said.startswith("a\x1b[31mb\x1b[0m")
    assert said.rstrip().endswith("\x1b[31mc\x1b[0md")
    table = Table(f"head{EVIL}", f"[bold]{EVIL}")
    assert is_harmless(terminal.printed(table, 200, styled=False))


@pytest.mark.long
@given(st.text())
def test_escaping_twice_changes_nothing_more(text: str) -> None:
    said = shown_text(text)
    assert is_harmless(said) and shown_text(said) == said
    said.encode()


@pytest.mark.long
@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_escaping_json_keeps_the_data(data: object) -> None:
    document = shown_json(json.dumps(data, ensure_ascii=False, indent=1))
    assert is_harmless(document) and json.loads(document) == data


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_colours_only_on_terminals_that_support_them(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    said = synthetic_load.screen(synthetic_load.closed(), width=100)
    assert ("\x1b[" in said) is coloured


@pytest.mark.long
def test_no_other_module_prints() -> None:
    """No other module calls print or creates a console."""
    for file in LAB.rglob("*.py"):
        name = str(file.relative_to(LAB))
        called = {
            ast.unparse(node.func)
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call)
        }
        spoken = {"print", "sys.stdout.write", "sys.stderr.write"} & called
        assert not spoken or name in SPEAKS, f"{name}: say it by crumple.commands.output"
        assert "Console" not in called or name in MAKES_CONSOLES, f"{name}: take a drawing.terminal.Terminal"


@pytest.mark.starts
@pytest.mark.parallel
def test_an_interrupted_verification_shows_the_findings_so_far(tmp_path: Path) -> None:
    root = stand_ins.project(tmp_path / "project")
    tiny_servers.write(root, "mute", here="time.sleep(600)")
    command = [sys.executable, "-c", "from crumple.cli import main; main()", "verify"]
    with subprocess.Popen(
        command, cwd=root, env={**os.environ, "CRUMPLE_ROOT": str(root)}, stderr=subprocess.PIPE, text=True
    ) as verifying:
        assert verifying.stderr
        begun = verifying.stderr.readline()
        time.sleep(0.5)
        verifying.send_signal(2)
        said = begun + verifying.stderr.read()
    assert verifying.returncode == 130
    assert "interrupted; 0 of 1 server verified" in said and "Traceback" not in said


def test_every_interrupted_command_says_so(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crumple.commands.lists.list_studies", lambda _: os.kill(os.getpid(), 2))
    code, _, err = call("studies")
    assert code == 130 and err.strip() == "interrupted"


@pytest.mark.starts
@pytest.mark.parallel
def test_a_closed_pipe_ends_with_a_code_that_is_not_0() -> None:
    """A gate behind `| head` must not pass because nobody read that it failed."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        # What a command prints last may be written only as it ends.
        printing = (
            "from crumple import cli; cli.group = lambda _: lambda *_, **__: print('failed'); cli.main()"
        )
        program = [sys.executable, "-c", printing]
        ran = subprocess.run(program, stdout=pipe, stderr=subprocess.DEVNULL, timeout=60, check=False)
    assert ran.returncode == 1
