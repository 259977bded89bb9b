"""The kernel's trace of threads → how long they ran, were ready, waited for a disk, had a request. Pure.

A line of the trace, as tracefs prints it:

    gunicorn-42  [001] d..2.  12.345678: sched_switch: prev_comm=… prev_pid=42 … prev_state=S ==> …
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

EVENTS = (
    "sched/sched_switch",
    "sched/sched_waking",
    "syscalls/sys_exit_recvfrom",
    "syscalls/sys_exit_read",
    "syscalls/sys_enter_sendto",
    "syscalls/sys_enter_write",
)
_LINE = re.compile(r"^\s*.+-(\d+)\s+\[\d+\]\s+\S+\s+(\d+\.\d+): (\w+)(?::| ->|\()(.*)$")
_SWITCH = re.compile(r"prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> .*next_pid=(\d+)")
_WAKING = re.compile(r"\bpid=(\d+)")
_READS, _WRITES = {"sys_recvfrom", "sys_read"}, {"sys_sendto", "sys_write"}


@dataclass
class Thread:
    """A thread so far. `since_s`: when it came into `state`: "run", "ready", "disk" or "sleep".

    `read_s`: when it had read a request that it has not answered yet; None: there is none.
    """

    state: str = ""
    since_s: float = 0.0
    read_s: float | None = None


@dataclass
class Spent:
    """Seconds of all threads together. `inside`: from a request's last read to its answer's first write."""

    run: float = 0.0
    ready: float = 0.0
    disk: float = 0.0
    inside: float = 0.0
    answers: int = 0
    threads: dict[int, Thread] = field(default_factory=dict)

    def enter(self, thread: Thread, state: str, at_s: float) -> None:
        """The thread is in this state from now on."""
        if thread.state in ("run", "ready", "disk"):
            setattr(self, thread.state, getattr(self, thread.state) + at_s - thread.since_s)
        thread.state, thread.since_s = state, at_s


def read(lines: Iterable[str], tids: Collection[int]) -> Spent:
    """Return what the threads did; lines about others are left out."""
    spent = Spent(threads={tid: Thread() for tid in tids})
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        tid, at_s, event, rest = int(match[1]), float(match[2]), match[3], match[4]
        if event == "sched_switch":
            _switch(spent, at_s, rest)
        elif event == "sched_waking":
            woken = _WAKING.search(rest)
            thread = spent.threads.get(int(woken[1])) if woken else None
            if thread is not None and thread.state in ("", "sleep", "disk"):
                spent.enter(thread, "ready", at_s)
        elif tid in spent.threads:
            _call(spent, spent.threads[tid], event, at_s, rest)
    return spent


def _switch(spent: Spent, at_s: float, rest: str) -> None:
    match = _SWITCH.search(rest)
    if match is None:
        return
    before, after = spent.threads.get(int(match[1])), spent.threads.get(int(match[3]))
    if before is not None:
        # "R" and "R+": it was taken off its core, and is ready. "D": no signal wakes it.
        state = {"R": "ready", "D": "disk"}.get(match[2][0], "sleep")
        spent.enter(before, state, at_s)
    if after is not None:
        spent.enter(after, "run", at_s)


def _call(spent: Spent, thread: Thread, event: str, at_s: float, rest: str) -> None:
    if event in _READS and _result(rest) > 0:
        thread.read_s = at_s
    elif event in _WRITES and thread.read_s is not None:
        spent.inside += at_s - thread.read_s
        spent.answers += 1
        thread.read_s = None


def _result(rest: str) -> int:
    """What a call returned; 0 where it is not a number."""
    written = rest.strip().removeprefix("->").strip()
    try:
        value = int(written, 16)
    except ValueError:
        return 0
    return value if value < 1 << 63 else value - (1 << 64)
