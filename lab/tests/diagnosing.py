"""Fixtures for tests of `crumple diagnose`: the command in a small project, and loads as short as can be."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import stand_ins
import tiny_servers
from command_line import Call, caller
from crumple import engine
from crumple.diagnose import diagnosis, observe
from crumple.errors import CrumpleError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple diagnose …` in a small project; return (exit code, stdout, stderr)."""
    root = stand_ins.project(tmp_path / "project")
    tiny_servers.write(root, "tiny")
    monkeypatch.chdir(root)
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return caller(monkeypatch, capsys, "diagnose")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use the real engine, with loads that are as short as can be; skip if there is none."""
    try:
        monkeypatch.setenv("CRUMPLE_ENGINE", str(engine.load(ROOT).path))
    except CrumpleError as error:
        pytest.skip(f"needs the engine: {error}")
    monkeypatch.setattr(observe, "WAITING_CONNECTIONS", (32,))
    monkeypatch.setattr(observe, "WARM_S", 0.2)
    monkeypatch.setattr(observe, "MEASURED_S", 0.6)
    monkeypatch.setattr(observe, "SLOW_WITHIN_S", 2.0)
    monkeypatch.setattr(observe, "SETTLE_S", 1.0)
    monkeypatch.setattr(diagnosis, "LOOK_S", 1.0)
    monkeypatch.setattr(diagnosis, "BEYOND_MAX", diagnosis.BEYOND_MIN)
    yield
