"""Which container a typed URL means, and at which of its ports."""

import os
import shutil
import sys
from dataclasses import dataclass, replace

import pytest
from crumple.errors import UsageError
from crumple.load import container_url
from crumple.machine import containers, load_machine, network_namespaces, tcp_tables
from crumple.machine.containers import Container

RUNNING = (Container(1, ("shop-api", "1f3a5c7d9e0b")), Container(2, ("shop-db", "2f3a5c7d9e0b")))


@pytest.fixture(autouse=True)
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "running", lambda: RUNNING)
    monkeypatch.setattr(container_url, "_place", lambda *at: (container_url._LOOPBACK, at[1]))
    # As many rows as the kernel prints, of a socket that nobody here holds.
    monkeypatch.setattr(tcp_tables, "listening", lambda *_: map(str.split, ROWS[:]))


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
    assert reached("container:shop-api:9090/x", anywhere, row("00000000", 9090)) == "http://127.0.0.1:9090/x"


HOSTS = ["container:8080/", "container:80", "container/", "http://container:8080/", "container:8080?a=1"]


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
        (
            "container:shop-api:81/a",
            [row("00000000", 9090), row("00000000", 80), row("0B00007F", 40123)],
            "nobody listens on 81 in shop-api; it listens on 80, 9090",
        ),
        ("container:shop-api:81", [], "nobody listens on 81 in shop-api; start the server in it first"),
        (
            "container:/orders",
            [],
            "container:/orders names no container; write container:NAME/path, or container:NAME:PORT/path",
        ),
        (
            "container:",
            [],
            "container: names no container; write container:NAME/path, or container:NAME:PORT/path",
        ),
    ],
)
def test_what_names_no_port_of_a_container_is_refused(typed: str, rows: list[str], why: str) -> None:
    with pytest.raises(UsageError) as refused:
        reached(typed, *rows)
    assert str(refused.value) == why


def test_a_container_here_is_none_of_the_machine_that_a_load_comes_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = replace(load_machine.this(), where="loader")
    ROWS[:] = [row("00000000", 8000)]
    for published, remedy in ((8080, "localhost:8080/a"), (None, "the URL at which loader reaches it")):
        monkeypatch.setattr(container_url, "_published", lambda *_, at=published: at)
        with pytest.raises(UsageError) as refused:
            container_url.reached("container:shop-api/a", elsewhere)
        assert str(refused.value).endswith(f"the load comes from loader; write {remedy}")


@dataclass
class Unreached:
    """A container that no connection reaches, the user, and what was typed."""

    monkeypatch: pytest.MonkeyPatch

    def __call__(
        self, *rows: str, network: bool = True, mapped: bool = False, uid: int = 0, sudo: str | None = None
    ) -> str:
        self.monkeypatch.setattr(container_url, "_place", lambda *_: None)
        self.monkeypatch.setattr(container_url, "_is_mapped", lambda _: mapped)
        self.monkeypatch.setattr(network_namespaces, "has_network", lambda _: network)
        self.monkeypatch.setattr(os, "geteuid", lambda: uid)
        self.monkeypatch.setattr(shutil, "which", lambda _: sudo)
        typed = "container:shop-api/a"
        self.monkeypatch.setattr(sys, "argv", ["crumple", "load", typed, "-z", "1", "-a", "me:SEKRIT"])
        with pytest.raises(UsageError) as refused:
            reached(typed, *rows)
        return str(refused.value)


AGAIN = "crumple load :8000/a -z 1 -a 'me:…'"


def test_a_server_on_its_container_s_loopback_is_told_from_one_that_is_not_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unreached = Unreached(monkeypatch)
    enter = f"load it from within: nsenter -t 1 -n {AGAIN}"
    own = (
        "the server in shop-api listens on 127.0.0.1 inside its container, out of reach from here; "
        f"let it listen on 0.0.0.0, or {enter}"
    )
    assert unreached(row("0100007F", 8000)) == own
    # Nothing that is published leads to a container without a network.
    assert unreached(row("00000000", 8000), network=False) == (
        f"container shop-api has no network but its own loopback; {enter}"
    )
    publish = (
        f"nothing from here reaches port 8000 of container shop-api; publish it (-p 8000:8000), or {enter}"
    )
    assert unreached(row("00000000", 8000)) == publish
    assert unreached(row("0100007F", 8000), row("0200000A", 8000)) == publish


def test_the_way_into_a_container_s_network_repeats_what_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    unreached, anywhere = Unreached(monkeypatch), row("00000000", 8000)
    ends = {
        f"load it from within: nsenter -t 1 -n {AGAIN}": {"uid": 0, "sudo": "/usr/bin/sudo"},
        f"as root, load it from within: sudo nsenter -t 1 -n {AGAIN}": {"uid": 1000, "sudo": "/usr/bin/sudo"},
        f"as root, load it from within: nsenter -t 1 -n {AGAIN}": {"uid": 1000},
        f"load it from within: nsenter -t 1 -U --preserve-credentials -n {AGAIN}": {
            "uid": 1000,
            "mapped": True,
        },
    }
    for end, how in ends.items():
        assert unreached(anywhere, **how).endswith(f", or {end}")
