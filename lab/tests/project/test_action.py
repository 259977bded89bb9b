"""The composite action and the snippets of docs/ci.md: their own steps, in the environment of a job."""

import http.server
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest
import real_engine
from crumple import cli
from crumple.diagnose import diagnose_conditions
from crumple.find import find_conditions
from crumple.gate import condition
from crumple.load import objective
from crumple.run import run_conditions
from crumple.versus import versus_conditions

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / ".github" / "actions" / "crumple"
ACTION = (FOLDER / "action.yml").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
# `"$GITHUB_ACTION_PATH/install.sh"` and the like, without the quotes of YAML.
STEPS = [found.strip("'") for found in re.findall(r"^ +run: (.+)$", ACTION, re.MULTILINE)]


@pytest.fixture
def job(tmp_path: Path) -> dict[str, str]:
    """The environment of a step, as the runner of GitHub sets it."""
    files = {
        name: tmp_path / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")
    }
    for file in files.values():
        file.touch()
    return {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(FOLDER),
        "RUNNER_TEMP": str(tmp_path),
        **{name: str(file) for name, file in files.items()},
    }


@pytest.fixture
def server() -> Iterator[str]:
    """A server that answers; yield its URL."""

    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}/"
        serving.shutdown()


def step(script: str, job: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a step as the runner does for `shell: bash`."""
    file = folder / "step.sh"
    file.write_text(script, encoding="utf-8")
    bash = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(file)]
    return subprocess.run(bash, env=dict(job), cwd=folder, capture_output=True, text=True, check=False)


def outputs(job: Mapping[str, str]) -> dict[str, str]:
    """What a step tells later ones."""
    lines = Path(job["GITHUB_OUTPUT"]).read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines)


def measured(job: Mapping[str, str], folder: Path, arguments: str, fail_if: str = "") -> tuple[int, str, str]:
    """Run the step that measures."""
    asked = {"ARGUMENTS": arguments, "FAIL_IF": fail_if, "FOLDER": str(folder / "kept")}
    ended = step(STEPS[1], {**job, **asked}, folder)
    return ended.returncode, ended.stdout, ended.stderr


def test_every_variable_of_a_step_is_an_input() -> None:
    inputs = re.findall(r"^  ([a-z-]+):$", ACTION.split("inputs:")[1].split("outputs:")[0], re.MULTILINE)
    used = re.findall(r"\$\{\{ inputs\.([a-z-]+) \}\}", ACTION)
    assert {*used} | {"artifact"} == {*inputs}
    # A script that an input is written into could be made to run another command.
    assert not any("${{" in each for each in STEPS)
    assert all(f"`{each}`" in PAGE for each in inputs)


@pytest.mark.starts
@pytest.mark.parallel
def test_the_step_that_measures_passes_words_on_and_executes_none(
    job: dict[str, str], tmp_path: Path
) -> None:
    stub = tmp_path / "bin" / "crumple"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    stub.chmod(0o755)
    job["PATH"] = f"{stub.parent}:{job['PATH']}"
    asked = "versus './my server' -- ./new $(touch gone) --port {port}"
    code, out, _ = measured(job, tmp_path, asked, "slower>0\n\np50>+5%\n")
    kept = tmp_path / "kept"
    given = [
        "--fail-if",
        "slower>0",
        "--fail-if",
        "p50>+5%",
        "--junit",
        f"{kept}/junit.xml",
        "--html",
        f"{kept}/page.html",
    ]
    assert out.splitlines() == [
        "versus",
        *given,
        "./my server",
        "--",
        "./new",
        "$(touch",
        "gone)",
        "--port",
        "{port}",
    ]
    assert code == 0 and not (tmp_path / "gone").exists()
    assert outputs(job) == {"code": "0", "page": "", "junit": ""}


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("arguments", ["", "load 'http"])
def test_arguments_that_are_none_are_refused(arguments: str, job: dict[str, str], tmp_path: Path) -> None:
    code, _, err = measured(job, tmp_path, arguments)
    assert code == 2 and err.startswith("arguments: ") and len(err.splitlines()) == 1


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(("fail_if", "code"), [("p50<1h", 1), ("p50>1h", 0)])
def test_the_action_measures_and_tells_the_job(
    fail_if: str, code: int, job: dict[str, str], server: str, tmp_path: Path
) -> None:
    real_engine.loaded()
    asked = f"load {server} -n 200 -c 2 --no-store --quiet"
    ended, out, err = measured(job, tmp_path, asked, fail_if)
    assert ended == code, err
    assert f"fail if {fail_if}" in out
    assert [line.startswith("::error title=crumple load::") for line in err.splitlines() if "::" in line] == [
        True
    ] * code
    summary = Path(job["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")
    assert f"### crumple load: {'fails' if code else 'passes'}" in summary and "p50" in summary
    told = outputs(job)
    assert told["code"] == str(code)
    assert Path(told["page"]).read_text(encoding="utf-8").startswith("<!doctype html>")
    failures = [*ElementTree.parse(told["junit"]).iter("failure")]
    assert len(failures) == code


@pytest.mark.starts
@pytest.mark.parallel
def test_the_step_that_installs_finds_the_crumple_of_its_checkout(
    job: dict[str, str], tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    (checkout / ".github" / "actions").mkdir(parents=True)
    (checkout / ".github" / "actions" / "crumple").symlink_to(FOLDER)
    stub = checkout / "crumple"
    stub.write_text("#!/bin/sh\necho crumple 0.1.0\n")
    stub.chmod(0o755)
    # `cd` takes a link for a folder, so that the checkout is the one above the link.
    job["GITHUB_ACTION_PATH"] = str(checkout / ".github" / "actions" / "crumple")
    ended = step(STEPS[0], {**job, "WHEEL": "", "EXTRAS": "studies"}, tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "crumple 0.1.0\n"), ended.stderr
    assert Path(job["GITHUB_PATH"]).read_text(encoding="utf-8") == f"{checkout}\n"


SNIPPETS = re.findall(
    r"crumple (load|versus|find|diagnose|run|export) ([^`\n]*)",
    "\n".join(re.findall(r"```\w+\n(.*?)```", PAGE, re.DOTALL)),
)
FIGURES = {
    "versus": versus_conditions.KINDS,
    "find": find_conditions.KINDS,
    "diagnose": diagnose_conditions.KINDS,
    "run": run_conditions.KINDS,
}


def words(line: str) -> list[str]:
    """The words of a line of a snippet, which may end with a quote of Groovy."""
    return [word.strip("'\"") for word in line.rstrip('"').split()]


def test_every_command_of_a_snippet_is_one() -> None:
    assert len(SNIPPETS) == 4
    commands = cli.group().commands  # type: ignore[attr-defined]
    for verb, line in SNIPPETS:
        parsed = commands[verb].make_context(verb, words(line))
        if verb in FIGURES and parsed.params["fail_if"]:
            assert condition.read(parsed.params["fail_if"], FIGURES[verb])


@pytest.mark.parametrize(
    ("verb", "row"), re.findall(r"^\| `(load|versus|find|diagnose|run)` \| (.*) \|$", PAGE, re.MULTILINE)
)
def test_every_figure_of_the_page_is_one(verb: str, row: str) -> None:
    named = re.findall(r"`([^`]+)`", row)
    assert named
    for each in named:
        text = each if re.search("[<>]", each) else f"{each}>1"
        if verb == "load":
            objective.parse(text if re.search("[<>]", each) else f"{each}>1s")
        elif not each.startswith("--"):
            name = re.split("[<>]", text)[0]
            kind = FIGURES[verb][name]
            assert condition.read([text if text == each else kind.example], FIGURES[verb])
