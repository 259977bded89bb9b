"""Do the servers of the corpus do what their truth says? Starts each and loads it for some seconds.

    python corpus/check.py [NAME…] [--tune | --kept] [--part PART] [--install | --list | --split PART]

It checks that the three paths answer, how many requests wait and compute at a time, and, where a cause is
planted, that /work gets slower under load or fails. It names no cause: that is for a diagnosis.
"""

import argparse
import http.client
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from crumple import parsing
from crumple.errors import CrumpleError
from crumple.machine import process_tree
from crumple.subject import build, installing

import corpus
from corpus import Entry, Skipped, Subject

SEED = 15
CONNECTIONS = 64
COMPUTING = 16
WAIT_MS = 200
COMPUTE_MS = 20
WARM_S, MEASURED_S = 0.7, 2.0
# A closed load of a second or two, on a machine that does other things as well.
WITHIN = 0.25
TIMEOUT_S = 10.0
SETTLED_S = 30.0
LOOK_EVERY_S = 0.03
SLOWER = 1.5
# Loads of a few seconds that begin at once do not show the parallelism of servers with these limits.
NOT_AT_ONCE = {"slow-pool", "accept-queue", "throttled"}


@dataclass
class Load:
    """A closed load: end and time of each answer, how many requests failed, and which users got an answer."""

    began_s: float
    ended: list[tuple[float, float]] = field(default_factory=list)
    failed: int = 0
    served: set[int] = field(default_factory=set)

    def measured(self) -> list[float]:
        """The response times of what was answered in the measured part."""
        first = self.began_s + WARM_S
        return [took for end, took in list(self.ended) if first <= end < first + MEASURED_S]

    def rate(self) -> float:
        """Answers per second."""
        return len(self.measured()) / MEASURED_S

    def mean_ms(self) -> float:
        """The mean response time; infinite if nothing was answered."""
        times = self.measured()
        return 1000 * sum(times) / len(times) if times else float("inf")


def closed(address: str, path: str, connections: int) -> Load:
    """Load the path from so many connections for WARM_S + MEASURED_S."""
    load = Load(time.monotonic())
    over_s = load.began_s + WARM_S + MEASURED_S
    threads = [
        threading.Thread(target=_use, args=(load, address, path, over_s), daemon=True)
        for _ in range(connections)
    ]
    for thread in threads:
        thread.start()
    # Whoever still waits then waits for nothing: the daemon threads end by their timeouts.
    time.sleep(max(0.0, over_s + 0.1 - time.monotonic()))
    return load


def _use(load: Load, address: str, path: str, over_s: float) -> None:
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
    reused = False
    while (began_s := time.monotonic()) < over_s:
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            ok, stale = answer.status == 200, False
        except (OSError, http.client.HTTPException) as error:
            # A server may close a connection between requests: that is no failure.
            ok, stale = False, reused and isinstance(error, ConnectionError)
            connection.close()
        if ok:
            load.served.add(threading.get_ident())
            load.ended.append((time.monotonic(), time.monotonic() - began_s))
        elif not stale and time.monotonic() < over_s:
            load.failed += 1
            time.sleep(0.01)
        reused = ok
    connection.close()


