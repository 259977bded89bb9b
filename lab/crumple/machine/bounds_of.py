"""Bounds that the system sets to a server's processes: open files, and CPU time of the control group."""

import contextlib
import os
from collections.abc import Iterator
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
    return nearest(found)


def nearest(files: list[tuple[int, int]]) -> tuple[int, int] | None:
    """The number of open files that is nearest to its limit, with that limit; None: there is none."""
    return max(files, key=lambda each: each[0] / max(1, each[1]), default=None)


def throttled_ns(pid: int) -> dict[Path, int]:
    """For how long each control group of the process has stopped it so far, all cores together.

    The quota may be one of a group around its own. Empty: there is no quota, or it could not be read.
    """
    found = {}
    for folder in _groups(pid):
        with contextlib.suppress(OSError, ValueError):
            fields = dict(line.split() for line in (folder / "cpu.stat").read_text().splitlines())
            if "throttled_usec" in fields:
                found[folder] = 1000 * int(fields["throttled_usec"])
            elif "throttled_time" in fields:
                found[folder] = int(fields["throttled_time"])
    return found


def quota_cores(pid: int) -> float | None:
    """How many cores' time the control groups of the process allow it; None: no quota, or not read."""
    found = [quota for folder in _groups(pid) if (quota := _quota(folder)) is not None]
    return min(found, default=None)


def _quota(folder: Path) -> float | None:
    """The quota of one group, of version 2 or 1."""
    with contextlib.suppress(OSError, ValueError):
        allowed, period = (folder / "cpu.max").read_text().split()
        return None if allowed == "max" else int(allowed) / int(period)
    with contextlib.suppress(OSError, ValueError):
        allowed_us = int((folder / "cpu.cfs_quota_us").read_text())
        return None if allowed_us <= 0 else allowed_us / int((folder / "cpu.cfs_period_us").read_text())
    return None


def _groups(pid: int) -> list[Path]:
    """The folders of the control groups that may limit CPU time: its own, and those above it."""
    with contextlib.suppress(OSError):
        return list(_folders(os.fsdecode(Path(f"/proc/{pid}/cgroup").read_bytes())))
    return []


def _folders(listed: str) -> Iterator[Path]:
    """The folders of the groups that are listed, of version 1 or 2."""
    for line in listed.splitlines():
        _, controllers, path = line.split(":", 2)
        roots = [_CGROUPS] if not controllers else []
        if "cpu" in controllers.split(","):
            roots = [_CGROUPS / "cpu", _CGROUPS / "cpu,cpuacct"]
        for root in roots:
            own = root / path.lstrip("/")
            for folder in (own, *own.parents):
                yield folder
                if folder == root:
                    break
