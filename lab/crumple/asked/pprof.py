"""Asks a Go program for its goroutines, if it serves /debug/pprof already.

It is asked at the ports where it listens itself; each gets one request at the most, which a program without
pprof answers as any unknown path. To answer, the runtime stops the program for less than a millisecond.
"""

import contextlib
from pathlib import Path

from crumple.asked import calling, goroutines
from crumple.asked.found import AskedServer, NotAnswered
from crumple.machine import process_tree, runtimes

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
    sockets = {inode for pid in pids for inode in _sockets(pid)}
    addresses = [_reached(host, port) for host, port in process_tree.heard_at(sockets)]
    if not addresses:
        return "its sockets cannot be read, or it listens in another network namespace"
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


def _reached(host: str, port: int) -> tuple[str, int]:
    return {"0.0.0.0": "127.0.0.1", "::": "127.0.0.1"}.get(host, host), port


def _named(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _sockets(pid: int) -> set[str]:
    """Return the inodes of its sockets; none if it is in another network namespace."""
    found: set[str] = set()
    with contextlib.suppress(OSError):
        if Path(f"/proc/{pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink():
            return found
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(str(file.readlink()).removeprefix("socket:[").removesuffix("]"))
    return found
