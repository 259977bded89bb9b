"""Processes suspended for a while, so that they cost nothing while another server is measured.

They keep their memory, connections and timers; what falls due meanwhile falls due when they go on.
"""

import contextlib
import os
import signal

from crumple.processes import tree

# A process that was being forked while its parent stopped shows up when the tree is read again.
PASSES = 2


def suspend(guard_pid: int) -> None:
    """Stop all that descends from a guard, parents first, so that none of them starts another one."""
    for _ in range(PASSES):
        for pid in tree.descendants(guard_pid):
            _send(pid, signal.SIGSTOP)


def wake(guard_pid: int) -> None:
    """Let all of it go on."""
    for pid in tree.descendants(guard_pid):
        _send(pid, signal.SIGCONT)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)
