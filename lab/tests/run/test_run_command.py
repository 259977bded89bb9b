"""`crumple run` from the outside, with several studies, variants and the user's own servers."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny_runs
import tiny_servers
from command_line import Call, caller
from crumple.commands import report
from crumple.commands import run as run_command
from crumple.errors import EngineFailed
from crumple.run import runs
from documents import WORKLOAD_TOML

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

STUDY_TOML = """
title = "Hello"
question = "Does it answer?"
[experiments.one]
title = "One"
servers = ["tiny"]
twin = "tiny"
workload = "hello"
placement = "shared"
shape = {{ kind = "closed", connections = 2 }}
scales.quick = {{ blocks = 1, warm_up = {{ duration_s = 0.2 }}, stop = {{ duration_s = {measured_s} }} }}
"""
ARTICLE = """
[article]
title = "An article"
author = "not named"
published = "2026"
"""
NOT_THERE = 'command = ["no-such-program", "--version"]'
SETTING = """
[settings.workers]
default = 4
meaning = "how many"
"""


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple …` in a project of three studies, two of articles; return (exit code, stdout, stderr)."""
    root = tiny_runs.project(monkeypatch, tmp_path)
    file = root / "servers" / "tiny" / "server.toml"
    file.write_text(file.read_text().replace('"{scratch}"]', '"{scratch}", "{workers}"]') + SETTING)
    for name, measured_s, article in (("first", 0.3, ARTICLE), ("second", 0.4, ARTICLE), ("third", 0.5, "")):
        written = STUDY_TOML.format(measured_s=measured_s) + article
        (root / "studies" / f"{name}.toml").write_text(written)
    monkeypatch.chdir(root)
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    monkeypatch.setenv("COLUMNS", "200")
    return caller(monkeypatch, capsys)


