"""Finds, checks, builds, starts and stops servers.

    built = servers.build(description)
    with servers.start(built, cores=(0,), settings={}) as running: ...

Each start is a fresh process on a free loopback port, with a scratch folder that holds the file to hash
and a folder for the server's own files. When the `with` ends, the process, its descendants and its scratch
folder are gone.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crumple.errors import FileInvalid, Problem, ServerFailed, UsageError
from crumple.machine import guard, load_machine, process_tree
from crumple.machine.guard import Guarded
from crumple.machine.leftovers import ScratchFolder
from crumple.parsing import did_you_mean
from crumple.subject import server_toml, workload
from crumple.subject.build import (
    Built,
    Installed,
    Missing,
    base_environment,
    build,
    is_built,
    program,
    readiness,
    versions,
)
from crumple.subject.server_toml import ServerDescription, Setting, filled

HASH_FILE = "hash.bin"
FILES_FOLDER = "files"
# Seconds that a server has to remove the files that were in use when a load ended.
SETTLED_S = 2.0
# Seconds between two counts of these files.
POLL_S = 0.02


def made_scratch() -> ScratchFolder:
    """A new scratch folder with both in it. Raises ServerFailed("start") if they cannot be written."""
    try:
        folder = ScratchFolder.made()
        try:
            _fill(folder.path)
        except BaseException:
            # The caller does not have the folder yet, and so cannot remove it.
            folder.remove()
            raise
    except OSError as error:
        where = error.filename or "there"
        message = f"cannot make a scratch folder: {where}: {error.strerror}"
        raise ServerFailed(
            "start", message, remedy="free some space, or name another place in TMPDIR"
        ) from None
    return folder


def _fill(folder: Path) -> None:
    files = folder / FILES_FOLDER
    (folder / HASH_FILE).write_bytes(workload.hash_content())
    files.mkdir()
    if os.geteuid() == 0:
        # A server that root starts may run its workers as another user. They can use both paths, but cannot
        # list the scratch folder.
        folder.chmod(0o711)
        (folder / HASH_FILE).chmod(0o644)
        files.chmod(0o1777)


def scratch_environment(scratch: Path) -> dict[str, str]:
    """The environment variables that hold both paths for a server."""
    return {"HASH_FILE": str(scratch / HASH_FILE), "FILES_FOLDER": str(scratch / FILES_FOLDER)}


def files_left(scratch: Path, within_s: float = SETTLED_S) -> int:
    """How many files remain in the server's folder; waits up to `within_s` for those in use to be removed."""
    deadline = time.monotonic() + within_s
    while (left := _count(scratch / FILES_FOLDER)) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return left


def files_fault(left: int, connections: int) -> str:
    """A sentence about `left` files; empty if all may have been in use when the load ended."""
    if left <= connections:
        return ""
    return f"the server left {left:,} of its files behind; it must remove each with its answer"


def _count(folder: Path) -> int:
    try:
        with os.scandir(folder) as files:
            return sum(1 for _ in files)
    except FileNotFoundError:
        return 0


# How many ports are tried, since another program may take one after it was found free.
PORTS_TRIED = 3


@dataclass(frozen=True)
class StartedServer:
    """A server that answers. `address`: "ip:port"; `pid`: of its first process.

    `start_s`: the time from launch to the first answer.
    """

    address: str
    pid: int
    start_s: float
    settings: dict[str, Setting]
    guarded: Guarded

    def output_tail(self) -> list[str]:
        """The last lines it wrote."""
        return self.guarded.output_tail()

    def alive(self) -> bool:
        """Whether its first process still runs."""
        return self.guarded.ended() is None

    def suspend(self) -> None:
        """Freeze its processes until `wake`: it uses no CPU and does not answer."""
        process_tree.suspend(self.guarded.guard_pid)

    def wake(self) -> None:
        """Resume its processes."""
        process_tree.wake(self.guarded.guard_pid)

    def files_left(self) -> int:
        """How many of the files that it made for answers it has not removed."""
        return files_left(self.guarded.scratch)


