"""Asks a program of this machine, or whoever listens at an address; bounded in time and in what is read.

A program runs under the engine's guard, so that it ends with the lab, however the lab ends. No shell sees the
command. A password goes into its environment, or over the socket, never among its arguments.
"""

import contextlib
import json
import os
import re
import selectors
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from crumple import engine, project
from crumple.asked.said import NotAnswered

LIMIT_S = 3.0
# A thread dump of ten thousand threads has about this size.
READ_MOST = 4 << 20
# From SIGTERM to SIGKILL. A program that only reads loses nothing.
GRACE_S = 0.2
GONE_S = 2.0
_PIECE = 1 << 16
# What a shell reads as more than itself in double quotes.
_ACTS_IN_DOUBLE = re.compile(r'["$`\\!]')


def until() -> float:
    """By when a source has to have answered that is asked from now on."""
    return time.monotonic() + LIMIT_S


def left_s(deadline: float) -> float:
    """How much time is left; never 0, which a socket takes for not waiting. Raises NotAnswered."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise NotAnswered(f"it did not answer within {LIMIT_S:.0f} s")
    return left


def program(name: str, beside: Path | None = None) -> str | None:
    """The path of a program: beside another, or in the PATH; None: it is not installed."""
    if beside is not None and (found := shutil.which(name, path=str(beside.parent))):
        return found
    return shutil.which(name)


def printed(command: Sequence[str], deadline: float, env: Mapping[str, str] | None = None) -> str:
    """What a program prints, on both streams, when it ended with code 0. Raises NotAnswered.

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
        raise NotAnswered(f"{name} could not be started: {last_line(text)}")
    if json.loads(ended[-1])["exit"] != 0:
        raise NotAnswered(f"{name}: {last_line(text).removeprefix(f'{name}: ')}")
    return text


def typed(command: Sequence[str]) -> str:
    """The command as a user could type it: in double quotes where they do, as statements hold single ones."""
    return " ".join(
        f'"{word}"' if "'" in word and not _ACTS_IN_DOUBLE.search(word) else shlex.quote(word)
        for word in command
    )


def last_line(text: str) -> str:
    """The last line of a text that is not empty, and not a frame of Java's."""
    lines = (line.strip() for line in reversed(text.splitlines()) if not line.startswith("\tat "))
    return next(filter(None, lines), "it printed nothing")


def _read(guard: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
    """What the guard reports, and what the program prints, until both have closed. Raises NotAnswered."""
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
    try:
        guard.wait(GRACE_S + GONE_S)
    except subprocess.TimeoutExpired:
        guard.kill()
        guard.wait()


def connected(address: tuple[str, int] | str, deadline: float) -> socket.socket:
    """A connection to a host and port, or to the path of a Unix-domain socket. Raises NotAnswered."""
    try:
        if not isinstance(address, str):
            return socket.create_connection(address, left_s(deadline))
        opened = socket.socket(socket.AF_UNIX)
        opened.settimeout(left_s(deadline))
        try:
            opened.connect(address)
        except OSError:
            opened.close()
            raise
    except OSError as error:
        raise NotAnswered(f"no connection to {_named(address)}: {error}") from None
    return opened


def exchanged(
    opened: socket.socket, sent: bytes, is_whole: Callable[[bytes], bool], deadline: float
) -> bytes:
    """Send bytes and return what comes until it is whole or the other side closes. Raises NotAnswered."""
    read = bytearray()
    try:
        opened.settimeout(left_s(deadline))
        opened.sendall(sent)
        while not is_whole(bytes(read)):
            opened.settimeout(left_s(deadline))
            piece = opened.recv(_PIECE)
            if not piece:
                break
            read += piece
            _check(len(read))
    except TimeoutError:
        raise NotAnswered(f"it did not answer within {LIMIT_S:.0f} s") from None
    except OSError as error:
        raise NotAnswered(f"the connection ended: {error}") from None
    return bytes(read)


def _named(address: tuple[str, int] | str) -> str:
    return address if isinstance(address, str) else f"{address[0]} port {address[1]}"