@contextmanager
def idle(address: str, count: int) -> Iterator[None]:
    """Hold so many connections that have asked once and then nothing more."""
    host, _, port = address.rpartition(":")
    with ExitStack() as stack:
        for _ in range(count):
            opened = stack.enter_context(socket.create_connection((host, int(port)), timeout=TIMEOUT_S))
            opened.sendall(f"GET / HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
            opened.recv(4096)
        yield


def paths_answer(address: str) -> str:
    """What is wrong with the three paths; empty if nothing is."""
    for path, least_s in (("/", 0.0), (f"/wait?ms={WAIT_MS}", WAIT_MS / 1000), ("/compute?ms=5", 0.0)):
        connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
        began_s = time.monotonic()
        connection.request("GET", path)
        status = connection.getresponse().status
        took_s = time.monotonic() - began_s
        connection.close()
        if status != 200 or took_s < 0.98 * least_s:
            return f"{path}: {status} after {took_s:.3f} s"
    return ""


def check(entry: Entry, subject: Subject) -> tuple[list[str], list[str]]:
    """What was found, and what of it is not as the truth says."""
    address = subject.address
    if wrong := paths_answer(address):
        return [], [wrong]
    found, wrongs = [], []
    load, wanting = watched(subject, f"/wait?ms={WAIT_MS}", CONNECTIONS)
    waiting = load.rate() * WAIT_MS / 1000
    expected = CONNECTIONS if entry.waits == "unlimited" else min(CONNECTIONS, entry.waits)
    # Others on the machine take cores away: then it counts that the server wanted as many as it should.
    busy = waiting < (1 - WITHIN) * expected and wanting >= (1 - WITHIN) * entry.computes
    found.append(f"waits {waiting:5.1f} ({entry.waits}{', machine busy' if busy else ''})")
    if not (busy or near(waiting, expected) or NOT_AT_ONCE & {*entry.at_wait, *entry.cause}):
        wrongs.append(f"{waiting:.1f} wait at a time, the truth says {expected}")
    settle(address)
    load, wanting = watched(subject, f"/compute?ms={COMPUTE_MS}", COMPUTING)
    computing = load.rate() * COMPUTE_MS / 1000
    if entry.units:
        computing /= closed(address, f"/compute?ms={COMPUTE_MS}", 1).rate() * COMPUTE_MS / 1000
    busy = computing < (1 - WITHIN) * entry.computes <= wanting
    found.append(f"computes {computing:4.2f} ({entry.computes:g}{', machine busy' if busy else ''})")
    if not (busy or near(computing, entry.computes) or "accept-queue" in entry.at_compute):
        wrongs.append(f"{computing:.2f} cores compute, the truth says {entry.computes:g}")
    if entry.cause:
        settle(address)
        harm, text = harmed(entry, address)
        found.append(text)
        if harm != (entry.cause != ("none",)):
            wrongs.append("the planted cause does no harm" if not harm else "it gets slower, and should not")
    return found, wrongs


def watched(subject: Subject, path: str, connections: int) -> tuple[Load, float]:
    """A closed load, and how many cores the server's threads used or wanted meanwhile."""
    before, began_s = ran_or_waited(subject.pids), time.monotonic()
    seen = dict(before)
    over = threading.Event()

    def look() -> None:  # again and again: a thread that has ended can no longer be read
        while not over.wait(LOOK_EVERY_S):
            seen.update(ran_or_waited(subject.pids))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    load = closed(subject.address, path, connections)
    over.set()
    looking.join()
    wanted_s = sum(ns - before.get(thread, 0) for thread, ns in seen.items()) / 1e9
    return load, min(wanted_s / (time.monotonic() - began_s), float(os.cpu_count() or 1))


def ran_or_waited(pids: Sequence[int]) -> dict[str, int]:
    """Thread of the tree → nanoseconds that it ran or was ready to; without those that have ended."""
    found = {}
    trees = {each for pid in pids for each in (pid, *process_tree.descendants(pid))}
    for process in trees:
        tasks: list[Path] = []
        with suppress(OSError):  # the process may have ended
            tasks = list(Path(f"/proc/{process}/task").glob("*/schedstat"))
        for task in tasks:
            with suppress(OSError):
                ran_ns, ready_ns, _ = task.read_text().split()
                found[task.parent.name] = int(ran_ns) + int(ready_ns)
    return found


def settle(address: str) -> None:
    """Return when what is left of the last load is done: the server answers GET / again."""
    time.sleep(0.3)
    connection = http.client.HTTPConnection(address, timeout=SETTLED_S)
    connection.request("GET", "/")
    connection.getresponse().read()
    connection.close()


def near(found: float, expected: float) -> bool:
    """Whether a rough measurement agrees."""
    return abs(found - expected) <= WITHIN * expected


def harmed(entry: Entry, address: str) -> tuple[bool, str]:
    """Whether /work gets slower or fails from 1 connection to CONNECTIONS and the idle ones; and how much."""
    alone = closed(address, "/work", 1)
    settle(address)
    with idle(address, entry.idle):
        loaded = closed(address, "/work", CONNECTIONS)
    text = f"work {alone.mean_ms():.1f} → {loaded.mean_ms():.1f} ms, {loaded.rate():.0f}/s"
    starving = len(loaded.served) < CONNECTIONS or loaded.failed > 0
    return starving or loaded.mean_ms() > SLOWER * alone.mean_ms(), text


def chosen(entries: dict[str, Entry], arguments: argparse.Namespace) -> list[Entry]:
    """The entries that the arguments ask for."""
    if unknown := [name for name in arguments.names if name not in entries]:
        sys.exit(f"no server of the corpus is called {', '.join(unknown)}")
    return [
        entry
        for entry in entries.values()
        if (not arguments.names or entry.name in arguments.names)
        and corpus.is_asked(entry, arguments.half, arguments.part)
    ]


def install(entries: dict[str, Entry], asked: Sequence[Entry]) -> None:
    """Show and, if the user agrees, install the packages that these, and those behind them, lack."""
    behind = [entries[entry.beside] for entry in asked if entry.beside]
    lacks = [lack for entry in (*asked, *behind) for lack in build.lacks(corpus.description(entry))]
    wanted = installing.packages(lacks)
    if not wanted:
        print("nothing is missing")
        return
    installing.install(wanted, yes=False, say=print, ask=lambda text: input(f"{text} [y/N] ").lower() == "y")


def write_split(entries: dict[str, Entry], part: str) -> None:
    """Draw the half of this part that may be looked at, and add it to split.toml."""
    if part in parsing.read_toml(corpus.SPLIT):
        sys.exit(f"the halves of part {part} are drawn already")
    new = {name: entry for name, entry in entries.items() if entry.part == part}
    if not new:
        sys.exit(f"no truth.toml says: part = {part}")
    names = "".join(f'  "{name}",\n' for name in corpus.split(new, SEED))
    with corpus.SPLIT.open("a") as file:
        file.write(f"\n[{part}]\nseed = {SEED}\ntune = [\n{names}]\n")


def run(entries: dict[str, Entry], asked: Sequence[Entry]) -> int:
    """Check each; the exit code."""
    counts = {"right": 0, "wrong": 0, "skipped": 0}
    for entry in asked:
        try:
            with corpus.running(entry, entries) as subject:
                found, wrongs = check(entry, subject)
            word = "wrong" if wrongs else "right"
        except Skipped as skipped:
            found, wrongs, word = [], [str(skipped)], "skipped"
        except (CrumpleError, OSError, http.client.HTTPException) as error:
            found, wrongs, word = [], [str(error), *getattr(error, "output_tail", ())], "wrong"
        counts[word] += 1
        print(f"{entry.name:24} {word:8} {' · '.join(found)}", flush=True)
        for line in wrongs:
            print(f"{'':24} {line}", flush=True)
    print(f"\n{len(asked)} servers: " + ", ".join(f"{count} {word}" for word, count in counts.items()))
    return 1 if counts["wrong"] else 0


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="servers of the corpus; none: all")
    halves = parser.add_mutually_exclusive_group()
    halves.add_argument("--tune", dest="half", action="store_const", const="tune", help="the half for tuning")
    halves.add_argument("--kept", dest="half", action="store_const", const="kept", help="the half kept aside")
    task = parser.add_mutually_exclusive_group()
    task.add_argument("--install", action="store_true", help="install the packages that are missing")
    task.add_argument("--list", action="store_true", help="list the servers")
    task.add_argument("--split", metavar="PART", help="draw the half of this part that may be looked at")
    corpus.add_part(parser)
    arguments = parser.parse_args()
    entries = corpus.read()
    asked = chosen(entries, arguments)
    if arguments.install:
        install(entries, asked)
    elif arguments.split:
        write_split(entries, arguments.split)
    elif arguments.list:
        for entry in asked:
            half = "tune" if entry.tune else "kept"
            place = f"{entry.kind}/{entry.folder}"
            print(f"{entry.name:24} {place:26} {entry.part:7} {half:5} {entry.io_model}")
    else:
        return run(entries, asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
