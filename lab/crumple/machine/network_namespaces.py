"""Servers of this machine that listen in another network namespace, as in a container."""

import contextlib
import ipaddress
import re
from collections.abc import Iterator
from pathlib import Path

from crumple.errors import UsageError
from crumple.machine import process_tree

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# A namespace's own addresses of IPv4, in /proc/net/fib_trie.
_OWN_V4 = re.compile(r"\|-- ([\d.]+)\n\s+/32 host LOCAL")
# Docker passes a published port on by a program of its own, which is given the target.
_PASSES_ON = re.compile(r"docker-proxy\0.*?-container-ip\0([^\0]+)\0-container-port\0(\d+)", re.DOTALL)


def listener(address: Address, port: int) -> int | None:
    """Return the root of the process tree that listens at an address of another namespace.

    None: no namespace that this user can look into has that address, or none listens there.
    """
    for pid in _one_of_each():
        if address in _own_addresses(pid):
            with contextlib.suppress(UsageError):
                return process_tree.owner(port, tables_of(pid))
    return None


def passed_on_by(pid: int) -> tuple[Address, int] | None:
    """Return where a program passes connections on to, of which its command says so; None: of others."""
    with contextlib.suppress(OSError, ValueError):
        if found := _PASSES_ON.search(Path(f"/proc/{pid}/cmdline").read_text()):
            return ipaddress.ip_address(found[1]), int(found[2])
    return None


def tables_of(pid: int) -> tuple[str, ...]:
    """Return the kernel's tables of TCP sockets in the namespace of a process."""
    return tuple(table.replace("/proc/", f"/proc/{pid}/", 1) for table in process_tree.TCP_TABLES)


def _one_of_each() -> Iterator[int]:
    """Yield a process of each other network namespace that can be looked into."""
    known = {_namespace("self")}
    for pid in process_tree.pids():
        if (namespace := _namespace(pid)) and namespace not in known:
            known.add(namespace)
            yield pid


def _namespace(pid: int | str) -> str:
    with contextlib.suppress(OSError):
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    return ""


def _own_addresses(pid: int) -> set[Address]:
    found: set[Address] = set()
    with contextlib.suppress(OSError):
        trie = Path(f"/proc/{pid}/net/fib_trie").read_text()
        found |= {ipaddress.ip_address(text) for text in _OWN_V4.findall(trie)}
    with contextlib.suppress(OSError):
        rows = Path(f"/proc/{pid}/net/if_inet6").read_text().splitlines()
        found |= {ipaddress.ip_address(bytes.fromhex(row.split()[0])) for row in rows}
    return found
