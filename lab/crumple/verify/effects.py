"""What answers alone do not show: time really waited, CPU really spent, files removed, queries really asked.

Judged from the clock, /proc, the folder and the database's own counter.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from crumple.contract import Request
from crumple.database import queries
from crumple.database.database import Database
from crumple.errors import WrongAnswer
from crumple.machine import calm
from crumple.verify import verify
from crumple.verify.http import connection
from crumple.verify.io_model import Pids
from crumple.verify.pace import Pace
from crumple.workload.workload import Workload

# Workload → the parameter that makes it wait.
WAITS = {"hello": "delay_ms", "mix": "wait_ms"}
WAIT_MS = 120
# Timers may fire up to a tick early.
EARLY_MS = 2

SPINS = {"mix": "spin_us"}
SPIN_US = 20_000
SPUN_REQUESTS = 25
# Of what was asked. A request itself costs some tenths of a millisecond, a busy sibling core a lot more.
SPIN_OFF = 0.3
SPIN_ATTEMPTS = 3


class NotJudged(Exception):  # noqa: N818 - reads as what happened
    """The machine was too busy, or changed its pace too much, for a judgement on time; all else was right."""


class Counted:
    """How many requests there were that each ask the database once."""

    def __init__(self) -> None:
        self.requests = 0

    def add(self, requests: int) -> None:
        """So many more were answered."""
        self.requests += requests


@contextlib.contextmanager
def queries_counted(database: Database | None, workload: Workload) -> Iterator[Counted]:
    """Where the workload asks a database: as many queries as requests in the `with`. Raises WrongAnswer."""
    counted = Counted()
    query = workload.database
    if database is None or query is None:
        yield counted
        return
    before = database.counters(query.table)
    yield counted
    after = database.counters(query.table)
    asked = queries.asked(query, before, after)
    # Where rows are not counted but statements, drivers add some of their own as they connect.
    too_many = asked > counted.requests and after.rows_read is not None
    if asked < counted.requests or too_many:
        raise WrongAnswer(
            f"{workload.name}: {counted.requests} requests, but the database was asked {asked} times",
            "ask it once for each request, and keep no answer",
        )


def really_waits(address: str, workload: Workload) -> None:
    """An answer that must wait does not come before. Raises WrongAnswer."""
    name = WAITS.get(workload.name)
    if name is None:
        return
    request = workload.request_with({name: WAIT_MS})
    with connection(address) as peer:
        reply = peer.ask(request, verify.named(request))
    if reply.took_s * 1000 < WAIT_MS - EARLY_MS:
        message = f"{verify.named(request)}: answered after {reply.took_s * 1000:.0f} ms"
        raise WrongAnswer(message, f"wait {WAIT_MS} ms first")


def leaves_no_file(files_left: Callable[[], int], workload: Workload) -> None:
    """Soon after the last answer none of the files it made is there. Raises WrongAnswer."""
    if workload.name != "file":
        return
    left = files_left()
    if left:
        message = f"{workload.name}: {left} of its files are left in FILES_FOLDER"
        raise WrongAnswer(message, "remove each with its answer")


def spends_cpu(address: str, pids: Pids, workload: Workload, pace: Pace) -> None:
    """CPU work costs CPU time, and as much as was asked. Raises WrongAnswer, NotJudged.

    `pace`: read before the server started. A server that counted its rounds then is off by as much as the
    machine's pace has changed since, and for that reason not called wrong.
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
    message = f"{verify.named(request)}: {each_ms:.1f} ms of CPU time for each, asked {SPIN_US / 1000:.0f} ms"
    if busy := calm.look():
        raise NotJudged(f"{message}; not judged, for {busy}")
    changed = pace.changed
    if (1 - SPIN_OFF) / changed <= nearest_s / asked_s <= (1 + SPIN_OFF) * changed and changed > 1:
        raise NotJudged(f"{message}; not judged, for this machine's own pace changed {changed:.2f} times")
    raise WrongAnswer(message, "end the loop by the clock of the thread's CPU time")


def _ask(address: str, request: Request, times: int) -> None:
    """One after the other, on one connection as long as that is kept."""
    while times:
        with connection(address) as peer:
            closes = False
            while times and not closes:
                closes = peer.ask(request, verify.named(request)).closes
                times -= 1


def cpu_s(pids: Pids) -> float:
    """CPU time of all these processes, and of those of their children that are gone."""
    ticks = 0
    for pid in (pids.guard_pid, *pids):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")
