"""Make the servers of a run ready before its first trial: find, check and build each, or say why not.

All of this happens before the first measurement, so that no compiler disturbs one. A server is one of the
project's, a folder elsewhere that has a server.toml, or one that runs already, named by its URL.
"""

import ipaddress
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from crumple.errors import CrumpleError, ServerFailed, UsageError
from crumple.load import addresses, target
from crumple.load.load_flags import TargetFlags
from crumple.machine import alone, load_machine, process_tree
from crumple.run.store import Failure
from crumple.study.study import Experiment
from crumple.subject import answer_check, server_toml, servers
from crumple.subject.server_toml import ServerDescription, Setting
from crumple.subject.workload import Workload


@dataclass(frozen=True)
class Elsewhere:
    """A server that runs already, which crumple neither starts nor stops."""

    url: str
    address: str
    """The form is "ip:port"."""


@dataclass(frozen=True)
class Brought:
    """A server of the user's."""

    label: str
    """The folder's name, or host and port."""
    place: str
    """The folder or URL."""
    what: ServerDescription | Elsewhere


@dataclass(frozen=True)
class Lent:
    """A server that runs already, as one trial uses it."""

    address: str
    pid: int | None
    """None: its process is not known."""
    start_s: None = None
    settings: dict[str, Setting] = field(default_factory=dict)

    def output_tail(self) -> list[str]:
        """Return nothing: its output does not come to crumple."""
        return []

    def alive(self) -> bool:
        """Return True: the check of its answers shows whether it is alive."""
        return True

    def suspend(self) -> None:
        """Do nothing. CPU time that it uses while other servers are measured counts as disturbance."""

    def wake(self) -> None:
        """Do nothing: it was never suspended."""

    def files_left(self) -> int:
        """Return 0: crumple does not know where it writes its files."""
        return 0


def read(place: str, known: Collection[str]) -> Brought:
    """Return the server that a folder or URL names. `known`: names taken. Raises UsageError, FileInvalid."""
    brought = _by_url(place) if "://" in place else _in_folder(Path(place))
    if brought.label in known:
        raise UsageError(
            f"--server {place}: a server named {brought.label} already exists", "rename the folder"
        )
    return brought


def start(
    built: servers.Built | Elsewhere,
    *,
    cores: tuple[int, ...],
    settings: Mapping[str, Setting],
    environment: Mapping[str, str] | None = None,
) -> AbstractContextManager[servers.StartedServer | Lent]:
    """Start a server as `servers.start` does; one that runs already is used as it is."""
    if isinstance(built, Elsewhere):
        return _lend(built)
    return servers.start(built, cores=cores, settings=settings, environment=environment)


def workloads_answered(
    elsewhere: Elsewhere, experiments: Collection[Experiment], workloads: Mapping[str, Workload]
) -> set[str]:
    """Return the workloads of the experiments that it answers as expected. Raises CrumpleError if none."""
    asked = {each.workload: each.parameters for each in experiments}
    asked |= {each.canary.workload: each.canary.parameters for each in experiments if each.canary}
    right, wrong = set(), ""
    for name, parameters in asked.items():
        try:
            answer_check.answers(elsewhere.address, workloads[name], parameters)
            right.add(name)
        except CrumpleError as error:
            wrong = wrong or str(error)
    if not right:
        raise CrumpleError(f"{elsewhere.url} answers no workload of the study as expected: {wrong}")
    return right


@contextmanager
def _lend(elsewhere: Elsewhere) -> Iterator[Lent]:
    yield Lent(elsewhere.address, _pid(elsewhere.address))


def _in_folder(folder: Path) -> Brought:
    if not (folder / server_toml.FILE).is_file():
        raise UsageError(
            f"--server {folder}: there is no {server_toml.FILE}",
            "name a folder that has one, or the URL of a running server: http://127.0.0.1:8080",
        )
    folder = folder.resolve()
    description = server_toml.load(folder)
    return Brought(description.name, str(folder), description)


