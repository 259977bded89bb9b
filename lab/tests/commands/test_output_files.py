"""Files that commands write: two of one name are refused before anything is sent, and a page that cannot be
written loses no result.
"""

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import made_results
import made_searches
import made_versus
import pytest
from command_line import Call, in_project, with_store
from crumple.commands import diagnose, find, output, versus
from crumple.diagnose.diagnose_flags import DiagnoseFlags
from crumple.errors import CrumpleError, UsageError
from crumple.find.find_flags import FindFlags
from crumple.load import flag_files
from crumple.versus.versus_flags import VersusFlags

URLS = ["http://127.0.0.1:1/", "http://127.0.0.1:2/"]
VERBS = ["load", "find", "diagnose", "versus"]
InProject = Callable[[str], Call]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> InProject:
    return lambda verb: in_project(monkeypatch, capsys, tmp_path, verb)


def urls(verb: str) -> list[str]:
    return URLS[: 2 if verb == "versus" else 1]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("one", "other"), [("--html", "--junit"), ("--html", "--save"), ("--junit", "--save")]
)
def test_two_flags_that_name_the_same_file_are_refused(
    verb: str, one: str, other: str, called: InProject
) -> None:
    call = called(verb)
    Path("there.x").touch()
    os.link("there.x", "linked.x")
    for first, second in (("a.x", "./a.x"), ("there.x", "linked.x")):
        code, out, err = call(*urls(verb), one, first, other, second)
        assert (code, out) == (2, "")
        assert f"{one} and {other} name the same file; give each its own" in err.splitlines(), err
    assert not Path("a.x").exists() and not Path("there.x").read_bytes()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("flag", ["--html", "--junit", "--save"])
def test_a_dash_is_no_file(verb: str, flag: str, called: InProject) -> None:
    code, _, err = called(verb)(*urls(verb), flag, "-")
    assert code == 2 and f"{flag} -: stdout is for the summary, or for --json; name a file" in err
    assert not Path("-").exists()


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_that_cannot_be_written_is_told_with_the_other_mistakes(verb: str, called: InProject) -> None:
    code, _, err = called(verb)(*urls(verb), "--html", "none/a.html", "--junit", "none/b", "--seed", "-1")
    assert code == 2 and set(err.splitlines()) == {
        "--html none/a.html: there is no folder none; make it first",
        "--junit none/b: there is no folder none; make it first",
        "--seed -1: that is too few; write 0 or more",
    }, err


@pytest.mark.parametrize("verb", ["load", "find"])
def test_the_file_of_requests_is_not_written_over(verb: str, called: InProject) -> None:
    call = called(verb)
    Path("r.toml").write_text('[[requests]]\npath = "/"\n')
    code, _, err = call(*urls(verb), "--request-file", "r.toml", "--html", "r.toml")
    said = "--html r.toml: that is the file of --request-file, which is read; name another file"
    assert code == 2 and said in err.splitlines()
    assert Path("r.toml").read_text().startswith("[[requests]]")


def test_a_run_does_not_write_over_its_study(called: InProject) -> None:
    call = called("run")
    Path("mine.toml").write_text("mine")
    code, _, err = call("mine.toml", "--junit", "mine.toml")
    assert (code, err) == (
        2, "--junit mine.toml: that is the file mine.toml, which is read; name another file\n"
    )  # fmt: skip
    assert Path("mine.toml").read_text() == "mine"


def test_a_comparison_does_not_write_over_what_it_compares(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call = with_store(monkeypatch, capsys, tmp_path, "compare")
    for name in ("a.json", "b.json"):
        Path(name).write_text("{}")
    code, _, err = call("a.json, b.json", "b.json", "--format", "json", "--out", "./b.json")
    assert (code, err) == (2, "--out b.json: that is the file b.json, which is read; name another file\n")
    assert call("a.json", "b.json", "--out", "none/a.md")[2] == (
        "--out none/a.md: there is no folder none; make it first\n"
    )
    assert Path("b.json").read_text() == "{}"


def test_a_file_that_is_not_there_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flag_files.refuse([("--html", Path("a")), ("--csv", None)], [("b", Path("a")), ("c", None)])
    with pytest.raises(UsageError, match=r"^--html \.: that is a folder; name a file in it$"):
        flag_files.refuse([("--html", Path())])


def shown_by_versus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versus.versus_plan, "plan", lambda *_: SimpleNamespace(fail_if=()))
    monkeypatch.setattr(versus, "_compared", lambda *_: made_versus.result())
    versus.versions([], VersusFlags(html=Path("a.html"), no_store=True))


def shown_by_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "_of_url", lambda *_: made_searches.finding("never").document)
    find.breaking_point(URLS[0], FindFlags(html=Path("a.html"), no_store=True))


def shown_by_diagnose(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: Any, **__: Any) -> Any:
        return nullcontext()

    plan = SimpleNamespace(objective=None, seed=1, change=None)
    monkeypatch.setattr(diagnose, "_plan", lambda *_: plan)
    monkeypatch.setattr(diagnose.origin.engine, "load", nothing)
    monkeypatch.setattr(diagnose, "Ceilings", nothing)
    monkeypatch.setattr(diagnose, "DiagnoseView", nothing)
    monkeypatch.setattr(diagnose.output, "end_leftovers", nothing)
    monkeypatch.setattr(diagnose.alone, "beside", nothing)
    monkeypatch.setattr(diagnose.diagnosis, "diagnose", lambda *_: made_results.diagnosis())
    diagnose.server([URLS[0]], DiagnoseFlags(html=Path("a.html"), no_store=True))


@pytest.mark.long
@pytest.mark.parametrize("shown", [shown_by_versus, shown_by_find, shown_by_diagnose])
def test_the_result_is_shown_before_its_page_is_written(
    shown: Callable[[pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    def full(file: Path, _: str) -> None:
        raise CrumpleError(f"cannot write {file}: No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["crumple", "diagnose", URLS[0]])
    monkeypatch.setattr(output, "save", full)
    with pytest.raises(CrumpleError, match=r"cannot write a\.html"):
        shown(monkeypatch)
    assert len(capsys.readouterr().out.splitlines()) > 5
