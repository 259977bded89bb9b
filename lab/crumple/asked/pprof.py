"""Asks a Go program for its goroutines, if it serves /debug/pprof already.

It is asked at the ports where it listens itself; each gets one request at the most, which a program without
pprof answers as any unknown path. To answer, the runtime stops the program for less than a millisecond.
"""

import contextlib
import ipaddress
from collections.abc import Iterator
from pathlib import Path

from crumple.asked import calling, goroutines
from crumple.asked.found import AskedServer, NotAnswered
from crumple.machine import arrivals, network_namespaces, runtimes, serving, tcp_tables

NAME = "pprof"
read = goroutines.read
_GOROUTINES = "/debug/pprof/goroutine?debug=1"
# The most ports of a server that are asked whether they serve pprof.
PORTS_MOST = 4
_LOOPBACK = ipaddress.ip_address("127.0.0.1")
Addresses = tuple[tuple[str, int], ...]


def applies(server: AskedServer) -> Addresses | str:
    """Return where to ask, or why not; empty: there is no Go program."""
    pids = [pid for pid in server.pids if runtimes.of([pid]) == "Go"]
    if not pids:
        return ""
    addresses = [at for pid in pids for at in _heard(pid)]
    if not addresses:
        return "its sockets cannot be read, or it listens where only its own container reaches it"
    return tuple(dict.fromkeys(addresses))[:PORTS_MOST]


def command(addresses: Addresses) -> str:
    """Return what is sent, until one of the ports answers."""
    return f"GET {_GOROUTINES} at {', '.join(_named(*at) for at in addresses)}"


def call(addresses: Addresses, deadline: float) -> str:
    """Return the profile. Raises NotAnswered."""
    for at in addresses:
        with contextlib.suppress(NotAnswered):
            profile = calling.page(*at, _GOROUTINES, deadline)
            if profile.startswith("goroutine profile:"):
                return profile
    asked = ", ".join(_named(*at) for at in addresses)
    raise NotAnswered(f"/debug/pprof is not served at {asked}: import net/http/pprof to have it")


def _heard(pid: int) -> Iterator[tuple[str, int]]:
    """Yield where a process can be asked from here."""
    number = network_namespaces.number(pid)
    for host, port in tcp_tables.heard_at(_sockets(pid), pid):
        if network_namespaces.is_own(pid) or number is None:
            yield str(_LOOPBACK if host.is_unspecified else host), port
            continue
        # Elsewhere another machine may have the address: it is asked only if a connection arrives.
        reached = network_namespaces.addresses_of(pid) if host.is_unspecified else [host]
        for each in reached[:1]:
            came = () if each.is_loopback else arrivals.of(each, port, {number: (pid,)}, serving.WITHIN_S)
            if any(end.is_sure for end in came):
                yield str(each), port


def _named(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _sockets(pid: int) -> set[str]:
    """Return the inodes of its sockets."""
    found: set[str] = set()
    with contextlib.suppress(OSError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(str(file.readlink()).removeprefix("socket:[").removesuffix("]"))
    return found
