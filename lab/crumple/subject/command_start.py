"""Starts a server by a command of the user's, which takes the port by `{port}` or PORT.

{port} in the command, and PORT in its environment, stand for the port to listen on; {host}, and HOST where
the load comes from another machine, for the address. `servers` starts those that have a folder with a
server.toml.
"""

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from crumple.errors import ServerFailed, UsageError
from crumple.machine import guard, load_machine, process_tree, tcp_tables
from crumple.machine.guard import Guarded
from crumple.machine.load_machine import LoadMachine
from crumple.subject import servers
from crumple.subject.servers import StartedServer

PORT, HOST = "{port}", "{host}"
# The most characters that are shown of the last line it wrote.
WROTE_MAX = 300
LISTENS = "let it listen on the port that {port} in the command, or PORT in its environment, stands for"
LISTENS_ON = "let it listen on the address that {host} in the command, or HOST in its environment, stands for"


def check(command: Sequence[str]) -> None:
    """Return if there is such a command. Raises UsageError."""
    if shutil.which(command[0]) is None:
        raise UsageError(f"{command[0]}: there is no such command", "write it as the shell finds it")


def check_reached(machine: LoadMachine) -> None:
    """Return if it is known where that machine reaches a server that is started here. Raises UsageError."""
    if not machine.server_host:
        raise UsageError(
            f"--from {machine.where}: by which address it reaches this machine is not known here",
            "start the server yourself, and give its URL",
        )


@contextmanager
def start(
    command: Sequence[str],
    port: int | None = None,
    cores: tuple[int, ...] = (),
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    host: str = load_machine.HOST,
) -> Iterator[StartedServer]:
    """Run the command until the `with` ends. `port` None: a free one. Raises ServerFailed.

    `cores`: those it may use; empty: all. `folder`: where it runs; None: in the working folder.
    `environment`: variables beside those of this process. `host`: the address to listen on.
    """
    chosen = process_tree.free_port() if port is None else port
    filled = [word.replace(PORT, str(chosen)).replace(HOST, host) for word in command]
    # A program may take HOST of the user's environment for something else, so only --from changes it.
    given = {} if host == load_machine.HOST else {"HOST": host}
    began_s = time.monotonic()
    guarded = guard.launch(
        "start",
        filled,
        cwd=folder or Path.cwd(),
        env={**os.environ, **given, **(environment or {}), "PORT": str(chosen)},
        cores=cores,
        scratch=servers.made_scratch(),
    )
    try:
        _await_answer(guarded, chosen, host)
        address = f"[{host}]:{chosen}" if ":" in host else f"{host}:{chosen}"
        yield StartedServer(address, guarded.pid, time.monotonic() - began_s, {}, guarded)
    finally:
        guarded.end()


def _await_answer(guarded: Guarded, port: int, host: str) -> None:
    """Return at the first answer. Raises ServerFailed with the last line that the command wrote."""
    try:
        process_tree.await_answer(guarded, port, host)
    except ServerFailed as failed:
        lines = [line.strip() for line in failed.output_tail if line.strip()]
        wrote = f"; the last it wrote: {lines[-1][:WROTE_MAX]}" if lines else ""
        # It may listen on loopback, where the load does not reach it.
        where = LISTENS if host == load_machine.HOST or not tcp_tables.listeners(port) else LISTENS_ON
        remedy = failed.remedy or ("" if guarded.ended(0) else where)
        raise ServerFailed(failed.step, f"{failed.message}{wrote}", failed.output_tail, remedy) from failed
