"""Whether a load host is this machine, if in other namespaces: both then share its cores."""

from contextlib import suppress
from pathlib import Path

from crumple.machine import facts, process_tree
from crumple.machine.facts import UnreadError

PROC = Path("/proc")
# The first thread of the kernel, which no PID namespace but the first one shows.
KERNEL_THREADS = 2, "kthreadd"


def is_this(mark: str, boot_id: str | None, proc: Path = PROC) -> bool:
    """Return whether the processes with that mark in their environment run on this kernel.

    Where not all processes can be read here, its boot id says it, though LXC and systemd-nspawn give each
    container one of its own, and a machine that was restored from a snapshot has the one of that.
    """
    if any(_is_marked(proc / str(pid), mark) for pid in process_tree.pids()):
        return True
    if _sees_all(proc):
        return False
    with suppress(UnreadError):
        return boot_id == facts.boot_id()
    return False


def _is_marked(process: Path, mark: str) -> bool:
    with suppress(OSError):
        return mark.encode() in (process / "environ").read_bytes()
    return False


def _sees_all(proc: Path) -> bool:
    """Whether this process is in the first PID namespace, and may read what the first process was given."""
    pid, name = KERNEL_THREADS
    with suppress(OSError):
        given = (proc / "1/environ").read_bytes()
        return given != b"" and (proc / str(pid) / "comm").read_text().strip() == name
    return False
