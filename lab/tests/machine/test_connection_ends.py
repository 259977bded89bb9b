"""Which process holds the server's end of a connection."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from crumple.machine import connection_ends, tcp_tables
from crumple.machine.connection_ends import Opened


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
        found = Opened(os.getpid(), listener.getsockname()[1]).ends(ports)
        assert found is not None
        assert (found.connections, found.accepted) == (3, 2)
        assert found.by_process == {os.getpid(): 2}


def test_a_row_that_the_kernel_lists_twice_counts_once(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(listener.family) as client:
        client.connect(listener.getsockname()[:2])
        rows = [*tcp_tables.established()]
        monkeypatch.setattr(tcp_tables, "established", lambda _: iter(rows * 2))
        port, ours = listener.getsockname()[1], {client.getsockname()[1]}
        found = Opened(os.getpid(), port).ends(ours)
    assert found is not None and found.connections == 1


def test_connections_of_others_do_not_count(listener: socket.socket) -> None:
    with socket.socket(listener.family) as client:
        client.connect(listener.getsockname()[:2])
        found = Opened(os.getpid(), listener.getsockname()[1]).ends(set())
        assert found is not None and found.connections == 0


@pytest.mark.starts
@pytest.mark.parallel
def test_connections_that_another_program_holds_are_not_those_that_nobody_accepted(
    listener: socket.socket,
) -> None:
    with socket.socket(listener.family) as client, subprocess.Popen(["sleep", "60"]) as other:
        client.connect(listener.getsockname()[:2])
        port, asked = listener.getsockname()[1], {client.getsockname()[1]}
        waits = Opened(other.pid, port).ends(asked)
        with listener.accept()[0]:
            held = Opened(other.pid, port).ends(asked)
        other.kill()
    assert waits is not None and waits.accepted == 0
    assert held is None


def test_connections_that_end_elsewhere_give_no_number(listener: socket.socket) -> None:
    # Nobody connects from this port: as with a server behind an address translation, no end is shown here.
    assert Opened(os.getpid(), listener.getsockname()[1]).ends({1}) is None


def test_a_process_whose_files_cannot_be_read_gives_no_number(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_pid: int) -> set[str]:
        raise PermissionError

    monkeypatch.setattr(connection_ends, "_held", refused)
    assert Opened(os.getpid(), listener.getsockname()[1]).ends({1}) is None
