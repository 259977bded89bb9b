"""Fixtures for tests of `crumple diagnose`: the command in a small project, and loads as short as can be."""

from pathlib import Path

import pytest
import real_engine
from command_line import Call, in_project
from crumple.diagnose import diagnosis, observe

ROOT = Path(__file__).parents[2]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple diagnose …` in a small project; return (exit code, stdout, stderr)."""
    return in_project(monkeypatch, capsys, tmp_path, "diagnose")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the real engine, with loads that are as short as can be; skip if there is none."""
    real_engine.used(monkeypatch)
    monkeypatch.setattr(observe, "WAITING_CONNECTIONS", (32,))
    monkeypatch.setattr(observe, "WARM_S", 0.2)
    monkeypatch.setattr(observe, "MEASURED_S", 0.6)
    monkeypatch.setattr(observe, "SLOW_WITHIN_S", 2.0)
    monkeypatch.setattr(observe, "SETTLE_S", 1.0)
    monkeypatch.setattr(diagnosis, "LOOK_S", 1.0)
    monkeypatch.setattr(diagnosis, "BEYOND_MAX", diagnosis.BEYOND_MIN)
