"""Process trees: descendants and ancestors, suspending a tree, and finding what listens on a port.

Suspended processes cost no CPU while another server is measured. They keep memory, connections and timers;
a timer that expires in the pause fires when they resume. Nothing here starts or ends a process.

Not psutil: for one tree it reads every process of the machine, and for one port the open files of each; this
looks beside loads and between the slices of a run.
"""

import contextlib
import ipaddress
import os
import random
import signal
import socket
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crumple.errors import ServerFailed, UsageError
from crumple.machine import facts, tcp_tables
from crumple.machine.guard import Guarded
from crumple.machine.load_machine import HOST


def children(pid: int) -> list[int]:
    """The pids of the processes that a process has started and that live."""
    return [child for child in descendants(pid) if _parent(child) == pid]


def descendants(pid: int) -> Iterator[int]:
    """The pids of all living descendants of `pid`, parents before their children."""
    if not _kernel_lists_children():
        yield from _below(pid, {process: _parent(process) for process in pids()})
        return
    # The kernel lists children under the thread that forked them, so every thread's list is read.
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_text().split():
                yield int(child)
                yield from descendants(int(child))


@cache
def _kernel_lists_children() -> bool:
    """Whether the kernel says which children a thread has (PROC_CHILDREN, on in every major distribution)."""
    return Path("/proc/thread-self/children").exists()


