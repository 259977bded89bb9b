"""Where a connection arrives that is opened to an address: in which network namespace, and at which port.

What lies between is not known and need not be: a program that passes connections on (docker-proxy,
rootlessport, pasta, slirp4netns), or rules of the kernel that change addresses. A connection is opened, and
nothing is sent on it; so what forwards requests, as nginx does, forwards none. A namespace that it arrives in
counts one more connection that came. The end that is open as long as this one is its other end.

Others connect meanwhile, too. Where the port of this end is the other's as well, as behind rules of the
kernel, one connection tells. Else several are opened, for times drawn at random: a place is sure at which an
end came and went with each of them, and none came in the pauses between.
"""

import contextlib
import os
import random
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from crumple.machine import tcp_tables
from crumple.machine.load_machine import Address
from crumple.machine.tcp_tables import End

# How long a connect may take, in seconds: longer than the kernel waits before it sends a SYN again.
CONNECT_S = 1.5
# Within this time in seconds an end has gone once the connection is closed.
GONE_S = 1.0
# How long a connection stays open, in seconds: it is drawn at random, so that none of others that recur goes
# with each.
OPEN_S = (0.02, 0.06)
# Seconds between two looks.
LOOK_S = 0.002
# How many connections are opened, with a pause as long after each. Where others connect at random, with the
# chance p within such a time, they seem to be caused by them with (p · (1 − p)) to this power, at most 1 in
# 1,000.
ROUNDS = 5

Found = TypeVar("Found")
Namespaces = Mapping[int, tuple[int, ...]]


@dataclass(frozen=True)
class Arrival:
    """The end of a connection: a process of its namespace, and the address and port at which it arrived.

    `is_sure`: others that connect there are told from those that were opened for this.
    """

    namespace: int
    pid: int
    address: Address
    port: int
    is_sure: bool = True


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
        unasked: set[Arrival] = set()
        for _ in range(ROUNDS if rose else 0):
            began_s = time.monotonic()
            came, is_by_port = _came_and_went(address, port, rose, patience_s)
            found = came if found is None or is_by_port else found & came
            if is_by_port or not found:
                break
            unasked |= _came_within(rose, time.monotonic() - began_s)
    except OSError:
        return ()
    told = (found or set()) - unasked or {replace(each, is_sure=False) for each in found or ()}
    return tuple(sorted(told, key=lambda each: each.pid))


def _rose(address: Address, port: int, among: Namespaces, patience_s: float) -> Mapping[int, int]:
    """Return the namespaces in which a connection came while one was opened, each with a process of it."""
    before = _came(among)
    with _opened(address, port):
        _at_last(lambda: _more(before, _came(among)), patience_s)
        # The first that came may be of others.
        time.sleep(max(OPEN_S))
        return _more(before, _came(among))


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
) -> tuple[set[Arrival], bool]:
    """Return where ends were open as long as a connection was, and whether they are told by its port."""
    before = _ends(namespaces)

    def came() -> set[tuple[int, End]]:
        return _ends(namespaces) - before

    with _opened(address, port) as own_port:
        _at_last(came, patience_s)
        time.sleep(random.SystemRandom().uniform(*OPEN_S))
        open_ones = came()
        if by_port := {each for each in open_ones if each[1].remote_port == own_port}:
            return _places(by_port, namespaces), True
    _at_last(lambda: not open_ones & _ends(namespaces), GONE_S)
    return _places(open_ones - _ends(namespaces), namespaces), False


def _came_within(namespaces: Mapping[int, int], span_s: float) -> set[Arrival]:
    """Return where ends came during a pause in which none was caused from here."""
    before, came, over_s = _ends(namespaces), set[tuple[int, End]](), time.monotonic() + span_s
    while time.monotonic() < over_s:
        came |= _ends(namespaces) - before
        time.sleep(LOOK_S)
    return _places(came, namespaces)


def _places(ends: Iterable[tuple[int, End]], namespaces: Mapping[int, int]) -> set[Arrival]:
    return {Arrival(number, namespaces[number], *tcp_tables.place(end.local)) for number, end in ends}


def _ends(namespaces: Mapping[int, int]) -> set[tuple[int, End]]:
    """Return the ends of connections to ports at which somebody listens there."""
    found = set()
    for number, pid in namespaces.items():
        ports = tcp_tables.ports(pid)
        found |= {(number, end) for end, _ in tcp_tables.established(pid) if end.port in ports}
    return found


@contextlib.contextmanager
def _opened(address: Address, port: int) -> Iterator[int]:
    """Keep a connection to an address open; its own port. Raises OSError."""
    with socket.create_connection((str(address), port), CONNECT_S) as connection:
        own_port: int = connection.getsockname()[1]
        yield own_port


def _at_last(what: Callable[[], Found], within_s: float) -> Found:
    """Return what is found as soon as that is something, or what is found at the end of the time."""
    over_s = time.monotonic() + within_s
    while not (found := what()) and time.monotonic() < over_s:
        time.sleep(LOOK_S)
    return found
