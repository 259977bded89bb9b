"""Real servers that ask a busy listener on the same machine: it is none of those who disturb, a burner is."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import documents
import pytest
import real_engine
from command_line import Call
from crumple import contract, engine
from crumple.diagnose import observe
from crumple.machine import process_tree
from crumple.record.disturbance import Disturbance, disturbance
from crumple.record.machine_use import busy_ns
from diagnosing import call, short
from started_servers import ROOT, started

__all__ = ["call", "short"]

pytestmark = pytest.mark.starts

CORES = len(os.sched_getaffinity(0))
# So many requests at a time: each keeps one core busy behind the server.
USERS = max(1, CORES // 2)
COMPUTE = """
import hashlib, json, os, signal, socket, sys, threading, time

BLOCK = bytes(1 << 18)

def compute(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        hashlib.sha256(BLOCK).digest()

def listen(place):
    kind = socket.AF_UNIX if place else socket.AF_INET
    listener = socket.socket(kind)
    listener.bind(place or ("127.0.0.1", 0))
    listener.listen(128)
    return listener

def say(listener):
    name = listener.getsockname()
    print(json.dumps({"port": name if isinstance(name, str) else name[1]}), flush=True)
"""
# For each request, so much CPU time is used behind the server.
EACH_NS = 5_000_000
# Shares are rounded to this.
ROUNDED = 1e-4
# Computes 5 ms for each byte that it is asked. argv: how it serves connections, and the path of its socket.
BEHIND = (
    COMPUTE
    + """
how, place = sys.argv[1], sys.argv[2]

def serve(connection):
    while connection.recv(1):
        compute(0.005)
        connection.sendall(b"!")

def forked(connection):
    if os.fork() == 0:
        listener.close()
        serve(connection)
        os._exit(0)
    connection.close()

signal.signal(signal.SIGCHLD, lambda *_: None)
listener = listen(place)
say(listener)
while True:
    connection, _ = listener.accept()
    if how == "fork":
        forked(connection)
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0: break
            except ChildProcessError:
                break
    else:
        threading.Thread(target=serve, args=(connection,), daemon=True).start()
"""
)
# Listens, takes a connection, closes it, and computes for nobody.
BURNER = (
    COMPUTE
    + """
listener = listen("")
say(listener)
threading.Thread(target=listener.accept, daemon=True).start()
while True:
    compute(1)
"""
)
# Asks for each request, over a connection of the thread, or over a new one. argv: whom it asks, where else it
# has a connection that it never uses, whether it asks over new ones, and whether it asks its own child.
SERVER = (
    COMPUTE
    + """
behind, idle, anew, child = sys.argv[1:5]
if child:
    own = listen("")
    behind = str(own.getsockname()[1])
    parent = os.getpid()
    if os.fork() == 0:
        own.settimeout(0.1)
        while os.getppid() == parent:
            try:
                connection, _ = own.accept()
            except TimeoutError:
                continue
            connection.settimeout(None)
            def answer(connection=connection):
                while connection.recv(1):
                    connection.sendall(b"!")
            threading.Thread(target=answer, daemon=True).start()
        os._exit(0)
    own.close()
kept = idle and socket.create_connection(("127.0.0.1", int(idle)))
local = threading.local()

def connect():
    if behind.isdigit():
        return socket.create_connection(("127.0.0.1", int(behind)))
    link = socket.socket(socket.AF_UNIX)
    link.connect(behind)
    return link

def ask():
    if not behind:
        return
    if anew or not hasattr(local, "link"):
        local.link = connect()
    local.link.sendall(b"?")
    local.link.recv(1)
    if anew:
        local.link.close()

def serve(connection):
    while connection.recv(65536):
        ask()
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello")

listener = listen("")
say(listener)
while True:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
"""
)


@pytest.fixture(autouse=True)
def others_may_work() -> None:
    """Keep the real limits in this module."""


def used_ns(pid: int) -> int:
    """The CPU time of a process, and of its children that it has waited for or that are there."""
    tree = (pid, *process_tree.descendants(pid))
    fields = [process_tree.stat(process) for process in tree]
    ticks = sum(int(own[at]) for own in fields for at in (11, 12, 13, 14))
    return round(ticks * 1e9 / os.sysconf("SC_CLK_TCK"))


def loaded(port: int, pid: int, seconds: float = 3.0, seed: int = 1) -> contract.TrialRecord:
    """The record of a load on the server, without a warm-up."""
    address = f"127.0.0.1:{port}"
    expected = contract.ExpectSpec(status=200, body_bytes=5, body_sha256=None, hash_one_in=0)
    spec = documents.spec(
        target=contract.Target(address=address, host=address),
        requests=(documents.request(5, path="/", expect=expected),),
        shape=contract.ClosedShapeSpec(connections=USERS),
        warm_up=None,
        stop=contract.DurationStopSpec(duration_s=seconds),
        cores=(),
        probe=contract.ProbeSpec(interval_ms=100, server_pid=pid, dependencies=True),
        seed=seed,
    )
    return engine.run(real_engine.loaded(), spec, lambda _: None)


def serving_ns(record: contract.TrialRecord) -> int:
    found = record.probes.dependencies
    assert found is not None and found.why is None, found
    assert found.serving_cpu_ns is not None and found.unfound_cpu_ns == 0, found.unread
    return found.serving_cpu_ns


def serving_or_unfound_ns(record: contract.TrialRecord) -> int:
    found = record.probes.dependencies
    assert found is not None and found.serving_cpu_ns is not None and found.unfound_cpu_ns is not None
    return found.serving_cpu_ns + found.unfound_cpu_ns


def others_at_most(record: contract.TrialRecord) -> float:
    """The share that others may have used, if what a request takes behind the server is the server's."""
    windows = (record.probes.server and record.probes.server.window, record.probes.engine.window)
    machine, ours_ns = record.probes.machine.window, sum(each.cpu_ns for each in windows if each)
    assert machine and all(windows)
    others_ns = busy_ns(machine) - ours_ns - 0.9 * record.outcomes.ok * EACH_NS
    return max(0.0, others_ns) / (machine.cores * record.measured_ns)


def assert_not_of_others(record: contract.TrialRecord, *, is_known: bool = True) -> None:
    """What is behind the server is not among the others, whoever else uses the machine meanwhile."""
    found = disturbance(record)
    if found.others_share is None and not is_known:
        return
    assert found.others_share is not None, found.unread
    assert found.others_share <= others_at_most(record) + ROUNDED


def skip_if_others(record: contract.TrialRecord) -> None:
    """Skip if others disturbed it, which `assert_not_of_others` has found to be others."""
    if disturbance(record).disturbed:
        pytest.skip("others used the machine meanwhile")


@pytest.mark.parallel
@pytest.mark.parametrize(
    ("how", "over", "anew"),
    [("thread", "tcp", ""), ("thread", "unix", ""), ("fork", "tcp", ""), ("fork", "tcp", "anew")],
)
def test_what_a_busy_listener_uses_because_it_is_asked_is_counted(
    how: str, over: str, anew: str, tmp_path: Path
) -> None:
    place = str(tmp_path / "behind") if over == "unix" else ""
    with (
        started(BEHIND, how, place) as (behind, behind_pid),
        started(SERVER, str(behind), "", anew, "") as (port, pid),
    ):
        before_ns = used_ns(behind_pid)
        record = loaded(port, pid)
        whole_ns = used_ns(behind_pid) - before_ns
    # The kernel counts the time of a process and of its children in ticks, each of them rounded down.
    assert 0.9 * record.outcomes.ok * EACH_NS <= serving_ns(record) <= 1.1 * whole_ns + 50_000_000
    assert_not_of_others(record)


@pytest.mark.parallel
def test_what_is_asked_over_connections_that_no_reading_finds_is_not_of_others() -> None:
    found = []
    with started(BEHIND, "thread", "") as (behind, _):
        for seed in range(4):
            with started(SERVER, str(behind), "", "anew", "") as (port, pid):
                record = loaded(port, pid, 0.3, seed=seed)
            assert_not_of_others(record, is_known=False)
            found.append(serving_or_unfound_ns(record) / record.outcomes.ok)
    assert min(found) >= 0.9 * EACH_NS


@pytest.mark.parallel
def test_a_burner_that_listens_and_is_not_asked_disturbs() -> None:
    """The server is connected to it, and asks another listener."""
    with (
        started(BURNER) as (idle, burner_pid),
        started(BEHIND, "thread", "") as (behind, behind_pid),
        started(SERVER, str(behind), str(idle), "", "") as (port, pid),
    ):
        before_ns = used_ns(behind_pid)
        burnt_ns = used_ns(burner_pid)
        record = loaded(port, pid)
        whole_ns = used_ns(behind_pid) - before_ns
        burnt_ns = used_ns(burner_pid) - burnt_ns
    machine, found = record.probes.machine.window, disturbance(record)
    assert serving_ns(record) <= 1.1 * whole_ns + 50_000_000
    assert machine is not None and found.others_share is not None
    # On a busy machine the load, and what it is compared with, begin and end at somewhat different times.
    assert found.others_share >= 0.5 * burnt_ns / (machine.cores * record.measured_ns)


@pytest.mark.parallel
def test_a_child_of_the_server_that_listens_is_its_own() -> None:
    with started(SERVER, "", "", "", "child") as (port, pid):
        record = loaded(port, pid)
        children = [*process_tree.descendants(pid)]
    found = record.probes.dependencies
    assert found is not None and found.at_ns
    (listener,) = [peer.listener for peer in found.peers if peer.listener]
    assert listener.pid in children and listener.own
    # It is the server, and its CPU time is counted as the server's.
    assert serving_ns(record) == 0


@contextmanager
def asking() -> Iterator[tuple[int, int]]:
    """A server that asks a busy listener: its port and its pid."""
    with started(BEHIND, "thread", "") as (behind, _), started(SERVER, str(behind), "", "", "") as server:
        yield server


@pytest.mark.alone
def test_a_watched_load_is_not_disturbed_by_what_the_server_asks() -> None:
    with asking() as (port, pid):
        words = ("load", f"http://127.0.0.1:{port}/", "-c", str(USERS), "-z", "4s", "--json")
        done = subprocess.run(
            [str(ROOT / "crumple"), *words, "--watch", str(pid)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout, done.stderr
    said = json.loads(done.stdout)
    record = contract.TrialRecord.model_validate(said["record"])
    assert_not_of_others(record)
    skip_if_others(record)
    first = said["findings"][0]
    if first["kind"] == "unclear" and "(other programs" in first["why"]:
        pytest.skip("others used the machine while requests were sent alone")
    assert first["kind"] == "finding" or "several causes" in first["why"], said["findings"]


@pytest.mark.usefixtures("short")
@pytest.mark.alone
def test_a_diagnosis_is_not_disturbed_by_what_the_server_asks(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = []

    def judging(record: contract.TrialRecord, *of: Any, **also: Any) -> Disturbance:
        judged.append(record)
        return disturbance(record, *of, **also)

    monkeypatch.setattr(observe, "disturbance", judging)
    with asking() as (port, _):
        code, out, err = call(f"http://127.0.0.1:{port}/", "--no-search", "--quiet", "--json", "--seed", "3")
    assert code == 0 and judged, err
    for record in judged:
        # Connections of 7 ms, one at a time, may be missed by all readings of a third of a second.
        assert_not_of_others(record, is_known=False)
    for record in judged:
        skip_if_others(record)
    said = json.loads(out)
    assert said["facts"]["beyond"]["disturbed"] == "", said["findings"]
