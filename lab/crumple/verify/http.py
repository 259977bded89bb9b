"""HTTP as verify speaks it: one request at a time over a connection of its own, in one segment or several.

What a right answer is, others say; here an answer is whole or it is none.
"""

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from crumple.contract import Request
from crumple.errors import NoAnswer, WrongAnswer

LIMIT_S = 20.0
# Long enough that the two segments are two reads for the server.
BETWEEN_SEGMENTS_S = 0.02


@dataclass(frozen=True)
class Reply:
    """One whole answer. `took_s`: from the first byte sent to the last received."""

    status: int
    content_type: str
    body: bytes
    closes: bool
    took_s: float


class Peer:
    """One open connection to the server."""

    def __init__(self, address: str, connected: socket.socket) -> None:
        self._address = address
        self._socket = connected
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: Request, asked: str, segments: int = 1) -> Reply:
        """The answer to `request`; `asked` names it in what goes wrong. Raises WrongAnswer."""
        written = _written(request, self._address)
        size = -(-len(written) // segments)
        with _told(asked):
            began = time.monotonic()
            for at in range(0, len(written), size):
                if at:
                    time.sleep(BETWEEN_SEGMENTS_S)
                self._socket.sendall(written[at : at + size])
            response = http.client.HTTPResponse(self._socket, method=request.method)
            response.begin()
            body = response.read()
            took_s = time.monotonic() - began
        content_type = response.headers.get("Content-Type", "none")
        return Reply(response.status, content_type, body, response.will_close, took_s)


@contextlib.contextmanager
def connection(address: str) -> Iterator[Peer]:
    """A connection for the length of the `with`. Raises WrongAnswer."""
    host, _, port = address.rpartition(":")
    with _told(f"connecting to {address}"):
        connected = socket.create_connection((host, int(port)), LIMIT_S)
    with connected:
        yield Peer(address, connected)


def at_once(address: str, request: Request, asked: str, count: int) -> Iterator[Reply | WrongAnswer]:
    """`count` connections, each with one request; what became of each.

    All are connected before the first of them asks.
    """
    ready = threading.Barrier(count, timeout=LIMIT_S)

    def one(_: int) -> Reply | WrongAnswer:
        try:
            with connection(address) as peer:
                ready.wait()
                return peer.ask(request, asked)
        except WrongAnswer as wrong:
            ready.abort()
            return wrong
        except threading.BrokenBarrierError:
            return WrongAnswer(f"{asked}: not all of {count} connections were opened")

    with ThreadPoolExecutor(count) as askers:
        yield from askers.map(one, range(count))


def _written(request: Request, address: str) -> bytes:
    body = (request.body or "").encode()
    headers = [("Host", address), *request.headers]
    if body:
        headers.append(("Content-Length", str(len(body))))
    lines = [f"{request.method} {request.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextlib.contextmanager
def _told(asked: str) -> Iterator[None]:
    """What goes wrong on the way, as WrongAnswer."""
    try:
        yield
    except TimeoutError:
        raise NoAnswer(f"{asked}: no whole answer within {LIMIT_S:.0f} s") from None
    except http.client.IncompleteRead as error:
        raise WrongAnswer(f"{asked}: it ended after {len(error.partial)} bytes of its body") from None
    except http.client.RemoteDisconnected:
        raise WrongAnswer(f"{asked}: it closed the connection without an answer") from None
    except http.client.HTTPException as error:
        raise WrongAnswer(f"{asked}: the answer is no HTTP/1.1: {error}") from None
    except OSError as error:
        raise WrongAnswer(f"{asked}: {error.strerror or error}") from None
