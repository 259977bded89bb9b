"""The tour: what it does around the set-up and the runs, both of which are stood in for."""

import signal
from pathlib import Path
from typing import Any

import pytest
import stand_ins
from crumple.commands import run
from crumple.commands import run as run_command
from crumple.subject import installing


def test_it_says_first_how_long_it_takes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CRUMPLE_ROOT", str(stand_ins.project(tmp_path / "project")))
    monkeypatch.setattr(installing, "prepare", lambda *_, **__: [])
    monkeypatch.setattr(run_command, "new", lambda *_: 0)
    run.take(open_it=False, as_json=False)
    first = capsys.readouterr().err.splitlines()[0]
    assert first.endswith("runs 0 studies in short (about 4 minutes after the set-up), shows verdicts")
    readme = Path(__file__).parents[2] / "README.md"
    assert "takes about four minutes on two cores, after the set-up" in readme.read_text(encoding="utf-8")


def test_the_set_up_can_be_interrupted_and_clears_away(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = stand_ins.project(tmp_path / "project")
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    at_sigterm: list[Any] = []
    monkeypatch.setattr(
        installing, "prepare", lambda *_, **__: at_sigterm.append(signal.getsignal(signal.SIGTERM))
    )
    monkeypatch.setattr(run_command, "new", lambda *_: 0)
    assert run.take(open_it=False, as_json=False) == 0
    # By default it ends the process where it stands, and what is to be cleared away stays.
    assert at_sigterm and at_sigterm[0] is not signal.SIG_DFL
