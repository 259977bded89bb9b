"""Which processes of a server hold its ends of connections, by the kernel's tables in /proc."""

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from crumple.machine import process_tree

_SOCKET = re.compile(r"socket:\[(\d+)\]")
# Columns of /proc/net/tcp.
_LOCAL, _REMOTE, _STATE, _QUEUES, _INODE = 1, 2, 3, 4, 9
_ESTABLISHED = "01"


@dataclass(frozen=True)
class Ends:
    """How many connections there are, how many were accepted, and how many each process holds.

    A connection that several processes hold counts for the one that was listed first.
    """

    connections: int
    accepted: int
    by_process: Counter[int]


def ends(pid: int, server_port: int, client_ports: Collection[int]) -> Ends | None:
    """Look up the server's ends of the connections from `client_ports`; `pid`: the root of its process tree.

    None: the open files of one of its processes cannot be read, only other programs hold such connections, or
    they end in another network namespace; `unread` says which.
    """
    inodes = _inodes(server_port, client_ports)
    if client_ports and not inodes:
        return None
    held = _held_by(pid)
    if held is None:
        return None
    holders = Counter[int]()
    missing = {inode for inode in inodes if inode != "0"}
    for process, sockets in held.items():
        if own := missing & sockets:
            holders[process] = len(own)
            missing -= own
    if missing and not holders:
        return None
    return Ends(len(inodes), holders.total(), holders)


def unread(pid: int, server_port: int) -> str:
    """Why `ends` returns None, with the remedy."""
    if not process_tree.is_of_this_network(pid, server_port):
        return f"process {pid} is in another network namespace: run there"
    if _held_by(pid) is None:
        return f"of process {pid}, or one that it started, it could not be read: run as its user"
    return f"another program than process {pid} holds them: watch that one"


def held_by_others(pid: int, server_port: int) -> int | None:
    """How many connections to the port are open and accepted. Without a load they are those of others.

    None: the server, process `pid`, is in another network namespace, so that they cannot be seen here.
    """
    if not process_tree.is_of_this_network(pid, server_port):
        return None
    return sum(inode != "0" for inode in _inodes(server_port, None))


def count_queued(pid: int, server_port: int) -> int | None:
    """How many connections to the port wait in the kernel to be accepted.

    None: nobody listens on it here, or the server, process `pid`, is in another network namespace: whoever
    listens here passes connections on to it.
    """
    if not process_tree.is_of_this_network(pid, server_port):
        return None
    found = [
        int(fields[_QUEUES].partition(":")[2], 16)
        for fields in process_tree.listening()
        if _port(fields[_LOCAL]) == server_port
    ]
    return sum(found) if found else None


def _inodes(server_port: int, client_ports: Collection[int] | None) -> list[str]:
    """The inode of each connection's end at the server; "0": nobody holds it. `client_ports` None: of all."""
    # The kernel may list a row twice if connections come or go while it lists them.
    found = {}
    for fields in _rows():
        ours = client_ports is None or _port(fields[_REMOTE]) in client_ports
        if _port(fields[_LOCAL]) == server_port and fields[_STATE] == _ESTABLISHED and ours:
            found[fields[_LOCAL], fields[_REMOTE]] = fields[_INODE]
    return [*found.values()]


def _rows() -> Iterator[list[str]]:
    """All sockets of TCP, each as the columns of its row."""
    for table in process_tree.TCP_TABLES:
        with contextlib.suppress(OSError):
            yield from (line.split() for line in Path(table).read_text().splitlines()[1:])


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


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
