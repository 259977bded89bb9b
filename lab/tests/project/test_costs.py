"""Costs of this machine, from the real engine and from stand-ins that fail."""

import re
import stat
from pathlib import Path

import pytest
import real_engine
from crumple.engine import Engine
from crumple.errors import EngineFailed
from crumple.machine import ceiling

pytestmark = pytest.mark.starts


def stand_in(tmp_path: Path, script: str) -> Engine:
    """An engine that is a shell script."""
    path = tmp_path / "engine"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Engine(path, "0")


def test_a_thread_costs_more_than_a_call_and_a_process_more_than_a_thread() -> None:
    loaded = real_engine.loaded()
    readings = ceiling.cost_readings(loaded, None, 2)
    assert all(len(each) == 2 for each in readings.values())
    assert set(readings) == set(ceiling.COSTS)
    assert 0 < max(readings["system_call"]) < min(readings["thread"])
    assert max(readings["thread"]) < min(readings["process"])


@pytest.mark.parallel
def test_the_names_are_those_that_the_engine_writes() -> None:
    source = (Path(__file__).parents[3] / "engine" / "src" / "costs.rs").read_text(encoding="utf-8")
    assert set(re.findall(r'\bcost\(\s*"(\w+)"', source)) == set(ceiling.COSTS)


@pytest.mark.parallel
@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            """echo '{"error":"no such core","remedy":"take another"}' >&2; exit 1""",
            "no such core; take another",
        ),
        ("echo what >&2; exit 3", "the engine's costs failed: what"),
        ("echo '[{}]'", "not what the lab expects"),
    ],
)
def test_the_error_of_an_engine_is_quoted(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(EngineFailed, match=message):
        ceiling.costs(stand_in(tmp_path, script), None)
