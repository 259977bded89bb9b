"""Checks of answers against the contract, on a correct server and on servers with one error each."""

import contextlib
import socket
import threading
from pathlib import Path

import pytest
import tiny_servers
from crumple import project
from crumple.errors import CrumpleError, WrongAnswer
from crumple.subject import answer_check, servers, workload

HELLO = project.root() / "contract" / "workloads" / "hello.toml"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def check(tmp_path: Path, here: str = "") -> None:
    tiny = tiny_servers.described(tmp_path, here=here)
    with servers.start(servers.build(tiny), cores=(), settings={}) as running:
        answer_check.answers(running.address, workload.load(HELLO), {})


@pytest.mark.starts
@pytest.mark.parallel
def test_the_right_answer_passes(tmp_path):
    check(tmp_path)


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    ("here", "said"),
    [
        ("STATUS = 500", "status 500; the contract says 200"),
        ("BODY = b'Hello, world!'", "13 bytes that differ from byte 7 on: 'world!'"),
        ("BODY = b'Hello'", "5 bytes that differ from byte 5 on: nothing"),
        ("BODY += b'!'", "there nothing"),
        ("CONTENT_TYPE = 'text/html'", "content type text/html; the contract says text/plain"),
        ("CLOSE = True", "it closes the connection; keep it open"),
        ("UNKNOWN = 200", "status 200; answer 404"),
    ],
)
def test_each_error_in_an_answer_is_named(tmp_path, here, said):
    with pytest.raises(WrongAnswer, match=r"hello|no-such-path") as wrong:
        check(tmp_path, here)
    assert said in str(wrong.value)
    assert "\n" not in str(wrong.value)


@pytest.mark.starts
@pytest.mark.parallel
def test_a_charset_may_be_added_to_the_content_type(tmp_path):
    check(tmp_path, "CONTENT_TYPE = 'Text/Plain; charset=utf-8'")


def test_an_unknown_parameter_is_a_usage_error():
    with pytest.raises(CrumpleError, match="no parameter"):
        answer_check.answers("127.0.0.1:1", workload.load(HELLO), {"delay": 3})


def scripted(*answers: bytes) -> tuple[str, socket.socket]:
    """Yield the address of a server that sends one of `answers` per connection, in order, and closes it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for answer in answers:
            with listener.accept()[0] as peer:
                peer.recv(65536)
                peer.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}", listener


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "it closed the connection without an answer"),
        (b"SSH-2.0-x\r\n", "the answer is no HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello", "it ended after 5 bytes of its body"),
    ],
)
def test_a_broken_answer_is_named(answer, said):
    address, listener = scripted(answer)
    with listener, pytest.raises(WrongAnswer, match=said):
        answer_check.answers(address, workload.load(HELLO), {})


def test_a_second_answer_must_come_on_the_same_connection():
    right = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
    address, listener = scripted(right)
    with listener, pytest.raises(WrongAnswer, match="second on its connection"):
        answer_check.answers(address, workload.load(HELLO), {})


def test_a_server_that_does_not_listen_is_named():
    with pytest.raises(WrongAnswer, match=r"connecting to 127\.0\.0\.1:1: Connection refused"):
        answer_check.answers("127.0.0.1:1", workload.load(HELLO), {})


@pytest.mark.long
def test_a_server_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(answer_check, "LIMIT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(WrongAnswer, match="no whole answer"):
        answer_check.answers(f"127.0.0.1:{mute.getsockname()[1]}", workload.load(HELLO), {})


def test_a_request_in_two_segments_that_is_answered_early_is_wrong():
    # The server answers half a request as if it were complete, like a parser that reads once per request.
    right = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
    hasty = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                peer = listener.accept()[0]
            except OSError:
                return
            with peer:
                while read := peer.recv(65536):
                    peer.sendall(right if read.endswith(b"\r\n\r\n") and read.startswith(b"GET") else hasty)

    threading.Thread(target=serve, daemon=True).start()
    with listener, pytest.raises(WrongAnswer, match="in two segments: status 400"):
        answer_check.answers(f"127.0.0.1:{listener.getsockname()[1]}", workload.load(HELLO), {})


def test_the_second_request_comes_after_the_first_connection_is_closed():
    # Like gunicorn with one worker: it closes a connection, and accepts the next one only after the client
    # has closed its side too.
    right = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\nConnection: close\r\n\r\n"
    listener = socket.create_server(("127.0.0.1", 0))
    closed = []

    def serve() -> None:
        for _ in range(2):
            with listener.accept()[0] as peer:
                peer.recv(65536)
                peer.sendall(right + b"Hello, World!")
                peer.shutdown(socket.SHUT_WR)
                peer.settimeout(1)
                with contextlib.suppress(TimeoutError):
                    closed.append(peer.recv(1))

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    with listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        answer_check.twice(address, workload.load(HELLO), {}, keeps=False)
        server.join(5)
    assert closed == [b"", b""]
