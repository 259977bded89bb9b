"""Experiments on real small servers whose limit is known: what each does to them, and what it does not."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import documents
import pytest
import real_engine
from crumple import contract, engine
from crumple.experiment import dependency_stopped, files_raised, one_core, one_thread
from crumple.experiment.bench import Bench
from crumple.experiment.one_thread import ServerThread
from crumple.load import engine_spec
from crumple.load.load_options import Options
from crumple.machine import facts
from crumple.observation.outcome import Failing, LoadPairs, Refused, Stopped
from made_subject import SUBJECT
from tried import SpoiledError, until_shown

pytestmark = pytest.mark.starts

# argv: "pool" (each of some threads takes a connection, answers once and closes it) or "each" (a thread for
# each connection, which keeps it); how many; and "nap" or "burn".
SERVER = r"""
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <signal.h>

static int listener, burns;

static double used_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static int served(int connection) {
    char asked[4096];
    ssize_t got = read(connection, asked, sizeof asked);
    if (got <= 0) return 0;
    if (burns) for (double until = used_ms() + 4; used_ms() < until;) ;
    else usleep(20000);
    const char *answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    return write(connection, answer, strlen(answer)) > 0;
}

static void *take(void *_) {
    prctl(PR_SET_NAME, "worker");
    for (;;) {
        int connection = accept(listener, 0, 0);
        if (connection < 0) { usleep(1000); continue; }
        served(connection);
        close(connection);
    }
    return _;
}

static void *keep(void *connection) {
    while (served((int)(long)connection)) ;
    close((int)(long)connection);
    return 0;
}

int main(int n, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (void *)&at, length);
    listen(listener, 512);
    getsockname(listener, (void *)&at, &length);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    burns = !strcmp(argv[3], "burn");
    pthread_t thread;
    for (int i = 0; i < atoi(argv[2]) && strcmp(argv[1], "each"); i++) pthread_create(&thread, 0, take, 0);
    if (strcmp(argv[1], "each")) for (;;) pause();
    for (;;) {
        int connection = accept(listener, 0, 0);
        if (connection < 0) { usleep(1000); continue; }
        pthread_create(&thread, 0, keep, (void *)(long)connection);
    }
    return n;
}
"""
# argv: the port that it asks; "pool" (of three connections), "lock" (held around the call), or "semaphore"
# (of three, and nobody is asked).
ASKS = """
import queue, socket, sys, threading, time
port, how = int(sys.argv[1]), sys.argv[2]
pool, gate = queue.Queue(), threading.Semaphore(1 if how == "lock" else 3)
for _ in range(3):
    pool.put(socket.create_connection(("127.0.0.1", port)))
def ask(connection):
    connection.sendall(b"?")
    connection.recv(1)
def work():
    if how == "semaphore":
        with gate: time.sleep(0.01)
        return
    if how == "lock": gate.acquire()
    connection = pool.get()
    try: ask(connection)
    finally: pool.put(connection)
    if how == "lock": gate.release()
def serve(connection):
    with connection:
        while connection.recv(65536):
            work()
            try: connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
            except OSError: break
