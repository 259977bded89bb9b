"""Which processes of a server hold its ends of connections, by the kernel's tables in /proc."""

import contextlib
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from crumple.machine import network_namespaces, process_tree, tcp_tables
from crumple.machine.tcp_tables import End

_SOCKET = re.compile(r"socket:\[(\d+)\]")


@dataclass(frozen=True)
class Ends:
    """How many connections there are, how many were accepted, and how many each process holds.

    A connection that several processes hold counts for the one that was listed first.
    """

    connections: int
    accepted: int
    by_process: Counter[int]


class Opened:
    """The server's ends of connections that are opened from now on.

    `pid`: the root of its process tree; `server_port`: its own port, in its network namespace.
    """

    def __init__(self, pid: int, server_port: int) -> None:
        self.pid, self._port = pid, server_port
        self._known = frozenset(open_ends(pid, server_port))

    def ends(self, client_ports: Collection[int]) -> Ends | None:
        """Look up the ends of the connections from these ports.

        If the server is in another namespace, what lies between may have changed the ports; then all ends
        count that are new.

        None: the open files of one of its processes cannot be read, only other programs hold such
        connections, or they end elsewhere; `unread` says which.
        """
        is_here = network_namespaces.is_own(self.pid)
        found = {
            end: inode
            for end, inode in open_ends(self.pid, self._port).items()
            if (end.remote_port in client_ports if is_here else end not in self._known)
        }
        if client_ports and not found:
            return None
        held = _held_by(self.pid)
        if held is None:
            return None
        holders = Counter[int]()
        missing = {inode for inode in found.values() if inode != tcp_tables.NOT_ACCEPTED}
        for process, sockets in held.items():
            if own := missing & sockets:
                holders[process] = len(own)
                missing -= own
        if missing and not holders:
            return None
        return Ends(len(found), holders.total(), holders)

    def unread(self) -> str:
        """Return why `ends` returns None, with the remedy."""
        if _held_by(self.pid) is None:
            return f"of process {self.pid}, or one that it started, it could not be read: run as its user"
        return f"another program than process {self.pid} holds them: watch that one"


def open_ends(pid: int, server_port: int) -> dict[End, str]:
    """The ends at the server of connections to its own port → the inode of each, which says who holds it."""
    return {each: inode for each, inode in tcp_tables.established(pid) if each.port == server_port}


def held_by_others(pid: int, server_port: int) -> int:
    """How many connections to the port are open and accepted. Without a load they are those of others."""
    return sum(inode != tcp_tables.NOT_ACCEPTED for inode in open_ends(pid, server_port).values())


def _held_by(pid: int) -> dict[int, set[str]] | None:
    """The inodes of the sockets that each process of a tree holds; None: of one it cannot be read."""
    found = {}
    for process in (pid, *process_tree.descendants(pid)):
        try:
            found[process] = _held(process)
        except PermissionError:
            return None
        except OSError:
            if process_tree.is_hidden(process):
                return None
    return found


def _held(pid: int) -> set[str]:
    """The inodes of the sockets that a process holds. Raises OSError."""
    found = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if match := _SOCKET.fullmatch(str(file.readlink())):
                found.add(match[1])
    return found
