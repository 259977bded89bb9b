"""Which process holds the server's end of a connection."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from crumple.machine import connection_ends, process_tree


@pytest.fixture(params=["127.0.0.1", "::1"])
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    with socket.socket(family) as made:
        made.bind((request.param, 0))
        made.listen()
        yield made


def test_accepted_connections_are_held_and_others_are_not(listener: socket.socket) -> None:
    with ExitStack() as stack:
        clients = []
        for _ in range(3):
            client = stack.enter_context(socket.socket(listener.family))
            client.connect(listener.getsockname()[:2])
            clients.append(client)
        for _ in range(2):
            stack.enter_context(listener.accept()[0])
        ports = {client.getsockname()[1] for client in clients}
        found = connection_ends.ends(os.getpid(), listener.getsockname()[1], ports)
        assert found is not None
        assert (found.connections, found.accepted) == (3, 2)
        assert found.by_process == {os.getpid(): 2}


def test_a_row_that_the_kernel_lists_twice_counts_once(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(listener.family) as client:
        client.connect(listener.getsockname()[:2])
        rows = [*connection_ends._rows()]
        monkeypatch.setattr(connection_ends, "_rows", lambda: iter(rows * 2))
        port, ours = listener.getsockname()[1], {client.getsockname()[1]}
        found = connection_ends.ends(os.getpid(), port, ours)
    assert found is not None and found.connections == 1


def test_connections_of_others_do_not_count(listener: socket.socket) -> None:
    with socket.socket(listener.family) as client:
        client.connect(listener.getsockname()[:2])
        found = connection_ends.ends(os.getpid(), listener.getsockname()[1], set())
        assert found is not None and found.connections == 0


@pytest.mark.starts
@pytest.mark.parallel
def test_connections_that_another_program_holds_are_not_those_that_nobody_accepted(
    listener: socket.socket,
) -> None:
    with socket.socket(listener.family) as client, subprocess.Popen(["sleep", "60"]) as other:
        client.connect(listener.getsockname()[:2])
        port, asked = listener.getsockname()[1], {client.getsockname()[1]}
        waits = connection_ends.ends(other.pid, port, asked)
        with listener.accept()[0]:
            held = connection_ends.ends(other.pid, port, asked)
        other.kill()
    assert waits is not None and waits.accepted == 0
    assert held is None


def test_connections_that_end_elsewhere_give_no_number(listener: socket.socket) -> None:
    # Nobody connects from this port: as with a server behind an address translation, no end is shown here.
    assert connection_ends.ends(os.getpid(), listener.getsockname()[1], {1}) is None


def test_a_process_whose_files_cannot_be_read_gives_no_number(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_pid: int) -> set[str]:
        raise PermissionError

    monkeypatch.setattr(connection_ends, "_held", refused)
    assert connection_ends.ends(os.getpid(), listener.getsockname()[1], {1}) is None


def test_connections_that_nobody_has_accepted_are_queued() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert connection_ends.count_queued(os.getpid(), port) is None
        listener.listen(8)
        assert connection_ends.count_queued(os.getpid(), port) == 0
        with socket.create_connection(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)):
            assert connection_ends.count_queued(os.getpid(), port) == 2
            accepted, _ = listener.accept()
            with accepted:
                assert connection_ends.count_queued(os.getpid(), port) == 1


def test_the_queue_of_a_server_in_another_network_is_not_known(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who listens on the port here passes connections on to it, as a container's proxy does."""
    port = listener.getsockname()[1]
    assert connection_ends.count_queued(os.getpid(), port) == 0
    monkeypatch.setattr(process_tree, "is_of_this_network", lambda *_: False)
    assert connection_ends.count_queued(os.getpid(), port) is None


def row(port: int, state: str, queue: int) -> str:
    return f"   0: 0100007F:{port:04X} 00000000:0000 {state} 00000000:{queue:08X} 00:00000000 0 0 0 77 1 0\n"


def test_behind_the_sockets_that_listen_no_row_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may have tens of thousands of connections in TIME_WAIT, and the look at it uses its cores."""
    table = tmp_path / "tcp"
    rows = [row(80, "0A", 2), row(80, "0A", 3), row(80, "06", 0), "cannot be read\n"]
    table.write_text("".join(["  sl  local_address\n", *rows]))
    monkeypatch.setattr(process_tree, "TCP_TABLES", (str(table), str(tmp_path / "no-tcp6")))
    assert connection_ends.count_queued(os.getpid(), 80) == 5
    assert connection_ends.count_queued(os.getpid(), 81) is None


def test_the_kernel_lists_sockets_that_listen_before_others(listener: socket.socket) -> None:
    """Else the queue would be looked up in a part of the table."""
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(socket.create_connection(listener.getsockname()[:2]))
        later = stack.enter_context(socket.socket(listener.family))
        later.bind((listener.getsockname()[0], 0))
        later.listen()
        stack.enter_context(socket.create_connection(later.getsockname()[:2]))
        for each, queued in ((listener, 3), (later, 1)):
            assert connection_ends.count_queued(os.getpid(), each.getsockname()[1]) == queued
