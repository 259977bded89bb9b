"""What else goes on: how much of all cores' time other programs use, and the hypervisor takes, meanwhile.

It looks at the beginning and at the end, and judges nothing.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from crumple.machine import facts
from crumple.processes import tree


@dataclass(frozen=True)
class Shares:
    """Of all cores' time, 0 to 1; None: not told here."""

    others: float | None
    steal: float | None


class Meanwhile:
    """From when it is made on."""

    def __init__(self) -> None:
        self._before = _look()

    def shares(self) -> Shares:
        """Until now. What this process started must have been waited for, or be alive, to count as ours."""
        after = _look()
        if self._before is None or after is None:
            return Shares(None, None)
        (ticks_before, ours_before), (ticks, ours) = self._before, after
        spent = {kind: ticks[kind] - ticks_before[kind] for kind in ticks}
        total = sum(spent.values())
        if total <= 0:
            return Shares(None, None)
        idle = spent["idle"] + spent["iowait"] + spent["steal"]
        others = max(0, total - idle - max(0, ours - ours_before))
        return Shares(round(others / total, 4), round(spent["steal"] / total, 4))


def _look() -> tuple[dict[str, int], int] | None:
    """Time of all cores by kind, and CPU time of our own, in clock ticks."""
    try:
        return facts.cpu_ticks(), _our_ticks()
    except facts.UnreadError:
        return None


def _our_ticks() -> int:
    """CPU time of this process and all it started, with those it has waited for."""
    return sum(_ticks(pid) for pid in (os.getpid(), *tree.descendants(os.getpid())))


def _ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0  # it ended between two looks
    # proc_pid_stat(5): its own user and system time, and those of the children it has waited for.
    return sum(map(int, fields[11:15]))