listener = socket.create_server(("127.0.0.1", 0), backlog=512)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
# Answers each byte after 3 ms.
BEHIND = """
import socket, threading, time
def serve(connection):
    while connection.recv(1):
        time.sleep(0.003)
        connection.sendall(b"!")
listener = socket.create_server(("127.0.0.1", 0), backlog=512)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
# So many standard errors from what is predicted.
SDS = 4


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    made = tmp_path_factory.mktemp("server") / "server"
    words = [compiler, "-O1", "-pthread", "-w", "-x", "c", "-o", str(made), "-"]
    subprocess.run(words, input=SERVER.encode(), check=True)
    return str(made)


@pytest.fixture(autouse=True)
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    real_engine.used(monkeypatch)


@contextmanager
def bench(*words: str, connections: int = 16, open_files: int = 256) -> Iterator[Bench]:
    """What puts loads on a server that is started with these words and prints its port."""
    limited = ["sh", "-c", f'ulimit -Sn {open_files} && exec "$@"', "server", *words]
    with subprocess.Popen(limited, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield _bench(server.pid, int(server.stdout.readline()), connections)
        finally:
            server.kill()


def _bench(pid: int, port: int, connections: int) -> Bench:
    loaded, usable = real_engine.loaded(), len(facts.usable_cores())
    address = f"127.0.0.1:{port}"
    expected = contract.ExpectSpec(status=200, body_bytes=2, body_sha256=None, hash_one_in=0)
    work = documents.request(2, path="/", expect=expected)
    options = Options(server_pid=pid, tasks=True, dependencies=True)
    target = contract.Target(address=address, host=address)

    def put_on(
        requests: tuple[contract.RequestSpec, ...],
        number: int,
        stop: contract.StopSpec,
        warm_up: contract.StopSpec | None,
    ) -> contract.TrialRecord:
        spec = engine_spec.spec(
            label="experiment",
            target=target,
            requests=requests,
            shape=contract.ClosedShapeSpec(connections=number),
            stop=stop,
            options=options,
        )
        warm = warm_up and contract.WarmUpSpec(connections=None, pauses=True, stop=warm_up)
        return engine.run(loaded, spec.model_copy(update={"warm_up": warm}), lambda _: None)

    subject = replace(SUBJECT, target=target, work=(work,), options=options, cores=usable)
    return Bench(subject, put_on, 0.02, connections, load_s=0.6, warm_s=0.2)


def shown(outcome: LoadPairs | Refused, *rivals: float) -> LoadPairs:
    """What came of it, if its error tells what the rivals predict apart."""
    if isinstance(outcome, Refused):
        raise SpoiledError(outcome.why)
    if sum(is_as(outcome, each) for each in rivals) > 1:
        raise SpoiledError(f"the machine was too busy: {outcome}")
    return outcome


def is_as(outcome: LoadPairs, predicted: float) -> bool:
    return abs(outcome.ratio - predicted) <= SDS * outcome.sd


def test_one_of_four_workers_stopped_leaves_three_quarters(program: str) -> None:
    with bench(program, "pool", "4", "nap") as made:
        outcome = until_shown(lambda: shown(one_thread.stop_busiest(made), 0, 3 / 4, 1))
        assert is_as(outcome, 3 / 4), outcome


def test_a_thread_that_is_no_worker_makes_no_difference(program: str) -> None:
    with bench(program, "pool", "4", "nap") as made:
        assert made.subject.pid is not None
        first = ServerThread(made.subject.pid, made.subject.pid, "", 0)
        outcome = until_shown(lambda: shown(one_thread.stop(made, first), 3 / 4, 1))
        assert is_as(outcome, 1), outcome


def test_the_only_worker_stopped_leaves_nothing(program: str) -> None:
    with bench(program, "pool", "1", "nap") as made:
        outcome = until_shown(lambda: shown(one_thread.stop_busiest(made), 0, 1))
        assert is_as(outcome, 0), outcome


def test_one_core_makes_no_difference_to_who_waits(program: str) -> None:
    if len(facts.usable_cores()) < 2:
        pytest.skip("there is one core only")
    with bench(program, "pool", "4", "nap") as made:
        outcome = until_shown(lambda: shown(one_core.pin(made), 1 / len(facts.usable_cores()), 1))
        assert is_as(outcome, 1), outcome


def test_one_core_leaves_less_to_who_computes_on_all(program: str) -> None:
    cores = len(facts.usable_cores())
    if cores < 2:
        pytest.skip("there is one core only")
    with bench(program, "pool", "16", "burn") as made:

        def one() -> LoadPairs:
            server = made.record().probes.server
            assert server is not None and server.window is not None
            if server.window.cpu_ns < 0.8 * cores * server.window.span_ns:
                raise SpoiledError("others used the cores")
            return shown(one_core.pin(made), 1 / cores, 1)

        outcome = until_shown(one)
        assert outcome.ratio <= 1 / cores + SDS * outcome.sd and not is_as(outcome, 1), outcome


def test_with_more_open_files_no_connection_is_left_without_an_answer(program: str) -> None:
    with bench(program, "each", "0", "nap", connections=40, open_files=24) as made:
        outcome = files_raised.raise_files(made)
        assert isinstance(outcome, Failing), outcome
        assert outcome.failed_before >= 2 * (40 - 24) and outcome.failed == 0
        assert outcome.asked > outcome.asked_before


def test_where_files_are_not_the_limit_more_make_no_difference(program: str) -> None:
    with bench(program, "each", "0", "nap", connections=4) as made:
        outcome = files_raised.raise_files(made)
        assert isinstance(outcome, Failing) and outcome.failed == outcome.failed_before == 0, outcome


@pytest.mark.parametrize(("how", "waiting"), [("pool", 3), ("lock", 1), ("semaphore", 0)])
def test_connections_that_wait_for_a_stopped_dependency_are_as_many_as_may_ask_it(
    how: str, waiting: int
) -> None:
    with started(BEHIND) as (port, _), bench(sys.executable, "-c", ASKS, str(port), how) as made:
        outcome = dependency_stopped.stop_dependency(made, f"127.0.0.1:{port}")
        if isinstance(outcome, Refused):
            assert "too seldom" in outcome.why
            pytest.skip(outcome.why)
        assert isinstance(outcome, Stopped)
        assert (outcome.waiting, outcome.most, outcome.connections, outcome.unknown) == (
            waiting,
            waiting,
            3,
            0,
        )


@pytest.mark.parallel
def test_what_is_the_servers_own_or_far_away_or_gone_is_not_stopped() -> None:
    with started(BEHIND) as (port, pid):
        made = _bench(pid, port, 1)
        for address, why in (
            (f"127.0.0.1:{port}", "is of the server"),
            ("192.0.2.1:5432", "is not on this machine"),
            ("unix:/run/db.sock", "is not on this machine"),
            ("127.0.0.1:1", "nobody listens"),
        ):
            outcome = dependency_stopped.stop_dependency(made, address)
            assert isinstance(outcome, Refused) and why in outcome.why
        slow = dependency_stopped.stop_dependency(replace(made, alone_s=0.5), f"127.0.0.1:{port}")
        assert isinstance(slow, Refused) and "takes too long" in slow.why


@pytest.mark.parallel
def test_without_a_process_nothing_is_done_to_it() -> None:
    made = _bench(os.getpid(), 1, 1)
    subject = replace(made.subject, options=replace(made.subject.options, server_pid=None))
    unknown = replace(made, subject=subject)
    outcomes = (
        one_core.pin(unknown),
        files_raised.raise_files(unknown),
        dependency_stopped.stop_dependency(unknown, "127.0.0.1:1"),
        one_thread.stop_busiest(unknown),
    )
    assert all(isinstance(each, Refused) for each in outcomes)


@contextmanager
def started(text: str) -> Iterator[tuple[int, int]]:
    """A Python program that prints its port: the port, and its pid."""
    words = [sys.executable, "-c", text]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline()), process.pid
        finally:
            process.kill()
