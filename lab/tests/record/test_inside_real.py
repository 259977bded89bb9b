"""Small servers of which it is known what a request does inside: the division finds it."""

import os
import tempfile
import time
import urllib.request
from pathlib import Path

import documents
import pytest
from crumple import contract, engine
from crumple.machine import at_rest
from crumple.record import stages
from crumple.record.disturbance import disturbance
from crumple.record.inside import Divided, NotDivided
from crumple.record.stages import Budget, NoBudget
from started_servers import PROGRAM, ROOT, started

pytestmark = pytest.mark.starts

MS = 1_000_000
# Sixteen processes, each of which takes one connection at a time, and makes and removes files in one folder.
# They end with the first one.
FOLDER = """
import ctypes, json, os, socket, sys, time

with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
    for _ in range(16):
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(1, 9)
            name = "%s/%d" % (sys.argv[1], os.getpid())
            while True:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while connection.recv(65536):
                    until = time.monotonic() + 0.04
                    while time.monotonic() < until:
                        os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
                        os.unlink(name)
                    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello")
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    time.sleep(600)
"""
# Answers a line with a number after so many milliseconds.
BEHIND = """
import json, socket, threading, time

def serve(connection):
    while data := connection.recv(100):
        time.sleep(int(data) / 1000)
        connection.sendall(b"done")

with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


def budget_of(
    path: str,
    connections: int,
    *arguments: str,
    program: str = PROGRAM,
    burns: bool = False,
    calm: bool = False,
) -> Budget:
    """The budget of a load of four seconds; the test is skipped if others had the cores meanwhile.

    `burns`: the server computes before the load already. `calm`: others must not have used the machine.
    """
    with started(program, *(arguments or ("", ""))) as (port, pid):
        address = f"127.0.0.1:{port}"
        if burns:
            urllib.request.urlopen(f"http://{address}/burn?ms=1").read()
        rest = at_rest.look(pid)
        assert rest is not None and burns == (rest.cores > 0.05)
        asked = documents.spec(
            target=contract.Target(address=address, host=address),
            requests=(
                documents.request(
                    5,
                    path=path,
                    expect=contract.ExpectSpec(status=200, body_bytes=5, body_sha256=None, hash_one_in=0),
                ),
            ),
            shape=contract.ClosedShapeSpec(connections=connections),
            warm_up=contract.WarmUpSpec(
                connections=None, pauses=True, stop=contract.DurationStopSpec(duration_s=0.5)
            ),
            stop=contract.DurationStopSpec(duration_s=4.0),
            cores=(),
            probe=contract.ProbeSpec(
                interval_ms=100, server_pid=pid, stages=True, tasks=True, dependencies=True
            ),
        )
        record = engine.run(engine.load(ROOT), asked, lambda _: None)
    if calm and (others := disturbance(record)).disturbed:
        pytest.skip(others.why)
    found = stages.budget(record, rest.cores)
    if isinstance(found, NoBudget) and "others had the cores" in found.why:
        pytest.skip(found.why)
    assert isinstance(found, Budget), found
    return found


def shares(found: Budget) -> dict[str, float]:
    """The pieces inside as shares of it, by their names."""
    assert isinstance(found.inside, Divided), found.inside
    whole_ns = found.part("inside").mean_ns
    assert whole_ns > 0.85 * found.measured_ns
    assert sum(piece.mean_ns for piece in found.inside.pieces) == pytest.approx(whole_ns)
    return {piece.name: piece.mean_ns / whole_ns for piece in found.inside.pieces}


def piece_ms(found: Budget, name: str) -> float:
    assert isinstance(found.inside, Divided), found.inside
    return sum(piece.mean_ns for piece in found.inside.pieces if piece.name == name) / MS


# The kernel tells user and kernel time apart by its ticks, and charges a part of one as the other.
@pytest.mark.parametrize(("path", "name"), [("/hash?ms=10", "user"), ("/zeros?ms=10", "kernel")])
@pytest.mark.alone
def test_cpu_time_is_told_apart_by_user_and_kernel(path: str, name: str) -> None:
    found = budget_of(path, 1)
    cpu_ms = piece_ms(found, "user") + piece_ms(found, "kernel")
    assert cpu_ms == pytest.approx(10, rel=0.2)
    assert piece_ms(found, name) > 0.85 * cpu_ms
    # Other programs may have the cores meanwhile: then the thread is ready to run.
    assert shares(found)["otherwise"] < 0.15


@pytest.mark.alone
def test_more_threads_than_cores_are_ready_to_run() -> None:
    found = budget_of("/hash?ms=10", 8)
    cpu_ms = piece_ms(found, "user") + piece_ms(found, "kernel")
    assert cpu_ms == pytest.approx(10, rel=0.2)
    # Of eight threads at most two run, on two cores. The others are ready, but for those that wait for the
    # interpreter's lock while the one that has it is ready.
    assert shares(found)["ready"] > 0.5
    assert shares(found)["otherwise"] < 0.3


def test_waiting_for_a_dependency_is_told_with_its_name() -> None:
    # The eight users keep step: in one load of four, all of some six readings find all of them waiting.
    with started(BEHIND) as (port, _pid):
        found = budget_of("/ask?ms=50", 8, str(port), "")
    (piece,) = [piece for piece in found.pieces if piece.name == "dependency"]
    assert piece.of
    # A fifth of the time the request waits for a timer before it asks.
    assert piece.low_ns / MS < 55 and piece.high_ns / MS > 48
    assert shares(found)["dependency"] == pytest.approx(50 / 70, rel=0.5)
    assert shares(found)["otherwise"] == pytest.approx(20 / 70, rel=1.0)


def test_waiting_for_a_disk_is_told(tmp_path: Path) -> None:
    found = budget_of("/sync?ms=40", 2, "", str(tmp_path))
    if piece_ms(found, "disk") == 0:
        pytest.skip("writes to the temporary folder do not wait for a disk here")
    whole = shares(found)
    assert whole["disk"] + whole["user"] + whole["kernel"] + whole["ready"] > 0.5


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs files in memory")  # noqa: PTH112
def test_waiting_for_the_lock_of_a_folder_in_memory_is_no_disk() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        found = budget_of("/", 16, folder, program=FOLDER)
    assert isinstance(found.inside, Divided), found.inside
    why = next((each.why for each in found.inside.untold if each.name == "disk"), "")
    if not why and piece_ms(found, "disk") < 1:
        pytest.skip("hardly a process waits for the lock here")
    if not why and others_use_the_disk():
        pytest.skip("others use the disk")
    assert "it may be a lock in the kernel" in why and piece_ms(found, "disk") == 0


def others_use_the_disk() -> bool:
    """Whether threads of other programs wait for a disk now and then."""
    looks = []
    for _ in range(50):
        time.sleep(0.01)
        looks += [line for line in Path("/proc/stat").read_text().splitlines() if "procs_blocked" in line]
    return sum(not line.endswith(" 0") for line in looks) >= len(looks) / 10


@pytest.mark.alone
def test_a_handler_of_two_threads_is_not_divided() -> None:
    found = budget_of("/two?ms=20", 1, calm=True)
    assert isinstance(found.inside, NotDivided), found.inside
    assert "CPU" in found.inside.why


@pytest.mark.alone
def test_what_the_server_computes_without_requests_is_not_theirs() -> None:
    # One request at a time, which only sleeps, beside a thread that uses a core.
    found = budget_of("/burn?ms=20", 1, burns=True, calm=True)
    assert shares(found)["otherwise"] > 0.75
