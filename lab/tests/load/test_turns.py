"""Several labs on one machine: one measures at a time, one that waits is next, and a dead one blocks none."""

import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import real_engine
from command_line import caller
from crumple.errors import Interrupted
from crumple.interrupt import interruptible
from crumple.load import engine_spec
from crumple.machine import alone

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

# Waits for its turn and prints that, takes it, and keeps it until its standard input closes.
OTHER = """
import sys
from crumple.machine import alone
alone.NAME = sys.argv[1]
with alone.turn(lambda: print("waits", flush=True)):
    print("has it", flush=True)
    sys.stdin.read()
"""


# As little load as a verb may put on.
SHORT = {"load": ("-n", "1"), "find": ("--budget", "10s", "--warm-up", "100ms")}


@pytest.fixture(autouse=True)
def name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setattr(alone, "NAME", f"crumple-{os.getpid()}-{tmp_path.name}")
    return alone.NAME


def _other(name: str, home: str = "") -> subprocess.Popen[str]:
    """Another crumple, of a user with another home."""
    environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": home} if home else None
    return subprocess.Popen(
        [sys.executable, "-c", OTHER, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


def _says(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def test_a_single_lab_never_waits() -> None:
    said: list[str] = []
    for _ in range(3):
        with alone.turn(lambda: said.append("waits")):
            pass
    assert said == []


def test_the_second_lab_has_its_turn_before_the_firsts_next(name: str) -> None:
    said: list[str] = []
    with alone.turn(lambda: said.append("waits")):
        other = _other(name)
        assert _says(other) == "waits"
    # If this lab asked again at once, it would come after the one that waited.
    assert _says(other) == "has it"
    assert other.stdin
    other.stdin.close()
    with alone.turn(lambda: said.append("again")):
        assert other.wait(10) == 0


def test_the_turn_of_a_killed_lab_is_free(name: str) -> None:
    other = _other(name)
    assert _says(other) == "has it"
    told: list[str] = []
    with alone.beside(lambda: told.append("disturbed")):
        assert told == ["disturbed"]
    other.kill()
    other.wait()
    with alone.turn(lambda: told.append("waits")):
        assert told == ["disturbed"]


def test_a_load_beside_runs_makes_them_wait(name: str) -> None:
    with alone.beside(lambda: pytest.fail("nobody else measures")):
        other = _other(name)
        assert _says(other) == "waits"
    assert _says(other) == "has it"
    assert other.stdin
    other.stdin.close()
    assert other.wait(10) == 0


def test_a_lab_with_another_home_waits_too(name: str) -> None:
    with alone.turn(lambda: pytest.fail("nobody else measures")):
        other = _other(name, home="/nonexistent")
        assert _says(other) == "waits"
    assert _says(other) == "has it"
    other.kill()
    other.communicate()


def test_all_waiting_labs_get_their_turn(name: str) -> None:
    with alone.turn(lambda: pytest.fail("nobody else measures")):
        others = [_other(name) for _ in range(4)]
        assert [_says(other) for other in others] == ["waits"] * 4
    waiting = list(others)
    while waiting:
        ready = select.select([other.stdout for other in waiting], [], [], 10)[0]
        assert len(ready) == 1, "one at a time"
        (first,) = (other for other in waiting if other.stdout is ready[0])
        assert _says(first) == "has it"
        first.communicate()
        waiting.remove(first)


def test_waiting_can_be_interrupted(name: str) -> None:
    other = _other(name)
    assert _says(other) == "has it"
    alarm = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(Interrupted), interruptible(), alone.turn(alarm.start):
        pytest.fail("another has it")
    # A lab that was interrupted holds no place in the line.
    other.kill()
    other.communicate()
    with alone.turn(lambda: pytest.fail("nobody else measures")):
        pass


@pytest.mark.parametrize("flags", [("--json",), ("--json", "--quiet")])
@pytest.mark.parametrize("verb", ["load", "find"])
def test_a_load_beside_another_crumple_says_so_on_stderr_whatever_is_printed(
    verb: str,
    flags: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """A program that reads the JSON on stdout finds the reason for odd figures beside it."""
    real_engine.used(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(engine_spec, "check_listening", lambda target, machine: None)
    held = alone._at_once("turn")
    assert held is not None
    with held:
        _, _, err = caller(monkeypatch, capsys, verb)("http://127.0.0.1:1/", *flags, *SHORT[verb])
    said = [line for line in err.splitlines() if "another crumple" in line]
    assert len(said) == 1, err
    assert said[0].startswith("another crumple measures on this machine now")
