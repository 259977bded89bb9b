"""Opens connections to a server and leaves them idle, to see what it spends on them.

Each connection asks once and reads the answer. If the server closes its connections after an answer, each
sends half a request instead: the server has accepted it, and waits for the rest. Some servers close them
without having said so in the answer.
"""

import socket
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse

from crumple.contract import RequestSpec
from crumple.experiment import request_bytes

# How long a connect may take, in seconds: longer than the kernel waits before it sends a SYN again.
CONNECT_S = 1.5
# How long an answer is waited for, in seconds. A server that serves few connections at a time leaves the
# others without one.
ANSWER_S = 1.0
# The most connections that ask at a time: this is not meant to be a load, and with many a server may stand
# still.
AT_ONCE = 25
# How long it takes, in seconds, until a connection is closed that the server closes after its answer without
# saying so.
CLOSED_S = 0.1


@dataclass(frozen=True)
class Idle:
    """Connections that are open. `kept`: the server keeps connections after its answer."""

    ports: tuple[int, ...]
    kept: bool


@contextmanager
def connections(address: str, host: str, request: RequestSpec, number: int) -> Iterator[Idle]:
    """Hold up to `number` idle connections until the `with` ends. `address`: "ip:port", without TLS.

    `request`: what each asks. `host`: where the request names none. Raises CrumpleError if a file that the
    request names is gone.
    """
    sent = request_bytes.whole(host, request)
    with ExitStack() as stack, ThreadPoolExecutor(AT_ONCE) as pool:

        def opened() -> list[socket.socket]:
            found = [each for each in pool.map(lambda _: connect(address), range(number)) if each]
            for each in found:
                stack.enter_context(each)
            return found

        held = opened()
        answers = list(pool.map(lambda each: _ask(each, request.method, sent), held))
        answered = [each for each in answers if each is not None]
        if any(answered):
            time.sleep(CLOSED_S)
            answered = [not _is_closed(each) for each, keeps in zip(held, answers, strict=True) if keeps]
        kept = not answered or any(answered)
        if not kept:
            for each in held:
                each.close()
            held = opened()
            send_half(held, host, request)
        ports = [_port(each) for each in held]
        yield Idle(tuple(each for each in ports if each), kept)


def closes_unsaid(address: str, host: str, request: RequestSpec) -> bool:
    """Whether the server closes a connection after its answer, and says in the answer that it keeps it.

    Whoever sends the next request on such a connection gets no answer. False, too, if it does not answer.
    Raises CrumpleError if a file that the request names is gone.
    """
    sent = request_bytes.whole(host, request)
    connection = connect(address)
    if connection is None:
        return False
    with connection:
        if not _ask(connection, request.method, sent):
            return False
        time.sleep(CLOSED_S)
        return _is_closed(connection)


def is_quiet(connection: socket.socket) -> bool:
    """Whether the connection is open, and nothing has come that was not read."""
    try:
        connection.setblocking(False)
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _is_closed(connection: socket.socket) -> bool:
    """Whether the other end has closed it."""
    try:
        # An answer that ends the connection has closed this end already.
        connection.setblocking(False)
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def connect(address: str) -> socket.socket | None:
    """Open a connection to "ip:port"; None: it did not come about."""
    at, _, port = address.rpartition(":")
    try:
        return socket.create_connection((at.strip("[]"), int(port)), CONNECT_S)
    except OSError:
        return None


def send_half(held: Iterable[socket.socket], host: str, request: RequestSpec) -> int:
    """Send half a request on each connection; return on how many it was sent."""
    half, sent = request_bytes.head(host, request), 0
    for each in held:
        with suppress(OSError):
            each.sendall(half)
            sent += 1
    return sent


def _ask(connection: socket.socket, method: str, sent: bytes) -> bool | None:
    """Send a request; return whether the server keeps the connection, None: it did not answer in time."""
    answer = _answer(connection, method, sent)
    return None if answer is None else not answer.will_close


def _answer(connection: socket.socket, method: str, sent: bytes) -> HTTPResponse | None:
    """Send a request and read the answer; None: there was none in time."""
    try:
        connection.settimeout(ANSWER_S)
        connection.sendall(sent)
        answer = HTTPResponse(connection, method=method)
        answer.begin()
        over_s = time.monotonic() + ANSWER_S
        # An answer may have no end.
        while answer.read1():
            if time.monotonic() > over_s:
                return None
    except (OSError, HTTPException):
        return None
    if answer.will_close:
        connection.close()
    return answer


def _port(connection: socket.socket) -> int:
    with suppress(OSError):
        return int(connection.getsockname()[1])
    return 0
