"""Finding, building, starting and ending servers, with tiny servers that fail in many ways."""

import math
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
import tiny_servers
from crumple.errors import FileInvalid, ServerFailed, UsageError
from crumple.machine import guard, load_machine, process_tree
from crumple.subject import servers

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Keep builds and scratch folders of a test in its own folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def started(description, settings=None):
    return servers.start(servers.build(description), cores=(), settings=settings or {})


def gone(pid: int) -> bool:
    """Whether the process is gone, or a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def eventually(what, within_s: float = 10.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if what():
            return True
        time.sleep(0.02)
    return False


# Find


def test_servers_are_found_by_their_file(tmp_path):
    tiny_servers.write(tmp_path, "one")
    tiny_servers.write(tmp_path, "two")
    (tmp_path / "servers" / "no-server").mkdir()
    assert list(servers.find(tmp_path)) == ["one", "two"]


def test_the_problems_of_all_servers_are_reported_together(tmp_path):
    for name in ("one", "two"):
        tiny_servers.write(tmp_path, name, toml="wrong = 1\n")
    with pytest.raises(FileInvalid) as invalid:
        servers.find(tmp_path)
    assert {problem.file.parent.name for problem in invalid.value.problems} == {"one", "two"}


# Readiness


def test_a_server_with_all_requirements_is_ready_and_has_versions(tmp_path):
    tiny = tiny_servers.described(tmp_path)
    expected = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    assert servers.readiness(tiny) == servers.Installed(expected)
    assert servers.versions(tiny) == expected


@pytest.mark.parametrize(
    ("toml", "reason", "remedy"),
    [
        (
            '[requires.gone]\ncommand = ["no-such-tool"]\nversion = "(1)"\napt = ["gone"]\n',
            "gone is not installed",
            "run: crumple setup tiny",
        ),
        (
            '[requires.old]\ncommand = ["sh", "-c", "echo 1.9"]\nversion = "([0-9.]+)"\nat_least = "1.10"\n',
            "old 1.9 is older than 1.10",
            "install old",
        ),
        (
            '[requires.mute]\ncommand = ["true"]\nversion = "([0-9]+)"\n',
            "mute does not show its version: true",
            "install mute",
        ),
    ],
)
def test_a_missing_requirement_has_a_reason_and_a_remedy(tmp_path, toml, reason, remedy):
    tiny = tiny_servers.described(tmp_path, toml=toml)
    assert servers.readiness(tiny) == servers.Missing(reason, remedy)
    with pytest.raises(ServerFailed, match=reason) as failed:
        servers.build(tiny)
    assert failed.value.step == "build"


# Start


def test_a_started_server_answers_and_has_ended_afterwards(tmp_path):
    tiny, began = tiny_servers.described(tmp_path), time.monotonic()
    with started(tiny) as running:
        assert 0 < running.start_s <= time.monotonic() - began
        with urllib.request.urlopen(f"http://{running.address}/hello", timeout=5) as answer:
            assert answer.read() == b"Hello, World!"
        assert running.alive()
        assert any(line.startswith("serving") for line in running.output_tail())
        scratch = running.guarded.scratch
        assert scratch.is_dir()
    assert gone(running.pid)
    assert not scratch.exists()
    assert not running.alive()


def test_settings_are_put_into_the_command_and_the_environment(tmp_path):
    toml = 'env = { TINY = "{workers} at {port}" }\n[settings.workers]\ndefault = 4\nmeaning = "how many"\n'
    tiny = tiny_servers.described(tmp_path, here='print("workers", os.environ["TINY"])', toml=toml)
    with started(tiny, {"workers": 7}) as running:
        port = running.address.split(":")[1]
        assert f"workers 7 at {port}" in running.output_tail()
    with started(tiny) as running:
        assert running.settings == {"workers": 4}
    with pytest.raises(UsageError, match="workers"), started(tiny, {"worker": 1}):
        pass


def test_the_users_environment_variables_do_not_reach_the_server(tmp_path, monkeypatch):
    monkeypatch.setenv("NODE_OPTIONS", "--max-old-space-size=64")
    here = 'print("seen", os.environ.get("NODE_OPTIONS"))'
    with started(tiny_servers.described(tmp_path, here=here)) as running:
        assert "seen None" in running.output_tail()


def test_a_server_runs_on_its_cores(tmp_path):
    core = min(os.sched_getaffinity(0))
    with servers.start(
        servers.build(tiny_servers.described(tmp_path)), cores=(core,), settings={}
    ) as running:
        assert os.sched_getaffinity(running.pid) == {core}


def test_waiting_for_a_port_cannot_connect_to_itself(tmp_path):
    # The socket connects from another address than the server's, so it cannot connect to itself even if its
    # local port is the awaited one.
    with started(tiny_servers.described(tmp_path)) as running:
        assert any(line.startswith(f"{process_tree.ASKED_FROM} ") for line in running.output_tail())
    assert process_tree.ASKED_FROM != load_machine.HOST


def test_a_server_that_ends_fails_at_once_with_its_last_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(process_tree, "LIMIT_S", math.inf)
    tiny = tiny_servers.described(tmp_path, here='print("no database"); sys.exit(7)')
    with pytest.raises(ServerFailed, match="ended with code 7 before it answered") as failed, started(tiny):
        pass
    assert failed.value.step == "start"
    assert failed.value.output_tail == ("no database",)


def test_a_server_that_never_listens_fails_at_the_time_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(process_tree, "LIMIT_S", 2.0)
    tiny = tiny_servers.described(tmp_path, here='print("thinking", flush=True); time.sleep(600)')
    said = "it did not listen on port [0-9]+ within 2 s"
    with pytest.raises(ServerFailed, match=said) as failed, started(tiny):
        pass
    assert failed.value.output_tail == ("thinking",)


def test_a_server_that_listens_and_does_not_answer_is_reported_with_the_request(tmp_path, monkeypatch):
    monkeypatch.setattr(process_tree, "LIMIT_S", 3.0)
    here = 'import socket; mute = socket.create_server(("127.0.0.1", PORT)); time.sleep(600)'
    said = "it listens, but did not answer GET / on port [0-9]+ within 3 s; answer it with any status, 404"
    with pytest.raises(ServerFailed, match=said), started(tiny_servers.described(tmp_path, here=here)):
        pass


def test_a_server_that_does_not_speak_http_is_reported(tmp_path):
    here = """
