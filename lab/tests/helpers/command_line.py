"""Runs the command line in this process, as a user would type it."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import stand_ins
import tiny_servers
from crumple import cli
from crumple.commands import load
from crumple.load import load_plan
from crumple.load.load_plan import LoadPlan

Call = Callable[..., tuple[int, str, str]]
# Why a load is not valid where others have the cores meanwhile.
BY_THE_MACHINE = ("disturbed", "unsteady", "engine-limited", "schedule-missed")


def was_measured(code: int, out: str) -> bool:
    """Whether a load was measured: it is valid, or its summary says that the machine made it not valid."""
    return code == 0 or (code == 3 and any(word in out for word in BY_THE_MACHINE))


def caller(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *first: str) -> Call:
    """A function that runs `crumple` with `first` and its arguments; returns (exit code, stdout, stderr)."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["crumple", *first, *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return call


def with_store(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, *first: str
) -> Call:
    """As `caller`, in a project of its own without a server, and with a store of its own."""
    root = stand_ins.project(folder / "project")
    monkeypatch.chdir(root)
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    monkeypatch.setenv("CRUMPLE_RUNS", str(folder / "runs"))
    return caller(monkeypatch, capsys, *first)


def in_project(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, command: str
) -> Call:
    """As `caller`, in a project of its own with the server `tiny`, a cache and a store of its own."""
    root = stand_ins.project(folder / "project")
    tiny_servers.write(root, "tiny")
    monkeypatch.chdir(root)
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    return caller(monkeypatch, capsys, command)


def plans_made(monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[LoadPlan]:
    """Let `crumple load` make its plan only; the list that is returned gets each. It runs in `folder`."""
    made: list[LoadPlan] = []
    monkeypatch.chdir(folder)
    for variable in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.setenv(variable, "")
    monkeypatch.setattr(load, "put_on", lambda url, flags: made.append(load_plan.plan(url, flags)))
    return made