@pytest.fixture
def without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no pages of several runs, for tests of what is run: that takes seconds."""
    monkeypatch.setattr(report, "summarise_all", lambda *_: None)


def _trials(study: str) -> set[str]:
    (folder,) = Path("runs").glob(f"{study}-quick-*")
    return {file.stem.replace("__", "/") for file in (folder / "trials").glob("*.json")}


def test_all_studies_run_in_one_session_and_the_total_time_is_printed(call: Call) -> None:
    _, _, err = call("run", "--all")
    # Both studies have one block, so no claim decides about more.
    assert re.search(r"^about 0:0\d$", err, re.M)
    assert _trials("first") == _trials("second") == {"one/b01/tiny", "one/b01/tiny~twin"}
    assert "4/4 one/b01/tiny" in err and "(0:00 left)" in err


def test_without_a_scale_the_budget_decides_it(call: Call, without_pages: None) -> None:
    for study in ("first", "second"):
        file = Path(f"studies/{study}.toml")
        (quick,) = [line for line in file.read_text().splitlines() if line.startswith("scales.quick")]
        tour = quick.replace("quick", "tour").replace("blocks = 1", "blocks = 3, least_blocks = 2")
        both = f"{tour}\n{quick.replace('blocks = 1', 'blocks = 40')}"
        file.write_text(file.read_text().replace(quick, both))
    _, _, err = call("run", "--all", "--budget", "30s")
    assert "first-tour-" in err and "about 0:30 in all" in err
    code, _, err = call("run", "first", "--budget", "soon")
    assert code == 2 and "--budget" in err


def test_a_variant_that_no_study_lists_can_be_named(call: Call) -> None:
    call("run", "first", "--servers", "tiny, tiny[workers=9]")
    assert _trials("first") == {"one/b01/tiny", "one/b01/tiny[workers=9]", "one/b01/tiny~twin"}
    (folder,) = Path("runs").glob("first-quick-*")
    stored = json.loads((folder / "trials" / "one__b01__tiny[workers=9].json").read_text())
    assert stored["server"]["settings"] == {"workers": 9}
    assert "--servers 'tiny,tiny[workers=9]' --only 'one/b01/tiny[workers=9]'" in call("report", "--json")[1]


def test_the_users_own_server_runs_beside_those_of_the_study(call: Call, tmp_path: Path) -> None:
    folder = tiny_servers.write(tmp_path / "elsewhere", "mine")
    call("run", "second", "--server", str(folder), "--servers", "tiny")
    assert "one/b01/mine" in _trials("second")


def test_a_server_that_cannot_run_is_skipped_and_its_twin_moves(call: Call) -> None:
    folder = tiny_servers.write(Path.cwd(), "absent")
    toml = folder / "server.toml"
    toml.write_text(toml.read_text().replace(f'command = ["{sys.executable}", "--version"]', NOT_THERE))
    first = Path("studies/first.toml")
    first.write_text(
        first.read_text().replace('"tiny"]\ntwin = "tiny"', '"absent", "tiny"]\ntwin = "absent"')
    )
    code, out, err = call("run", "first")
    assert code == 0 and _trials("first") == {"one/b01/absent", "one/b01/tiny", "one/b01/tiny~twin"}
    assert "first: tiny has the twin instead of absent, which does not run, in 1 experiment\n" in err
    assert "absent: 1 trial was skipped: python is not installed" in out


def test_the_users_own_server_joins_only_the_studies_it_answers(
    call: Call, without_pages: None, tmp_path: Path
) -> None:
    todo = WORKLOAD_TOML.replace("/hello?delay_ms={delay_ms}", "/todos?delay_ms={delay_ms}")
    Path("contract/workloads/todos.toml").write_text(todo)
    tiny = Path("servers/tiny/server.toml")
    tiny.write_text(tiny.read_text().replace('["hello"]', '["hello", "todos"]'))
    second = Path("studies/second.toml")
    second.write_text(second.read_text().replace('workload = "hello"', 'workload = "todos"'))
    folder = tiny_servers.write(tmp_path / "elsewhere", "mine")
    assert call("run", "second", "--server", str(folder)) == (
        2,
        "",
        "mine answers hello, study second asks todos; add a handler for it and name it under workloads in "
        "its server.toml\n",
    )
    call("run", "--all", "--server", str(folder))
    assert "one/b01/mine" in _trials("first") and "one/b01/mine" not in _trials("second")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("run", "--all", "first"), "--all runs every study of an article; leave out first"),
        (("run", "first", "--servers", "tiny[worker=9]"), "has no setting worker; did you mean workers?"),
        (("run", "first", "--servers", "tiny[workers=x]"), "server tiny wants a whole number there"),
        (
            ("run", "first", "--server", "servers/tiny"),
            "a server named tiny already exists; rename the folder",
        ),
        (("run", "first", "--server", "nowhere"), "--server nowhere: there is no server.toml"),
        (("run", "first", "second", "--scale", "full"), "first: no experiment has a scale full"),
        (("run", "--all", "--scale", "full"), "no study of an article has a scale full; name a study"),
        (
            ("run", "first", "second", "--only", "typo"),
            "study first plans no trial typo; its trials are one/",
        ),
        (("run", "first", "--database", "nonsense"), "--database: that names no database; write mysql://"),
        (("run", "first", "--retry-failed"), "--retry-failed needs a run to resume; name it with --resume"),
        (("run", "--resume", "x", "--scale", "quick", "--seed", "0"), "begun; leave out --scale --seed"),
        (
            ("run", "--resume", "x", "--all", "--server", ".", "--servers", "tiny"),
            "leave out --servers --server --all",
        ),
    ],
)
def test_a_mistake_is_one_line_and_begins_no_run(call: Call, arguments: tuple[str, ...], line: str) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (2, "") and line in err and err.count("\n") == 1
    assert not Path("runs").exists()


def test_if_one_run_cannot_begin_none_begins(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    real = runs.begin

    def begin(asked: Any, *arguments: Any, **flags: Any) -> Any:
        if asked.name == "second":
            raise EngineFailed("costs did not end")
        return real(asked, *arguments, **flags)

    monkeypatch.setattr(runs, "begin", begin)
    code, _, err = call("run", "first", "second")
    assert code == 1 and err.splitlines()[-1] == "costs did not end"
    assert not list(Path("runs").iterdir())


def test_an_error_still_writes_the_page_of_the_finished_trials(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def carry_out(*_: Any, **__: Any) -> int:
        raise EngineFailed("it did not end")

    drawn: list[Any] = []
    monkeypatch.setattr(run_command, "carry_out", carry_out)
    monkeypatch.setattr(report, "summarise_all", lambda done, *_: drawn.extend(done))
    code, _, err = call("run", "first", "second")
    assert code == 1 and err.splitlines()[-1] == "it did not end" and len(drawn) == 2


def test_several_runs_are_resumed_in_one_session(call: Call, without_pages: None) -> None:
    call("run", "--all")
    folders = sorted(Path("runs").glob("*-quick-*"))
    for folder in folders:
        (folder / "trials" / "one__b01__tiny.json").unlink()
    code, _, err = call("run", "--resume", ",".join(folder.name for folder in folders))
    assert code == 0 and "nothing was left" not in err
    assert _trials("first") == _trials("second") == {"one/b01/tiny", "one/b01/tiny~twin"}
    code, _, err = call("run", "--resume", ",".join(folder.name for folder in folders), "--only", "x")
    assert code == 2 and "--only names a trial of one run; name one run with --resume" in err
