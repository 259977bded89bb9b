"""Suspending a server: all its processes stop, resume when woken, and can be ended while suspended."""

import signal
import time
from pathlib import Path

import pytest
import tiny_runs
from crumple.machine import guard, process_tree
from crumple.subject import servers
from crumple.subject.servers import StartedServer

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

STOPPED = "T"


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return tiny_runs.project(monkeypatch, tmp_path)


def _states(running: StartedServer) -> set[str]:
    stats = (
        Path(f"/proc/{pid}/stat").read_text() for pid in process_tree.descendants(running.guarded.guard_pid)
    )
    return {stat.rpartition(")")[2].split()[0] for stat in stats}


def _soon(running: StartedServer, *, suspended: bool) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if (_states(running) == {STOPPED}) is suspended:
            return True
        time.sleep(0.01)
    return False


def test_all_processes_stop_and_resume(project: Path) -> None:
    built = servers.build(servers.find(project)["tiny"])
    with servers.start(built, cores=(), settings={}) as running:
        running.suspend()
        assert _soon(running, suspended=True)
        running.wake()
        assert _soon(running, suspended=False)
        assert running.alive()


def test_a_suspended_server_is_ended_without_a_grace_period(project: Path) -> None:
    built = servers.build(servers.find(project)["tiny"])
    with servers.start(built, cores=(), settings={}) as running:
        running.suspend()
        assert _soon(running, suspended=True)
        pids = [*process_tree.descendants(running.guarded.guard_pid)]
        running.guarded.end()
        # One that is stopped meets SIGTERM with SIGCONT; after its grace it would be SIGKILL.
        assert running.guarded.ended() == guard.CommandEnd(exit=None, signal=signal.SIGTERM)
        assert pids and not any(Path(f"/proc/{pid}").exists() for pid in pids)
