"""One load from spec to record: threads, interruption, and the watched process."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import documents
import pytest
from crumple import contract
from crumple.contract import ClosedShapeSpec, OpenShapeSpec, RampShapeSpec, RateSpec
from crumple.engine import Engine
from crumple.errors import EngineFailed, Interrupted, UsageError
from crumple.load import engine_spec, load_options
from crumple.machine import process_tree
from crumple.machine.load_machine import LoadMachine

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

# Listens in itself and in a child, with --child-only in the child alone. Prints its port, its pid, the
# child's pid.
SERVER = """
import os, socket, sys, time
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
port = server.getsockname()[1]
child = os.fork()
if child and "--child-only" in sys.argv:
    server.close()
if child:
    print(port, os.getpid(), child, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("shape", "cores", "threads"),
    [
        (ClosedShapeSpec(connections=1), 16, 1),
        (ClosedShapeSpec(connections=256), 16, 1),
        (ClosedShapeSpec(connections=257), 16, 2),
        (ClosedShapeSpec(connections=10_000), 16, 8),
        (ClosedShapeSpec(connections=10_000), 2, 1),
        (ClosedShapeSpec(connections=10_000), 1, 1),
        (RampShapeSpec(from_connections=0, to_connections=600, over_s=1), 16, 3),
        (
            OpenShapeSpec(connections=1_000, rates=(RateSpec(from_per_s=9, to_per_s=50_000, duration_s=1),)),
            16,
            1,
        ),
        (
            OpenShapeSpec(connections=1_000, rates=(RateSpec(from_per_s=90_000, to_per_s=9, duration_s=1),)),
            16,
            2,
        ),
        (OpenShapeSpec(connections=1, rates=(RateSpec(from_per_s=90_000, to_per_s=9, duration_s=1),)), 16, 1),
    ],
)
def test_threads_fit_the_shape_and_leave_half_of_the_cores(
    shape: contract.ShapeSpec, cores: int, threads: int
) -> None:
    machine = LoadMachine(tuple(range(cores)), open_files=1_024, ports=None)
    assert engine_spec.threads_for(shape, machine.threads_most) == threads


def _engine(folder: Path, body: str = "") -> Engine:
    return Engine(documents.fake_engine(folder, body), "0.1.0")


def _ignored(_: contract.ProgressLine) -> None:
    pass


def _when(file: Path, then: Callable[[], None]) -> threading.Thread:
    """Call `then` as soon as the file exists, in a thread of its own; never, if it takes over a minute."""

    def wait() -> None:
        deadline = time.monotonic() + 60
        while not file.exists():
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)
        then()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


# A stand-in for the engine: it ends at the first SIGINT, unless told otherwise, and prints its record.
WAITS = """
import signal
from pathlib import Path
class Ended(Exception): pass
def end(*_): raise Ended
signal.signal(signal.SIGINT, {handler})
try:
    Path({ready!r}).touch()
    time.sleep(30)
except Ended:
    record["measured_ns"] = 5
"""


def test_a_load_that_ends_by_itself(tmp_path: Path) -> None:
    seen: list[contract.ProgressLine] = []
    conducted = engine_spec.conduct(_engine(tmp_path), documents.spec(), seen.append)
    assert conducted.record.outcomes.ok == 20_000 and not conducted.ended_early
    assert len(seen) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_interruption_ends_the_load_and_keeps_its_record(tmp_path: Path, number: int) -> None:
    ready = tmp_path / "ready"
    running = _engine(tmp_path, WAITS.format(handler="end", ready=str(ready)))
    _when(ready, lambda: os.kill(os.getpid(), number))
    conducted = engine_spec.conduct(running, documents.spec(), _ignored)
    assert conducted.ended_early and conducted.record.measured_ns == 5


def _often(times: int, every_s: float, over: threading.Event) -> None:
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)
        if over.wait(every_s):
            return


