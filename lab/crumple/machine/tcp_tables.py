"""The kernel's tables of TCP sockets in /proc: who listens in a network namespace, and which ends are open.

The table of any process is that of its network namespace, and every user may read it.
"""

import contextlib
import ipaddress
import itertools
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from crumple.machine.load_machine import Address

# A process: its number, or this one.
OWN = "self"
_LISTEN, _ESTABLISHED = "0A", "01"
# Columns of a row.
LOCAL, _REMOTE, _STATE, _QUEUES, INODE = 1, 2, 3, 4, 9


# The inode of a connection that nobody has accepted.
NOT_ACCEPTED = "0"


@dataclass(frozen=True)
class End:
    """One end of a connection: its address, and that of the other end, as the kernel prints them."""

    local: str
    remote: str

    @property
    def port(self) -> int:
        """The port of this end."""
        return port_of(self.local)

    @property
    def remote_port(self) -> int:
        """The port of the other end."""
        return port_of(self.remote)


def listening(pid: int | str = OWN) -> Iterator[list[str]]:
    """The sockets that listen in the namespace of a process, each as the columns of its row.

    The kernel lists them before all others, of which there may be tens of thousands: those are not read.
    """
    for table in _tables(pid):
        with contextlib.suppress(OSError), table.open() as rows:
            next(rows, "")
            yield from itertools.takewhile(lambda row: row[_STATE] == _LISTEN, map(str.split, rows))


def established(pid: int | str = OWN) -> Iterator[tuple[End, str]]:
    """The ends of all connections in the namespace of a process, each with its inode.

    The kernel may list one twice if connections come or go while it lists them.
    """
    for table in _tables(pid):
        with contextlib.suppress(OSError):
            for line in table.read_text().splitlines()[1:]:
                row = line.split()
                if row[_STATE] == _ESTABLISHED:
                    yield End(row[LOCAL], row[_REMOTE]), row[INODE]


def listeners(port: int, pid: int | str = OWN) -> list[str]:
    """The inodes of the sockets that listen on `port`, on any address, in the namespace of a process."""
    return [row[INODE] for row in listening(pid) if port_of(row[LOCAL]) == port]


def ports(pid: int | str = OWN) -> set[int]:
    """The ports at which sockets listen in the namespace of a process."""
    return {port_of(row[LOCAL]) for row in listening(pid)}


def queued(port: int, pid: int | str = OWN) -> int | None:
    """How many connections wait to be accepted from the port; None: nobody listens on it."""
    found = [int(row[_QUEUES].partition(":")[2], 16) for row in listening(pid) if port_of(row[LOCAL]) == port]
    return sum(found) if found else None


def listens_at(address: Address, port: int) -> bool:
    """Whether a socket listens on `port` at `address` of this machine; opens no connection."""
    reached = {address, ipaddress.ip_address("0.0.0.0" if address.version == 4 else "::")}
    # A listener on all IPv6 addresses takes IPv4 too, unless it sets IPV6_V6ONLY.
    reached.add(ipaddress.ip_address("::"))
    return any(place(row[LOCAL]) in {(each, port) for each in reached} for row in listening())


def only_loopback(port: int, pid: int | str = OWN) -> Address | None:
    """The address of loopback at which sockets listen on a port; None: not at such addresses only."""
    found = [address for address, at in (place(row[LOCAL]) for row in listening(pid)) if at == port]
    return (
        min(found, key=lambda each: each.version)
        if found and all(each.is_loopback for each in found)
        else None
    )


def heard_at(inodes: Collection[str], pid: int | str = OWN) -> list[tuple[Address, int]]:
    """The addresses and ports at which these sockets listen, in the namespace of a process."""
    return [place(row[LOCAL]) for row in listening(pid) if row[INODE] in inodes]


def _tables(pid: int | str) -> tuple[Path, ...]:
    return Path(f"/proc/{pid}/net/tcp"), Path(f"/proc/{pid}/net/tcp6")


def port_of(text: str) -> int:
    """The port of an address as the kernel prints it."""
    return int(text.rpartition(":")[2], 16)


def place(text: str) -> tuple[Address, int]:
    """Read an address that the kernel prints as words of 32 bits, each in the machine's byte order."""
    raw = bytes.fromhex(text.rpartition(":")[0])
    words = [raw[at : at + 4] for at in range(0, len(raw), 4)]
    address = ipaddress.ip_address(b"".join(w[::-1] if sys.byteorder == "little" else w for w in words))
    return (getattr(address, "ipv4_mapped", None) or address), port_of(text)
