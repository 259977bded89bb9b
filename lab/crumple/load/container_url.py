"""A URL of a container as typed, container:NAME:PORT/path → the URL that reaches it from here.

Its own address is taken where a connection to it arrives, else the port at which it is published.
"""

import ipaddress
import os
import re
from collections.abc import Iterator
from typing import NoReturn

from crumple.errors import UsageError
from crumple.load import typed_again
from crumple.machine import arrivals, containers, network_namespaces, process_tree, serving, tcp_tables
from crumple.machine.containers import Container
from crumple.machine.load_machine import Address, LoadMachine
from crumple.parsing import did_you_mean

SCHEME = "container:"
_TYPED = re.compile(r"container:([A-Za-z0-9][\w.-]*)(?::(\d{1,5}))?((?:[/?].*)?)")
# A number alone is the port of a host that is called so.
_HOST = re.compile(r"container:\d{1,5}(?:[/?].*)?")
# Docker's resolver of names listens here in each container of a network that a user has made.
_RESOLVER = ipaddress.ip_address("127.0.0.11")
_LOOPBACK = ipaddress.ip_address("127.0.0.1")


def reached(typed: str, machine: LoadMachine) -> str:
    """Return the URL that reaches a container, or what was typed if it names none. Raises UsageError."""
    if not typed.startswith(SCHEME) or _HOST.fullmatch(typed):
        return typed
    if (named := _TYPED.fullmatch(typed)) is None:
        raise UsageError(
            f"{typed} names no container", "write container:NAME/path, or container:NAME:PORT/path"
        )
    container = _named(named[1])
    port = int(named[2]) if named[2] else _only_port(container, typed)
    _check_heard(container, port)
    if machine.where:
        at = _published(container, port)
        url = f"localhost:{at}{named[3]}" if at else f"the URL at which {machine.where} reaches it"
        raise UsageError(
            f"{typed} is a container here, and the load comes from {machine.where}", f"write {url}"
        )
    host, at = _place(container, port) or _unreached(container, port, typed, f":{port}{named[3]}")
    return f"http://{f'[{host}]' if host.version == 6 else host}:{at}{named[3]}"


def _named(name: str) -> Container:
    running = containers.running()
    found = [each for each in running if name in each.names]
    if not found:
        known = [each.names[0] for each in running]
        remedy = did_you_mean(name, known) if known else "start it, or run as root, who sees all"
        raise UsageError(f"no container of this machine is called {name}", remedy)
    if len(found) > 1:
        listed = " or ".join(each.names[-1] for each in found)
        raise UsageError(f"several containers are called {name}", f"write the id: {listed}")
    return found[0]


def _only_port(container: Container, typed: str) -> int:
    """Return the port at which a container listens. Raises UsageError if there is not just one."""
    ports = _ports(container)
    if len(ports) == 1:
        return ports[0]
    name = container.names[0]
    if not ports:
        raise UsageError(f"container {name} listens on no port", "start the server in it first")
    listed = ", ".join(map(str, ports))
    raise UsageError(f"{typed}: the container listens on {listed}", f"name one: container:{name}:{ports[0]}")


def _check_heard(container: Container, port: int) -> None:
    """Return if somebody listens on a port of a container. Raises UsageError."""
    if port in tcp_tables.ports(container.pid):
        return
    found = ", ".join(map(str, _ports(container)))
    raise UsageError(
        f"nobody listens on {port} in {container.names[0]}",
        f"it listens on {found}" if found else "start the server in it first",
    )


def _ports(container: Container) -> list[int]:
    """Return the ports at which a container listens: those on loopback only if there are no others."""
    own = {container.pid, *process_tree.descendants(container.pid)}
    found = {
        tcp_tables.place(row[tcp_tables.LOCAL])
        for row in tcp_tables.listening(container.pid)
        if not _is_held_by_others(row[tcp_tables.INODE], own)
    }
    outside = {port for address, port in found if not address.is_loopback}
    return sorted(outside or {port for address, port in found if address != _RESOLVER})


def _is_held_by_others(inode: str, own: set[int]) -> bool:
    """Whether others than the container's processes hold a socket, as in a namespace that several share."""
    sockets = {f"socket:[{inode}]"}
    if any(process_tree.holds(pid, sockets) for pid in own):
        return False
    return any(process_tree.holds(pid, sockets) for pid in process_tree.pids())


def _place(container: Container, port: int) -> tuple[Address, int] | None:
    """Return an address and a port of this machine that lead to a container's port; None: none does."""
    pid, number = container.pid, network_namespaces.number(container.pid)
    if network_namespaces.is_own(pid) or number is None:
        return _LOOPBACK, port
    unsure: list[tuple[Address, int]] = []
    for address, at in _ways(pid, port):
        for came in arrivals.of(address, at, {number: (pid,)}, serving.PASSED_ON_WITHIN_S):
            if came.port == port and came.is_sure:
                return address, at
            if came.port == port:
                unsure.append((address, at))
    if len(unsure) == 1:
        return unsure[0]
    return None


def _published(container: Container, port: int) -> int | None:
    """Return a port of this machine from which a container's port is reached; None: none is known."""
    if network_namespaces.is_own(container.pid):
        return port
    number = network_namespaces.number(container.pid)
    for at in sorted(tcp_tables.ports()):
        if number is not None and serving.passes_on(at):
            found = arrivals.of(_LOOPBACK, at, {number: (container.pid,)}, serving.PASSED_ON_WITHIN_S)
            if any(came.port == port for came in found):
                return at
    return None


def _unreached(container: Container, port: int, typed: str, within: str) -> NoReturn:
    """Raise UsageError: no connection from here reaches a port. `within`: what to type there."""
    pid, name = container.pid, container.names[0]
    again = typed_again.command({typed: within})
    if _is_mapped(pid) and os.geteuid() != 0:
        enter = f"load it from within: nsenter -t {pid} -U --preserve-credentials -n {again}"
    else:
        root = "as root, " if os.geteuid() != 0 else ""
        enter = f"{root}load it from within: {typed_again.as_root(f'nsenter -t {pid} -n {again}')}"
    if not network_namespaces.has_network(pid):
        raise UsageError(f"container {name} has no network but its own loopback", enter)
    if loopback := tcp_tables.only_loopback(port, pid):
        raise UsageError(
            f"the server in {name} listens on {loopback} inside its container, out of reach from here",
            f"let it listen on {'0.0.0.0' if loopback.version == 4 else '::'}, or {enter}",
        )
    raise UsageError(
        f"nothing from here reaches port {port} of container {name}",
        f"publish it (-p {port}:{port}), or {enter}",
    )


def _ways(pid: int, port: int) -> Iterator[tuple[Address, int]]:
    """Yield what may lead to a container: its own addresses, and ports whose connections are passed on."""
    if not _is_mapped(pid):
        yield from ((address, port) for address in network_namespaces.addresses_of(pid))
    for address, at in {tcp_tables.place(row[tcp_tables.LOCAL]) for row in tcp_tables.listening()}:
        if serving.passes_on(at):
            yield (_LOOPBACK if address.is_unspecified else address), at


def _is_mapped(pid: int) -> bool:
    """Whether a process has a namespace of users: then no route leads to its network, as a rule."""
    return network_namespaces.users_of(pid) != network_namespaces.users_of("self")
