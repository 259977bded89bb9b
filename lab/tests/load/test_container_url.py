"""Which container a typed URL means, and at which of its ports."""

from dataclasses import replace

import pytest
from crumple.errors import UsageError
from crumple.load import container_url
from crumple.machine import containers, load_machine, tcp_tables
from crumple.machine.containers import Container

RUNNING = (Container(1, ("shop-api", "1f3a5c7d9e0b")), Container(2, ("shop-db", "2f3a5c7d9e0b")))


@pytest.fixture(autouse=True)
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "running", lambda: RUNNING)
    monkeypatch.setattr(container_url, "_place", lambda *at: (container_url._LOOPBACK, at[1]))
    # As many rows as the kernel prints, of a socket that nobody here holds.
    monkeypatch.setattr(tcp_tables, "listening", lambda _: map(str.split, ROWS[:]))


ROWS: list[str] = []


def row(address: str, port: int) -> str:
    return f"0: {address}:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 0 0 0 0 1 0"


def reached(typed: str, *listening: str) -> str:
    ROWS[:] = listening
    return container_url.reached(typed, load_machine.this())


def test_a_container_s_only_port_is_taken() -> None:
    anywhere, resolver = row("00000000", 8000), row("0B00007F", 40123)
    assert reached("container:shop-api/orders?a=1", anywhere, resolver) == "http://127.0.0.1:8000/orders?a=1"
    assert reached("container:1f3a5c7d9e0b", anywhere) == "http://127.0.0.1:8000"
    # What listens on loopback is for the container itself, unless it listens nowhere else.
    assert reached("container:shop-api", anywhere, row("0100007F", 9000)) == "http://127.0.0.1:8000"
    assert reached("container:shop-api", row("0100007F", 9000), resolver) == "http://127.0.0.1:9000"
    assert reached("container:shop-api:9090/x", anywhere) == "http://127.0.0.1:9090/x"


HOSTS = ["container:8080/", "container:80", "container/", "http://container:8080/"]


@pytest.mark.parametrize("typed", HOSTS)
def test_a_host_may_be_called_so(typed: str) -> None:
    assert reached(typed) == typed


@pytest.mark.parametrize(
    ("typed", "rows", "why"),
    [
        (
            "container:shop-apis",
            [],
            "no container of this machine is called shop-apis; did you mean shop-api or shop-db?",
        ),
        ("container:cart", [], "no container of this machine is called cart; known: shop-api, shop-db"),
        ("container:shop-api", [], "container shop-api listens on no port; start the server in it first"),
        (
            "container:shop-api/a",
            [row("00000000", 9090), row("00000000", 80)],
            "container:shop-api/a: the container listens on 80, 9090; name one: container:shop-api:80",
        ),
    ],
)
def test_what_names_no_port_of_a_container_is_refused(typed: str, rows: list[str], why: str) -> None:
    with pytest.raises(UsageError) as refused:
        reached(typed, *rows)
    assert str(refused.value) == why


def test_a_container_here_is_none_of_the_machine_that_a_load_comes_from() -> None:
    elsewhere = replace(load_machine.this(), where="loader")
    with pytest.raises(UsageError, match="write the URL at which loader reaches it"):
        container_url.reached("container:shop-api", elsewhere)
