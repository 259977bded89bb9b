"""Which process serves at an address: real namespaces, with what passes connections on to them."""

import ipaddress
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import other_hosts
import published_port
import pytest
from crumple.machine import arrivals, load_machine, network_namespaces, process_tree, serving, tcp_tables
from crumple.machine.serving import Served
from other_hosts import Host

pytestmark = [pytest.mark.starts, pytest.mark.parallel]
needs_hosts = pytest.mark.skipif(bool(other_hosts.why_not()), reason=other_hosts.why_not() or "it runs")
# It listens at the port of argv, and accepts nobody.
LISTENS = (
    "import socket, sys, time; s = socket.create_server(('', int(sys.argv[1]))); print('ready', flush=True); "
    "time.sleep(600)"
)


@contextmanager
def served(host: Host, port: int) -> Iterator[int]:
    """A server on a host until the `with` ends: its pid, as it is here."""
    words = (sys.executable, "-c", LISTENS, str(port))
    with host.running(*words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield other_hosts.child(process)


def at(address: str, port: int) -> Served | None:
    host = ipaddress.ip_address(address)
    return serving.at(host, port, is_local=load_machine.is_own(host))


@needs_hosts
def test_a_server_in_namespaces_of_its_own_is_found_by_its_address() -> None:
    with other_hosts.started("shop") as host, other_hosts.joined(None, host) as link:
        with served(host, 8080) as pid:
            inside = link.addresses[1]
            assert at(inside, 8080) == Served(pid, f"{inside}:8080")
            assert at(inside, 8081) is None
            assert network_namespaces.first_of(network_namespaces.others()[_number(pid)]) == host.pid
        assert at(inside, 8080) is None


@needs_hosts
@pytest.mark.skipif(bool(published_port.why_not()), reason=published_port.why_not() or "it runs")
def test_a_published_port_is_followed_through_the_program_that_passes_connections_on() -> None:
    with other_hosts.started("shop") as host, other_hosts.joined(None, host) as link:
        inside = link.addresses[1]
        with served(host, 80) as pid, published_port.published(inside, 80) as port:
            assert at("127.0.0.1", port) == Served(pid, f"{inside}:80", "docker-proxy")


@needs_hosts
def test_a_server_beside_stays_the_one_while_others_are_in_namespaces() -> None:
    with other_hosts.started("shop") as host, other_hosts.joined(None, host), served(host, 80):
        port = process_tree.free_port()
        words = [sys.executable, "-c", LISTENS, str(port)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as beside:
            try:
                assert beside.stdout is not None and beside.stdout.readline() == "ready\n"
                assert at("127.0.0.1", port) == Served(beside.pid)
            finally:
                beside.kill()


@needs_hosts
def test_connections_of_others_that_come_meanwhile_are_none_that_was_opened() -> None:
    """They come and go all the time at another port of the same namespace, and of another one."""
    busy = "import socket, sys\nwhile True: socket.create_connection((sys.argv[1], 81)).close()"
    with other_hosts.started("shop") as host, other_hosts.joined(None, host) as link:
        inside = link.addresses[1]
        words = [sys.executable, "-c", busy, inside]
        with served(host, 80) as pid, served(host, 81), subprocess.Popen(words) as others:
            try:
                assert at(inside, 80) == Served(pid, f"{inside}:80")
            finally:
                others.kill()


@needs_hosts
def test_without_rights_the_first_process_of_the_container_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with other_hosts.started("shop") as host, other_hosts.joined(None, host) as link, served(host, 80):
        monkeypatch.setattr(serving.process_tree, "holds", lambda *_: False)
        inside = link.addresses[1]
        assert at(inside, 80) == Served(host.pid, f"{inside}:80", is_foreign=True)


def test_no_connection_is_opened_where_no_other_namespace_has_sockets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(network_namespaces, "others", dict)
    monkeypatch.setattr(arrivals, "of", lambda *_: pytest.fail("a connection"))
    assert at("198.18.255.254", 80) is None


@needs_hosts
def test_an_address_is_that_of_the_namespace_that_has_it() -> None:
    """As a database in another container than the server."""
    with (
        other_hosts.started("shop") as shop,
        other_hosts.started("database") as database,
        other_hosts.joined(shop, database) as link,
        served(database, 5432) as pid,
    ):
        ours, theirs = map(ipaddress.ip_address, link.addresses)
        assert network_namespaces.of_address(ours, shop.pid) == shop.pid
        found = network_namespaces.of_address(theirs, shop.pid)
        assert found is not None and _number(found) == _number(pid)
        assert tcp_tables.listeners(5432, found) and not tcp_tables.listeners(5432)
        loopback = ipaddress.ip_address("127.0.0.1")
        assert network_namespaces.of_address(loopback, shop.pid) == shop.pid
        stranger = ipaddress.ip_address("198.18.255.254")
        assert network_namespaces.of_address(stranger, shop.pid) is None
    assert network_namespaces.is_own(os.getpid())


def _number(pid: int) -> int:
    found = network_namespaces.number(pid)
    assert found is not None
    return found
