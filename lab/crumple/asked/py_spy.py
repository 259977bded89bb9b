"""Asks py-spy for the threads of a Python program, without stopping it, and the kernel where they sleep.

py-spy reads the memory of the program, which root may, and its user where ptrace is allowed. Without stopping
it a stack may be torn that changes while it is read; threads that wait do not change.
"""

import contextlib
import json
import re
from pathlib import Path

from crumple.asked import calling, python_threads
from crumple.asked.found import AskedServer, NotAnswered

NAME = "py-spy"
read = python_threads.read
_PYTHON = re.compile(r"/libpython3|/(?:bin|app)/python3")
_DENIED = ("Permission", "Operation not permitted")


def applies(server: AskedServer) -> int | str:
    """Return the root of the server's Python processes, or why not; empty: there is none."""
    pid = next((pid for pid in server.pids if _PYTHON.search(calling.mapped_files(pid))), None)
    if pid is None:
        return ""
    return pid if calling.program(NAME) else "py-spy is not installed: pip install py-spy"


def command(pid: int) -> str:
    """Return what is run."""
    return " ".join(_command(pid))


def call(pid: int, deadline: float) -> str:
    """Return the threads of the process and of those below it, as JSON. Raises NotAnswered."""
    try:
        text = calling.run_program(_command(pid), deadline)
    except NotAnswered as error:
        remedy = "; run as root" if any(each in str(error) for each in _DENIED) else ""
        raise NotAnswered(f"{error}{remedy}") from None
    threads = json.loads(text[text.index("[") :])
    for thread in threads:
        thread["wchan"] = _place(thread["pid"], thread["os_thread_id"])
    return json.dumps(threads)


def _command(pid: int) -> list[str]:
    return [NAME, "dump", "--json", "--nonblocking", "--subprocesses", "--pid", str(pid)]


def _place(pid: int, thread: int) -> str:
    with contextlib.suppress(OSError, ValueError):
        return Path(f"/proc/{int(pid)}/task/{int(thread)}/wchan").read_text()
    return ""
