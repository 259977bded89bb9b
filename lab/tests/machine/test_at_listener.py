"""How many processes take connections at an address: real sockets, with workers that inherit them."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from crumple.machine import at_listener

pytestmark = pytest.mark.starts

# argv: the descriptor of a listening socket, and how many children inherit it.
MASTER = """
import os, sys, time
for _ in range(int(sys.argv[2])):
    if os.fork() == 0:
        time.sleep(60)
print("ready", flush=True)
time.sleep(60)
"""


@contextmanager
def workers(listens: socket.socket, number: int) -> Iterator[None]:
    words = [sys.executable, "-c", MASTER, str(listens.fileno()), str(number)]
    with subprocess.Popen(
        words, pass_fds=[listens.fileno()], stdout=subprocess.PIPE, text=True, process_group=0
    ) as master:
        listens.close()
        try:
            assert master.stdout is not None and master.stdout.readline() == "ready\n"
            yield
        finally:
            subprocess.run(["kill", "-9", "--", f"-{master.pid}"], check=True)


@pytest.mark.parametrize("number", [0, 1, 5])
def test_workers_that_inherited_a_socket_are_counted_without_their_master(
    number: int, tmp_path: Path
) -> None:
    tcp = socket.create_server(("127.0.0.1", 0))
    at = f"127.0.0.1:{tcp.getsockname()[1]}"
    with workers(tcp, number):
        assert at_listener.processes(at, os.getpid()) == max(1, number)
    path = str(tmp_path / "socket")
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(path)
    unix.listen()
    with workers(unix, number):
        assert at_listener.processes(f"unix:{path}", os.getpid()) == max(1, number)


def test_an_address_at_which_nobody_listens_has_no_processes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listens:
        port = listens.getsockname()[1]
    assert at_listener.processes(f"127.0.0.1:{port}", os.getpid()) is None
    assert at_listener.processes("unix:/nowhere", os.getpid()) is None
