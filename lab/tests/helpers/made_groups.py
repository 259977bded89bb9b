"""Real control groups with limits, of version 1 or 2, for root. Not a test itself."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crumple.machine import process_tree

ROOT = Path("/sys/fs/cgroup")
UNIFIED = (ROOT / "cgroup.controllers").exists()
# A group can be removed when the last of its processes is gone, which takes a moment.
GONE_S = 5.0


@contextmanager
def group(
    name: str,
    *,
    quota: float | None = None,
    cores: str | None = None,
    memory: int | None = None,
    tasks: int | None = None,
) -> Iterator[Callable[[int], None]]:
    """Give what moves a process, with its descendants, into a group with these limits.

    Raises OSError where none can be made.
    `quota`: CPU time, in cores; `cores`: as the kernel lists them; `memory`: in bytes; `tasks`: how many.
    """
    folders: list[Path] = []
    try:
        for controller, file, text in _files(quota, cores, memory, tasks):
            folder = (ROOT if UNIFIED else ROOT / controller) / name
            if folder not in folders:
                folder.mkdir()
                folders.append(folder)
            if UNIFIED:
                (ROOT / "cgroup.subtree_control").write_text(f"+{controller}")
            (folder / file).write_text(text)
        beside = ROOT / "unified" / name
        if not UNIFIED and beside.parent.is_dir():
            # As systemd has it: version 2 counts how long the group waits for memory.
            beside.mkdir()
            folders.append(beside)

        def move(pid: int) -> None:
            # What it starts after it was moved is in its group.
            _write(folders, pid)
            for each in process_tree.descendants(pid):
                _write(folders, each)

        yield move
    finally:
        for folder in folders:
            _remove(folder)


def _write(folders: list[Path], pid: int) -> None:
    with suppress(ProcessLookupError):  # it has ended
        for folder in folders:
            (folder / "cgroup.procs").write_text(str(pid))


def _files(
    quota: float | None, cores: str | None, memory: int | None, tasks: int | None
) -> Iterator[tuple[str, str, str]]:
    """Controller, file and text of each limit."""
    if quota is not None:
        us = round(100_000 * quota)
        yield ("cpu", "cpu.max", f"{us} 100000") if UNIFIED else ("cpu", "cpu.cfs_quota_us", str(us))
    if cores is not None:
        if not UNIFIED:
            yield "cpuset", "cpuset.mems", (ROOT / "cpuset" / "cpuset.mems").read_text().strip()
        yield "cpuset", "cpuset.cpus", cores
    if memory is not None:
        yield "memory", "memory.max" if UNIFIED else "memory.limit_in_bytes", str(memory)
    if tasks is not None:
        yield "pids", "pids.max", str(tasks)


def _remove(folder: Path) -> None:
    over_s = time.monotonic() + GONE_S
    while folder.exists() and time.monotonic() < over_s:
        with suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.02)


def cannot() -> str:
    """Why no group can be made here; empty: it can."""
    if os.geteuid() != 0:
        return "control groups are made by root"
    try:
        with group(f"crumple-try-{os.getpid()}", quota=1.0, cores="0", memory=2**30, tasks=1_000):
            return ""
    except OSError as error:
        return f"no control group can be made: {error.strerror}"
