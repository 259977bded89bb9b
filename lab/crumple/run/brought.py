"""Servers that are not the project's: a folder anywhere with a server.toml, or one that runs already, by URL.

What is brought is looked at here, and the one that runs is lent to a trial; which trials it gets is
`study.selection`'s to say.
"""

import ipaddress
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from crumple.errors import CrumpleError, UsageError
from crumple.load import target
from crumple.processes import listening
from crumple.server import server, servers
from crumple.server.server import ServerDescription, Setting
from crumple.study.study import Experiment
from crumple.verify import verify
from crumple.workload.workload import Workload


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
            verify.answers(elsewhere.address, workloads[name], parameters)
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
    if not (folder / server.FILE).is_file():
        raise UsageError(
            f"--server {folder}: there is no {server.FILE}",
            "name a folder that has one, or the URL of a server that runs: http://127.0.0.1:8080",
        )
    folder = folder.resolve()
    description = server.load(folder)
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
        return listening.owner(int(port))
    except UsageError:
        return None
