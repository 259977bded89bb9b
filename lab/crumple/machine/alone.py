"""Whether crumple is alone on the machine: who else uses the CPU, waiting for calm, and taking turns.

One crumple at a time measures; several runs take turns, trial by trial. The one whose turn it is listens on
an abstract unix socket, of which there is one for each name. So turns hold for all users of a machine (or
container, which has names of its own), need no folder to write to, and end with the process.

Waiting for calm is all that happens before a load: what disturbed the load is read over its own window
(`record.disturbance`).
"""

import contextlib
import errno
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from crumple.machine import capacity, facts, process_tree


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
    return sum(_ticks(pid) for pid in (os.getpid(), *process_tree.descendants(os.getpid())))


def _ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0  # it ended between two looks
    # proc_pid_stat(5): its own user and system time, and those of the children it has waited for.
    return sum(map(int, fields[11:15]))


LOOK_S = 0.5
# Of the hypervisor's time in half a second; a tick of two cores is a hundredth of it.
STEAL_IN_A_LOOK = 0.05


def look() -> str:
    """Who uses the CPU besides this crumple and all it started, as a clause; empty: hardly anybody."""
    meanwhile = Meanwhile()
    time.sleep(LOOK_S)
    shares = meanwhile.shares()
    if shares.others is not None and shares.others > capacity.OTHERS_TOO_BUSY:
        return f"other programs use {shares.others:.0%} of the CPU"
    if shares.steal is not None and shares.steal > STEAL_IN_A_LOOK:
        return f"the hypervisor takes {shares.steal:.0%} of the CPU time"
    return ""


def awaited(at_most_s: float) -> str:
    """Wait until the machine is calm; what still went on when the time was over, or empty."""
    deadline = time.monotonic() + at_most_s
    while (busy := look()) and time.monotonic() < deadline:
        pass
    return busy


WAITING = "waiting for another crumple that measures on this machine"
NAME = "crumple"
# Between taking a name and listening at it another one finds nobody to wait for.
RETRY_S = 0.01


@contextlib.contextmanager
def turn(waiting: Callable[[], None]) -> Iterator[None]:
    """Inside, no other crumple measures; `waiting` is called if it has to wait for one.

    Whoever waits comes first: the next one in line holds the place behind whoever has the turn.
    """
    line = _at_once("line")
    with line or _waited("line", waiting):
        # Said already, where the line had to be waited for.
        held = _at_once("turn") or _waited("turn", waiting if line else lambda: None)
    with held:
        yield


@contextlib.contextmanager
def beside(disturbed: Callable[[], None]) -> Iterator[None]:
    """Like `turn`, but it waits for nobody: `disturbed` is called if another crumple measures now."""
    held = _at_once("turn")
    if held is None:
        disturbed()
    with held or contextlib.nullcontext():
        yield


def _address(place: str) -> str:
    # A zero at the beginning: the name is in no file system.
    return f"\0{NAME}-{place}"


def _at_once(place: str) -> socket.socket | None:
    """The place; None if another has it."""
    held = socket.socket(socket.AF_UNIX)
    try:
        held.bind(_address(place))
        held.listen()
    except OSError as error:
        held.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return held


def _waited(place: str, waiting: Callable[[], None]) -> socket.socket:
    """The place, as soon as it is free."""
    waiting()
    while (held := _at_once(place)) is None:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as other:
            other.connect(_address(place))
            # Nobody answers: it ends when who has the place is gone.
            other.recv(1)
            continue
        time.sleep(RETRY_S)
    return held
