"""The network namespaces of this machine's processes, as containers have them, and who is in each.

A namespace is told by its table of sockets, which any user may look at. The link /proc/PID/ns/net would need
the rights to trace the process.
"""

import contextlib
import ipaddress
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from crumple.machine import process_tree
from crumple.machine.load_machine import Address

# A namespace's own addresses of IPv4, in /proc/net/fib_trie.
_OWN_V4 = re.compile(r"\|-- ([\d.]+)\n\s+/32 host LOCAL")


def number(pid: int | str) -> int | None:
    """Return the number of the namespace of a process; None: it has ended, or is hidden."""
    with contextlib.suppress(OSError):
        return os.stat(f"/proc/{pid}/net/tcp").st_ino  # noqa: PTH116  (called for each process)
    return None


def is_own(pid: int) -> bool:
    """Whether a process is in this process's namespace, or in one that cannot be told."""
    return number(pid) in (None, number("self"))


def others() -> Mapping[int, tuple[int, ...]]:
    """Return the other namespaces that have sockets of TCP, each with its processes."""
    own, found = number("self"), dict[int, tuple[int, ...]]()
    for pid in process_tree.pids():
        if (its := number(pid)) is not None and its != own:
            found[its] = (*found.get(its, ()), pid)
    return {its: pids for its, pids in found.items() if _has_sockets(pids)}


def _has_sockets(pids: Iterable[int]) -> bool:
    return any(_counted(pid, name) for pid in pids for name in ("sockstat", "sockstat6"))


def _counted(pid: int, name: str) -> bool:
    """Whether the kernel counts sockets of TCP in use in a namespace: "TCP: inuse 5 orphan 0 …"."""
    with contextlib.suppress(OSError, IndexError):
        rows = map(str.split, Path(f"/proc/{pid}/net/{name}").read_text().splitlines())
        return any(row[0] in ("TCP:", "TCP6:") and int(row[2]) > 0 for row in rows)
    return False


def users_of(pid: int | str) -> str:
    """Return how users of a process's namespace are mapped to those of this machine; empty: not known."""
    with contextlib.suppress(OSError):
        return " ".join(Path(f"/proc/{pid}/uid_map").read_text().split())
    return ""


def of_address(address: Address, seen_from: int) -> int | None:
    """Return a process of the namespace that has an address; None: no namespace that is seen has it.

    `seen_from`: a process of the namespace that the address is used in.
    """
    if address.is_loopback or address in _own_addresses(seen_from):
        return seen_from
    firsts = (os.getpid(), *(pids[0] for pids in others().values()))
    return next((pid for pid in firsts if address in _own_addresses(pid)), None)


def addresses_of(pid: int) -> list[Address]:
    """Return the addresses of IPv4 in the namespace of a process at which others may reach it."""
    return sorted(each for each in _own_addresses(pid) if each.version == 4 and not each.is_loopback)


def has_network(pid: int) -> bool:
    """Whether the namespace of a process has an address beside those of its loopback."""
    return any(not each.is_loopback and not each.is_link_local for each in _own_addresses(pid))


def _own_addresses(pid: int) -> set[Address]:
    found: set[Address] = set()
    with contextlib.suppress(OSError):
        trie = Path(f"/proc/{pid}/net/fib_trie").read_text()
        found |= {ipaddress.ip_address(text) for text in _OWN_V4.findall(trie)}
    with contextlib.suppress(OSError):
        rows = Path(f"/proc/{pid}/net/if_inet6").read_text().splitlines()
        found |= {ipaddress.ip_address(bytes.fromhex(row.split()[0])) for row in rows}
    return found


def first_of(pids: Iterable[int]) -> int | None:
    """Return the process that all others of a container descend from; None: it is not told which.

    `pids`: those of its network namespace. It has a namespace of processes in which it is the first, or none
    of the others has started it.
    """
    among = set(pids)
    firsts = [pid for pid in among if _is_first(pid)]
    found = firsts or [pid for pid in among if not among.intersection(process_tree.ancestors(pid))]
    return found[0] if len(found) == 1 else None


def _is_first(pid: int) -> bool:
    """Whether a process is number 1 in a namespace of processes of its own (NSpid, proc_pid_status(5))."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
        numbers = next(line for line in lines if line.startswith("NSpid:")).split()[1:]
        return len(numbers) > 1 and numbers[-1] == "1"
    return False
