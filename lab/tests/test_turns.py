"""Several labs on one machine: one at a time, whoever waits comes next, and a dead one holds nobody up."""

import subprocess
import sys
from pathlib import Path

import pytest
from crumple.errors import NotWritable
from crumple.machine import turns

# Waits for its turn, says so, takes it, and keeps it until its standard input closes.
OTHER = """
import sys
from pathlib import Path
from crumple.machine import turns
turns.folder = lambda: Path(sys.argv[1])
with turns.turn(lambda: print("waits", flush=True)):
    print("has it", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(turns, "folder", lambda: tmp_path / "turns")
    return tmp_path / "turns"


def _other(place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", OTHER, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _says(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def test_alone_nobody_waits_and_a_turn_can_be_taken_again() -> None:
    said: list[str] = []
    for _ in range(3):
        with turns.turn(lambda: said.append("waits")):
            pass
    assert said == []


def test_the_second_waits_and_comes_before_the_first_takes_another_turn(place: Path) -> None:
    said: list[str] = []
    with turns.turn(lambda: said.append("waits")):
        other = _other(place)
        assert _says(other) == "waits"
    # Whoever asks again without delay is behind the one who waited.
    assert _says(other) == "has it"
    assert other.stdin
    other.stdin.close()
    with turns.turn(lambda: said.append("again")):
        assert other.wait(10) == 0


def test_the_turn_of_one_that_was_killed_is_free(place: Path) -> None:
    other = _other(place)
    assert _says(other) == "has it"
    told: list[str] = []
    with turns.beside(lambda: told.append("disturbed")):
        assert told == ["disturbed"]
    other.kill()
    other.wait()
    with turns.turn(lambda: told.append("waits")):
        assert told == ["disturbed"]


def test_a_look_beside_keeps_runs_waiting_while_it_lasts(place: Path) -> None:
    with turns.beside(lambda: pytest.fail("nobody else measures")):
        other = _other(place)
        assert _says(other) == "waits"
    assert _says(other) == "has it"
    assert other.stdin
    other.stdin.close()
    assert other.wait(10) == 0


def test_a_place_that_takes_no_locks_is_named(place: Path) -> None:
    place.write_text("a file, where a folder is wanted")
    with pytest.raises(NotWritable, match=r"cannot write .*/turns: .*; name another place in XDG_CACHE_HOME"):
        turns.turn(lambda: None).__enter__()