def _below(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    """The descendants of a process by the parent of each process."""
    for child in [process for process, parent in parents.items() if parent == pid]:
        yield child
        yield from _below(child, parents)


@dataclass(frozen=True)
class Tree:
    """How many processes a server has, and how many threads these have in all."""

    processes: int
    threads: int

    def __str__(self) -> str:
        """Both numbers, as part of a sentence."""
        return f"{_several(self.processes, 'process', 'es')} with {_several(self.threads, 'thread')}"


def _several(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{plural if number != 1 else ''}"


def threads(pids: Iterable[int]) -> int | None:
    """Return how many threads these processes have in all; None: one of them has ended."""
    try:
        return sum(_threads(pid) for pid in pids)
    except OSError:
        return None


def _threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208  (called often)


def count(pid: int) -> Tree:
    """How many processes the tree of `pid` has, itself included, and how many threads these have in all."""
    processes = threads = 0
    for process in (pid, *descendants(pid)):
        with contextlib.suppress(OSError):
            threads += _threads(process)
            processes += 1
    return Tree(processes, threads)


def is_hidden(pid: int) -> bool:
    """Whether there is such a process, and /proc does not show it to this user (hidepid, proc(5))."""
    if os.access(f"/proc/{pid}/stat", os.R_OK):
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def ancestors(pid: int) -> Iterator[int]:
    """The pids of its parent, the parent's parent and so on, without the first process."""
    while (pid := _parent(pid)) > 1:
        yield pid


def stat(pid: int, thread: int | None = None) -> list[str]:
    """The fields of `stat` of a process, or of one of its threads, from the state on (proc_pid_stat(5)).

    Raises OSError if it cannot be read.
    """
    place = f"/proc/{pid}" if thread is None else f"/proc/{pid}/task/{thread}"
    # The name in brackets may hold any byte: the kernel cuts it, also within a letter. What follows is ASCII.
    return Path(f"{place}/stat").read_bytes().rpartition(b")")[2].decode().split()


def _parent(pid: int) -> int:
    try:
        return int(stat(pid)[1])
    except OSError:
        return 0


# A process that was being forked while its parent was stopped is found when the tree is read again.
PASSES = 2


def suspend(guard_pid: int) -> None:
    """Suspend all descendants of a guard, parents first, so that none of them starts another process."""
    for _ in range(PASSES):
        for pid in descendants(guard_pid):
            _send(pid, signal.SIGSTOP)


def wake(guard_pid: int) -> None:
    """Resume all descendants of a guard."""
    for pid in descendants(guard_pid):
        _send(pid, signal.SIGCONT)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


# The lowest port that is chosen for a server; how many ports must lie between it and those that the kernel
# gives away, since with fewer the kernel is left to choose; and how many ports are tried at random.
LEAST_PORT, PORTS_BELOW_MIN, PORTS_DRAWN = 10_000, 1_000, 20
# The address to connect from. From HOST, while no server listens yet, the kernel may choose the target port
# as the local port, and TCP then connects the socket to itself. This happened once in some hundred starts,
# and the server then found its port taken.
ASKED_FROM = "127.0.0.2"
# No workload has this path, so that most servers answer it with 404.
ASKED_PATH = "/"
# Seconds within which a server must give its first answer.
LIMIT_S = 30.0
# Seconds between two attempts to get that answer. It is short, because the time to the first answer is
# measured.
POLL_S = 0.003
# Time for the guard to report the end of a process.
SEEN_TO_END_S = 0.2


def free_port() -> int:
    """A TCP port on HOST that no socket uses at this moment, below those that the kernel gives away itself.

    A program that is given the port takes a while to listen there. Until then each connection that some
    program opens, and each socket that is bound to port 0, gets one of the kernel's range.
    """
    lowest = 0
    with contextlib.suppress(facts.UnreadError):
        lowest, _ = facts.port_range()
    if lowest - LEAST_PORT >= PORTS_BELOW_MIN:
        drawn = random.SystemRandom()
        for _ in range(PORTS_DRAWN):
            port = drawn.randrange(LEAST_PORT, lowest)
            if _can_bind(port):
                return port
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        given: int = probe.getsockname()[1]
        return given


def _can_bind(port: int) -> bool:
    with socket.socket() as probe, contextlib.suppress(OSError):
        probe.bind((HOST, port))
        return True
    return False


def is_taken(port: int) -> bool:
    """Whether another socket holds the port on HOST, so that a server could not listen on it."""
    with socket.socket() as probe:
        # Servers set this, too: a connection in TIME_WAIT is no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen()
        except OSError:
            return True
    return False


def owner(port: int, within: int | str = tcp_tables.OWN) -> int:
    """The root of the process tree that listens on `port`. Raises UsageError if there is not just one.

    `within`: a process of the network namespace whose port it is.
    """
    if not tcp_tables.listeners(port, within):
        raise UsageError(f"nobody listens on port {port} of this machine", "start the server first")
    if not (who := listening(port, within)):
        # Pid 1 is another user's, too, unless it is ours. Where it is hidden, all of theirs are.
        remedy = "run as that user" if is_hidden(1) else "name its process: --watch PID"
        raise UsageError(f"whoever listens on port {port} belongs to another user", remedy)
    # If the first process (pid 1) holds the socket as well, it does so for the service it started.
    return _root(who - {1} or who, port)


def listening(port: int, within: int | str = tcp_tables.OWN) -> set[int]:
    """Return the processes that hold a socket that listens on `port`; empty: nobody, or only hidden ones."""
    sockets = {f"socket:[{inode}]" for inode in tcp_tables.listeners(port, within)}
    return {pid for pid in pids() if holds(pid, sockets)} if sockets else set()


def await_answer(guarded: Guarded, port: int, host: str = HOST) -> None:
    """Return at the first HTTP answer on `port` of this machine's address. Raises ServerFailed("start").

    It fails at once if the command ends, or if another program holds the port.
    """
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if _answers(guarded, port, deadline, host):
            _check_it_was_ours(guarded, port)
            return
        ended = guarded.ended(POLL_S)
        if ended:
            raise ServerFailed("start", f"it {ended} before it answered", guarded.output_tail())
    within = f"on port {port} within {LIMIT_S:.3g} s"
    if not tcp_tables.listeners(port):
        raise ServerFailed("start", f"it did not listen {within}", guarded.output_tail())
    if not tcp_tables.listens_at(ipaddress.ip_address(host), port):
        raise ServerFailed("start", f"it did not listen on {host} {within}", guarded.output_tail())
    raise ServerFailed(
        "start",
        f"it listens, but did not answer GET {ASKED_PATH} {within}",
        guarded.output_tail(),
        "answer it with any status, 404 for instance",
    )


def _answers(guarded: Guarded, port: int, deadline: float, host: str) -> bool:
    """Send one request. False: no listener, or the connection was dropped; another try may succeed."""
    with (
        contextlib.suppress(ConnectionError, TimeoutError),
        socket.create_connection((host, port), 1.0, (ASKED_FROM, 0) if host == HOST else None) as asked,
    ):
        asked.sendall(
            f"GET {ASKED_PATH} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode()
        )
        asked.settimeout(0.05)
        answer = b""
        while time.monotonic() < deadline and not guarded.ended():
            with contextlib.suppress(TimeoutError):
                read = asked.recv(1024)
                if not read:
                    return False
                answer += read
            if len(answer) >= len("HTTP/1."):
                if answer.startswith(b"HTTP/1."):
                    return True
                raise ServerFailed(
                    "start", f"what it answers is no HTTP/1: {answer[:40]!r}", guarded.output_tail()
                )
    return False


def _check_it_was_ours(guarded: Guarded, port: int) -> None:
    """Return if the command answered, and not another program. Raises ServerFailed("start")."""
    if _listens(guarded, port):
        return
    # A command that answered and ended at once does not listen any more either.
    if ended := guarded.ended(SEEN_TO_END_S):
        raise ServerFailed("start", f"it {ended} as it began to answer", guarded.output_tail())
    if not _listens(guarded, port):
        raise ServerFailed("start", f"port {port} is another program's", guarded.output_tail())


def _listens(guarded: Guarded, port: int) -> bool:
    """Whether the listener on `port` belongs to the command; True if the system does not show it."""
    sockets = {f"socket:[{inode}]" for inode in tcp_tables.listeners(port)}
    if not sockets:
        return True
    for pid in descendants(guarded.guard_pid):
        try:
            if any(_link(file) in sockets for file in Path(f"/proc/{pid}/fd").iterdir()):
                return True
        except PermissionError:
            return True  # it runs as another user, whose open files cannot be read
        except OSError:
            continue
    return False


def pids() -> Iterator[int]:
    """The pids of all processes that this user sees."""
    return (int(process.name) for process in Path("/proc").glob("[0-9]*"))


def holds(pid: int, sockets: Collection[str]) -> bool:
    with contextlib.suppress(OSError):
        return any(_link(file) in sockets for file in Path(f"/proc/{pid}/fd").iterdir())
    return False


def _root(holders: Collection[int], port: int) -> int:
    """The holder that the others descend from, or else their nearest common ancestor. Raises UsageError."""
    lines = [[pid, *ancestors(pid)] for pid in sorted(holders)]
    ours = {os.getpid(), *ancestors(os.getpid())}
    if ours.issuperset(holders):
        # What is watched must not include the engine.
        why = f"crumple itself runs in what listens on port {port}"
        raise UsageError(why, "serve from another process, or name one: --watch PID")
    for pid in lines[0]:
        # A process that crumple descends from as well is a shell or a service manager, not the server.
        if pid not in ours and all(pid in line for line in lines[1:]):
            if is_hidden(pid):
                whose = f"process {pid}, which is another user's and hidden"
                raise UsageError(f"who listens on port {port} descends from {whose}", "run as that user")
            return pid
    listed = ", ".join(str(pid) for pid in sorted(holders))
    raise UsageError(f"several programs listen on port {port}", f"name one: --watch PID, of {listed}")


def _link(file: Path) -> str:
    try:
        return str(file.readlink())
    except OSError:
        return ""
