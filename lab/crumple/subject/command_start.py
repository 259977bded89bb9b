"""Starts a server by a command of the user's, which says the port in its own way.

{port} in the command, and PORT in its environment, stand for the port to listen on. `servers` starts those
that have a folder with a server.toml.
"""

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from crumple.errors import UsageError
from crumple.machine import guard, process_tree
from crumple.subject import servers
from crumple.subject.servers import Running

PORT = "{port}"


def check(command: Sequence[str]) -> None:
    """Return if there is such a command. Raises UsageError."""
    if shutil.which(command[0]) is None:
        raise UsageError(f"{command[0]}: there is no such command", "write it as the shell finds it")


@contextmanager
def started(
    command: Sequence[str], port: int | None = None, cores: tuple[int, ...] = ()
) -> Iterator[Running]:
    """Run the command until the `with` ends. `port` None: a free one. Raises ServerFailed.

    `cores`: those it may use; empty: all.
    """
    chosen = process_tree.free_port() if port is None else port
    filled = [word.replace(PORT, str(chosen)) for word in command]
    environment = {**os.environ, "PORT": str(chosen)}
    began_s = time.monotonic()
    guarded = guard.launch(
        "start", filled, cwd=Path.cwd(), env=environment, cores=cores, scratch=servers.made_scratch()
    )
    try:
        process_tree.await_answer(guarded, chosen)
        address = f"{process_tree.HOST}:{chosen}"
        yield Running(address, guarded.pid, time.monotonic() - began_s, {}, guarded)
    finally:
        guarded.end()
