"""The servers of a run, made ready before its first trial: found, checked, built; or why that cannot be.

All of it happens before anything is measured, so that no compiler disturbs a measurement. A server may be the
project's, a folder elsewhere with a server.toml, or one that runs already, by URL.
"""

import ipaddress
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from crumple.errors import CrumpleError, ServerFailed, UsageError
from crumple.load import target
from crumple.machine import alone, process_tree
from crumple.run.store import Failure
from crumple.study.study import Experiment
from crumple.subject import answer_check, server_toml, servers
from crumple.subject.server_toml import ServerDescription, Setting
from crumple.subject.workload import Workload


@dataclass(frozen=True)
class Elsewhere:
    """A server that runs already, which nobody here starts or stops. `address`: "ip:port"."""

    url: str
    address: str


@dataclass(frozen=True)
class Brought:
    """One's own server. `label`: the folder's name, or host and port; `place`: the folder or URL itself."""

    label: str
    place: str
    what: ServerDescription | Elsewhere


@dataclass(frozen=True)
class Lent:
    """A server that runs already, for the length of a trial. `pid` None: whose process it is is not known."""

    address: str
    pid: int | None
    start_s: None = None
    settings: dict[str, Setting] = field(default_factory=dict)

    def output_tail(self) -> list[str]:
        """It writes elsewhere."""
        return []

    def alive(self) -> bool:
        """Its answers will tell."""
        return True

    def suspend(self) -> None:
        """Nobody here suspends it. What it does by itself while others are measured counts as others'."""

    def wake(self) -> None:
        """It was never suspended."""

    def files_left(self) -> int:
        """Its files are its own affair."""
        return 0


def read(place: str, known: Collection[str]) -> Brought:
    """What the user brings; `known`: names that are taken. Raises UsageError, FileInvalid."""
    brought = _by_url(place) if "://" in place else _in_folder(Path(place))
    if brought.label in known:
        raise UsageError(f"--server {place}: there is a server {brought.label} already", "rename its folder")
    return brought


def started(
    built: servers.Built | Elsewhere,
    *,
    cores: tuple[int, ...],
    settings: Mapping[str, Setting],
    environment: Mapping[str, str] | None = None,
) -> AbstractContextManager[servers.Running | Lent]:
    """As `servers.start`; what runs already is lent."""
    if isinstance(built, Elsewhere):
        return _lent(built)
    return servers.start(built, cores=cores, settings=settings, environment=environment)


def answered(
    elsewhere: Elsewhere, experiments: Collection[Experiment], workloads: Mapping[str, Workload]
) -> set[str]:
    """The workloads of the experiments that it answers rightly. Raises CrumpleError if none."""
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
        raise CrumpleError(f"{elsewhere.url} answers no workload of the study: {wrong}")
    return right


@contextmanager
def _lent(elsewhere: Elsewhere) -> Iterator[Lent]:
    yield Lent(elsewhere.address, _pid(elsewhere.address))


def _in_folder(folder: Path) -> Brought:
    if not (folder / server_toml.FILE).is_file():
        raise UsageError(
            f"--server {folder}: there is no {server_toml.FILE}",
            "name a folder that has one, or the URL of a server that runs: http://127.0.0.1:8080",
        )
    folder = folder.resolve()
    description = server_toml.load(folder)
    return Brought(description.name, str(folder), description)


def _by_url(url: str) -> Brought:
    # Whether a stranger's server may be loaded is decided below, in words that fit.
    resolved = target.resolve(url, allow_remote=True)
    address = resolved.target.address
    if resolved.target.tls is not None:
        raise UsageError(f"--server {url}: a study asks over plain HTTP", "write http://")
    if address.startswith("["):
        raise UsageError(f"--server {url}: a study asks over IPv4", "write http://127.0.0.1 and the port")
    if resolved.path != "/":
        raise UsageError(
            f"--server {url}: the workload says the path", f"write http://{resolved.target.host}"
        )
    if not target.is_harmless(ipaddress.ip_address(address.rpartition(":")[0].strip("[]"))):
        raise UsageError(
            f"--server {url}: {address} is neither a loopback nor a private address",
            "to load it nevertheless: crumple load --allow-remote",
        )
    return Brought(resolved.target.host, url.rstrip("/"), Elsewhere(url.rstrip("/"), address))


def _pid(address: str) -> int | None:
    """The process that listens there, if it is on this machine and we may look at it."""
    host, _, port = address.rpartition(":")
    if not target.is_own(ipaddress.ip_address(host.strip("[]"))):
        return None
    try:
        return process_tree.owner(int(port))
    except UsageError:
        return None


class Watcher(Protocol):
    """Who is told how it goes on."""

    def preparing(self, server: str) -> None:
        """A server is being built, which may take minutes the first time."""

    def skipped(self, server: str, reason: str) -> None:
        """None of this server's trials can be tried; `reason` holds the remedy."""

    def not_built(self, server: str, reason: str) -> None:
        """The same, but that counts as their failure: it could have been."""

    def waiting(self) -> None:
        """Another crumple measures on this machine; it is waited for."""


@dataclass(frozen=True)
class Ready:
    """A server as its trials find it: built, or running already, or why not."""

    description: ServerDescription | None
    versions: Mapping[str, str]
    built: servers.Built | Elsewhere | None
    refusal: Failure | None


def made_ready(
    labels: Collection[str],
    described: Mapping[str, ServerDescription],
    running: Mapping[str, Elsewhere],
    watcher: Watcher,
) -> dict[str, Ready]:
    """Label → server. All variants of a server are one program, which is built once."""
    found: dict[str, Ready] = {}
    for name in sorted({server_toml.server_of(label) for label in labels}):
        if name in running:
            found[name] = Ready(None, {}, running[name], None)
        else:
            found[name] = _made_ready(name, described.get(name), watcher)
    return {label: found[server_toml.server_of(label)] for label in labels}


def _made_ready(name: str, description: ServerDescription | None, watcher: Watcher) -> Ready:
    if description is None:
        failure = Failure(step="setup", message=f"there is no server {name} any more")
        return _refused(name, None, {}, failure, watcher)
    readiness = servers.readiness(description)
    if isinstance(readiness, servers.Missing):
        message = f"{readiness.reason}; {readiness.remedy}" if readiness.remedy else readiness.reason
        return _refused(name, description, {}, Failure(step="setup", message=message), watcher)
    versions = servers.versions(description)
    if not servers.is_built(description):
        watcher.preparing(name)
    with alone.turn(watcher.waiting):
        try:
            return Ready(description, versions, servers.build(description), None)
        except CrumpleError as error:
            tail = error.output_tail if isinstance(error, ServerFailed) else ()
            failure = Failure(step="build", message=str(error), output_tail=tail)
    return _refused(name, description, versions, failure, watcher)


def _refused(
    name: str,
    description: ServerDescription | None,
    versions: Mapping[str, str],
    failure: Failure,
    watcher: Watcher,
) -> Ready:
    say = watcher.not_built if failure.step == "build" else watcher.skipped
    say(name, failure.message)
    return Ready(description, versions, None, failure)
