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
from crumple.machine import network_namespaces, runtimes, tcp_tables

NAME = "pprof"
read = goroutines.read
_GOROUTINES = "/debug/pprof/goroutine?debug=1"
# The most ports of a server that are asked whether they serve pprof.
PORTS_MOST = 4
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
    """Yield where a process can be asked from here: in another namespace not on loopback."""
    is_here = network_namespaces.is_own(pid)
    loopback = ipaddress.ip_address("127.0.0.1")
    for host, port in tcp_tables.heard_at(_sockets(pid), pid):
        if not host.is_unspecified:
            reached = [host]
        else:
            reached = [loopback] if is_here else network_namespaces.addresses_of(pid)
        yield from ((str(each), port) for each in reached[:1] if is_here or not each.is_loopback)


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
