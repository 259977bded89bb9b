"""Why a connect to an address of this machine is refused."""

import socket
from collections.abc import Sequence

import pytest
from crumple.errors import CrumpleError
from crumple.load import engine_spec, refused, target
from crumple.machine import containers, load_machine, process_tree, tcp_tables
from crumple.machine.containers import Container


def why(port: int) -> str:
    with pytest.raises(CrumpleError) as said:
        engine_spec.check_listening(target.resolve(f"127.0.0.1:{port}").target, load_machine.this())
    return str(said.value)


def test_who_listens_at_another_address_of_this_machine_is_named() -> None:
    with socket.create_server(("127.0.0.9", 0)) as listens:
        port = listens.getsockname()[1]
        assert why(port) == (
            f"nobody listens at 127.0.0.1:{port}, but somebody does at 127.0.0.9:{port}; "
            f"write 127.0.0.9:{port} in the URL"
        )
    assert why(port) == f"nobody listens at 127.0.0.1:{port}; start the server, or mend the URL"


@pytest.mark.parametrize(
    ("inside", "on_loopback", "said"),
    [
        (
            [80],
            [80],
            "leads to container shop, whose server listens on loopback inside its container; let it",
        ),
        (
            [80, 90],
            [90],
            "leads to a port of container shop at which nobody listens; publish one at which it does: 80, 90",
        ),
        ([], [], "leads to container shop, in which nobody listens; start the server in it"),
    ],
)
def test_a_published_port_says_what_is_wrong_in_its_container(
    monkeypatch: pytest.MonkeyPatch, inside: Sequence[int], on_loopback: Sequence[int], said: str
) -> None:
    """The monitor of a container of Podman holds the port, and rules pass connections on."""
    monkeypatch.setattr(tcp_tables, "listens_at", lambda *_: True)
    monkeypatch.setattr(containers, "running", lambda: (Container(4711, ("shop",)),))
    monkeypatch.setattr(process_tree, "holds", lambda pid, _: pid == 4710)
    monkeypatch.setattr(process_tree, "ancestors", lambda _: [4710, 1])
    monkeypatch.setattr(tcp_tables, "ports", lambda _: {*inside})
    monkeypatch.setattr(
        tcp_tables,
        "only_loopback",
        lambda port, _: refused.ipaddress.ip_address("127.0.0.1") if port in on_loopback else None,
    )
    with pytest.raises(CrumpleError) as refusal:
        refused.check("127.0.0.1:8066")
    assert str(refusal.value).startswith(f"127.0.0.1:8066 {said}")
