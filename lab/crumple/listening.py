"""Ports on loopback: which is free, whose a listener is, and when the first HTTP answer comes.

It starts and ends nothing.
"""

import contextlib
import socket
import time
from pathlib import Path

from crumple import process_tree
from crumple.errors import ServerFailed
from crumple.guard import Guarded

HOST = "127.0.0.1"
# Where we ask from. From HOST, while nobody listens as yet, the kernel may pick the very port we ask for, and
# TCP then connects the socket with itself: once in some hundred starts, and the server finds its port taken.
ASKED_FROM = "127.0.0.2"
LIMIT_S = 30.0
POLL_S = 0.003
LISTEN = "0A"


def free_port() -> int:
    """A port nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def is_taken(port: int) -> bool:
    """Whether someone holds the port, so that a server could not listen on it."""
    with socket.socket() as probe:
        # As servers do it: what waits in TIME_WAIT is no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen()
        except OSError:
            return True
    return False


def await_answer(guarded: Guarded, port: int) -> None:
    """Return with the first HTTP answer on `port`. Raises ServerFailed("start").

    It fails at once when the command ends, or when the port turns out to be somebody else's.
    """
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if _answers(guarded, port, deadline):
            if not _listens(guarded, port):
                raise ServerFailed("start", f"port {port} is another program's", guarded.output_tail())
            return
        ended = guarded.ended(POLL_S)
        if ended:
            raise ServerFailed("start", f"it {ended} before it answered", guarded.output_tail())
    listens = "it listens but" if _listeners(port) else "it does not listen and"
    message = f"{listens} did not answer on port {port} within {LIMIT_S:.0f} s"
    raise ServerFailed("start", message, guarded.output_tail())


def _answers(guarded: Guarded, port: int, deadline: float) -> bool:
    """Ask once. False: nobody there, or the connection was dropped; worth another try."""
    with (
        contextlib.suppress(ConnectionError, TimeoutError),
        socket.create_connection((HOST, port), 1.0, (ASKED_FROM, 0)) as asked,
    ):
        asked.sendall(f"GET / HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n\r\n".encode())
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


def _listens(guarded: Guarded, port: int) -> bool:
    """Whether the listener on `port` belongs to the command; also true where the system does not tell."""
    sockets = {f"socket:[{inode}]" for inode in _listeners(port)}
    if not sockets:
        return True
    for pid in process_tree.descendants(guarded.guard_pid):
        try:
            if any(_link(file) in sockets for file in Path(f"/proc/{pid}/fd").iterdir()):
                return True
        except PermissionError:
            return True  # it runs as another user, whose files we may not look at
        except OSError:
            continue
    return False


def _link(file: Path) -> str:
    try:
        return str(file.readlink())
    except OSError:
        return ""


def _listeners(port: int) -> list[str]:
    """The inodes of the sockets that listen on `port`, on any address."""
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTEN and int(fields[1].rsplit(":", 1)[1], 16) == port:
                    found.append(fields[9])
    return found
