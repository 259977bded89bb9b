"""Is a server as before if whoever experiments on it is killed at any instant?

    python bench/interruptions.py --rounds 100

A server of two processes with threads, and the dependency that it asks, are experimented on under load, once
in each round, by a process of its own. At a random instant some of these are killed (SIGKILL), in random
order: the lab, the engine, the hold, both processes of a hold, the lab with any of these. Then the server and
its dependency must have all their cores and their limits, no thread of theirs may be stopped, and the server
must answer. Prints how often that was so, and how long it took. Exits 1 if it was not so once.
"""

import argparse
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import load
import options
from crumple import contract, engine, project
from crumple.experiment import dependency_stopped, files_raised, one_core, one_thread
from crumple.experiment.bench import Bench
from crumple.experiment.subject import Subject
from crumple.load import engine_spec
from crumple.load.load_options import Options
from crumple.machine import facts, process_tree
from crumple.observation.outcome import Refused

Looked = TypeVar("Looked")
CONDUCT = "--conduct"
# Who is killed. A hold has a second process, which is its child.
KILLED: tuple[tuple[str, ...], ...] = (
    ("lab",),
    ("engine",),
    ("hold",),
    ("second",),
    ("lab", "engine"),
    ("lab", "hold"),
    ("lab", "engine", "hold"),
    ("hold", "second"),
)
CONNECTIONS, LOAD_S, LATEST_S = 8, 0.4, 4.0
UNDONE_S, PRESENT_S = 10.0, 6.0
# Two processes, each with a thread for each connection, ask the port that is named over new connections.
SERVER = """
import os, signal, socket, sys, threading, time
listener = socket.create_server(("127.0.0.1", 0), backlog=512)
asks = int(sys.argv[1])
print(listener.getsockname()[1], flush=True)
parent = os.getpid()
if os.fork() == 0:
    def ends():
        while os.getppid() == parent: time.sleep(0.05)
        os._exit(0)
    threading.Thread(target=ends, daemon=True).start()
def serve(connection):
    while connection.recv(65536):
        if asks:
            with socket.create_connection(("127.0.0.1", asks)) as behind:
                behind.sendall(b"?")
                behind.recv(1)
        else:
            time.sleep(0.002)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok" if asks else b"!")
def served(connection):
    with connection:
        try: serve(connection)
        except OSError: pass
while True:
    threading.Thread(target=served, args=(listener.accept()[0],), daemon=True).start()
"""


@dataclass
class Came:
    """What came of the rounds."""

    right: int = 0
    held: int = 0
    longest_s: float = 0.0


def main() -> None:
    if CONDUCT in sys.argv:
        conduct(*sys.argv[sys.argv.index(CONDUCT) + 1 :])
        return
    parser = options.parser(__doc__)
    options.rounds(parser, 100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = options.parse(parser, rounds=1)
    came = {killed: Came() for killed in KILLED}
    with started(0) as (asks, behind), started(asks) as (port, server):
        served = Served(server, port, behind, asks)
        for number in range(arguments.rounds):
            drawn = random.Random(f"{arguments.seed}/{number}")
            while not interrupted(KILLED[number % len(KILLED)], served, drawn, came):
                pass
    report(arguments, came)


def report(arguments: argparse.Namespace, came: dict[tuple[str, ...], Came]) -> None:
    """Print what came of it; exits 1 if the server was once not as before."""
    rounds = Counter(KILLED[number % len(KILLED)] for number in range(arguments.rounds))
    for killed, number in rounds.items():
        found = came[killed]
        print(
            f"killed {' and '.join(killed)}: as before {found.right} of {number}, "
            f"after {found.longest_s:.2f} s at most; while something was held: {found.held}"
        )
    right = sum(each.right for each in came.values())
    held = sum(each.held for each in came.values())
    print(f"interruptions: as before {right} of {arguments.rounds}, of which {held} while something was held")
    sys.exit(int(right < arguments.rounds))


@dataclass(frozen=True)
class Served:
    """A server and its dependency: their processes and ports."""

    server: int
    port: int
    behind: int
    asks: int


def interrupted(
    killed: tuple[str, ...], served: Served, drawn: random.Random, came: dict[tuple[str, ...], Came]
) -> bool:
    """Begin an experiment, kill, and look at the server; False: none of those to kill was there."""
    before = how_they_are(served)
    kind = drawn.choice(["one core", "open files"] if "second" in killed else [*EXPERIMENTS])
    words = [sys.executable, __file__, CONDUCT, kind, *map(str, vars(served).values())]
    # It complains of an engine that was killed.
    lab = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        assert lab.stdout
        lab.stdout.readline()
        time.sleep(drawn.uniform(0.0, LATEST_S))
        targets = awaited(lambda: present(lab.pid, killed), PRESENT_S)
        if not targets:
            return False
        came[killed].held += how_they_are(served) != before
        drawn.shuffle(targets)
        for pid in targets:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        began_s = time.monotonic()
        if lab.pid not in targets:
            # It gives up, and ends, once what it did is undone.
            with contextlib.suppress(subprocess.TimeoutExpired):
                lab.wait(UNDONE_S)
        is_right = awaited(lambda: how_they_are(served) == before, UNDONE_S) and answers(served.port)
        came[killed].right += bool(is_right)
        came[killed].longest_s = max(came[killed].longest_s, time.monotonic() - began_s)
        if not is_right:
            print(f"{kind}, killed {killed}: {before} became {how_they_are(served)}", flush=True)
        return True
    finally:
        lab.kill()
        lab.communicate()


def awaited(look: Callable[[], Looked], within_s: float) -> Looked:
    """What `look` returns, once that is something; else the nothing that it returned last."""
    until_s = time.monotonic() + within_s
    while not (found := look()) and time.monotonic() < until_s:
        time.sleep(0.002)
    return found


def present(lab: int, killed: tuple[str, ...]) -> list[int]:
    """The processes to kill, if all are there, or else none."""
    found = {"lab": lab}
    for pid in process_tree.descendants(lab):
        # One that has just been started has no words yet.
        with contextlib.suppress(OSError, IndexError):
            word = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1].decode()
            name = "second" if "hold" in found and word == "hold" else {"run": "engine"}.get(word, word)
            found.setdefault(name, pid)
    return [found[each] for each in killed] if {*killed} <= found.keys() else []


