"""How often the kernel found the queue of a listening socket full, by its own counters."""

from dataclasses import dataclass
from pathlib import Path

_TABLE, _OVERFLOWS, _DROPS = "TcpExt:", "ListenOverflows", "ListenDrops"


@dataclass(frozen=True)
class Counted:
    """Since the machine started, of all listening sockets of a namespace.

    `overflows`: connections that were established and found no room in the accept queue; `drops`: these, and
    those that were dropped before for another reason.
    """

    overflows: int
    drops: int


def counted(pid: int) -> Counted | None:
    """Return the counters of the network namespace of a process; None: they cannot be read."""
    try:
        lines = [line.split() for line in Path(f"/proc/{pid}/net/netstat").read_text().splitlines()]
    except OSError:
        return None
    # Each table has a line of names, which a line of values follows.
    names, values = (each for each in lines if each[0] == _TABLE)
    found = dict(zip(names, values, strict=True))
    return Counted(int(found[_OVERFLOWS]), int(found[_DROPS]))
