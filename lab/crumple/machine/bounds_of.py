"""Bounds that the system sets to a server's processes: open files, and CPU time of the control group."""

import contextlib
import os
from pathlib import Path

from crumple.machine import process_tree

_CGROUPS = Path("/sys/fs/cgroup")


def open_files(pid: int) -> tuple[int, int] | None:
    """Open files and their limit, of the process of the tree that is nearest to it; None: cannot be read."""
    found = []
    for process in (pid, *process_tree.descendants(pid)):
        with contextlib.suppress(OSError, StopIteration, ValueError):
            limits = Path(f"/proc/{process}/limits").read_text().splitlines()
            limit = next(line for line in limits if line.startswith("Max open files")).split()[3]
            used = len(os.listdir(f"/proc/{process}/fd"))  # noqa: PTH208  (called beside a load)
            found.append((used, int(limit)))
    return max(found, key=lambda each: each[0] / each[1], default=None)


def throttled_ns(pid: int) -> int | None:
    """For how long the control group of the process has stopped it so far; None: no quota, or not read."""
    for folder in _groups(pid):
        with contextlib.suppress(OSError, ValueError):
            fields = dict(line.split() for line in (folder / "cpu.stat").read_text().splitlines())
            if "throttled_usec" in fields:
                return 1000 * int(fields["throttled_usec"])
            if "throttled_time" in fields:
                return int(fields["throttled_time"])
    return None


def _groups(pid: int) -> list[Path]:
    """The folders of the control group that may limit CPU time, of version 1 or 2."""
    found = []
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                found.append(_CGROUPS / path.lstrip("/"))
            elif "cpu" in controllers.split(","):
                found += [_CGROUPS / name / path.lstrip("/") for name in ("cpu", "cpu,cpuacct")]
    return found
