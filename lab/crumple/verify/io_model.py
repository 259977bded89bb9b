"""How a server waits, seen from outside: its processes and threads at rest, and while many requests wait.

Counts tell a thread for each request from none; what they cannot tell apart they do not judge. `compatible`
and `contradiction` are pure.
"""

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from crumple.contract import Request
from crumple.errors import WrongAnswer
from crumple.processes import tree
from crumple.server.server import IoModel
from crumple.verify import http

REQUESTS = 64
SAMPLE_S = 0.01
# Those of which nearly all waited at once were held by no pool.
NEARLY_ALL = 0.9
# A request that waited in a queue took twice the wait.
QUEUED = 1.8
# So many requests for each thread are held by none.
UNHELD = 2
# The primary of a cluster, or a shell that started it.
BESIDES = 2


@dataclass(frozen=True)
class Tree:
    """The processes of a server and the threads of all of them."""

    processes: int
    threads: int

    def __str__(self) -> str:
        """As part of a sentence."""
        return f"{_several(self.processes, 'process', 'es')} with {_several(self.threads, 'thread')}"


@dataclass(frozen=True)
class Observed:
    """A server at rest, and at its most while `requests` waited, of which `at_once` did so together."""

    idle: Tree
    waiting: Tree
    requests: int
    at_once: int

    def __str__(self) -> str:
        """What was seen, as a sentence's end."""
        return (
            f"{self.idle} at rest, {self.waiting} with {self.requests} requests to wait, "
            f"of which {self.at_once} waited at once"
        )


def compatible(seen: Observed) -> tuple[IoModel, ...]:
    """The models that would look like this, in the glossary's order."""
    return tuple(model for model in get_args(IoModel) if _could_be(model, seen))


def contradiction(declared: IoModel, seen: Observed) -> str | None:
    """Why it cannot be as declared, or None."""
    models = compatible(seen)
    if declared in models:
        return None
    like = f"that is like {' or '.join(models)}" if models else "that is like none of the models"
    return f"declared {declared}, but {seen}; {like}"


def _could_be(model: IoModel, seen: Observed) -> bool:
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
    # Those in which a request that waits holds neither a process nor a thread. One that is out of CPU lets
    # others wait longer, but no thread can hold two.
    more_than_threads = seen.at_once >= UNHELD * seen.waiting.threads
    holds_none = (
        (together or more_than_threads) and max(0, new_threads) < seen.at_once / 2 and not processes_each
    )
    if model == "event-loop":
        return holds_none and seen.waiting.processes <= 1 + BESIDES
    return holds_none and seen.waiting.threads > 1


def observe(address: str, pids: "Pids", request: Request, wait_s: float) -> Observed:
    """Ask REQUESTS at once for an answer after `wait_s`, and count meanwhile. Raises WrongAnswer."""
    idle = count(pids)
    replies: list[http.Reply | WrongAnswer] = []
    asked = f"{request.method} {request.path}, {REQUESTS} at once"
    askers = threading.Thread(target=lambda: replies.extend(http.at_once(address, request, asked, REQUESTS)))
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
    took = [reply.took_s for reply in replies if isinstance(reply, http.Reply)]
    return Observed(idle, waiting, REQUESTS, sum(one < QUEUED * wait_s for one in took))


@dataclass(frozen=True)
class Pids:
    """The processes of a server: all that descend from its guard."""

    guard_pid: int

    def __iter__(self) -> Iterator[int]:
        """Those that live now."""
        return tree.descendants(self.guard_pid)


def count(pids: Pids) -> Tree:
    """The processes and threads there are now."""
    threads = []
    for pid in pids:
        with contextlib.suppress(OSError, ValueError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                threads.append(int(fields[17]))
    return Tree(len(threads), sum(threads))


def _several(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{plural if number != 1 else ''}"
