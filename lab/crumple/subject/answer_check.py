"""Checks that a server's answers are what its workload's contract says, to the byte.

Every trial makes these checks before and after its load: one request at a time, whole or in two segments.
`server_check` makes all other checks of `crumple verify`.
"""

import contextlib
import http
import http.client
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from crumple.contract import ExpectSpec, RequestSpec
from crumple.errors import NoAnswer, WrongAnswer
from crumple.subject.workload import Value, Workload

# Seconds that a server has for a whole answer, and for the connections of requests that are sent at once.
LIMIT_S = 20.0
# Long enough that the server reads the two segments separately.
BETWEEN_SEGMENTS_S = 0.02


@dataclass(frozen=True)
class Reply:
    """One whole answer. `took_s`: from the first byte sent to the last received."""

    status: int
    content_type: str
    body: bytes
    closes: bool
    took_s: float


class ServerConnection:
    """One open connection to the server."""

    def __init__(self, address: str, connected: socket.socket) -> None:
        self._address = address
        self._socket = connected
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: RequestSpec, asked: str, segments: int = 1) -> Reply:
        """The answer to `request`, sent in `segments` parts. Raises WrongAnswer, which names it `asked`."""
        written = _written(request, self._address)
        size = -(-len(written) // segments)
        with _errors_of(asked):
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
def connection(address: str) -> Iterator[ServerConnection]:
    """Connect to "host:port" and yield the peer; closes at the end. Raises WrongAnswer."""
    host, _, port = address.rpartition(":")
    with _errors_of(f"connecting to {address}"):
        connected = socket.create_connection((host, int(port)), LIMIT_S)
    with connected:
        yield ServerConnection(address, connected)


def at_once(address: str, request: RequestSpec, asked: str, count: int) -> Iterator[Reply | WrongAnswer]:
    """Open `count` connections, then send one request on each; yields the reply or error of each."""
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


def _written(request: RequestSpec, address: str) -> bytes:
    body = (request.body or "").encode()
    headers = [("Host", address), *request.headers]
    if body:
        headers.append(("Content-Length", str(len(body))))
    lines = [f"{request.method} {request.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextlib.contextmanager
def _errors_of(asked: str) -> Iterator[None]:
    """Turn network and HTTP errors inside into WrongAnswer."""
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


UNKNOWN = RequestSpec(
    method="GET",
    path="/no-such-path-as-this",
    expect=ExpectSpec(status=http.HTTPStatus.NOT_FOUND, body_bytes=None, body_sha256=None, hash_one_in=0),
)


def answers(address: str, workload: Workload, parameters: Mapping[str, Value], *, keeps: bool = True) -> None:
    """Ask twice on one connection, once in two segments, once for an unknown path. Raises WrongAnswer.

    `keeps`: False for a server that should close each connection after its answer.
    """
    request = workload.request_with(parameters)
    twice(address, workload, parameters, keeps=keeps)
    in_two_segments(address, request, workload, parameters)
    unknown_path(address)


def twice(address: str, workload: Workload, parameters: Mapping[str, Value], *, keeps: bool = True) -> None:
    """Ask twice; if each answer must be a new one, the two must differ. Raises WrongAnswer."""
    request = workload.request_with(parameters)
    asked = named(request)
    again = f"{asked}, second on its connection" if keeps else f"{asked}, a second time"
    with connection(address) as peer:
        first = peer.ask(request, asked)
        check(asked, first, workload, parameters)
        _kept_or_not(asked, first, keeps)
        second = None if first.closes else peer.ask(request, again)
    if second is None:
        # After the first connection is closed: a server with one worker may wait for its client to close.
        with connection(address) as peer:
            second = peer.ask(request, again)
    check(again, second, workload, parameters)
    if workload.answer_to(parameters).fresh and first.body == second.body:
        raise WrongAnswer(f"{again}: the same body as before", "make a new one for each request")


def kept(address: str, workload: Workload, requests: int) -> None:
    """Ask `requests` times on one connection. Raises WrongAnswer, also if it is closed."""
    request = workload.request_with({})
    with connection(address) as peer:
        for number in range(1, requests + 1):
            asked = f"{named(request)}, number {number} on its connection"
            reply = peer.ask(request, asked)
            check(asked, reply, workload, {})
            _kept_or_not(asked, reply, keeps=True)


def in_two_segments(
    address: str, request: RequestSpec, workload: Workload, parameters: Mapping[str, Value]
) -> None:
    """Ask with a request that is sent in two halves. Raises WrongAnswer."""
    asked = f"{named(request)}, in two segments"
    with connection(address) as peer:
        check(asked, peer.ask(request, asked, segments=2), workload, parameters)


def unknown_path(address: str) -> None:
    """Ask for a path that no workload has; the answer must be 404. Raises WrongAnswer."""
    asked = named(UNKNOWN)
    with connection(address) as peer:
        reply = peer.ask(UNKNOWN, asked)
    if reply.status != UNKNOWN.expect.status:
        raise WrongAnswer(f"{asked}: status {reply.status}", "answer 404 on paths no workload has")


def check(asked: str, reply: Reply, workload: Workload, parameters: Mapping[str, Value]) -> None:
    """Raises WrongAnswer with the first difference from the contract: status, content type, body."""
    answer = workload.answer
    if reply.status != answer.status:
        raise WrongAnswer(f"{asked}: status {reply.status}", f"the contract says {answer.status}")
    # The contract leaves parameters such as charset to the server.
    if reply.content_type.partition(";")[0].strip().lower() != answer.content_type.partition(";")[0].lower():
        message = f"{asked}: content type {reply.content_type}"
        raise WrongAnswer(message, f"the contract says {answer.content_type}")
    fault = workload.answer_to(parameters).check(reply.body)
    if fault:
        raise WrongAnswer(f"{asked}: {fault.message}", fault.remedy)


def _kept_or_not(asked: str, reply: Reply, keeps: bool) -> None:
    if reply.closes and keeps:
        raise WrongAnswer(f"{asked}: it closes the connection", "keep it open, as HTTP/1.1 does")
    if not reply.closes and not keeps:
        message = f"{asked}: it does not say that it closes the connection"
        raise WrongAnswer(message, "answer with Connection: close, or leave out keep_alive = false")


def named(request: RequestSpec) -> str:
    """The request's method and path, as messages name it."""
    return f"{request.method} {request.path}"
