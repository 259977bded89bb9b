"""Starts a server by a command of the user's, which takes the port by `{port}` or PORT.

{port} in the command, and PORT in its environment, stand for the port to listen on. `servers` starts those
that have a folder with a server.toml.
"""

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from crumple.errors import ServerFailed, UsageError
from crumple.machine import guard, process_tree
from crumple.machine.guard import Guarded
from crumple.subject import servers
from crumple.subject.servers import StartedServer

PORT = "{port}"
# The most characters that are shown of the last line it wrote.
WROTE_MAX = 300
LISTENS = "let it listen on the port that {port} in the command, or PORT in its environment, stands for"


def check(command: Sequence[str]) -> None:
    """Return if there is such a command. Raises UsageError."""
    if shutil.which(command[0]) is None:
        raise UsageError(f"{command[0]}: there is no such command", "write it as the shell finds it")


@contextmanager
def start(
    command: Sequence[str],
    port: int | None = None,
    cores: tuple[int, ...] = (),
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[StartedServer]:
    """Run the command until the `with` ends. `port` None: a free one. Raises ServerFailed.

    `cores`: those it may use; empty: all. `folder`: where it runs; None: in the working folder.
    `environment`: variables beside those of this process.
    """
    chosen = process_tree.free_port() if port is None else port
    filled = [word.replace(PORT, str(chosen)) for word in command]
    began_s = time.monotonic()
    guarded = guard.launch(
        "start",
        filled,
        cwd=folder or Path.cwd(),
        env={**os.environ, **(environment or {}), "PORT": str(chosen)},
        cores=cores,
        scratch=servers.made_scratch(),
    )
    try:
        _await_answer(guarded, chosen)
        address = f"{process_tree.HOST}:{chosen}"
        yield StartedServer(address, guarded.pid, time.monotonic() - began_s, {}, guarded)
    finally:
        guarded.end()


def _await_answer(guarded: Guarded, port: int) -> None:
    """Return at the first answer. Raises ServerFailed with the last line that the command wrote."""
    try:
        process_tree.await_answer(guarded, port)
    except ServerFailed as failed:
        lines = [line.strip() for line in failed.output_tail if line.strip()]
        wrote = f"; the last it wrote: {lines[-1][:WROTE_MAX]}" if lines else ""
        remedy = failed.remedy or ("" if guarded.ended(0) else LISTENS)
        raise ServerFailed(failed.step, f"{failed.message}{wrote}", failed.output_tail, remedy) from failed
