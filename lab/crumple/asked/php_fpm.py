"""Counts how many children of a pool of php-fpm have a request, and how many connections wait for a child.

The kernel's tables of sockets show both, so that no child has to answer for it: the page of `pm.status_path`
is answered by a child, after the requests that wait. The limit is that of the pool's configuration.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crumple.asked import found, fpm_pools
from crumple.asked.found import AskedServer, NotAnswered
from crumple.asked.fpm_pools import Pool, PoolState
from crumple.machine import connection_ends, process_tree, tcp_tables

NAME = "php-fpm"
read = fpm_pools.read
_MASTER = re.compile(r"php-fpm: master process \((.+)\)")
_CHILD = re.compile(r"php-fpm: pool (.+)")
# Columns of /proc/net/unix, counted from 0: state, inode and path.
_UNIX_STATE, _UNIX_INODE, _UNIX_PATH = 5, 6, 7
# States of a Unix socket, as /proc/net/unix writes them.
_CONNECTING, _CONNECTED = "02", "03"


@dataclass(frozen=True)
class CountedPools:
    """Pools to count, each with the process of its master. `is_behind`: the server asks them."""

    pools: tuple[tuple[int, Pool], ...]
    is_behind: bool


def applies(server: AskedServer) -> CountedPools | str:
    """Return the pools that the server is, or that it asks; or why not; empty: there are none."""
    reached = {found.place_of(each.address) for each in server.peers}
    why = ""
    for master, configuration in _masters():
        is_own = master in server.pids
        try:
            pools = _pools(master, Path(f"/proc/{master}/cwd").readlink() / configuration)
        except OSError as error:
            why = f"{configuration} cannot be read ({error.strerror}): run as the user of process {master}"
            continue
        asked = tuple((master, each) for each in pools if is_own or each.address in reached)
        if asked:
            return CountedPools(asked, not is_own)
    # Another php-fpm of this machine is none of the server's.
    return why if any(each.listener and each.listener.startswith("php-fpm") for each in server.peers) else ""


def command(target: CountedPools) -> str:
    """Return what is counted."""
    return f"children and sockets at {', '.join(pool.listen for _, pool in target.pools)}"


def call(target: CountedPools, deadline: float) -> PoolState:
    """Return what the busiest pool does. Raises NotAnswered."""
    try:
        counted = [_counted(master, pool, target.is_behind) for master, pool in target.pools]
    except OSError as error:
        raise NotAnswered(str(error)) from None
    return max(counted, key=lambda each: (each.waiting, each.busy))


def _masters() -> Iterator[tuple[int, str]]:
    """The master processes of php-fpm on this machine, each with its file of configuration."""
    for pid in process_tree.pids():
        if title := _MASTER.match(_title(pid)):
            yield pid, title[1]


def _title(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    return ""


def _pools(master: int, configuration: Path) -> list[Pool]:
    """Raises OSError."""

    def included(pattern: str) -> str:
        folder = Path("/") if pattern.startswith("/") else configuration.parent
        files = sorted(_there(master, folder).glob(pattern.lstrip("/")))
        return "\n".join(file.read_text(errors="replace") for file in files)

    variables = {}
    with contextlib.suppress(OSError):
        # The master may have written its title over it.
        environment = Path(f"/proc/{master}/environ").read_text(errors="replace")
        variables = dict(pair.split("=", 1) for pair in environment.split("\0") if "=" in pair)
    return fpm_pools.pools(_there(master, configuration).read_text(errors="replace"), included, variables)


def _there(pid: int, path: Path) -> Path:
    """Return the path of a file of a process: in a container its / is not that of the machine."""
    return Path(f"/proc/{pid}/root{path}")


def _counted(master: int, pool: Pool, is_behind: bool) -> PoolState:
    titles = (_CHILD.match(_title(pid)) for pid in process_tree.descendants(master))
    children = Counter(title[1] for title in titles if title)[pool.name]
    at = pool.address
    busy, waiting = _on_path(at, master) if isinstance(at, str) else _on_port(at[1], master)
    return PoolState(pool, children, min(busy, children), waiting, is_behind)


def _on_path(path: str, master: int) -> tuple[int, int]:
    """Return connections to a Unix-domain socket: accepted, and waiting to be accepted."""
    text = Path(f"/proc/{master}/net/unix").read_text(errors="replace")
    rows = [line.split() for line in text.splitlines()[1:]]
    ours = [row for row in rows if len(row) > _UNIX_PATH and row[_UNIX_PATH] == path]
    accepted = sum(row[_UNIX_STATE] == _CONNECTED and row[_UNIX_INODE] != "0" for row in ours)
    return accepted, sum(row[_UNIX_STATE] == _CONNECTING and row[_UNIX_INODE] == "0" for row in ours)


def _on_port(port: int, master: int) -> tuple[int, int]:
    """Return connections to a port: accepted, and waiting to be accepted."""
    inodes = [*connection_ends.open_ends(master, port).values()]
    waiting = inodes.count(tcp_tables.NOT_ACCEPTED)
    return len(inodes) - waiting, waiting
