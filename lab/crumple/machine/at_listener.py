"""How many processes take connections at one address: the workers of a dependency.

A master opens the socket and its workers inherit it (php-fpm, gunicorn, Apache), so all of them have it open.
"""

import ipaddress
from collections.abc import Iterator
from pathlib import Path

from crumple.machine import network_namespaces, process_tree, tcp_tables

# The flag of a Unix socket that listens, in the fourth column of /proc/net/unix (proc_net(5)).
LISTENS = 0x10000


def processes(address: str, server: int) -> int | None:
    """Return how many processes have the socket open that listens there, without those that started others.

    `address`: "127.0.0.1:80" or "unix:/path", as the process `server` uses it. None: nobody listens there, or
    it is another user's.
    """
    if address.startswith("unix:"):
        inodes = [*_of_unix(address.removeprefix("unix:"), server)]
    else:
        inodes = _of_tcp(address, server)
    sockets = {f"socket:[{inode}]" for inode in inodes}
    holders = {pid for pid in process_tree.pids() if process_tree.holds(pid, sockets)} if sockets else set()
    parents = {parent for pid in holders for parent in process_tree.ancestors(pid)}
    return len(holders - parents) or None


def _of_tcp(address: str, server: int) -> list[str]:
    host, _, port = address.rpartition(":")
    at = network_namespaces.of_address(ipaddress.ip_address(host.strip("[]").partition("%")[0]), server)
    return [] if at is None else tcp_tables.listeners(int(port), at)


def _of_unix(path: str, server: int) -> Iterator[str]:
    try:
        text = Path(f"/proc/{server}/net/unix").read_text(encoding="utf-8", errors="replace")
    except OSError:  # the server has ended
        return
    rows = text.splitlines()[1:]
    for row in (line.split() for line in rows):
        if len(row) == 8 and row[7] == path and int(row[3], 16) & LISTENS:
            yield row[6]
