"""Which process serves at an address: real namespaces, with what passes connections on to them."""

import ipaddress
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import other_hosts
import published_port
import pytest
from crumple.errors import UsageError
from crumple.machine import arrivals, load_machine, network_namespaces, process_tree, serving, tcp_tables
from crumple.machine.serving import Served
from other_hosts import Host

pytestmark = pytest.mark.starts
needs_hosts = pytest.mark.skipif(bool(other_hosts.why_not()), reason=other_hosts.why_not() or "it runs")
# For seconds after it has said ready: what is asked meanwhile takes less.
BUSY_S = 60
# Its connections to argv come all the time and last 150 ms, as those of a container that others use.
BUSY = f"""
import socket, sys, threading, time
def keep():
    with socket.create_connection((sys.argv[1], int(sys.argv[2]))):
        time.sleep(0.15)
for number in range({BUSY_S * 40}):
    threading.Thread(target=keep, daemon=True).start()
    number == 10 and print("ready", flush=True)
    time.sleep(0.03)
"""
# It listens at a free port, and connects to argv for each connection that it accepts, as to its database.
EAGER = """
import socket, sys, threading
def serve(client):
    with client, socket.create_connection((sys.argv[1], int(sys.argv[2]))):
        client.recv(1)
server = socket.create_server(("", 0))
print(server.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""
# It accepts connections at the port of argv, and keeps each until the other end is closed.
ACCEPTS = """
import socket, sys, threading
server = socket.create_server(("", int(sys.argv[1])))
print("ready", flush=True)
while True:
    client = server.accept()[0]
    threading.Thread(target=lambda one: (one.recv(1), one.close()), args=(client,)).start()
"""
# It listens at the port of argv, and accepts nobody.
LISTENS = (
    "import socket, sys, time; s = socket.create_server(('', int(sys.argv[1]))); print('ready', flush=True); "
    "time.sleep(600)"
)


@contextmanager
def served(host: Host, port: int, script: str = LISTENS) -> Iterator[int]:
    """A server on a host until the `with` ends: its pid, as it is here."""
    words = (sys.executable, "-c", script, str(port))
    with host.running(*words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield other_hosts.child(process)


@contextmanager
def beside(script: str, *arguments: str | int) -> Iterator[tuple[int, str]]:
    """A script on this host until the `with` ends: its pid, and the first line that it prints."""
    words = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.pid, process.stdout.readline().strip()
        finally:
            process.kill()


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
@pytest.mark.skipif(bool(published_port.why_not()), reason=published_port.why_not() or "it runs")
def test_a_published_port_is_followed_while_another_container_is_used_by_others() -> None:
    with (
        other_hosts.started("shop") as shop,
        other_hosts.joined(None, shop) as link,
        other_hosts.started("busy") as busy,
        other_hosts.joined(None, busy) as other,
        served(busy, 80, ACCEPTS),
        beside(BUSY, other.addresses[1], 80),
        served(shop, 80) as pid,
        published_port.published(link.addresses[1], 80) as port,
    ):
        assert at("127.0.0.1", port) == Served(pid, f"{link.addresses[1]}:80", "docker-proxy")


@needs_hosts
def test_a_server_beside_stays_the_one_while_a_container_is_used_by_others() -> None:
    with other_hosts.started("shop") as host, other_hosts.joined(None, host) as link:
        port = process_tree.free_port()
        with (
            served(host, 80, ACCEPTS),
            beside(BUSY, link.addresses[1], 80),
            beside(LISTENS, port) as (pid, _),
        ):
            assert at("127.0.0.1", port) == Served(pid)


@needs_hosts
def test_a_server_beside_is_not_taken_for_its_database_in_a_container(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not though a connection to it comes and goes with each of its own."""
    with (
        other_hosts.started("database") as host,
        other_hosts.joined(None, host) as link,
        served(host, 5432),
        beside(EAGER, link.addresses[1], 5432) as (pid, port),
    ):
        assert at("127.0.0.1", int(port)) == Served(pid)
        # Of another user's it is not told who listens, but no program runs that passes connections on.
        monkeypatch.setattr(serving.process_tree, "holds", lambda *_: False)
        monkeypatch.setattr(serving, "BEFORE_CONTAINERS", ())
        with pytest.raises(UsageError, match="belongs to another user"):
            at("127.0.0.1", int(port))


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
def test_a_container_that_others_use_is_not_where_connections_from_here_arrive() -> None:
    with (
        other_hosts.started("shop") as host,
        other_hosts.joined(None, host) as link,
        served(host, 80, ACCEPTS),
        beside(BUSY, link.addresses[1], 80),
        socket.create_server(("127.0.0.1", 0)) as here,
    ):
        address, port = here.getsockname()
        others = network_namespaces.others()
        came = arrivals.of(ipaddress.ip_address(address), port, others, serving.WITHIN_S)
        assert [each for each in came if each.is_sure] == []
    # As the comment at ROUNDS says.
    assert 0.25**arrivals.ROUNDS <= 1 / 1_000 < 0.25 ** (arrivals.ROUNDS - 1)


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
