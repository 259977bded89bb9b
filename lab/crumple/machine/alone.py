"""CPU use by other programs, and the turns that several crumple processes take on one machine.

Only one crumple measures at a time; several runs take turns, trial by trial. The one that measures listens on
an abstract unix socket, whose name only one process can hold. So turns hold for all users of a machine (or of
a container, which has its own names), need no folder to write to, and end with the process.

What others took from a load is read over its own window (`record.disturbance`).
"""

import contextlib
import errno
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from crumple.machine import capacity, facts, process_tree


@dataclass(frozen=True)
class Shares:
    """Shares of all cores' time, 0 to 1; None: this machine does not report it."""

    others: float | None
    steal: float | None


class CpuWatch:
    """Measures how CPU time is shared, from the creation of this object on."""

    def __init__(self) -> None:
        self._before = _look()

    def shares(self) -> Shares:
        """The shares until now. A child's time counts as crumple's own if it is alive or was waited for."""
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
    """CPU time of all cores by kind, and crumple's own CPU time, in clock ticks; None: cannot be read."""
    try:
        return facts.cpu_ticks(), _our_ticks()
    except facts.UnreadError:
        return None


def _our_ticks() -> int:
    """CPU time of this process and its descendants, including children it has waited for, in clock ticks."""
    return sum(_ticks(pid) for pid in (os.getpid(), *process_tree.descendants(os.getpid())))


def _ticks(pid: int) -> int:
    try:
        # Its own user and system time, and those of the children it has waited for.
        return sum(map(int, process_tree.stat(pid)[11:15]))
    except OSError:
        return 0  # it ended after it was listed


# Seconds between the two readings of CPU times in a look.
LOOK_S = 0.5
# The largest share of all cores' time in LOOK_S that a hypervisor may take. The kernel counts in ticks, and
# one tick on two cores is already a hundredth of that time.
STEAL_IN_A_LOOK = 0.05


def look() -> str:
    """What uses the CPU besides this crumple and its descendants, as a clause; empty: too little to matter.

    Takes LOOK_S seconds.
    """
    watch = CpuWatch()
    time.sleep(LOOK_S)
    shares = watch.shares()
    if shares.others is not None and shares.others > capacity.OTHERS_TOO_BUSY:
        return f"other programs use {shares.others:.0%} of the CPU"
    if shares.steal is not None and shares.steal > STEAL_IN_A_LOOK:
        return f"the hypervisor takes {shares.steal:.0%} of the CPU time"
    return ""


WAITING = "waiting for another crumple that measures on this machine"
NAME = "crumple"
# A process that has bound the name but does not listen yet refuses a connection; then try again.
RETRY_S = 0.01


@contextlib.contextmanager
def turn(waiting: Callable[[], None]) -> Iterator[None]:
    """Inside, no other crumple measures; `waiting` is called if this one has to wait.

    The next crumple in line holds a second name while it waits. So it comes before one that has just had its
    turn and asks for the next.
    """
    line = _at_once("line")
    with line or _waited("line", waiting):
        # `waiting` has been called already if this one waited for the line.
        held = _at_once("turn") or _waited("turn", waiting if line else lambda: None)
    with held:
        yield


@contextlib.contextmanager
def beside(disturbed: Callable[[], None]) -> Iterator[None]:
    """Like `turn`, but it does not wait: `disturbed` is called if another crumple measures now."""
    held = _at_once("turn")
    if held is None:
        disturbed()
    with held or contextlib.nullcontext():
        yield


def _address(place: str) -> str:
    # The leading zero byte makes the name abstract: it is in no file system.
    return f"\0{NAME}-{place}"


def _at_once(place: str) -> socket.socket | None:
    """The socket that holds the place; None if another process holds it."""
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
    """The socket that holds the place, once it is free."""
    waiting()
    while (held := _at_once(place)) is None:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as other:
            other.connect(_address(place))
            # The holder never answers; recv returns when the holder's socket is closed.
            other.recv(1)
            continue
        time.sleep(RETRY_S)
    return held
