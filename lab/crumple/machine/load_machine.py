"""The machine that a load comes from, as far as plans depend on it: this one, unless --from names another.

Its cores, open files and ports bound the load; names are resolved there, and there is seen who listens.
"""

import contextlib
import ipaddress
import math
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crumple.errors import CrumpleError
from crumple.machine import facts
from crumple.machine.facts import UnreadError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# The address of this machine on which servers are started, where the load comes from it.
HOST = "127.0.0.1"
# Seconds to wait for a first connect. A refusal comes at once, so a connect that takes longer is not refused.
KNOCK_S = 0.25
# How many cores there are for each thread of the engine, if the server runs beside it and has to compute.
CORES_EACH = 2


def addresses_of(host: str) -> list[str]:
    """The numeric addresses of a name, in the system's order. Raises OSError, UnicodeError.

    Names below localhost are this machine (RFC 6761, 6.3), which not every resolver knows.
    """
    if is_localhost(host):
        return ["127.0.0.1", "::1"]
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_localhost(host: str) -> bool:
    """Whether a name is below localhost."""
    return host.lower().rstrip(".").endswith(".localhost")


def is_own(address: Address) -> bool:
    """Whether it is an address of this machine."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with contextlib.suppress(OSError), socket.socket(family) as probe:
        probe.bind((str(address), 0))
        return True
    return False


def refuses(address: str) -> bool:
    """Whether a connect is refused: nobody listens at this address of the engine's."""
    with contextlib.suppress(OSError):
        try:
            _knock(address)
        except ConnectionRefusedError:
            return True
    return False


def check_listening(address: str, nobody: str, remedy: str) -> None:
    """Return unless a first connect is refused. Raises CrumpleError: "nobody listens at", and the remedy.

    The load finds whatever else may go wrong with a connection.
    """
    if refuses(address):
        raise CrumpleError(f"{nobody} listens at {address}", remedy)


def _knock(address: str) -> None:
    if address.startswith("unix:"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(KNOCK_S)
            connection.connect(address.removeprefix("unix:"))
        return
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_S).close()


@dataclass(frozen=True)
class LoadMachine:
    """What plans need to know of the machine that a load comes from, or of several that share it."""

    cores: tuple[int, ...]
    """The numbers of those that the engine may use."""
    open_files: int
    """How many files the engine may have open: the hard limit."""
    ports: int | None
    """How many local ports each of its addresses has; None: not known."""
    cpu_quota_cores: float | None = None
    """How many cores' worth of CPU time a control group there grants the engine; None: no limit is known."""
    where: str = ""
    """As --from names it; empty: it is this machine."""
    hosts: int = 1
    """How many machines share the load; then what is said of one holds for each of them."""
    is_apart: bool = False
    """Whether it shares no core with this machine, on which the server is."""
    addresses_of: Callable[[str], Sequence[str]] = addresses_of
    """The numeric addresses of a name there. Raises OSError, UnicodeError."""
    owns: Callable[[Address], bool] = is_own
    """Whether it is an address of that machine."""
    is_shared: Callable[[Address], bool] = lambda _: False
    """Whether it is an address of that machine and of this one: what connects there stays there."""
    check_listening: Callable[[str, str, str], None] = check_listening
    """Return if a connect from there to an address of the engine's may succeed. Raises CrumpleError."""
    server_host: str = HOST
    """The address of this machine, on which servers are started, as that machine reaches it."""

    @property
    def at(self) -> str:
        """Where its limits are, as a sentence says it: "here", or "on loader"."""
        return f"on {self.where}" if self.where else "here"

    @property
    def threads_most(self) -> int:
        """How many threads the engine may have; beside a server that computes, fewer than there are cores."""
        return self.threads_among(CORES_EACH)

    def threads_among(self, cores_per_thread: int) -> int:
        """How many threads the engine may have, if each leaves cores to a server on the same machine."""
        cores = min(len(self.cores), self.cpu_quota_cores or math.inf)
        return max(1, int(cores // (1 if self.is_apart else cores_per_thread)))

    def share(self, connections: int) -> int:
        """How many of the connections of a load are one machine's, at most."""
        return -(-connections // self.hosts)

    def apart(self, engine_cores: Sequence[int], server_cores: Sequence[int]) -> int:
        """How many cores the engine may use that the server may not. `engine_cores` empty: not bound."""
        cores = {*(engine_cores or self.cores)}
        return self.hosts * len(cores) if self.is_apart else len(cores - {*server_cores})


def this() -> LoadMachine:
    """This machine. Its soft limit of open files is raised to the hard one before every load."""
    return LoadMachine(tuple(facts.usable_cores()), facts.open_files_hard(), _ports())


def _ports() -> int | None:
    try:
        first, last = facts.port_range()
    except UnreadError:
        return None
    return last - first + 1
