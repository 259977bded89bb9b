"""Checks what answers alone do not show: waiting, CPU time, removed files, queries, and the I/O model.

The effects are read from outside: by the clock, from /proc, in the server's folder and from the database's
counters. Counts of processes and threads, idle and under load, show whether each request has a thread of its
own; `compatible` and `contradiction` are pure and judge only what counts can show. CPU work is compared with
a loop of fixed work in this process, so that a machine whose speed changed is not taken for a wrong server.

One burst of requests fits more than one model, so the check asks only whether the declared one is among them.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import thread_time
from typing import TYPE_CHECKING, get_args

from crumple.contract import RequestSpec
from crumple.errors import WrongAnswer
from crumple.machine import alone, process_tree
from crumple.machine.process_tree import Tree
from crumple.subject import answer_check
from crumple.subject.answer_check import connection
from crumple.subject.server_toml import IoModel
from crumple.subject.workload import Workload

if TYPE_CHECKING:
    from crumple.subject.database import Database

# The rounds of the fixed work, which together take some milliseconds.
ROUNDS = 100_000
# The shortest of several tries counts: a disturbance only makes one longer.
TRIES = 5
# The factor from which on readings of the machine's speed differ more than on a machine of constant speed.
STEADY = 1.1


def loop_s() -> float:
    """The CPU time in seconds that the fixed work takes now: some milliseconds."""
    return min(_one_s() for _ in range(TRIES))


def _one_s() -> float:
    began = thread_time()
    x = 1
    for _ in range(ROUNDS):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
    return thread_time() - began


class MachineSpeed:
    """The machine's speed over time: reads it once on creation, and at each call of `read`."""

    def __init__(self, read_s: Callable[[], float] = loop_s) -> None:
        self._read_s = read_s
        self._readings_s = [read_s()]

    def read(self) -> None:
        """Add a reading."""
        self._readings_s.append(self._read_s())

    @property
    def changed(self) -> float:
        """Slowest ÷ fastest of all readings; 1 if they differ no more than on a machine of constant speed."""
        ratio = max(self._readings_s) / min(self._readings_s)
        return ratio if ratio >= STEADY else 1.0


# The number of requests that are sent at once to see whether each holds a thread or a process.
REQUESTS = 64
# Seconds between two counts of processes and threads, several of which must fall into a wait.
SAMPLE_S = 0.01
# The smallest share of the requests that must wait at once for no pool to have limited them.
NEARLY_ALL = 0.9
# The multiple of the wait from which on a request was queued: behind one other it takes twice the wait.
QUEUED = 1.8
# The number of requests per thread that must wait at once for none of them to hold a thread: no thread can
# hold two.
UNHELD = 2
# Processes beside the server's own: the primary of a cluster, and a shell that started it.
BESIDES = 2


@dataclass(frozen=True)
class TreeSeen:
    """A server's tree when idle, and its maximum while `requests` waited, `at_once` of them together."""

    idle: Tree
    waiting: Tree
    requests: int
    at_once: int

    def __str__(self) -> str:
        """What was seen, as the end of a sentence."""
        return (
            f"{self.idle} at rest, {self.waiting} with {self.requests} requests to wait, "
            f"of which {self.at_once} waited at once"
        )


def compatible(seen: TreeSeen) -> tuple[IoModel, ...]:
    """The I/O models that are compatible with what was seen, in the glossary's order."""
    return tuple(model for model in get_args(IoModel) if _could_be(model, seen))


def contradiction(declared: IoModel, seen: TreeSeen) -> str | None:
    """Why the declared model cannot be right, or None."""
    models = compatible(seen)
    if declared in models:
        return None
    like = f"that is like {' or '.join(models)}" if models else "that is like none of the models"
    return f"declared {declared}, but {seen}; {like}"