import socket
listener = socket.create_server(("127.0.0.1", PORT))
while True: listener.accept()[0].sendall(b"SSH-2.0-tiny\\r\\n")
"""
    with (
        pytest.raises(ServerFailed, match="no HTTP/1"),
        started(tiny_servers.described(tmp_path, here=here)),
    ):
        pass


def test_a_missing_command_is_named(tmp_path):
    folder = tiny_servers.write(tmp_path, "tiny")
    file = folder / "server.toml"
    file.write_text(
        file.read_text().replace(f'command = ["{sys.executable}", "server.py"', 'command = ["./gone"')
    )
    with pytest.raises(ServerFailed, match="gone"), started(servers.find(tmp_path)["tiny"]):
        pass


def test_a_noexec_mount_is_named(tmp_path, monkeypatch):
    folder = tiny_servers.write(tmp_path, "tiny")
    file = folder / "server.toml"
    file.write_text(
        file.read_text().replace(f'command = ["{sys.executable}", "server.py"', 'command = ["./server.py"')
    )
    tiny = servers.find(tmp_path)["tiny"]
    with pytest.raises(ServerFailed, match="check that the command exists and may be run"), started(tiny):
        pass
    # Not every user may mount, so the flag is faked; the file has no permission to run anyway.
    monkeypatch.setattr(guard.os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC))
    mount = next(folder for folder in tmp_path.parents if folder.is_mount())
    said = f"cannot start ./server.py: Permission denied .*; {mount} is mounted noexec; mount it with exec"
    with pytest.raises(ServerFailed, match=said), started(tiny):
        pass


@pytest.mark.parametrize("here", ["", "time.sleep(0.5)"])
def test_a_port_taken_meanwhile_is_replaced_by_another(tmp_path, monkeypatch, here):
    # The program that took the port answers in HTTP, and must not be taken for the server.
    other = subprocess.Popen(
        [sys.executable, "-m", "http.server", "0", "--bind", "127.0.0.1", "-d", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        taken = int(other.stdout.readline().split(b"port ")[1].split()[0])
        free = process_tree.free_port
        offered = iter([taken, taken])
        monkeypatch.setattr(process_tree, "free_port", lambda: next(offered, None) or free())
        with started(tiny_servers.described(tmp_path, here=here)) as running:
            assert running.address != f"127.0.0.1:{taken}"
        offered = iter([taken] * 3)
        with pytest.raises(ServerFailed), started(servers.find(tmp_path)["tiny"]):
            pass
    finally:
        other.kill()
        other.wait()
        other.stdout.close()


def test_a_server_that_dies_while_answering_is_not_taken_for_another_program(tmp_path, monkeypatch):
    def dead_before_it_is_looked_at(pid):
        for process in descendants(pid):
            os.kill(process, signal.SIGKILL)
        return iter(())

    descendants = process_tree.descendants
    monkeypatch.setattr(process_tree, "descendants", dead_before_it_is_looked_at)
    said = r"it was killed by signal 9 \(SIGKILL\) as it began to answer"
    with pytest.raises(ServerFailed, match=said), started(tiny_servers.described(tmp_path)):
        pass


def test_a_server_whose_processes_change_is_looked_up_twice(tmp_path, monkeypatch):
    descendants, looks = process_tree.descendants, []

    def not_at_first(pid):
        looks.append(pid)
        return descendants(pid) if len(looks) > 1 else iter(())

    monkeypatch.setattr(process_tree, "descendants", not_at_first)
    with started(tiny_servers.described(tmp_path)) as running:
        assert running.alive()
    assert len(looks) == 2


def test_a_port_whose_owner_does_not_listen_counts_as_taken():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        assert process_tree.is_taken(holder.getsockname()[1])


# End


def test_a_daemon_that_left_its_session_ends_with_the_server(tmp_path):
    pid_file = tmp_path / "daemon.pid"
    here = tiny_servers.DAEMON.format(pid_file=str(pid_file))
    with started(tiny_servers.described(tmp_path, here=here)):
        daemon = int(pid_file.read_text())
        assert not gone(daemon)
    assert gone(daemon)


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_process_is_left_if_the_lab_is_killed(tmp_path, signal_number):
    pid_file, told = tmp_path / "daemon.pid", tmp_path / "told"
    tiny = tiny_servers.described(tmp_path, here=tiny_servers.DAEMON.format(pid_file=str(pid_file)))

    def lab() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with started(tiny) as running:
            told.with_suffix(".part").write_text(f"{running.pid} {running.guarded.guard_pid}")
            scratch = running.guarded.scratch
            (scratch / "something").write_text("x")
            told.with_suffix(".part").rename(told)
            time.sleep(60)

    process = multiprocessing.get_context("fork").Process(target=lab)
    process.start()
    assert eventually(told.exists, 20)
    os.kill(process.pid, signal_number)
    process.join(20)
    pids = [int(pid) for pid in told.read_text().split()] + [int(pid_file.read_text())]
    assert eventually(lambda: all(gone(pid) for pid in pids))
    assert eventually(lambda: not list(tmp_path.glob("crumple-*")))


def test_no_process_is_left_if_the_guard_is_killed(tmp_path):
    pid_file = tmp_path / "daemon.pid"
    here = tiny_servers.DAEMON.format(pid_file=str(pid_file))
    with started(tiny_servers.described(tmp_path, here=here)) as running:
        os.kill(running.guarded.guard_pid, signal.SIGKILL)
        assert eventually(lambda: not running.alive())
    assert gone(running.pid)
    assert gone(int(pid_file.read_text()))
    assert not running.guarded.scratch.exists()


def test_a_server_that_ignores_sigterm_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "GRACE_S", 0.3)
    here = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    with started(tiny_servers.described(tmp_path, here=here)) as running:
        pass
    assert gone(running.pid)
    # The guard itself reports the end, so it was not killed.
    assert running.guarded.ended() == guard.CommandEnd(exit=None, signal=signal.SIGKILL)
