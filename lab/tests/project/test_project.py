"""Which folder is the project and where runs are stored, by installation and working directory."""

import os
from pathlib import Path

import pytest
import stand_ins
from crumple import project
from crumple.errors import UsageError


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CRUMPLE_ROOT", "CRUMPLE_RUNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the wheel's project in a temporary folder, with an empty working directory; return it."""
    package = tmp_path / "site-packages" / "crumple"
    carried = stand_ins.project(package / "carried")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(project, "PACKAGE", package)
    monkeypatch.setattr(project, "CARRIED", carried)
    return carried


def test_a_project_named_by_the_environment_is_the_only_candidate(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = stand_ins.project(installed.parents[2] / "named")
    monkeypatch.setenv("CRUMPLE_ROOT", str(named))
    assert project.root() == named
    (named / "studies").rmdir()
    with pytest.raises(UsageError, match=f"CRUMPLE_ROOT names {named}, which lacks contract/workloads, serv"):
        project.root()


def test_the_working_directory_comes_before_the_installed_project(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = stand_ins.project(installed.parents[2] / "own")
    monkeypatch.chdir(here / "servers")
    assert project.root() == here
    assert project.runs(here) == here / "runs"


def test_a_checkout_comes_before_the_project_in_its_package(installed: Path) -> None:
    checkout = stand_ins.project(installed.parents[1] / "marks").rename(installed.parents[2] / "checkout")
    package = checkout / "lab" / "crumple"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(project, "PACKAGE", package)
        assert project.root() == checkout


def test_the_wheel_carries_a_project_and_keeps_runs_outside_it(installed: Path) -> None:
    assert project.root() == installed
    assert project.runs(installed) == Path(os.environ["XDG_DATA_HOME"]) / "crumple" / "runs"


def test_runs_are_stored_where_the_environment_says(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRUMPLE_RUNS", "/some/where")
    assert project.runs(installed) == project.runs(Path("/any/project")) == Path("/some/where")


def test_without_a_project_the_message_says_what_a_project_contains(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project, "CARRIED", installed / "gone")
    with pytest.raises(UsageError, match=r"has contract/workloads, servers and studies; set CRUMPLE_ROOT"):
        project.root()


def test_a_checkouts_project_is_the_checkout_itself() -> None:
    root = Path(__file__).parents[3]
    for mark in project.MARKS:
        assert (project.CARRIED / mark).is_symlink() and (project.CARRIED / mark).samefile(root / mark)