def _could_be(model: IoModel, seen: TreeSeen) -> bool:
    together = seen.at_once >= NEARLY_ALL * seen.requests
    threads_besides = seen.waiting.threads - seen.waiting.processes
    new_threads = seen.waiting.threads - seen.idle.threads
    processes_each = seen.waiting.processes >= NEARLY_ALL * seen.at_once and seen.waiting.processes > 1
    threads_each = seen.waiting.threads >= seen.at_once and threads_besides >= seen.at_once / 2
    if model in ("process-per-connection", "process-pool"):
        return processes_each
    if model == "thread-per-connection":
        return together and threads_each and new_threads >= seen.at_once / 2
    if model == "thread-pool":
        return threads_each
    if model == "hybrid":
        return not processes_each and threads_besides > 0
    # The models in which a waiting request holds neither a process nor a thread. If CPU time is short, some
    # requests wait longer and fewer wait at once; but no thread can hold two.
    more_than_threads = seen.at_once >= UNHELD * seen.waiting.threads
    holds_none = (
        (together or more_than_threads) and max(0, new_threads) < seen.at_once / 2 and not processes_each
    )
    if model == "event-loop":
        return holds_none and seen.waiting.processes <= 1 + BESIDES
    return holds_none and seen.waiting.threads > 1


def observe(address: str, pids: "Pids", request: RequestSpec, wait_s: float) -> TreeSeen:
    """Send REQUESTS at once that wait `wait_s`, and count the tree until they end. Raises WrongAnswer."""
    idle = count(pids)
    replies: list[answer_check.Reply | WrongAnswer] = []
    asked = f"{request.method} {request.path}, {REQUESTS} at once"
    askers = threading.Thread(
        target=lambda: replies.extend(answer_check.at_once(address, request, asked, REQUESTS))
    )
    askers.start()
    waiting = idle
    while askers.is_alive():
        now = count(pids)
        waiting = Tree(max(waiting.processes, now.processes), max(waiting.threads, now.threads))
        time.sleep(SAMPLE_S)
    askers.join()
    for reply in replies:
        if isinstance(reply, WrongAnswer):
            raise reply
    took = [reply.took_s for reply in replies if isinstance(reply, answer_check.Reply)]
    return TreeSeen(idle, waiting, REQUESTS, sum(one < QUEUED * wait_s for one in took))


@dataclass(frozen=True)
class Pids:
    """The processes of a server: all descendants of its guard."""

    guard_pid: int

    def __iter__(self) -> Iterator[int]:
        """The pids of those that live now."""
        return process_tree.descendants(self.guard_pid)


def count(pids: Pids) -> Tree:
    """The number of processes and threads now, without zombies."""
    threads = []
    for pid in pids:
        with contextlib.suppress(OSError, ValueError):
            fields = process_tree.stat(pid)
            if fields[0] != "Z":
                threads.append(int(fields[17]))
    return Tree(len(threads), sum(threads))


# Workload → the parameter that makes it wait.
WAITS = {"hello": "delay_ms", "mix": "wait_ms"}
# The wait that a request asks for, in ms: long beside EARLY_MS.
WAIT_MS = 120
# The time in ms by which an answer may come before the wait is over, since timers may fire up to a tick
# early.
EARLY_MS = 2

SPINS = {"mix": "spin_us"}
# The CPU time in µs that a request asks for: long beside what the request itself costs.
SPIN_US = 20_000
# How many such requests are measured together, since the kernel counts CPU time in ticks, which are 10 ms as
# a rule.
SPUN_REQUESTS = 25
# The share by which CPU time may differ from what was asked. A request itself costs some tenths of a
# millisecond, a busy sibling core a lot more.
SPIN_OFF = 0.3
# A runtime that compiles its programs while they run uses CPU time for that, too, until it has done so. A JVM
# on a slow core that it shares needed more than six attempts.
SPIN_ATTEMPTS = 12


class NotJudged(Exception):  # noqa: N818 - reads as what happened
    """The machine was too busy, or its speed changed too much, to judge CPU time; all else was right."""


class QueryCounts:
    """Counts requests that each must query the database once."""

    def __init__(self) -> None:
        self.requests = 0

    def add(self, requests: int) -> None:
        """Count `requests` more."""
        self.requests += requests


