"""What the control groups of a server allow it, whose limits these are, and what they have counted."""

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crumple.machine import core_list, group_owner
from crumple.machine.control_groups import Group, Groups
from crumple.machine.group_owner import Owner

# Version 1 writes a number of this size or more where there is no limit of memory: all that is addressed.
_UNLIMITED_BYTES = 2**60
_STALLED = re.compile(r"some .*total=(\d+)")


@dataclass(frozen=True)
class Limit:
    """What a control group allows. `amount`: cores, bytes, or processes and threads.

    `owner`: whose the group is; `file`: the file that has the limit, and `written`, as it is there.
    """

    amount: float
    owner: Owner
    file: str
    written: str


@dataclass(frozen=True)
class GroupLimits:
    """What the control groups of a server allow: the least that its own group and those around it do.

    `quota`: CPU time, in cores; `cores`: those it may run on, if these are not all of the machine; `memory`;
    `tasks`: processes and threads. None: there is no limit, or it could not be read.
    """

    quota: Limit | None = None
    cores: Limit | None = None
    memory: Limit | None = None
    tasks: Limit | None = None


@dataclass(frozen=True)
class GroupCounts:
    """What the control groups of a server have counted so far.

    `stopped_ns`: for how long each has stopped it, all cores together; `stalled_ns`: for how long some
    threads of the one that limits its memory waited for some; None: not known. `full`: how often it met a
    limit of memory; `refused`: how often a process or thread was not started. `tasks`: how many there are,
    in the group that allows fewest more.
    """

    stopped_ns: Mapping[Path, int] = field(default_factory=dict)
    stalled_ns: int | None = None
    full: int = 0
    refused: int = 0
    tasks: int | None = None


def limits(groups: Groups) -> GroupLimits:
    """What the control groups of a process allow."""
    quotas = [found for each in groups.cpu if (found := _quota(each))]
    memory = [found for each in groups.memory for found in _memory(each)]
    tasks = [(_left(each), found) for each in groups.tasks if (found := _tasks(each))]
    return GroupLimits(
        quota=min(quotas, key=lambda each: each.amount, default=None),
        cores=_cores(groups.cores),
        memory=min(memory, key=lambda each: each.amount, default=None),
        tasks=min(tasks, key=lambda each: each[0], default=(0, None))[1],
    )


def _quota(group: Group) -> Limit | None:
    words = group.text("cpu.max").split()
    if len(words) == 2:
        file, allowed, period = "cpu.max", *words
    else:
        file, allowed = "cpu.cfs_quota_us", group.text("cpu.cfs_quota_us")
        period = group.text("cpu.cfs_period_us")
    with contextlib.suppress(ValueError):
        if int(allowed) > 0:
            return _limit(int(allowed) / int(period), group, file)
    return None


def _cores(groups: Iterable[Group]) -> Limit | None:
    """The cores that the process's own group may use, with the outermost group that allows no more."""
    found: Limit | None = None
    for group in groups:
        written = group.text("cpuset.cpus.effective") or group.text("cpuset.effective_cpus")
        number = len(core_list.read(written))
        if not number or number >= (os.cpu_count() or number) or (found and number > found.amount):
            break
        found = Limit(number, group_owner.of(group.path), str(group.folder / "cpuset.cpus"), written)
    return found


def _memory(group: Group) -> Iterable[Limit]:
    for name in ("memory.high", "memory.max", "memory.limit_in_bytes"):
        number = group.number(name)
        if number is not None and number < _UNLIMITED_BYTES:
            yield _limit(number, group, name)


def _tasks(group: Group) -> Limit | None:
    number = group.number("pids.max")
    return None if number is None else _limit(number, group, "pids.max")


def _left(group: Group) -> int:
    """How many more processes and threads a group allows."""
    return (group.number("pids.max") or 0) - (group.number("pids.current") or 0)


def _limit(amount: float, group: Group, name: str) -> Limit:
    return Limit(amount, group_owner.of(group.path), str(group.folder / name), group.text(name))


def counts(groups: Groups) -> GroupCounts:
    """What the control groups of a process have counted so far."""
    stopped = ((each.folder, _stopped_ns(each)) for each in groups.cpu)
    limited = [each for each in groups.tasks if each.number("pids.max") is not None]
    fullest = min(limited, key=_left, default=None)
    return GroupCounts(
        stopped_ns={folder: ns for folder, ns in stopped if ns is not None},
        stalled_ns=_stalled_ns(groups),
        full=sum(_full(each) for each in groups.memory),
        refused=sum(each.counted("pids.events", "max") or 0 for each in groups.tasks),
        tasks=None if fullest is None else fullest.number("pids.current"),
    )


def _stopped_ns(group: Group) -> int | None:
    us = group.counted("cpu.stat", "throttled_usec")
    return group.counted("cpu.stat", "throttled_time") if us is None else 1000 * us


def _full(group: Group) -> int:
    counted = (group.counted("memory.events.local", key) for key in ("high", "max"))
    return sum(each or 0 for each in (*counted, group.number("memory.failcnt")))


def _stalled_ns(groups: Groups) -> int | None:
    """For how long some thread of the group whose memory is limited waited for memory; None: not known.

    Only version 2 counts that. Where version 1 limits memory, the process may be in another group of version
    2, as with Docker, and often in the one around all, whose count is of the whole machine.
    """
    own, limited = next(iter(groups.unified), None), next(iter(groups.memory), None)
    # The group around all has no such file.
    if own is None or limited is None or own.path != limited.path or not own.text("cgroup.events"):
        return None
    found = _STALLED.search(own.text("memory.pressure"))
    return None if found is None else 1000 * int(found[1])
