"""A program of several threads and processes for tests of what is held, and how it is at a moment."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crumple.machine import process_tree

# Five threads and a child with two. At each line that it reads it does what the line says, and says so.
PROGRAM = """
import os, sys, threading, time

def wait():
    while True:
        time.sleep(0.01)

def more(number):
    for _ in range(number):
        threading.Thread(target=wait, daemon=True).start()

more(4)
parent = os.getpid()

def child():
    if os.fork() == 0:
        more(1)
        while os.getppid() == parent:
            time.sleep(0.01)
        os._exit(0)

child()
print("ready", flush=True)
for line in sys.stdin:
    if line == "thread\\n":
        more(1)
    elif line == "process\\n":
        child()
    elif line == "bind\\n":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print("done", flush=True)
"""


class HeldServer:
    """The program. `pid`: its root."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def do(self, what: str) -> None:
        """Let it start a "thread" or a "process", or "bind" its first thread to one core."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"


@contextmanager
def started(open_files: int = 64) -> Iterator[HeldServer]:
    """Start it, with this soft limit of open files."""
    process = subprocess.Popen(
        ["sh", "-c", f'ulimit -Sn {open_files} && exec "$0" -c "$1"', sys.executable, PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        within_s = time.monotonic() + 10
        while process_tree.count(process.pid) != process_tree.Tree(2, 7):
            assert time.monotonic() < within_s
            time.sleep(0.01)
        yield HeldServer(process)
    finally:
        # Its children end when they have no parent any more.
        process.kill()
        process.communicate()


def affinities(pid: int) -> dict[int, frozenset[int]]:
    """The cores of each thread of a tree."""
    return {tid: frozenset(os.sched_getaffinity(tid)) for _, tid in _threads(pid)}


def states(pid: int) -> dict[int, str]:
    """The state of each thread of a tree: "t" is stopped by ptrace, "T" by a signal."""
    return {tid: process_tree.stat(process, tid)[0] for process, tid in _threads(pid)}


def limits(pid: int) -> dict[int, tuple[str, str]]:
    """The soft and the hard limit of open files of each process of a tree."""
    found = {}
    for process in (pid, *process_tree.descendants(pid)):
        lines = Path(f"/proc/{process}/limits").read_text().splitlines()
        soft, hard = next(line for line in lines if line.startswith("Max open files")).split()[3:5]
        found[process] = soft, hard
    return found


def _threads(pid: int) -> list[tuple[int, int]]:
    return [
        (process, int(thread))
        for process in (pid, *process_tree.descendants(pid))
        for thread in os.listdir(f"/proc/{process}/task")  # noqa: PTH208
    ]
