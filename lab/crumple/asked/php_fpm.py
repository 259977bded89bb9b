"""Asks a pool of php-fpm: how many of its children have a request, and how many connections wait for one.

The kernel's tables of sockets show both. A pool with `pm.status_path` is asked for that page, too, over
FastCGI: it names the scripts. A child of the pool answers it, after the requests that wait, unless the pool
has a `pm.status_listen`.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crumple.asked import calling, fast_cgi, fpm_pools
from crumple.asked.fpm_pools import Counted, Pool
from crumple.asked.said import NotAnswered, Server
from crumple.machine import process_tree

NAME = "php-fpm"
read = fpm_pools.read
_MASTER = re.compile(r"php-fpm: master process \((.+)\)")
_CHILD = re.compile(r"php-fpm: pool (.+)")
# Columns of /proc/net/unix and /proc/net/tcp.
_UNIX_STATE, _UNIX_INODE, _UNIX_PATH = 5, 6, 7
_CONNECTING, _CONNECTED = "02", "03"
_TCP_LOCAL, _TCP_STATE, _TCP_INODE, _ESTABLISHED = 1, 3, 9, "01"


@dataclass(frozen=True)
class Target:
    """A pool to ask, and what it was found to do."""

    pool: Pool
    counted: Counted


def applies(server: Server) -> Target | str:
    """The busiest pool of the php-fpm that the server is, or is connected to; or why there is none."""
    master = next(_masters(server), None)
    if master is None:
        return ""
    pid, configuration = master
    try:
        found = _pools(pid, Path(f"/proc/{pid}/cwd").readlink() / configuration)
    except OSError as error:
        return f"{configuration} cannot be read: {error.strerror}; run as the user of process {pid}"
    children = Counter(_child_pools(pid))
    targets = [Target(pool, _counted(pool, children[pool.name])) for pool in found]
    if not targets:
        return f"{configuration} names no pool"
    return max(targets, key=lambda each: (each.counted.waiting, each.counted.busy))


def command(target: Target) -> str:
    """How the user could ask."""
    where = target.pool.status_listen or target.pool.listen
    if not target.pool.status_path:
        return f"ss -a | grep {where}"
    page = target.pool.status_path
    variables = f"SCRIPT_NAME={page} SCRIPT_FILENAME={page} QUERY_STRING='json&full' REQUEST_METHOD=GET"
    return f"{variables} cgi-fcgi -bind -connect {where}"


def call(target: Target, deadline: float) -> str:
    """What the pool does, as JSON. A status page that does not answer in time is left out."""
    status = ""
    if target.pool.status_path:
        with contextlib.suppress(NotAnswered):
            status = _status(target.pool, deadline)
    counted = target.counted
    return Counted(**{**vars(counted), "status": status}).as_text()


def _masters(server: Server) -> Iterator[tuple[int, str]]:
    """The master processes of php-fpm, each with its file of configuration."""
    listeners = [peer.listener_pid for peer in server.peers if peer.listener_pid]
    above = [pid for listener in listeners for pid in (listener, *process_tree.ancestors(listener))]
    for pid in dict.fromkeys([*server.pids, *above]):
        if title := _MASTER.match(_title(pid)):
            yield pid, title[1]


def _child_pools(master: int) -> Iterator[str]:
    for pid in process_tree.descendants(master):
        if title := _CHILD.match(_title(pid)):
            yield title[1]


def _title(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    return ""


def _pools(master: int, configuration: Path) -> list[Pool]:
    """Raises OSError."""
    root = configuration.parent

    def included(pattern: str) -> str:
        files = sorted(root.glob(pattern) if not pattern.startswith("/") else Path("/").glob(pattern[1:]))
        return "\n".join(file.read_text(errors="replace") for file in files)

    variables = {}
    with contextlib.suppress(OSError):
        # The master may have written its title over it.
        environment = Path(f"/proc/{master}/environ").read_text(errors="replace")
        variables = dict(pair.split("=", 1) for pair in environment.split("\0") if "=" in pair)
    return fpm_pools.pools(configuration.read_text(errors="replace"), included, variables)


def _counted(pool: Pool, children: int) -> Counted:
    at = pool.address
    busy, waiting = _on_path(at) if isinstance(at, str) else _on_port(at[1])
    return Counted(pool.name, pool.listen, children, min(busy, children), waiting, pool.children_most)


def _on_path(path: str) -> tuple[int, int]:
    """Connections to a Unix-domain socket: accepted, and waiting to be accepted."""
    rows = [line.split() for line in Path("/proc/net/unix").read_text(errors="replace").splitlines()[1:]]
    ours = [row for row in rows if len(row) > _UNIX_PATH and row[_UNIX_PATH] == path]
    accepted = sum(row[_UNIX_STATE] == _CONNECTED and row[_UNIX_INODE] != "0" for row in ours)
    return accepted, sum(row[_UNIX_STATE] == _CONNECTING and row[_UNIX_INODE] == "0" for row in ours)


def _on_port(port: int) -> tuple[int, int]:
    """Connections to a port: accepted, and waiting to be accepted."""
    inodes = []
    for table in process_tree.TCP_TABLES:
        with contextlib.suppress(OSError):
            rows = (line.split() for line in Path(table).read_text().splitlines()[1:])
            inodes += [
                row[_TCP_INODE]
                for row in rows
                if row[_TCP_STATE] == _ESTABLISHED and int(row[_TCP_LOCAL].rpartition(":")[2], 16) == port
            ]
    return sum(inode != "0" for inode in inodes), inodes.count("0")


def _status(pool: Pool, deadline: float) -> str:
    """The status page. Raises NotAnswered."""
    at = fpm_pools.address(pool.status_listen) if pool.status_listen else pool.address
    asks = {
        "SCRIPT_NAME": pool.status_path,
        "SCRIPT_FILENAME": pool.status_path,
        "REQUEST_METHOD": "GET",
        "QUERY_STRING": "json&full",
    }
    with calling.connected(at, deadline) as opened:
        answer = calling.exchanged(opened, fast_cgi.request(asks), fast_cgi.is_whole, deadline)
    status, text = fast_cgi.body(answer)
    if status != 200 or not text.startswith("{"):
        raise NotAnswered(f"{pool.status_path} was answered with status {status}")
    return text
