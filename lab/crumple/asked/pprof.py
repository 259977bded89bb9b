"""Asks a Go program for its goroutines and contended locks, if it serves /debug/pprof already.

It is asked at the ports where it listens itself; each gets one request at the most, which a program without
pprof answers as any unknown path. The runtime stops the program for less than a millisecond meanwhile.
"""

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from crumple.asked import calling, goroutines
from crumple.asked.said import NotAnswered, Server
from crumple.machine import process_tree, runtimes

NAME = goroutines.NAME
read = goroutines.read
_GOROUTINES = "/debug/pprof/goroutine?debug=1"
_MUTEX = "/debug/pprof/mutex?debug=1"
_STATUS = re.compile(rb"HTTP/1\.[01] 200 ")
PORTS_MOST = 4


@dataclass(frozen=True)
class Target:
    """A Go program: where it listens; then the address that answers pprof."""

    addresses: tuple[tuple[str, int], ...]


def applies(server: Server) -> Target | str:
    """Where to ask, or why not."""
    pids = [pid for pid in server.pids if runtimes.of([pid]) == "Go"]
    if not pids:
        return ""
    sockets = {inode for pid in pids for inode in _sockets(pid)}
    addresses = [_reached(host, port) for host, port in process_tree.heard_at(sockets)]
    if not addresses:
        return "its sockets cannot be read, or it listens in another network namespace"
    return Target(tuple(dict.fromkeys(addresses))[:PORTS_MOST])


def command(target: Target) -> str:
    """How the user could ask."""
    return calling.typed(["curl", f"http://{_named(*target.addresses[0])}{_GOROUTINES}"])


def call(target: Target, deadline: float) -> str:
    """Both profiles. Raises NotAnswered."""
    for at in target.addresses:
        with contextlib.suppress(NotAnswered):
            profile = _page(at, _GOROUTINES, deadline)
            if profile.startswith("goroutine profile:"):
                return f"{profile}\n{goroutines.MUTEX}\n{_mutex(at, deadline)}"
    asked = ", ".join(_named(*at) for at in target.addresses)
    raise NotAnswered(f"/debug/pprof is not served at {asked}: import net/http/pprof to have it")


def _mutex(at: tuple[str, int], deadline: float) -> str:
    with contextlib.suppress(NotAnswered):
        return _page(at, _MUTEX, deadline)
    return ""


def _page(at: tuple[str, int], path: str, deadline: float) -> str:
    """Raises NotAnswered."""
    request = f"GET {path} HTTP/1.0\r\nHost: {_named(*at)}\r\nConnection: close\r\n\r\n".encode()
    with calling.connected(at, deadline) as opened:
        answer = calling.exchanged(opened, request, lambda _: False, deadline)
    head, _, body = answer.partition(b"\r\n\r\n")
    if not _STATUS.match(head):
        raise NotAnswered("it is not served")
    return body.decode("utf-8", "replace")


def _reached(host: str, port: int) -> tuple[str, int]:
    return {"0.0.0.0": "127.0.0.1", "::": "127.0.0.1"}.get(host, host), port


def _named(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _sockets(pid: int) -> set[str]:
    """The inodes of its sockets; none if it is in another network namespace."""
    found: set[str] = set()
    with contextlib.suppress(OSError):
        if Path(f"/proc/{pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink():
            return found
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(str(file.readlink()).removeprefix("socket:[").removesuffix("]"))
    return found
