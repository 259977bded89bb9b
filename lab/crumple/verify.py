"""Whether a server answers as its workload's contract says, to the byte. Nothing unverified is measured.

One request at a time, in the ways HTTP allows it to arrive; the engine checks every answer under load.
"""

import contextlib
import http.client
import socket
import time
from collections.abc import Iterator, Mapping

from crumple.contract import Expect, Request
from crumple.errors import WrongAnswer
from crumple.workload import Answer, Value, Workload

LIMIT_S = 20.0
# Long enough that the two segments are two reads for the server.
BETWEEN_SEGMENTS_S = 0.02
UNKNOWN = Request(
    method="GET",
    path="/no-such-path-as-this",
    expect=Expect(status=http.HTTPStatus.NOT_FOUND, body_bytes=None, body_sha256=None, hash_one_in=0),
)
SHOWN_BYTES = 24


def answers(address: str, workload: Workload, parameters: Mapping[str, Value]) -> None:
    """Ask twice on one connection, once in two segments, once for an unknown path. Raises WrongAnswer."""
    request = workload.request_with(parameters)
    _twice_on_one_connection(address, request, workload.answer)
    _in_two_segments(address, request, workload.answer)
    _unknown_path(address)


def _twice_on_one_connection(address: str, request: Request, answer: Answer) -> None:
    with _connection(address) as peer:
        for which in ("first", "second"):
            asked = f"{request.method} {request.path}"
            if which == "second":
                asked += ", second on its connection"
            with _told(asked):
                peer.sendall(_written(request, address))
                response, body = _answer(peer, request.method)
            _check(asked, response, body, answer)
            if which == "first" and response.will_close:
                raise WrongAnswer(f"{asked}: it closes the connection", "keep it open, as HTTP/1.1 does")


def _in_two_segments(address: str, request: Request, answer: Answer) -> None:
    asked = f"{request.method} {request.path}, in two segments"
    written = _written(request, address)
    with _connection(address) as peer, _told(asked):
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.sendall(written[: len(written) // 2])
        time.sleep(BETWEEN_SEGMENTS_S)
        peer.sendall(written[len(written) // 2 :])
        response, body = _answer(peer, request.method)
    _check(asked, response, body, answer)


def _unknown_path(address: str) -> None:
    asked = f"{UNKNOWN.method} {UNKNOWN.path}"
    with _connection(address) as peer, _told(asked):
        peer.sendall(_written(UNKNOWN, address))
        response, _ = _answer(peer, UNKNOWN.method)
    if response.status != UNKNOWN.expect.status:
        raise WrongAnswer(f"{asked}: status {response.status}", "answer 404 on paths no workload has")


def _written(request: Request, address: str) -> bytes:
    body = (request.body or "").encode()
    headers = [("Host", address), *request.headers]
    if body:
        headers.append(("Content-Length", str(len(body))))
    lines = [f"{request.method} {request.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _answer(peer: socket.socket, method: str) -> tuple[http.client.HTTPResponse, bytes]:
    response = http.client.HTTPResponse(peer, method=method)
    response.begin()
    return response, response.read()


@contextlib.contextmanager
def _connection(address: str) -> Iterator[socket.socket]:
    host, _, port = address.rpartition(":")
    with _told(f"connecting to {address}"):
        peer = socket.create_connection((host, int(port)), LIMIT_S)
    with peer:
        yield peer


@contextlib.contextmanager
def _told(asked: str) -> Iterator[None]:
    """What goes wrong on the way, as WrongAnswer."""
    try:
        yield
    except TimeoutError:
        raise WrongAnswer(f"{asked}: no whole answer within {LIMIT_S:.0f} s") from None
    except http.client.IncompleteRead as error:
        raise WrongAnswer(f"{asked}: it ended after {len(error.partial)} bytes of its body") from None
    except http.client.RemoteDisconnected:
        raise WrongAnswer(f"{asked}: it closed the connection without an answer") from None
    except http.client.HTTPException as error:
        raise WrongAnswer(f"{asked}: the answer is no HTTP/1.1: {error}") from None
    except OSError as error:
        raise WrongAnswer(f"{asked}: {error.strerror or error}") from None


def _check(asked: str, response: http.client.HTTPResponse, body: bytes, answer: Answer) -> None:
    if response.status != answer.status:
        raise WrongAnswer(f"{asked}: status {response.status}", f"the contract says {answer.status}")
    content_type = response.headers.get("Content-Type", "none")
    # Parameters such as charset are the server's own affair.
    if content_type.partition(";")[0].strip().lower() != answer.content_type.partition(";")[0].lower():
        raise WrongAnswer(f"{asked}: content type {content_type}", f"the contract says {answer.content_type}")
    expected = answer.body_bytes
    if body == expected:
        return
    at = next(
        (i for i, (a, b) in enumerate(zip(body, expected, strict=False)) if a != b),
        min(len(body), len(expected)),
    )
    raise WrongAnswer(
        f"{asked}: {len(body)} bytes that differ from byte {at} on: {_shown(body, at)}",
        f"the contract says {len(expected)} bytes, there {_shown(expected, at)}",
    )


def _shown(body: bytes, at: int) -> str:
    return repr(body[at : at + SHOWN_BYTES])[1:] if at < len(body) else "nothing"
