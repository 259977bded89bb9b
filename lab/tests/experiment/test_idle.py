"""Idle connections: each asks once where the server keeps it, and sends half a request where it does not."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import pytest
from crumple.contract import RequestSpec
from crumple.experiment import idle
from crumple.load import request
from crumple.load.typed_request import TypedRequest


def get(path: str) -> RequestSpec:
    return request.make(TypedRequest(path=path))


@contextmanager
def server(keeps: bool, says: bool = True, most: int = 1_000) -> Iterator[tuple[str, list[str]]]:
    """A server, its address, and the request lines that it has read. `says`: its answers say what it does.

    `most`: it keeps so many connections, and ends the others with an answer that says so. It answers /missing
    with 404, and /late after half a second.
    """
    lines: list[str] = []
    numbers = count(1)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1" if keeps or not says else "HTTP/1.0"

        def do_GET(self) -> None:
            lines.append(self.path)
            ends = next(numbers) > most and self.path == "/"
            time.sleep(0.5 if self.path == "/late" else 0.0)
            self.send_response(404 if self.path == "/missing" else 200)
            self.send_header("Content-Length", "2")
            if ends:
                self.send_header("Connection", "close")
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(b"ok")
            self.close_connection = ends or not keeps

        def log_message(self, *_: object) -> None:
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads = True
    serving = threading.Thread(target=made.serve_forever, daemon=True)
    serving.start()
    try:
        yield f"127.0.0.1:{made.server_address[1]}", lines
    finally:
        made.shutdown()
        made.server_close()
        serving.join()


@pytest.mark.long
def test_connections_that_the_server_keeps_stay_open() -> None:
    with server(keeps=True) as (address, lines):
        with idle.connections(address, address, get("/here"), 5) as held:
            assert held.kept and len(set(held.ports)) == 5
        assert lines == ["/here"] * 5


@pytest.mark.long
def test_where_the_server_closes_them_others_send_half_a_request() -> None:
    with server(keeps=False) as (address, lines), idle.connections(address, address, get("/here"), 5) as held:
        assert not held.kept and len(set(held.ports)) == 5
        assert lines == ["/here"] * 5


@pytest.mark.long
@pytest.mark.long
def test_connections_that_the_server_closes_unsaid_are_not_kept() -> None:
    closing = server(keeps=False, says=False)
    with closing as (address, lines), idle.connections(address, address, get("/here"), 5) as held:
        assert not held.kept and len(set(held.ports)) == 5
        assert lines == ["/here"] * 5


@pytest.mark.long
@pytest.mark.parametrize(("keeps", "says"), [(True, True), (False, True), (False, False)])
def test_it_is_seen_that_a_server_closes_connections_unsaid(keeps: bool, says: bool) -> None:
    with server(keeps, says) as (address, _):
        assert idle.closes_unsaid(address, address, get("/")) == (not keeps and not says)


def test_where_nobody_listens_there_are_none() -> None:
    with idle.connections("127.0.0.1:9", "nobody", get("/"), 3) as held:
        assert held.ports == ()


@pytest.mark.long
@pytest.mark.parametrize("number", [1, 24])
def test_as_many_as_asked_for(number: int) -> None:
    with server(keeps=True) as (address, _), idle.connections(address, address, get("/"), number) as held:
        assert len(held.ports) == number


@pytest.mark.long
def test_an_answer_without_an_end_holds_up_nobody() -> None:
    class Endless(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            with suppress(OSError):
                while True:
                    self.wfile.write(b"2\r\nok\r\n")
                    time.sleep(0.1)

        def log_message(self, *_: object) -> None:
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    made.daemon_threads = True
    serving = threading.Thread(target=made.serve_forever, daemon=True)
    serving.start()
    address = f"127.0.0.1:{made.server_address[1]}"
    began_s = time.monotonic()
    with idle.connections(address, address, get("/"), 3) as held:
        assert len(held.ports) == 3
    assert time.monotonic() - began_s < 10.0
    made.shutdown()
    made.server_close()
    serving.join()