def _by_url(url: str) -> Brought:
    # Allow remote addresses here: they are refused below, with a message that fits --server.
    resolved = target.resolve(url, TargetFlags(allow_remote=True))
    address = resolved.target.address
    if resolved.target.tls is not None:
        raise UsageError(f"--server {url}: studies use plain HTTP", "write http://")
    if address.startswith("["):
        raise UsageError(f"--server {url}: studies use IPv4", "write http://127.0.0.1 and the port")
    if resolved.path != "/":
        raise UsageError(
            f"--server {url}: the path comes from the workload", f"write http://{resolved.target.host}"
        )
    if not addresses.is_harmless(ipaddress.ip_address(address.rpartition(":")[0].strip("[]"))):
        raise UsageError(
            f"--server {url}: {address} is neither a loopback nor a private address",
            "to load it anyway: crumple load --allow-remote",
        )
    return Brought(resolved.target.host, url.rstrip("/"), Elsewhere(url.rstrip("/"), address))


def _pid(address: str) -> int | None:
    """Return the process that listens there; None if it is on another machine or we may not inspect it."""
    host, _, port = address.rpartition(":")
    if not load_machine.is_own(ipaddress.ip_address(host.strip("[]"))):
        return None
    try:
        return process_tree.owner(int(port))
    except UsageError:
        return None


class ReadyWatcher(Protocol):
    """Receives the events of making servers ready."""

    def preparing(self, server: str) -> None:
        """A server is being built, which may take minutes the first time."""

    def skipped(self, server: str, reason: str) -> None:
        """None of this server's trials can be tried on this machine; `reason` includes the remedy."""

    def not_built(self, server: str, reason: str) -> None:
        """The build of this server failed, so all its trials count as failed."""

    def waiting(self) -> None:
        """Another crumple measures on this machine, and this one waits for it."""


@dataclass(frozen=True)
class ReadyServer:
    """A server that is built or runs already (`built`), or the reason why it is not ready (`refusal`)."""

    description: ServerDescription | None
    versions: Mapping[str, str]
    built: servers.Built | Elsewhere | None
    refusal: Failure | None


def make_ready(
    labels: Collection[str],
    described: Mapping[str, ServerDescription],
    running: Mapping[str, Elsewhere],
    watcher: ReadyWatcher,
) -> dict[str, ReadyServer]:
    """Return label → server. All variants of a server are one program, which is built once."""
    found: dict[str, ReadyServer] = {}
    for name in sorted({server_toml.server_of(label) for label in labels}):
        if name in running:
            found[name] = ReadyServer(None, {}, running[name], None)
        else:
            found[name] = _make_ready(name, described.get(name), watcher)
    return {label: found[server_toml.server_of(label)] for label in labels}


def _make_ready(name: str, description: ServerDescription | None, watcher: ReadyWatcher) -> ReadyServer:
    if description is None:
        failure = Failure(step="setup", message=f"server {name} no longer exists")
        return _refuse(name, None, {}, failure, watcher)
    readiness = servers.readiness(description)
    if isinstance(readiness, servers.Missing):
        message = f"{readiness.reason}; {readiness.remedy}" if readiness.remedy else readiness.reason
        return _refuse(name, description, {}, Failure(step="setup", message=message), watcher)
    versions = servers.versions(description)
    if not servers.is_built(description):
        watcher.preparing(name)
    with alone.turn(watcher.waiting):
        try:
            return ReadyServer(description, versions, servers.build(description), None)
        except CrumpleError as error:
            tail = error.output_tail if isinstance(error, ServerFailed) else ()
            failure = Failure(step="build", message=str(error), output_tail=tail)
    return _refuse(name, description, versions, failure, watcher)


def _refuse(
    name: str,
    description: ServerDescription | None,
    versions: Mapping[str, str],
    failure: Failure,
    watcher: ReadyWatcher,
) -> ReadyServer:
    say = watcher.not_built if failure.step == "build" else watcher.skipped
    say(name, failure.message)
    return ReadyServer(description, versions, None, failure)
