"""The tour: what it does around the set-up and the runs, both of which are stood in for."""

import signal
from pathlib import Path
from typing import Any

import pytest
import stand_ins
from crumple.commands import run
from crumple.commands import run as run_command
from crumple.subject import installing


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
