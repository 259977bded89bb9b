"""Asks a JVM for its thread dump by jcmd.

The JVM stops its threads for some milliseconds to write it. It is asked without `-l`, which would also walk
the heap. jcmd sends SIGQUIT to a JVM that it has not attached to before. A JVM under -Xrs, or one that is
only starting, does not catch that signal and would end: such a process is not asked.
"""

import contextlib
import os
import signal
from pathlib import Path

from crumple.asked import calling, jvm_threads
from crumple.asked.found import AskedServer
from crumple.machine import process_tree

NAME = "jcmd"
read = jvm_threads.read


def applies(server: AskedServer) -> int | str:
    """Return the process to ask, the JVM with the most threads; or why not; empty: there is none."""
    found = [pid for pid in server.pids if _has_library(pid)]
    if not found:
        return ""
    pid = max(found, key=lambda each: process_tree.threads([each]) or 0)
    if not _is_own(pid):
        return f"process {pid} is another user's: run as that user"
    if not _catches_quit(pid):
        return f"process {pid} does not catch SIGQUIT (-Xrs), which jcmd may send"
    if _program(pid) is None:
        return "jcmd is not installed: install the JDK of this JVM"
    return pid


def command(pid: int) -> str:
    """Return what is run."""
    return f"jcmd {pid} Thread.print"


def call(pid: int, deadline: float) -> str:
    """Return the thread dump. Raises NotAnswered."""
    return calling.run_program([_program(pid) or NAME, str(pid), "Thread.print"], deadline)


def _program(pid: int) -> str | None:
    """Return the jcmd that came with the JVM, or that of the PATH."""
    with contextlib.suppress(OSError):
        return calling.program(NAME, Path(f"/proc/{pid}/exe").readlink())
    return calling.program(NAME)


def _has_library(pid: int) -> bool:
    return "/libjvm.so" in calling.mapped_files(pid)


def _is_own(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return os.geteuid() in (0, Path(f"/proc/{pid}").stat().st_uid)
    return False


def _catches_quit(pid: int) -> bool:
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
        caught = int(next(line for line in lines if line.startswith("SigCgt:")).split()[1], 16)
        return bool(caught >> (signal.SIGQUIT - 1) & 1)
    return False
