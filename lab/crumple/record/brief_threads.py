"""Threads that ended before they were read: only the CPU time of all of them is known. Pure."""

from typing import TYPE_CHECKING

from crumple.record import windows

if TYPE_CHECKING:
    from crumple.contract import TaskRecord, TrialRecord

# Threads that used 80 % of the CPU time of their processes stand for all of them.
KNOWN_SHARE = 0.8
# A reading may leave out CPU time of a twentieth of a core: the kernel adds a thread's up at each tick.
UNTOLD_CORES = 0.05


def seen_share(record: "TrialRecord", tasks: "TaskRecord") -> float | None:
    """Return how much of the CPU time of the server's processes is of threads that were read, as a share.

    None: either was not read.
    """
    seen, used = _cores(record, tasks)
    if seen is None or used is None:
        return None
    return min(1.0, seen / used) if used > 0 else 1.0


def why(record: "TrialRecord") -> str:
    """Say that threads which were not read did much of the work; empty if they did not, or it is unknown."""
    tasks = record.probes.tasks
    if tasks is None or tasks.why is not None:
        return ""
    seen, used = _cores(record, tasks)
    if seen is None or used is None or seen >= KNOWN_SHARE * used or used - seen < UNTOLD_CORES:
        return ""
    return f"threads that ended before they were read used {1 - seen / used:.0%} of its CPU time"


def _cores(record: "TrialRecord", tasks: "TaskRecord") -> tuple[float | None, float | None]:
    """The cores that threads which were read kept busy, and those that the processes did."""
    seen = None
    if tasks.cpu_ns is not None and tasks.window_ns:
        seen = (tasks.cpu_ns + (tasks.ended_cpu_ns or 0)) / tasks.window_ns
    return seen, windows.cores(record, windows.server(record))
