"""Runs a program of this machine, or gets a page of one: bounded in time and in what is read.

A program runs under the engine's guard, so that it ends with the lab, however the lab ends. No shell sees the
command. A password goes into its environment, never among its arguments.
"""

import contextlib
import http.client
import ipaddress
import json
import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from crumple import engine, project
from crumple.asked.found import NotAnswered
from crumple.machine import network_namespaces

# How long a source has to answer, in seconds; one that takes longer is given up.
LIMIT_S = 3.0
# The most bytes of an answer that are read: about the size of a thread dump of ten thousand threads.
READ_MOST = 4 << 20
# The time from SIGTERM to SIGKILL, in seconds: a moment is enough, since a program that only reads loses
# nothing.
GRACE_S = 0.2
# How long the guard of a program has to end after that, in seconds, before it is killed as well.
GONE_S = 2.0
# How many bytes are read at a time: as many as a pipe of Linux holds.
_PIECE = 1 << 16


def until() -> float:
    """Return by when a source has to have answered that is asked from now on."""
    return time.monotonic() + LIMIT_S


def left_s(deadline: float) -> float:
    """Return how much time is left; never 0, which a socket takes for not waiting. Raises NotAnswered."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise NotAnswered(f"it did not answer within {LIMIT_S:.0f} s")
    return left


def program(name: str, beside: Path | None = None) -> str | None:
    """Return the path of a program: beside another, or in the PATH; None: it is not installed."""
    if beside is not None and (found := shutil.which(name, path=str(beside.parent))):
        return found
    return shutil.which(name)


def unreached(pid: int, address: str) -> str:
    """Return why what a process asks at an address cannot be asked from here; empty: it can.

    On loopback, or at a path, another program than the one that it asks may listen here.
    """
    host = address.rpartition(":")[0].strip("[]")
    is_inside = address.startswith("unix:") or ipaddress.ip_address(host).is_loopback
    if is_inside and not network_namespaces.is_own(pid):
        return f"{address} is reached only within the container of process {pid}"
    return ""


def mapped_files(pid: int) -> str:
    """Return the files that a process has mapped, as the kernel lists them; empty: it may not be read."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/maps").read_text(errors="replace")
    return ""


def run_program(command: Sequence[str], deadline: float, env: Mapping[str, str] | None = None) -> str:
    """Return what a program prints, on both streams, when it ended with code 0. Raises NotAnswered.

    `env`: what to add to the environment.
    """
    options = ["--grace", str(GRACE_S), "--cwd", "/"]
    guard = subprocess.Popen(
        [engine.find(project.root()), "guard", *options, "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C", **(env or {})},
        process_group=0,  # ctrl-C reaches only the lab, which then ends the program
    )
    try:
        events, output = _read(guard, deadline)
    finally:
        _end(guard)
    name, text = Path(command[0]).name, output.decode("utf-8", "replace")
    ended = [line for line in events.splitlines() if b'"exit"' in line]
    if not ended:
        raise NotAnswered(f"{name} could not be started: {_last_line(text)}")
    if json.loads(ended[-1])["exit"] != 0:
        raise NotAnswered(f"{name}: {_last_line(text).removeprefix(f'{name}: ')}")
    return text


def _last_line(text: str) -> str:
    """Return the last line of a text that is not empty, and not a frame of Java's."""
    lines = (line.strip() for line in reversed(text.splitlines()) if not line.startswith("\tat "))
    return next(filter(None, lines), "it printed nothing")


def _read(guard: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
    """Return what the guard reports, and what the program prints. Raises NotAnswered."""
    assert guard.stdout and guard.stderr
    parts = {guard.stdout: bytearray(), guard.stderr: bytearray()}
    with selectors.DefaultSelector() as ready:
        for stream in parts:
            ready.register(stream, selectors.EVENT_READ)
        while ready.get_map():
            for key, _ in ready.select(left_s(deadline)):
                stream = guard.stdout if key.fileobj is guard.stdout else guard.stderr
                piece = os.read(stream.fileno(), _PIECE)
                if not piece:
                    ready.unregister(stream)
                parts[stream] += piece
                _check(len(parts[stream]))
    return bytes(parts[guard.stdout]), bytes(parts[guard.stderr])


def _check(read: int) -> None:
    if read > READ_MOST:
        raise NotAnswered(f"its answer is longer than {READ_MOST >> 20} MB")


def _end(guard: subprocess.Popen[bytes]) -> None:
    """End the program by its guard; return when both are gone."""
    assert guard.stdin and guard.stdout and guard.stderr
    # A program that has filled its pipe must not keep the guard from reporting: nobody reads on.
    for stream in (guard.stdin, guard.stdout, guard.stderr):
        with contextlib.suppress(OSError):
            stream.close()
    engine.exit_code(guard, GRACE_S + GONE_S)


def page(host: str, port: int, path: str, deadline: float) -> str:
    """Return the body of a page that is answered with 200. Raises NotAnswered."""
    connection = http.client.HTTPConnection(host, port, timeout=left_s(deadline))
    read = bytearray()
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        answer = connection.getresponse()
        if answer.status != http.HTTPStatus.OK:
            raise NotAnswered(f"{path} is answered with {answer.status}")
        while piece := answer.read1(_PIECE):
            read += piece
            _check(len(read))
            left_s(deadline)
    except (OSError, http.client.HTTPException) as error:
        raise NotAnswered(f"{host} port {port}: {error}") from None
    finally:
        connection.close()
    return read.decode("utf-8", "replace")
