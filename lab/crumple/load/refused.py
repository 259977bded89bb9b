"""Why a connect to an address of this machine is refused, as the tables of sockets show it."""

import ipaddress
from collections.abc import Iterator

from crumple.errors import CrumpleError
from crumple.machine import containers, load_machine, process_tree, tcp_tables
from crumple.machine.containers import Container


def check(address: str) -> None:
    """Return unless something is known of a refused address. Raises CrumpleError."""
    if address.startswith("unix:"):
        return
    text, _, typed = address.rpartition(":")
    own, port = ipaddress.ip_address(text.strip("[]").partition("%")[0]), int(typed)
    if not load_machine.is_own(own):
        return
    if tcp_tables.listens_at(own, port):
        for container in _publishing(port):
            _check_inside(address, container)
        return
    elsewhere = [
        at
        for at, its in (tcp_tables.place(row[tcp_tables.LOCAL]) for row in tcp_tables.listening())
        if its == port
    ]
    if elsewhere:
        near = f"{elsewhere[0]}:{port}" if elsewhere[0].version == 4 else f"[{elsewhere[0]}]:{port}"
        raise CrumpleError(
            f"nobody listens at {address}, but somebody does at {near}", f"write {near} in the URL"
        )


def _publishing(port: int) -> Iterator[Container]:
    """Yield the containers whose monitors hold a port that rules of the kernel pass on."""
    sockets = {f"socket:[{inode}]" for inode in tcp_tables.listeners(port)}
    for each in containers.running():
        if any(process_tree.holds(pid, sockets) for pid in process_tree.ancestors(each.pid)):
            yield each


def _check_inside(address: str, container: Container) -> None:
    """Return if nothing in a container says why what is published is refused. Raises CrumpleError."""
    name, heard = container.names[0], tcp_tables.ports(container.pid)
    if not heard:
        raise CrumpleError(
            f"{address} leads to container {name}, in which nobody listens", "start the server in it"
        )
    if any(tcp_tables.only_loopback(port, container.pid) is None for port in heard):
        said = ", ".join(map(str, sorted(heard)))
        raise CrumpleError(
            f"{address} leads to a port of container {name} at which nobody listens",
            f"publish one at which it does: {said}",
        )
    raise CrumpleError(
        f"{address} leads to container {name}, whose server listens on loopback inside its container",
        "let it listen on 0.0.0.0",
    )
