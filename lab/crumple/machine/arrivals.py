"""Where a connection arrives that is opened to an address: in which network namespace, and at which port.

What lies between is not known and need not be: a program that passes connections on (docker-proxy,
rootlessport, pasta, slirp4netns), or rules of the kernel that change addresses. A connection is opened, and
nothing is sent on it; so what forwards requests, as nginx does, forwards none. A namespace that it arrives in
counts one more connection that came. The end that is open as long as this one is its other end.
"""

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from crumple.machine import tcp_tables
from crumple.machine.load_machine import Address
from crumple.machine.tcp_tables import End

# How long a connect may take, in seconds: longer than the kernel waits before it sends a SYN again.
CONNECT_S = 1.5
# Within this time in seconds an end has gone once the connection is closed.
GONE_S = 1.0
# How long a connection stays open, in seconds: many that others open are closed within that time.
OPEN_S = 0.03
# Seconds between two looks.
LOOK_S = 0.002
# How often a connection is opened at the most, until only one end came and went with it.
ROUNDS_MOST = 4

Found = TypeVar("Found")
Namespaces = Mapping[int, tuple[int, ...]]


@dataclass(frozen=True)
class Arrival:
    """The end of a connection: a process of its namespace, and the address and port at which it arrived."""

    namespace: int
    pid: int
    address: Address
    port: int


def came_here() -> int:
    """Return how many connections have come to this process's namespace so far."""
    return sum(came for _, came in _came({0: (os.getpid(),)}).values())


def came_since(before: int, within_s: float) -> bool:
    """Whether one came here since, or comes within that time: its last packet may be under way."""
    return _at_last(lambda: came_here() > before, within_s)


def of(address: Address, port: int, among: Namespaces, patience_s: float) -> tuple[Arrival, ...]:
    """Return where connections to an address arrive; empty: in none of these namespaces; several: not told.

    `patience_s`: how long one may take on its way.
    """
    try:
        rose = _rose(address, port, among, patience_s)
        found: set[Arrival] | None = None
        for _ in range(ROUNDS_MOST if rose else 0):
            came = set(_came_and_went(address, port, rose, patience_s))
            found = came if not found or not came else found & came
            if len(found) == 1:
                break
        return tuple(sorted(found or (), key=lambda each: each.pid))
    except OSError:
        return ()


def _rose(address: Address, port: int, among: Namespaces, patience_s: float) -> Mapping[int, int]:
    """Return the namespaces in which a connection came while one was opened, each with a process of it."""
    before = _came(among)
    with _opened(address, port):
        return _at_last(lambda: _more(before, _came(among)), patience_s)


def _more(before: Mapping[int, tuple[int, int]], now: Mapping[int, tuple[int, int]]) -> Mapping[int, int]:
    """Return the namespaces to which connections came between two readings, each with a process of it."""
    return {number: pid for number, (pid, came) in now.items() if came > before.get(number, (0, came))[1]}


def _came(among: Namespaces) -> dict[int, tuple[int, int]]:
    """Return how many connections have come to each namespace so far, and by which process that was read."""
    found = {}
    for number, pids in among.items():
        for pid in pids:
            with contextlib.suppress(OSError, ValueError, StopIteration):
                rows = Path(f"/proc/{pid}/net/snmp").read_text().splitlines()
                names, values = (row.split() for row in rows if row.startswith("Tcp:"))
                found[number] = pid, int(values[names.index("PassiveOpens")])
                break
    return found


def _came_and_went(
    address: Address, port: int, namespaces: Mapping[int, int], patience_s: float
) -> Iterator[Arrival]:
    """Yield the ends that were open as long as a connection was."""
    before = _ends(namespaces)

    def came() -> set[tuple[int, End]]:
        return _ends(namespaces) - before

    with _opened(address, port):
        _at_last(came, patience_s)
        time.sleep(OPEN_S)
        open_ones = came()
    _at_last(lambda: not open_ones & _ends(namespaces), GONE_S)
    for number, end in open_ones - _ends(namespaces):
        yield Arrival(number, namespaces[number], *tcp_tables.place(end.local))


def _ends(namespaces: Mapping[int, int]) -> set[tuple[int, End]]:
    """Return the ends of connections to ports at which somebody listens there."""
    found = set()
    for number, pid in namespaces.items():
        ports = tcp_tables.ports(pid)
        found |= {(number, end) for end, _ in tcp_tables.established(pid) if end.port in ports}
    return found


@contextlib.contextmanager
def _opened(address: Address, port: int) -> Iterator[None]:
    """Keep a connection to an address open. Raises OSError."""
    with socket.create_connection((str(address), port), CONNECT_S):
        yield


def _at_last(what: Callable[[], Found], within_s: float) -> Found:
    """Return what is found as soon as that is something, or what is found at the end of the time."""
    over_s = time.monotonic() + within_s
    while not (found := what()) and time.monotonic() < over_s:
        time.sleep(LOOK_S)
    return found
