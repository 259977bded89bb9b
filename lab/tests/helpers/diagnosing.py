"""Fixtures for tests of `crumple diagnose`: the command in a small project, and loads as short as can be."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
import real_engine
from command_line import Call, in_project
from crumple.diagnose import diagnosis, load_sizes, looking, observe, remedy_trial
from crumple.experiment import bench, idle_memory
from crumple.record import disturbance

ROOT = Path(__file__).parents[3]
SHORT: list[tuple[ModuleType, str, object]] = [
    (observe, "WAITING_CONNECTIONS", (32,)),
    (observe, "WARM_S", 0.2),
    (observe, "MEASURED_S", 0.6),
    (observe, "SLOW_WITHIN_S", 2.0),
    (observe, "SETTLE_S", 1.0),
    (observe, "SETTLE_S_MAX", 1.0),
    (bench, "LOAD_S_MAX", 0.6),
    (idle_memory, "STEPS", 2),
    (looking, "WARM_S", 0.5),
    (remedy_trial, "LOAD_S", 0.6),
    (remedy_trial, "LOOK_S", 1.0),
    (load_sizes, "LOOK_S", 1.0),
    (load_sizes, "IN_FLIGHT_MOST", load_sizes.BEYOND_MIN),
    (diagnosis, "IN_FLIGHT_MOST", load_sizes.BEYOND_MIN),
]
# As `others_may_work` of `conftest`.
UNDISTURBED = [(disturbance, name, 1e9) for name in ("SLOWDOWN_MAX", "MENTIONED")]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple diagnose …` in a small project; return (exit code, stdout, stderr)."""
    return in_project(monkeypatch, capsys, tmp_path, "diagnose")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the real engine, with loads that are as short as can be; skip if there is none."""
    real_engine.used(monkeypatch)
    for module, name, value in SHORT:
        monkeypatch.setattr(module, name, value)


def short_program(python: str | Path = sys.executable) -> list[str]:
    """The words that run `crumple` in a process of its own, with loads as short as can be."""
    changes = [
        f"import {module.__name__} as changed; changed.{name} = {value!r}"
        for module, name, value in [*SHORT, *UNDISTURBED]
    ]
    return [str(python), "-c", "\n".join([*changes, "from crumple.cli import main; main()"])]