def how_they_are(served: Served) -> tuple[object, ...]:
    """The cores of all threads, those that are stopped, and the limits of all processes."""
    cores, stopped, limits = set(), 0, set()
    for root in (served.server, served.behind):
        for pid in (root, *process_tree.descendants(root)):
            with contextlib.suppress(OSError):
                lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
                limits.add(next(line for line in lines if line.startswith("Max open files")))
                for tid in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
                    with contextlib.suppress(OSError):
                        cores.add(tuple(sorted(os.sched_getaffinity(int(tid)))))
                        stopped += process_tree.stat(pid, int(tid))[0] in "tT"
    return cores, stopped, limits


def answers(port: int) -> bool:
    """Whether each of its processes, of which any may accept, answers: it is asked ten times."""
    with contextlib.suppress(OSError):
        for _ in range(10):
            with socket.create_connection(("127.0.0.1", port), 5) as asked:
                asked.sendall(b"GET / HTTP/1.1\r\n\r\n")
                asked.settimeout(5)
                if not asked.recv(100).startswith(b"HTTP/1.1 200"):
                    return False
        return True
    return False


@contextmanager
def started(asks: int) -> Iterator[tuple[int, int]]:
    """A server; its port and its pid. Its limit of open files can be raised."""
    words = ["sh", "-c", 'ulimit -Sn 256 && exec "$0" -c "$1" "$2"', sys.executable, SERVER, str(asks)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield int(process.stdout.readline()), process.pid
        finally:
            process.kill()


def conduct(kind: str, server: str, port: str, _: str, asks: str) -> None:
    """Experiment on the server, in a process of its own."""
    loaded, root = engine.load(project.root()), int(server)
    address = f"127.0.0.1:{port}"
    expected = contract.ExpectSpec(status=200, body_bytes=2, body_sha256=None, hash_one_in=0)
    work = contract.RequestSpec(method="GET", path="/", headers=(), expect=expected)
    given = Options(server_pid=root, tasks=True, dependencies=True)
    target = contract.Target(address=address, host=address)
    usable = len(facts.usable_cores())

    def put_on(
        requests: tuple[contract.RequestSpec, ...],
        connections: int,
        stop: contract.StopSpec,
        warm_up: contract.StopSpec | None,
    ) -> contract.TrialRecord:
        spec = engine_spec.spec(
            label="interruptions",
            target=target,
            requests=requests,
            shape=contract.ClosedShapeSpec(connections=connections),
            stop=stop,
            options=given,
        )
        warm = warm_up and contract.WarmUpSpec(connections=None, pauses=True, stop=warm_up)
        return engine.run(loaded, spec.model_copy(update={"warm_up": warm}), lambda _: None)

    subject = Subject(target, (work,), work, None, None, given, usable)
    bench = Bench(subject, put_on, 0.01, CONNECTIONS, LOAD_S)
    print("begins", flush=True)
    # It gives up if its hold was killed.
    while not isinstance(EXPERIMENTS[kind](bench, f"127.0.0.1:{asks}"), Refused):
        pass


EXPERIMENTS: dict[str, Callable[[Bench, str], object]] = {
    "one core": lambda bench, _: one_core.pin(bench),
    "one thread": lambda bench, _: one_thread.stop_busiest(bench),
    "open files": lambda bench, _: files_raised.raise_files(bench),
    "dependency": dependency_stopped.stop_dependency,
}

if __name__ == "__main__":
    try:
        main()
    except load.LoadError as failed:
        sys.exit(str(failed))
