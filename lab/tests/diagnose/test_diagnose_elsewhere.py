"""A diagnosis that watches another process than the one that holds the connections: no wrong number."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import fault_servers
import pytest
from command_line import Call
from diagnosing import call, short

__all__ = ["call", "short"]

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


def _copied(begin: socket.socket, end: socket.socket) -> None:
    with suppress(OSError):
        while some := begin.recv(65_536):
            end.sendall(some)
    for each in (begin, end):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@contextmanager
def relay(path: str) -> Iterator[int]:
    """A port of this process from which each connection leads to a Unix socket, until the `with` ends."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:

        def take() -> None:
            with suppress(OSError):
                while True:
                    here, there = listener.accept()[0], socket.socket(socket.AF_UNIX)
                    there.connect(path)
                    for pair in ((here, there), (there, here)):
                        threading.Thread(target=_copied, args=pair, daemon=True).start()

        threading.Thread(target=take, daemon=True).start()
        yield int(listener.getsockname()[1])
        # This ends the wait in accept(), which closing alone does not.
        listener.shutdown(socket.SHUT_RDWR)


def diagnosed(call: Call, url: str, pid: int) -> dict[str, Any]:
    code, out, err = call(url, "--watch", str(pid), "--no-search", "--quiet", "--seed", "3", "--json")
    assert code == 0, err
    said: dict[str, Any] = json.loads(out)
    return said


def check(said: dict[str, Any]) -> None:
    """Who holds the connections is not known, and nothing is concluded from none being held."""
    held = said["observed"]["held"]
    assert (held["accepted"], held["holders"], held["most"]) == (None, None, None)
    assert said["observed"]["memory"] is None or said["observed"]["memory"]["steps"] == []
    assert "idle connection each" not in said["who_waits"].get("evidence", "")


def test_a_server_behind_a_relay_holds_an_unknown_number_of_connections(
    call: Call, short: None, tmp_path: Path
) -> None:
    at = str(tmp_path / "socket")
    with fault_servers.serving("200", at=at) as served, relay(at) as port:
        check(diagnosed(call, f"http://127.0.0.1:{port}/", served.process.pid))


def test_a_server_in_another_network_namespace_holds_an_unknown_number_of_connections(
    call: Call, short: None, tmp_path: Path
) -> None:
    fault_servers.needs_a_namespace()
    at = str(tmp_path / "socket")
    with (
        fault_servers.serving("200", at=at, before=fault_servers.IN_A_NAMESPACE) as served,
        relay(at) as port,
    ):
        said = diagnosed(call, f"http://127.0.0.1:{port}/", served.process.pid)
    check(said)
    unclear = {each["cause"]: each["why"] for each in said["findings"] if each["kind"] == "unclear"}
    causes = {each["cause"] for each in said["findings"] if each["kind"] == "finding"}
    assert not causes & {"workers", "idle-connections", "dependency", "connection-pool"}
    # What it asks in turn is read in its namespace; where its requests are is not, behind a relay.
    assert "nobody listens" in unclear["workers"] or said["findings"] == [], unclear