@pytest.mark.parametrize(("one_wish_s", "held_down_s", "every_s"), [(0.4, 60.0, 0.5), (60.0, 0.6, 0.1)])
def test_a_second_interruption_discards_the_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_wish_s: float, held_down_s: float, every_s: float
) -> None:
    """A second Ctrl-C that comes later, or a key that is held down for long."""
    monkeypatch.setattr("crumple.interrupt.ONE_WISH_S", one_wish_s)
    monkeypatch.setattr("crumple.interrupt.HELD_DOWN_S", held_down_s)
    ready, over = tmp_path / "ready", threading.Event()
    running = _engine(tmp_path, WAITS.format(handler="signal.SIG_IGN", ready=str(ready)))
    # On a busy machine two signals may arrive as one: so they come until the load is over.
    hitting = _when(ready, lambda: _often(100, every_s, over))
    try:
        with pytest.raises(Interrupted):
            engine_spec.conduct(running, documents.spec(), _ignored)
    finally:
        over.set()
        hitting.join()


@pytest.mark.parametrize(("times", "every_s"), [(2, 0.0), (4, 0.1)])
def test_several_interruptions_at_once_count_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int, every_s: float
) -> None:
    # However late they come on a busy machine.
    monkeypatch.setattr("crumple.interrupt.ONE_WISH_S", 60.0)
    monkeypatch.setattr("crumple.interrupt.HELD_DOWN_S", 60.0)
    ready = tmp_path / "ready"
    running = _engine(tmp_path, WAITS.format(handler="end", ready=str(ready)))
    hitting = _when(ready, lambda: _often(times, every_s, threading.Event()))
    conducted = engine_spec.conduct(running, documents.spec(), _ignored)
    assert conducted.ended_early and conducted.record.measured_ns == 5
    hitting.join()
    # A later Ctrl-C does not keep the result from being shown.
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_after_a_load_signal_handlers_are_as_before(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    engine_spec.conduct(_engine(tmp_path), documents.spec(), _ignored)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_engine_without_a_record_when_interrupted(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    running = _engine(tmp_path, WAITS.format(handler="signal.SIG_DFL", ready=str(ready)))
    _when(ready, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(Interrupted):
        engine_spec.conduct(running, documents.spec(), _ignored)


def test_an_engine_that_fails_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match="killed by signal 9"):
        engine_spec.conduct(_engine(tmp_path, "os.kill(os.getpid(), 9)"), documents.spec(), _ignored)


@contextmanager
def _server(*arguments: str) -> Iterator[tuple[int, int, int]]:
    """Port, pid and the child's pid of a server that has forked."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, *arguments], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        port, pid, child = (int(number) for number in server.stdout.readline().split())
        try:
            yield port, pid, child
        finally:
            os.kill(child, signal.SIGKILL)
            server.kill()


def test_the_listener_of_a_port_is_watched_from_its_parent_process_on() -> None:
    with _server() as (port, pid, _):
        assert load_options.watched_pid(f":{port}") == pid


def test_a_parent_that_does_not_listen_itself_is_not_watched() -> None:
    with _server("--child-only") as (port, _, child):
        assert load_options.watched_pid(f":{port}") == child


def test_a_pid_is_taken_as_it_is() -> None:
    assert load_options.watched_pid(str(os.getpid())) == os.getpid()
    assert engine_spec.cores_of(os.getpid()) == tuple(sorted(os.sched_getaffinity(0)))
    assert engine_spec.cores_of(None) == engine_spec.cores_of(4_194_305) == ()


def test_two_servers_on_one_port_are_refused() -> None:
    listens = (
        "import socket, sys, time\n"
        "server = socket.socket()\n"
        "server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)\n"
        "server.bind(('127.0.0.1', int(sys.argv[1])))\n"
        "server.listen()\n"
        "print(flush=True)\n"
        "time.sleep(60)\n"
    )
    port = str(process_tree.free_port())
    command = [sys.executable, "-c", listens, port]
    servers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for server in servers:
            assert server.stdout and server.stdout.readline()
        with pytest.raises(UsageError, match="several programs listen on port") as caught:
            load_options.watched_pid(f":{port}")
        assert all(str(server.pid) in caught.value.remedy for server in servers)
    finally:
        for server in servers:
            server.kill()
            server.communicate()
