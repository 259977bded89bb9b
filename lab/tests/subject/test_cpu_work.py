"""The loop of the workload mix takes the CPU time asked for, whatever the machine's speed at the moment."""

import importlib.util
import itertools
from types import ModuleType

import pytest
from crumple import project
from crumple.subject import effects
from crumple.subject.effects import MachineSpeed


@pytest.fixture
def spin() -> ModuleType:
    """The module of the Python servers."""
    file = project.root() / "servers" / "python-flask" / "spin.py"
    spec = importlib.util.spec_from_file_location("spin", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("piece_us", [25, 50, 100])
def test_a_machine_of_another_speed_does_other_work_in_the_same_time(
    spin: ModuleType, monkeypatch: pytest.MonkeyPatch, piece_us: int
) -> None:
    looks = itertools.count()
    monkeypatch.setattr(spin, "thread_time_ns", lambda: next(looks) * piece_us * 1000)
    spin.spin(5_000)
    # The loop reads the clock once at its start and once after each piece; this line reads it once more.
    assert next(looks) * piece_us == pytest.approx(5_000, abs=2 * piece_us)


def test_no_server_fixes_the_number_of_rounds_in_advance() -> None:
    servers = project.root() / "servers"
    written = [
        file
        for file in servers.glob("*/**/*")
        if file.suffix in {".py", ".js", ".go", ".rs", ".cs", ".java", ".php", ".sh"}
        and not {"node_modules", "target", ".venv"} & set(file.parts)
    ]
    assert written
    assert [file.name for file in written if "rounds_per_us" in file.read_text("utf-8").lower()] == []


def test_the_drift_of_a_machine_is_slowest_over_fastest() -> None:
    readings_s = iter([0.010, 0.0105, 0.008, 0.012])
    read = MachineSpeed(lambda: next(readings_s))
    assert read.changed == 1
    read.read()
    assert read.changed == 1
    read.read()
    read.read()
    assert read.changed == pytest.approx(1.5)


def test_the_fixed_work_takes_time() -> None:
    assert effects.loop_s() > 0
