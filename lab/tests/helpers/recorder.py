"""A server that writes down what a client sends: its connections, and its requests byte by byte.

It listens on loopback and speaks HTTP/1.1 by hand over sockets, plain or over TLS. Paths decide the answer:
"/moved" is a redirect to "/", "/fails" a status 500; all others are 200, by gzip where that is accepted.
A query "ms=N" delays the answer by N milliseconds, and "more=M" by M more for each request before it.
"""

import contextlib
import gzip
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

BODY = b"a line that compresses well\n" * 400
# What a client sends first that speaks HTTP/2 without having asked (RFC 9113, 3.4).
HTTP_2 = b"PRI * HTTP/2.0\r\n"


@dataclass
class Asked:
    """One request. `answered`: whether it had its whole answer before the client closed."""

    method: str
    path: str
    version: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    at_s: float = field(default_factory=time.monotonic)
    answered: bool = False

    def value(self, name: str) -> str | None:
        """Return the value of a header, whatever the case of its name."""
        return {each.lower(): value for each, value in self.headers}.get(name.lower())


@dataclass
class Connection:
    """One connection. `protocol`: what TLS agreed on; `closed`: it has ended, whoever ended it."""

    protocol: str | None = None
    requests: list[Asked] = field(default_factory=list)
    closed: bool = False


class Recorder:
    """The server while it runs, and what it has written down."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.tls = tls
        self.connections: list[Connection] = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def requests(self) -> list[Asked]:
        """Return all requests."""
        return [asked for each in self.connections for asked in each.requests]

    @property
    def asking(self) -> list[Connection]:
        """Return the connections that had a request: wrk opens one more, to see whether anybody listens."""
        return [each for each in self.connections if each.requests]

    def url(self, path: str = "/") -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}{path}"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                accepted, _ = self.listener.accept()
                connection = Connection()
                self.connections.append(connection)
                threading.Thread(target=self._serve, args=(accepted, connection), daemon=True).start()

    def _serve(self, accepted: socket.socket, connection: Connection) -> None:
        with contextlib.suppress(OSError), accepted:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream = accepted
            if self.tls is not None:
                stream = self.tls.wrap_socket(accepted, server_side=True)
                connection.protocol = stream.selected_alpn_protocol()
            rest: bytes | None = b""
            while rest is not None:
                rest = self._exchange(stream, connection, rest)
        connection.closed = True

    def _exchange(self, stream: socket.socket, connection: Connection, received: bytes) -> bytes | None:
        """Read a request and answer it; return what came behind it, or None if there will be no other."""
        while b"\r\n\r\n" not in received:
            more = stream.recv(65_536)
            if not more:
                return None
            received += more
        head, _, rest = received.partition(b"\r\n\r\n")
        if received.startswith(HTTP_2):
            connection.requests.append(Asked("PRI", "*", "HTTP/2", ()))
            return None
        asked = _read(head.decode("latin-1"))
        length = int(asked.value("content-length") or 0)
        while len(rest) < length:
            rest += stream.recv(65_536)
        asked.body, rest = rest[:length], rest[length:]
        connection.requests.append(asked)
        time.sleep((_number("ms", asked.path) + _number("more", asked.path) * (len(self.requests) - 1)) / 1e3)
        # A client that has closed by now is seen to have done so, which sending alone would not show.
        stream.setblocking(False)
        with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError):
            if not (more := stream.recv(65_536)):
                return None
            rest += more
        stream.setblocking(True)
        stays = _stays(asked)
        stream.sendall(_answer(asked, stays))
        asked.answered = True
        return rest if stays else None


def _number(name: str, path: str) -> int:
    found = re.search(rf"[?&]{name}=(\d+)", path)
    return int(found[1]) if found else 0


def _read(head: str) -> Asked:
    first, *lines = head.split("\r\n")
    method, path, version = first.split(" ")
    return Asked(method, path, version, tuple(_header(line) for line in lines))


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name, value.strip()


def _stays(asked: Asked) -> bool:
    """Whether the client wants the connection kept: HTTP/1.0 has to ask for that (RFC 9112, 9.3)."""
    connection = (asked.value("connection") or "").lower()
    return "close" not in connection and (asked.version == "HTTP/1.1" or "keep-alive" in connection)


def _answer(asked: Asked, stays: bool) -> bytes:
    status, body, headers = "200 OK", BODY, ["Connection: keep-alive" if stays else "Connection: close"]
    if asked.path.startswith("/moved"):
        status, body = "301 Moved Permanently", b"moved"
        headers.append("Location: /")
    elif asked.path.startswith("/fails"):
        status, body = "500 Internal Server Error", b"failed"
    if "gzip" in (asked.value("accept-encoding") or ""):
        body = gzip.compress(body)
        headers.append("Content-Encoding: gzip")
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""])
    return head.encode() + (b"" if asked.method == "HEAD" else body)


@contextlib.contextmanager
def recording(tls: ssl.SSLContext | None = None) -> Iterator[Recorder]:
    """Record while the block runs."""
    recorder = Recorder(tls)
    try:
        yield recorder
    finally:
        # Closing alone would not wake the thread that accepts.
        recorder.listener.shutdown(socket.SHUT_RDWR)
        recorder.listener.close()


def context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return TLS for a server that would speak HTTP/2 as well as HTTP/1.1."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificate, key)
    made.set_alpn_protocols(["h2", "http/1.1"])
    return made