@contextlib.contextmanager
def queries_counted(database: "Database | None", workload: Workload) -> Iterator[QueryCounts]:
    """Check that the database got as many queries in the block as requests were counted. Raises WrongAnswer.

    Checks nothing if the workload queries no database.
    """
    counted = QueryCounts()
    query = workload.database
    if database is None or query is None:
        yield counted
        return
    # Imported here: without a database, what talks to one need not be installed.
    from crumple.subject import tables

    before = database.counters(query.table)
    yield counted
    after = database.counters(query.table)
    asked = tables.queries_between(query, before, after)
    # If statements are counted and not rows, drivers add some of their own when they connect.
    too_many = asked > counted.requests and after.rows_read is not None
    if asked < counted.requests or too_many:
        raise WrongAnswer(
            f"{workload.name}: {counted.requests} requests, but the database was asked {asked} times",
            "ask it once for each request, and keep no answer",
        )


def really_waits(address: str, workload: Workload) -> None:
    """Check that an answer does not come before the wait it was asked for. Raises WrongAnswer."""
    name = WAITS.get(workload.name)
    if name is None:
        return
    request = workload.request_with({name: WAIT_MS})
    with connection(address) as peer:
        reply = peer.ask(request, answer_check.named(request))
    if reply.took_s * 1000 < WAIT_MS - EARLY_MS:
        message = f"{answer_check.named(request)}: answered after {reply.took_s * 1000:.0f} ms"
        raise WrongAnswer(message, f"wait {WAIT_MS} ms first")


def leaves_no_file(files_left: Callable[[], int], workload: Workload) -> None:
    """Check that soon after the last answer all files made for answers are removed. Raises WrongAnswer."""
    if workload.name != "file":
        return
    left = files_left()
    if left:
        message = f"{workload.name}: {left} of its files are left in FILES_FOLDER"
        raise WrongAnswer(message, "remove each with its answer")


def spends_cpu(address: str, pids: Pids, workload: Workload, pace: MachineSpeed) -> None:
    """Check that CPU work takes as much CPU time as was asked. Raises WrongAnswer, NotJudged.

    `pace` was first read before the server started. A server that calibrated its rounds then is off by as
    much as the machine's speed has changed since, which is no fault of the server.
    """
    name = SPINS.get(workload.name)
    if name is None:
        return
    request = workload.request_with({name: SPIN_US})
    asked_s = SPIN_US * SPUN_REQUESTS / 1e6
    spent: list[float] = []
    for _ in range(SPIN_ATTEMPTS):
        before_s = cpu_s(pids)
        _ask(address, request, SPUN_REQUESTS)
        spent.append(cpu_s(pids) - before_s)
        pace.read()
        if abs(spent[-1] / asked_s - 1) <= SPIN_OFF:
            return
    nearest_s = min(spent, key=lambda one: abs(one - asked_s))
    each_ms = nearest_s / SPUN_REQUESTS * 1000
    message = (
        f"{answer_check.named(request)}: {each_ms:.1f} ms of CPU time for each, asked {SPIN_US / 1000:.0f} ms"
    )
    if busy := alone.look():
        raise NotJudged(f"{message}; not judged, for {busy}")
    changed = pace.changed
    if (1 - SPIN_OFF) / changed <= nearest_s / asked_s <= (1 + SPIN_OFF) * changed and changed > 1:
        raise NotJudged(f"{message}; not judged, for this machine's own pace changed {changed:.2f} times")
    raise WrongAnswer(message, "end the loop by the clock of the thread's CPU time")


def _ask(address: str, request: RequestSpec, times: int) -> None:
    """Send `times` requests one after the other, on one connection as long as the server keeps it open."""
    while times:
        with connection(address) as peer:
            closes = False
            while times and not closes:
                closes = peer.ask(request, answer_check.named(request)).closes
                times -= 1


def cpu_s(pids: Pids) -> float:
    """CPU time in seconds of the guard and all these processes, including children they have waited for."""
    ticks = 0
    for pid in (pids.guard_pid, *pids):
        with contextlib.suppress(OSError):
            ticks += sum(int(field) for field in process_tree.stat(pid)[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")
