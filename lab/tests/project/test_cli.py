"""The command line: help with examples, errors in one line, exit codes, JSON."""

import json
import re
import shutil
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import documents
import pytest
import real_engine
import stand_ins
import tiny_servers
from command_line import Call, caller
from crumple import release
from crumple.commands import report
from crumple.commands import run as run_command
from crumple.run.store import Failure
from crumple.subject import server_check
from crumple.subject.server_check import CheckFinding

ROOT = Path(__file__).parents[3]
COMMANDS = (
    "try",
    "setup",
    "servers",
    "workloads",
    "studies",
    "verify",
    "new-server",
    "run",
    "join",
    "report",
)

STUDY_TOML = """
title = "Hello"
question = "Does it answer?"
[experiments.one]
title = "One"
servers = ["tiny"]
twin = "tiny"
workload = "hello"
placement = "shared"
shape = { kind = "closed", connections = 2 }
scales.quick = { blocks = 1, warm_up = { duration_s = 0.2 }, stop = { requests = 50, within_s = 60 } }
"""

NEEDS_GONE = '[requires.gone]\ncommand = ["no-such-tool"]\nversion = "(1)"\n'


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """A function that runs `crumple …` in a small project and returns (exit code, stdout, stderr)."""
    root = stand_ins.project(tmp_path / "project")
    (root / "studies" / "hello.toml").write_text(STUDY_TOML)
    tiny_servers.write(root, "tiny")
    monkeypatch.chdir(root)
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    monkeypatch.setenv("COLUMNS", "200")
    return caller(monkeypatch, capsys)


