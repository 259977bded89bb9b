"""Which process serves at an address: → its process tree, whichever network namespace it is in.

A listener here is the server, unless it may pass connections on: by its name, or because it is not told who
it is. Only then, or where nobody listens here, and where other namespaces have sockets, connections are
opened to the address, on which nothing is sent. That one comes elsewhere meanwhile says little of a listener:
a server may connect to its database for each.
"""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from crumple.errors import UsageError
from crumple.machine import arrivals, network_namespaces, process_tree, tcp_tables
from crumple.machine.arrivals import Arrival
from crumple.machine.load_machine import Address

# How long a connection may take, in seconds, from the address to a container. Rules of the kernel pass it on
# at once. A program takes longer that the machine has to wake; one that is known for passing on, or that
# belongs to another user, may take the longer time.
WITHIN_S, PASSED_ON_WITHIN_S = 0.1, 1.0
# Programs that pass connections on to containers, by the beginnings of their names.
PASS_ON = ("docker-proxy", "rootlessport", "rootlesskit", "pasta", "passt", "slirp4netns")
# Programs that only hold a port whose connections rules of the kernel pass on: Podman's monitor, Docker
# without its proxy, and Kubernetes.
HOLD = ("conmon", "dockerd", "kube-proxy")
BEFORE_CONTAINERS = PASS_ON + HOLD


@dataclass(frozen=True)
class Served:
    """A server: the root of its process tree.

    `address`: where it listens in its own network namespace; empty: as it is reached. `behind`: the program
    that passes connections on to it; empty: none, or not known. `is_foreign`: it belongs to another user, and
    the process is the first of its container.
    """

    pid: int
    address: str = ""
    behind: str = ""
    is_foreign: bool = False


def at(address: Address, port: int, *, is_local: bool) -> Served | None:
    """Return the server at an address; None: it is not on this machine, as far as is seen.

    `is_local`: the address is one of this machine's. Raises UsageError if the server cannot be told.
    """
    listener, why = _listener(port) if is_local else (None, None)
    names = _names(port) if is_local else ()
    if is_local and tcp_tables.listens_at(address, port) and not _may_lead_elsewhere(names):
        return _here(listener, why)
    others = network_namespaces.others()
    behind = next((name for name in names if name.startswith(PASS_ON)), "")
    is_slow = behind != "" or (listener is None and is_local)
    came = arrivals.of(address, port, others, PASSED_ON_WITHIN_S if is_slow else WITHIN_S) if others else ()
    if not behind:
        came = tuple(each for each in came if each.is_sure)
    if len(came) > 1:
        pids = ", ".join(str(each.pid) for each in came)
        raise UsageError("connections arrive in several containers", f"name one: --watch PID, of {pids}")
    if came:
        return _inside(came[0], others[came[0].namespace], behind)
    return _here(listener, why)


def _here(listener: int | None, why: UsageError | None) -> Served | None:
    """Return the server that listens here, None if none does. Raises why it is not told."""
    if why is not None:
        raise why
    return None if listener is None else Served(listener)


def _names(port: int) -> tuple[str, ...]:
    """Return the names of all who listen on a port of this machine; empty: nobody, or only hidden ones."""
    return tuple(_name(pid) for pid in sorted(process_tree.listening(port)))


def may_lead_elsewhere(port: int) -> bool:
    """Whether who listens on a port of this machine may pass connections on to a container, or hold its port.

    Of hidden ones this is not known, but such a program has to run.
    """
    return _may_lead_elsewhere(_names(port))


def _may_lead_elsewhere(names: tuple[str, ...]) -> bool:
    if not names and process_tree.is_hidden(1):
        return True
    return any(name.startswith(BEFORE_CONTAINERS) for name in names or map(_name, process_tree.pids()))


def passes_on(port: int) -> bool:
    """Whether a program listens on a port of this machine that may pass connections on to a container.

    Of one that belongs to another user this is not known: it may.
    """
    names = _names(port)
    return not names or any(name.startswith(PASS_ON) for name in names)


def _listener(port: int) -> tuple[int | None, UsageError | None]:
    """Return who listens on a port of this machine, or why that is not told."""
    try:
        return process_tree.owner(port), None
    except UsageError as why:
        return None, why


def _inside(came: Arrival, pids: tuple[int, ...], behind: str) -> Served:
    """Return the server whose connections arrive in another namespace. Raises UsageError."""
    address = f"[{came.address}]:{came.port}" if came.address.version == 6 else f"{came.address}:{came.port}"
    try:
        return Served(process_tree.owner(came.port, came.pid), address, behind)
    except UsageError:
        first = network_namespaces.first_of(pids)
        if first is None:
            raise
        return Served(first, address, behind, is_foreign=True)


def _name(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return ""
