"""A server that is held: all of it is stopped, goes on when it is released, and can be ended while held."""

import time
from pathlib import Path

import pytest
import tiny_runs
from crumple.processes import tree
from crumple.server import servers
from crumple.server.start import Running

STOPPED = "T"


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return tiny_runs.project(monkeypatch, tmp_path)


def _states(running: Running) -> set[str]:
    stats = (Path(f"/proc/{pid}/stat").read_text() for pid in tree.descendants(running.guarded.guard_pid))
    return {stat.rpartition(")")[2].split()[0] for stat in stats}


def _soon(running: Running, *, held: bool) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if (_states(running) == {STOPPED}) is held:
            return True
        time.sleep(0.01)
    return False


def test_all_of_it_stops_and_goes_on(project: Path) -> None:
    built = servers.build(servers.find(project)["tiny"])
    with servers.start(built, cores=(), settings={}) as running:
        running.hold()
        assert _soon(running, held=True)
        running.release()
        assert _soon(running, held=False)
        assert running.alive()


def test_one_that_is_held_is_ended_without_waiting_for_its_grace(project: Path) -> None:
    built = servers.build(servers.find(project)["tiny"])
    with servers.start(built, cores=(), settings={}) as running:
        running.hold()
        assert _soon(running, held=True)
        pids = [*tree.descendants(running.guarded.guard_pid)]
        running.guarded.end()
        assert pids and not any(Path(f"/proc/{pid}").exists() for pid in pids)