@pytest.fixture
def with_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the real engine; skip if there is none."""
    real_engine.used(monkeypatch)


@pytest.mark.starts
@pytest.mark.parallel
def test_version_says_lab_engine_and_commit(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CRUMPLE_ENGINE", str(documents.fake_engine(tmp_path)))
    code, out, err = call("--version")
    lab, own, commit = out.splitlines()
    assert (code, err) == (0, "")
    assert lab == f"crumple {metadata.version('crumple')}" and own.startswith(f"engine {release.VERSION}")
    assert re.fullmatch(r"commit ([0-9a-f]{40}(\+changes)?|not known: .+)", commit)
    monkeypatch.setenv("CRUMPLE_ENGINE", str(tmp_path / "gone"))
    code, out, _ = call("--version")
    assert code == 0 and out.splitlines()[1].startswith("engine none: no engine in ")


@pytest.mark.starts
@pytest.mark.parallel
def test_python_can_run_it_as_a_module() -> None:
    command = [sys.executable, "-m", "crumple", "completion", "--help"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("Usage: crumple completion ")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_in_its_help(call: Call, command: str) -> None:
    code, out, _ = call(command, "--help")
    assert code == 0 and f"Example: crumple {command}" in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("run", "helo"), 'no study is called "helo"; did you mean hello?'),
        (("run",), "no study named; name one, for instance: crumple run todo-json; see crumple studies"),
        (
            ("run", "hello", "--scale", "fast"),
            'no scale is called "fast"; known: full, published, quick, tour',
        ),
        (("run", "hello", "--servers", "tny"), "study hello has no server tny; did you mean tiny?"),
        (
            ("run", "hello", "--resume", "x"),
            "--resume continues a run as it was begun; leave out hello",
        ),
        (("verify", "tinny"), 'no server is called "tinny"; did you mean tiny?'),
        (("report", "--format", "pdf"), 'no format is called "pdf"; known: html, json, md, text'),
    ],
)
def test_a_mistake_is_one_line_and_exits_with_2(call: Call, arguments: tuple[str, ...], line: str) -> None:
    assert call(*arguments) == (2, "", line + "\n")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("verify", ""), "SERVER"),
        (("verify", "tiny", " "), "SERVER"),
        (("setup", ","), "SERVER"),
        (("run", "hello", "--servers", ""), "--servers"),
        (("run", "hello", "--server", ""), "--server"),
        (("run", "hello", "--scale", ""), "--scale"),
        (("run", "hello", "--only", ""), "--only"),
        (("run", "hello", "--database", ""), "--database"),
        (("run", "--resume", ""), "--resume"),
        (("run", ""), "STUDY"),
        (("report", ""), "RUN"),
        (("compare", "", "x"), "BEFORE"),
        (("compare", "x", " "), "AFTER"),
    ],
)
def test_an_empty_name_is_refused_and_does_not_mean_all(
    call: Call, arguments: tuple[str, ...], what: str
) -> None:
    assert call(*arguments) == (2, "", f"{what} is empty; give it a value, or leave it out\n")
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [(("new-server", ""), "NAME")],
)
def test_an_empty_required_name_is_refused(call: Call, arguments: tuple[str, ...], what: str) -> None:
    assert call(*arguments) == (2, "", f"{what} is empty; give it a value\n")


def test_help_says_that_a_folders_commands_run_as_you(call: Call) -> None:
    _, out, _ = call("run", "--help")
    assert "a folder, whose commands run as you" in " ".join(out.split())


@pytest.mark.starts
@pytest.mark.parallel
def test_a_full_disk_behind_stdout_is_one_line(call: Call) -> None:
    command = [sys.executable, "-c", "from crumple.cli import main; main()", "studies", "--json"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    line = "cannot continue: No space left on device; fix that, then try again\n"
    assert (ended.returncode, ended.stderr) == (1, line)


def test_a_report_without_any_run_exits_with_1(call: Call) -> None:
    code, _, err = call("report")
    assert code == 1 and err == "there is no run yet; start one with: crumple run todo-json --scale quick\n"


@pytest.mark.starts
@pytest.mark.parallel
def test_the_lists_have_the_same_facts_as_json(call: Call) -> None:
    code, out, _ = call("servers", "--json")
    (server,) = json.loads(out)
    assert code == 0 and server["name"] == "tiny" and server["ready"] and server["versions"]["python"]
    assert "tiny" in call("servers")[1]
    (workload,) = json.loads(call("workloads", "--json")[1])
    assert workload["body_bytes"] == 13
    (study,) = json.loads(call("studies", "--json")[1])
    assert (study["name"], study["experiments"], study["scales"]) == ("hello", ["one"], ["quick"])


def test_a_study_that_cannot_be_read_is_listed_with_its_problems(call: Call) -> None:
    file = Path("studies/hello.toml")
    file.write_text(STUDY_TOML.replace("connections = 2", "connections = 0"))
    code, out, _ = call("studies")
    assert code == 2 and "studies/hello.toml: experiments.one.shape.connections" in out


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(("here", "code", "state"), [("", 0, "right"), ("BODY = b'Hullo'", 1, "wrong")])
def test_verify_tells_right_answers_from_wrong_ones(
    call: Call, with_engine: None, monkeypatch, here: str, code: int, state: str
) -> None:
    shutil.rmtree("servers/tiny")
    tiny_servers.write(Path.cwd(), "tiny", here=here)
    monkeypatch.setattr(server_check, "LOAD_S", 0.2)
    ended, out, _ = call("verify", "--json")
    found = {finding["check"]: finding for finding in json.loads(out)}
    assert list(found) == ["start", "hello", "HTTP", "model"]
    assert (ended, found["start"]["state"], found["hello"]["state"]) == (code, "right", state), out


@pytest.mark.starts
@pytest.mark.parallel
def test_verify_prints_a_table_with_the_reasons_below(call: Call, with_engine: None, monkeypatch) -> None:
    monkeypatch.setattr(server_check, "findings", lambda _: [CheckFinding("hello", "wrong", "the reason")])
    tiny_servers.write(Path.cwd(), "gone", toml=NEEDS_GONE)
    tiny_servers.write(Path.cwd(), "broken", here='print("no database"); sys.exit(7)')
    code, out, err = call("verify")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["server", "hello", "HTTP", "model"]
    assert [line for line in lines if line[:1] == ["gone"]] == [["gone", "skip", "skip", "skip"]]
    assert [line for line in lines if line[:1] == ["broken"]] == [["broken", "no", "no", "no"]]
    assert "tiny, hello: the reason" in out and "gone, start: gone is not installed; install gone" in out
    assert "broken, start: it ended with code 7 before it answered\n  no database\n" in out
    assert code == 1 and "broken … 1 of 3\n" in err and "tiny … 3 of 3, about " in err


@pytest.mark.starts
@pytest.mark.parallel
def test_a_new_server_passes_verify_and_is_found_by_its_folder(
    call: Call, with_engine: None, monkeypatch
) -> None:
    monkeypatch.setattr(server_check, "LOAD_S", 0.2)
    shutil.copy(ROOT / "contract" / "workloads" / "todos.toml", "contract/workloads/todos.toml")
    code, _, err = call("new-server", "elsewhere/mine", "--language", "Go")
    assert code == 0 and "next: crumple verify ./elsewhere/mine" in err and "replace it with yours" in err
    code, out, _ = call("verify", "./elsewhere/mine", "--json")
    assert code == 0, out
    assert {finding["server"] for finding in json.loads(out)} == {"mine"}
    assert {"hello", "todos"} <= {finding["check"] for finding in json.loads(out)}
    code, out, _ = call("verify", "./elsewhere/mine[backlog=512]", "--json")
    assert code == 0 and {finding["server"] for finding in json.loads(out)} == {"mine[backlog=512]"}
    assert call("new-server", "elsewhere/mine")[2] == (
        "elsewhere/mine exists; choose another name, or remove it first\n"
    )
    assert "small letters" in call("new-server", "My Server")[2]


def test_a_new_server_cannot_have_the_name_of_another(call: Call) -> None:
    line = "a server named tiny already exists; choose another name\n"
    assert call("new-server", "elsewhere/tiny") == (2, "", line)
    assert not Path("elsewhere").exists()
    Path("servers/tiny/server.toml").write_text("not TOML")
    assert call("new-server", "tiny") == (2, "", line)
    assert call("new-server", "other")[0] == 0


@pytest.mark.starts
@pytest.mark.parallel
def test_a_study_is_run_and_reported_from_the_command_line(call: Call, with_engine: None) -> None:
    began = time.monotonic()
    code, out, err = call("run", "hello", "--seed", "7")
    took_s, spent_s = time.monotonic() - began, 0.0
    run = next(Path("runs").iterdir())
    assert code == 0, err
    assert sorted(path.name for path in (run / "trials").iterdir()) == [
        "one__b01__tiny.json",
        "one__b01__tiny~twin.json",
    ]
    assert "tiny" in out and "2/2" in err
    for stored in (json.loads(path.read_text()) for path in (run / "trials").iterdir()):
        assert stored["status"] == "measured" and stored["record"]["outcomes"]["ok"] > 0
        record, start_s = stored["record"], stored["server"]["start_s"]
        assert stored["overhead_s"] > 0 and start_s > 0
        spent_s += stored["overhead_s"] + start_s + (record["warm_up_ns"] + record["measured_ns"]) / 1e9
    # Each part of a trial is counted once.
    assert spent_s <= took_s
    assert json.loads(call("report", "--json")[1])
    code, _, err = call("run", "--resume", run.name)
    assert code == 0, err
    assert "nothing was left to run: all its trials are stored; for more trials start a new run" in err
    both = (run.name, run.name)
    assert call("report", *both, "--format", "md")[1].count(f"\n{run.name}, scale") == 2
    assert len(json.loads(call("report", *both, "--json")[1])) == 2
    code, _, err = call("report", *both, "--format", "html", "--out", "all/claims.html")
    assert code == 0, err
    assert f'href="../{run}/report.html"' in Path("all/claims.html").read_text()


@pytest.mark.starts
@pytest.mark.parallel
def test_ctrl_c_keeps_stored_trials_and_names_the_command_that_continues(
    with_engine: None, call: Call
) -> None:
    file = Path("studies/hello.toml")
    file.write_text(STUDY_TOML.replace("blocks = 1", "blocks = 50"))
    command = [sys.executable, "-c", "from crumple.cli import main; main()", "run", "hello"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr
    for line in process.stderr:
        if line.lstrip().startswith("3/"):
            break
    process.terminate()
    _, err = process.communicate(timeout=20)
    run = next(Path("runs").iterdir())
    stored = list((run / "trials").glob("*.json"))
    assert process.returncode == 130 and len(stored) >= 3
    assert f"continue with: crumple run --resume {run.name}" in err
    assert not list(run.rglob("*.tmp"))


def test_exit_codes_of_a_run() -> None:
    fine = documents.stored()
    skipped = documents.stored(status="failed", failure=Failure(step="setup", message="not installed"))
    failed = documents.stored(status="failed", failure=Failure(step="start", message="no"))
    assert run_command.code_of([fine]) == 0
    not_valid = documents.stored(problems=("measured the engine",))
    assert run_command.code_of([fine, skipped, not_valid]) == 0, "the run came to its end"
    assert run_command.code_of([fine, skipped, failed]) == 3


def test_every_format_has_a_file() -> None:
    assert set(report.FILES) == set(report.FORMATS)
