"""Watches whether a process lives: when it ended, and how, as far as this machine shows it.

A pidfd shows the end of any process the moment it comes, whoever its parent is. How a process under the guard
ended is known. Of another one the kernel shows it only until its parent has asked for it.
"""

import contextlib
import os
import select
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from crumple.machine import process_tree
from crumple.machine.guard import CommandEnd, Guarded

# The kernel's count of processes that it ended because memory had run out (proc(5), Linux 4.13).
VMSTAT, OOM_KILLS = Path("/proc/vmstat"), "oom_kill"
# A guard says how the command ended once all that it had started is gone.
GUARD_SAYS_S = 3.5
# The last field of stat: as waitpid(2) gives it.
_EXIT_CODE = -1


@dataclass(frozen=True)
class End:
    """How a process ended. `at_unix_s` None: before it was watched.

    `how`: as the end of a sentence, "ended with code 3"; "is gone" where no more is known. `out_of_memory`:
    the kernel has ended a process of this machine since it was watched, because memory had run out.
    """

    pid: int
    at_unix_s: float | None
    how: str
    out_of_memory: bool = False


class Life:
    """One process from now on. `guarded`: the guard that it runs under, which says how it ended."""

    def __init__(self, pid: int, guarded: Guarded | None = None, vmstat: Path = VMSTAT) -> None:
        self.pid = pid
        self._guarded, self._vmstat = guarded, vmstat
        self._killed = _oom_kills(vmstat)
        self._end: End | None = None
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            self._end = End(pid, None, "is gone")
        except OSError:
            pass  # The kernel gives none; then nothing is known of its end.
        else:
            threading.Thread(target=self._watch, args=(pidfd,), daemon=True).start()

    def ended(self) -> End | None:
        """How it ended; None: it lives, as far as is known."""
        found = self._end
        if found is None or self._guarded is None or found.at_unix_s is None:
            return found
        said = self._guarded.ended(GUARD_SAYS_S)
        if said is None or said == CommandEnd(None, None):
            return found
        return replace(found, how=str(said))

    def is_stopped(self) -> bool:
        """Whether a signal or a debugger has stopped it."""
        with contextlib.suppress(OSError, IndexError):
            return process_tree.stat(self.pid)[0] in "Tt"
        return False

    def _watch(self, pidfd: int) -> None:
        try:
            waiting = select.poll()
            waiting.register(pidfd, select.POLLIN)
            waiting.poll()
            at_unix_s = time.time()
            how = _how(self.pid)
        finally:
            os.close(pidfd)
        killed = _oom_kills(self._vmstat)
        self._end = End(self.pid, at_unix_s, how, killed > self._killed)


def _how(pid: int) -> str:
    """How a process ended that its parent has not asked for yet; "is gone": it has."""
    try:
        fields = process_tree.stat(pid)
    except OSError:
        return "is gone"
    if fields[0] not in "ZX":
        return "is gone"
    return _of_status(int(fields[_EXIT_CODE]))


def _of_status(status: int) -> str:
    if os.WIFSIGNALED(status):
        return str(CommandEnd(None, os.WTERMSIG(status)))
    return str(CommandEnd(os.WEXITSTATUS(status), None))


def _oom_kills(vmstat: Path) -> int:
    try:
        lines = vmstat.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{OOM_KILLS} ")), 0)
