"""Who listens, who waits to be accepted, and which ends are open, by the kernel's tables."""

import ipaddress
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
from crumple.machine import tcp_tables


def test_connections_that_nobody_has_accepted_are_queued() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert tcp_tables.queued(port) is None
        listener.listen(8)
        assert tcp_tables.queued(port) == 0
        with socket.create_connection(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)):
            assert tcp_tables.queued(port) == 2
            accepted, _ = listener.accept()
            with accepted:
                assert tcp_tables.queued(port) == 1


def row(port: int, state: str, queue: int) -> str:
    return f"   0: 0100007F:{port:04X} 00000000:0000 {state} 00000000:{queue:08X} 00:00000000 0 0 0 77 1 0\n"


def test_behind_the_sockets_that_listen_no_row_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may have tens of thousands of connections in TIME_WAIT, and the look at it uses its cores."""
    table = tmp_path / "tcp"
    rows = [row(80, "0A", 2), row(80, "0A", 3), row(80, "06", 0), "cannot be read\n"]
    table.write_text("".join(["  sl  local_address\n", *rows]))
    monkeypatch.setattr(tcp_tables, "_tables", lambda _: (table, tmp_path / "no-tcp6"))
    assert tcp_tables.queued(80) == 5
    assert tcp_tables.queued(81) is None


def test_the_kernel_lists_sockets_that_listen_before_others() -> None:
    """Else the queue would be looked up in a part of the table."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for _ in range(3):
            stack.enter_context(socket.create_connection(listener.getsockname()[:2]))
        later = stack.enter_context(socket.socket(listener.family))
        later.bind((listener.getsockname()[0], 0))
        later.listen()
        stack.enter_context(socket.create_connection(later.getsockname()[:2]))
        for each, queued in ((listener, 3), (later, 1)):
            assert tcp_tables.queued(each.getsockname()[1]) == queued


@pytest.mark.parametrize(
    ("printed", "place"),
    [
        ("0100007F:1F90", ("127.0.0.1", 8080)),
        ("00000000000000000000000001000000:0050", ("::1", 80)),
        ("0000000000000000FFFF00000200580A:0050", ("10.88.0.2", 80)),
    ],
)
def test_an_address_is_read_as_the_kernel_prints_it(printed: str, place: tuple[str, int]) -> None:
    assert tcp_tables.place(printed) == (ipaddress.ip_address(place[0]), place[1])