@contextmanager
def start(
    built: Built,
    *,
    cores: tuple[int, ...],
    settings: Mapping[str, Setting],
    environment: Mapping[str, str] | None = None,
) -> Iterator[StartedServer]:
    """Run the server on `cores`, with `settings` over its defaults, until the `with` ends.

    `environment`: further variables, such as a database's. Raises ServerFailed("start" or "stop"), and
    UsageError for a setting that the server does not have.
    """
    running = _launch(built, cores, settings_with(built.description, settings), environment or {})
    try:
        yield running
    finally:
        running.guarded.end()


def refuse_load_host(where: Sequence[str] | None, label: str) -> None:
    """Return if the load of a server comes from this machine. Raises UsageError.

    `where`: the load hosts, as --from names them; None: it is this machine.
    """
    if where:
        raise UsageError(
            f"--from {where[0]}: {label} listens on loopback, as servers with a server.toml do, where no "
            "other machine reaches it",
            "give its URL, or a command that starts it: -- COMMAND {host} {port}",
        )


def settings_with(description: ServerDescription, given: Mapping[str, Setting]) -> dict[str, Setting]:
    """The server's settings, `given` ones over the defaults. Raises UsageError for an unknown one."""
    for name in given:
        if name not in description.settings:
            remedy = did_you_mean(name, description.settings)
            raise UsageError(f"server {description.name} has no setting {name}", remedy)
    return {name: given.get(name, setting.default) for name, setting in description.settings.items()}


def _launch(
    built: Built, cores: tuple[int, ...], settings: dict[str, Setting], environment: Mapping[str, str]
) -> StartedServer:
    for attempt in range(1, PORTS_TRIED + 1):
        port = process_tree.free_port()
        began = time.monotonic()
        guarded = _command(built, cores, settings, environment, port)
        try:
            process_tree.await_answer(guarded, port)
        except BaseException as error:
            guarded.end()
            # Another program may have taken the port after it was found free.
            if isinstance(error, ServerFailed) and process_tree.is_taken(port) and attempt < PORTS_TRIED:
                continue
            raise
        return StartedServer(
            address=f"{load_machine.HOST}:{port}",
            pid=guarded.pid,
            start_s=time.monotonic() - began,
            settings=settings,
            guarded=guarded,
        )
    raise AssertionError("the last attempt returns or raises")


def _command(
    built: Built,
    cores: tuple[int, ...],
    settings: dict[str, Setting],
    environment: Mapping[str, str],
    port: int,
) -> Guarded:
    written = built.description.start
    folder = made_scratch()
    values = {
        "port": str(port),
        "scratch": str(folder.path),
        **built.executables,
        **{name: str(value) for name, value in settings.items()},
    }

    given = {**base_environment(), **scratch_environment(folder.path), **environment}
    own = {name: filled(value, values) for name, value in written.env.items()}
    command = [filled(part, values) for part in written.command]
    return guard.launch("start", command, cwd=built.folder, env={**given, **own}, cores=cores, scratch=folder)


__all__ = [
    "Built",
    "Installed",
    "Missing",
    "StartedServer",
    "build",
    "find",
    "is_built",
    "names",
    "program",
    "readiness",
    "start",
    "versions",
]


def names(root: Path) -> list[str]:
    """Return the name of every server of the project, even if its description cannot be read."""
    return sorted(file.parent.name for file in (root / "servers").glob(f"*/{server_toml.FILE}"))


def find(root: Path) -> dict[str, ServerDescription]:
    """Name → server, for all servers of the project. Raises FileInvalid with the problems of all of them."""
    found: dict[str, ServerDescription] = {}
    problems: list[Problem] = []
    for name in names(root):
        try:
            found[name] = server_toml.load(root / "servers" / name)
        except FileInvalid as invalid:
            problems += invalid.problems
    if problems:
        raise FileInvalid(problems)
    return found
