"""`crumple try`, with stand-ins for the set-up and the runs."""

import signal
from pathlib import Path
from typing import Any

import pytest
import stand_ins
from crumple.commands import run
from crumple.subject import installing


def test_it_first_prints_how_long_it_takes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CRUMPLE_ROOT", str(stand_ins.project(tmp_path / "project")))
    monkeypatch.setattr(installing, "prepare", lambda *_, **__: [])
    monkeypatch.setattr(run, "new", lambda *_: 0)
    run.tour(open_it=False, as_json=False)
    first = capsys.readouterr().err.splitlines()[0]
    assert first.endswith("at the shortest scale (about 4 minutes after the set-up), and shows the verdicts")
    readme = Path(__file__).parents[3] / "README.md"
    said = " ".join(readme.read_text(encoding="utf-8").split())
    assert "takes about four minutes on two cores, after the set-up" in said


def test_an_interrupted_set_up_cleans_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = stand_ins.project(tmp_path / "project")
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    at_sigterm: list[Any] = []
    monkeypatch.setattr(
        installing, "prepare", lambda *_, **__: at_sigterm.append(signal.getsignal(signal.SIGTERM))
    )
    monkeypatch.setattr(run, "new", lambda *_: 0)
    assert run.tour(open_it=False, as_json=False) == 0
    # By default SIGTERM ends the process at once, without cleaning up.
    assert at_sigterm and at_sigterm[0] is not signal.SIG_DFL
