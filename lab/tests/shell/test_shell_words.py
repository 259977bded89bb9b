"""What may be typed next: commands, flags and values, as each shell asks; and the data that are kept."""

import json
import os
from pathlib import Path

import pytest
import stand_ins
import tiny_servers
from crumple import cli
from crumple.record.metrics import METRICS
from crumple.results import result_store
from crumple.shell import complete, kept, values
from crumple.shell.values import FILES

DESCRIBED = cli.described()


@pytest.fixture(autouse=True)
def in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a server, a study and two runs."""
    root = stand_ins.project(tmp_path / "project")
    tiny_servers.write(root, "tiny")
    (root / "studies" / "hello.toml").touch()
    for name in ("hello-quick-20260101-000000", "zero-full-20250101-000000"):
        (root / "runs" / name).mkdir(parents=True)
        (root / "runs" / name / "run.json").touch()
    (root / "runs" / "results").mkdir()
    (root / "runs" / "results" / "kept-load.json").touch()
    monkeypatch.setattr(result_store, "folder", lambda: root / "runs" / "results")
    monkeypatch.chdir(root)
    monkeypatch.delenv("CRUMPLE_RUNS", raising=False)
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    return root


def offered(*words: str) -> list[str]:
    return [word for word, _ in complete.candidates(DESCRIBED, complete.joined(words))]


def test_without_a_command_the_commands_are_offered() -> None:
    assert offered("") == list(DESCRIBED["commands"])
    assert offered("lo") == ["load"]
    assert "--version" in offered("-") and offered("--v") == ["--version"]
    assert offered("nonsense", "") == []


@pytest.mark.parametrize(
    ("words", "among"),
    [
        (("load", "--ra"), {"--rate", "--ramp"}),
        (("load", "http://localhost/", "--deb"), {"--debug"}),
        (("verify", "ti"), {"tiny", FILES}),
        (("verify", "tiny", "ti"), {"tiny", FILES}),
        (("run", "he"), {"hello", FILES}),
        (("run", "--scale", ""), {"tour", "quick", "full", "published"}),
        (("run", "--scale=q"), {"--scale=quick"}),
        (("run", "--servers", "other,ti"), {"other,tiny"}),
        (("report", "--format", ""), {"text", "html", "md", "json"}),
        (("compare", "--metric", "through"), {"throughput"}),
        (("load", "--arrivals", ""), {"even", "poisson"}),
        (("load", "--body-file", ""), {FILES}),
        (("find", "ti"), {"tiny"}),
        (("find", "tiny", "--workload", ""), {"hello"}),
        (("diagnose", "--", "./ser"), {FILES}),
        (("completion", "z"), {"zsh"}),
        (("show", "la"), {"last", FILES}),
        (("compare", "kept"), {"kept-load", FILES}),
        (("versus", "ti"), {"tiny", FILES}),
        (("export", "last", "--as", "b"), {"bencher"}),
        (("export", "last", "--table", "q"), {"quantiles"}),
        (("list", "--verb", "v"), {"versus"}),
        (("load", "-c", ""), set()),
        (("load", "http://localhost/", "-q", "5", "--deb"), {"--debug"}),
    ],
)
def test_values_are_offered_where_they_belong(words: tuple[str, ...], among: set[str]) -> None:
    assert {*offered(*words)} == among


def test_the_latest_run_comes_first() -> None:
    assert offered("report", "") == ["hello-quick-20260101-000000", "zero-full-20250101-000000"]


def test_every_metric_is_offered() -> None:
    assert {*offered("compare", "a", "b", "--metric", "")} == {*METRICS}


def test_an_option_is_offered_once_unless_it_may_be_repeated() -> None:
    assert "--rate" not in offered("load", "--rate", "5", "--")
    assert "--header" in offered("load", "--header", "a: b", "--")


def test_each_command_and_each_of_its_long_flags_is_offered() -> None:
    for name, command in DESCRIBED["commands"].items():
        long = {each for option in command["options"] for each in option["names"] if each[:2] == "--"}
        assert {*offered(name, "--")} == long, name


@pytest.mark.parametrize(
    ("shell", "words", "line"),
    [
        ("bash", ("run", "--scale", "=", "qu"), "quick"),
        ("bash", ("run", "--scale", "="), "full"),
        ("bash", ("run", "--scale", "qu"), "quick"),
        ("zsh", ("run", "--scale=qu"), "--scale=quick"),
        ("fish", ("run", "--scale=qu"), "--scale=quick"),
        ("zsh", ("studies", "--js"), "--json:Print the result as JSON on stdout, in place of the screen"),
        ("fish", ("studies", "--js"), "--json\tPrint the result as JSON on stdout, in place of the screen"),
        ("bash", ("studies", "--js"), "--json"),
    ],
)
def test_each_shell_gets_its_lines(
    shell: str, words: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complete.main(DESCRIBED, (shell, *words)) == 0
    assert line in capsys.readouterr().out.splitlines()


def test_a_name_that_controls_the_terminal_is_not_offered(
    in_a_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (in_a_project / "studies" / "red\x1b[31m.toml").touch()
    (in_a_project / "studies" / "two\nlines.toml").touch()
    complete.main(DESCRIBED, ("bash", "run", ""))
    assert capsys.readouterr().out.splitlines() == ["hello", FILES]


def test_a_long_meaning_is_cut_at_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    complete.main(DESCRIBED, ("fish", "load", "--"))
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line.partition("\t")[2]) <= complete.MEANING_MAX for line in lines)


def test_without_a_project_nothing_is_offered_and_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRUMPLE_ROOT", "/nowhere")
    assert (values.servers(), values.studies(), values.runs()) == ([], [], [])


def test_what_is_kept_is_read_until_a_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    package = tmp_path / "package"
    (package / "load").mkdir(parents=True)
    flags = package / "load" / "load_flags.py"
    flags.touch()
    monkeypatch.setattr("crumple.project.PACKAGE", package)
    assert kept.read() is None
    assert kept.keep(DESCRIBED) == DESCRIBED
    assert kept.read() == DESCRIBED
    later_ns = flags.stat().st_mtime_ns + 10**12
    os.utime(flags, ns=(later_ns, later_ns))
    assert kept.read() is None


def test_damaged_data_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept.keep(DESCRIBED)
    (place,) = (tmp_path / "crumple" / "commands").glob("*.json")
    place.write_text("{")
    assert kept.read() is None


def test_a_cache_that_cannot_be_written_is_no_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert kept.keep(DESCRIBED) == DESCRIBED


def test_the_data_are_json() -> None:
    assert json.loads(json.dumps(DESCRIBED)) == DESCRIBED
