"""How each version is reached: started anew each time its site is opened, or a process that runs already.

`readied` builds what crumple starts, before the first load, so that no compiler disturbs one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from crumple import contract
from crumple.contract import TrialRecord
from crumple.errors import CrumpleError, UsageError
from crumple.find.find_plan import CORES_PER_THREAD
from crumple.load import engine_spec, lost, watching
from crumple.load.load_options import Options
from crumple.load.site import RunningServer, Site
from crumple.load.target import Resolved
from crumple.machine import capacity, facts
from crumple.machine.capacity import Placement
from crumple.record import growth, validity
from crumple.record.disturbance import Disturbance, disturbance
from crumple.record.validity import Validity
from crumple.subject import build as built
from crumple.subject import checked_start, command_start, commits, server_toml, servers
from crumple.subject.build import Built
from crumple.subject.servers import StartedServer
from crumple.subject.workload import Value, Workload
from crumple.versus import versions
from crumple.versus.versions import CommandVersion, CommitVersion, ServerVersion, UrlVersion, Version

Telling = Callable[[str], None]


@dataclass(frozen=True)
class CommonRequest:
    """What the versions are asked."""

    requests_at: Callable[[str], tuple[contract.RequestSpec, ...]]
    """Path → requests, with the flags of the command; of a URL the path is its own."""
    path: str | None
    workload: str | None
    """The workload; None: a path is asked for, and nothing is known of the right answer."""
    parameters: Mapping[str, str]
    options: Options


def open_sites(
    compared: Sequence[Version],
    asked: CommonRequest,
    workloads: Callable[[], Mapping[str, Workload]],
    tell: Telling,
    build: str | None,
    kept: ExitStack,
) -> dict[str, Site]:
    """Return letter → site; build what is built. Raises UsageError and CrumpleError.

    `build`: the line of a shell that builds commits in which a command is started; `kept` keeps these.
    """
    with ExitStack() as checkouts:
        described = {each.letter: _describe(each, checkouts, tell) for each in compared}
        own = [server for server in described.values() if server is not None]
        workload = None
        if own and asked.path is None:
            workload = _workload(own, workloads(), asked.workload)
        started_here = not any(isinstance(each.kind, UrlVersion) for each in compared)
        way = _Way(asked, workload, started_here)
        folders = {each.letter: _folder(each, build, kept, tell) for each in compared}
        return {
            each.letter: _site(each, described[each.letter], way, tell, folders[each.letter])
            for each in compared
        }


def _folder(version: Version, build: str | None, kept: ExitStack, tell: Telling) -> Path | None:
    """The folder in which the command of a version is started, built; None: the working folder as it is."""
    kind = version.kind
    if not isinstance(kind, CommandVersion) or not kind.commit:
        return None
    tell(f"checking out {kind.at}")
    folder = kept.enter_context(commits.checked_out(Path.cwd(), kind.commit))
    if build is not None:
        tell(f"building {kind.at}: {build}")
        built.run(("sh", "-c", build), folder)
    return folder


def _describe(version: Version, checkouts: ExitStack, tell: Telling) -> ServerVersion | None:
    kind = version.kind
    if isinstance(kind, CommitVersion):
        tell(f"checking out {kind.label}")
        folder = checkouts.enter_context(commits.checked_out(kind.folder, kind.commit))
        if not (folder / server_toml.FILE).is_file():
            remedy = "name a commit that has it, or start a command: --at COMMIT -- COMMAND"
            raise UsageError(f"{kind.label}: that commit has no {server_toml.FILE}", remedy)
        return replace(versions.of_folder(folder, kind.settings, kind.label), label=kind.label)
    return kind if isinstance(kind, ServerVersion) else None


def _workload(own: Sequence[ServerVersion], known: Mapping[str, Workload], name: str | None) -> Workload:
    """The workload that all servers are asked. Raises UsageError."""
    common = [
        each
        for each in own[0].description.workloads
        if each in known and all(each in server.description.workloads for server in own)
    ]
    if name is not None and name not in common:
        remedy = f"all of them have {', '.join(common)}" if common else "say --path"
        raise UsageError(f"--workload {name}: not every server has it", remedy)
    if not common:
        raise UsageError("the servers have no workload in common", "say with --path what to ask")
    return known[name or common[0]]


@dataclass(frozen=True)
class _Way:
    """How all versions are asked."""

    asked: CommonRequest
    workload: Workload | None
    started_here: bool
    """Whether crumple starts each version, on cores of its own."""

    @property
    def placement(self) -> Placement | None:
        """Cores are chosen only if that is possible for each version alike."""
        if not self.started_here or self.asked.options.machine.is_apart:
            return None
        return "separate" if len(facts.usable_cores()) > 1 else "shared"

    @property
    def cores(self) -> capacity.Cores:
        """The cores of the engine and of each server; empty: all."""
        if self.placement is None:
            return capacity.Cores(engine=(), server=())
        return capacity.cores_for(self.placement, self.threads)

    @property
    def threads(self) -> int:
        """How many threads the engine may have."""
        return self.asked.options.machine.threads_among(CORES_PER_THREAD)

    @property
    def options(self) -> Options:
        """The options of each load on a server that crumple starts."""
        return replace(self.asked.options, cores=self.asked.options.cores or self.cores.engine)

    @property
    def parameters(self) -> dict[str, Value]:
        """The parameters of the workload as typed; the workload checks and converts them."""
        return dict(self.asked.parameters)

    def requests(self) -> tuple[contract.RequestSpec, ...]:
        """What a server is asked that crumple starts."""
        if self.workload is not None:
            return (self.workload.request_with(self.parameters),)
        return self.asked.requests_at(self.asked.path or "/")


def _site(
    version: Version, server: ServerVersion | None, way: _Way, tell: Telling, folder: Path | None
) -> Site:
    if isinstance(version.kind, UrlVersion):
        return _of_url(version, version.kind.resolved, way)
    if server is not None:
        return _of_server(version, server, _build(version, server, tell), way)
    assert isinstance(version.kind, CommandVersion)
    return _of_command(version, version.kind, way, folder)


def _build(version: Version, server: ServerVersion, tell: Telling) -> Built:
    ready = servers.readiness(server.description)
    if isinstance(ready, servers.Missing):
        raise CrumpleError(f"{version.label} cannot run here: {ready.reason}", ready.remedy)
    if not servers.is_built(server.description):
        tell(f"building {version.label} (once; later comparisons reuse it)")
    return servers.build(server.description)


def _of_url(version: Version, resolved: Resolved, way: _Way) -> Site:
    engine_spec.check_listening(resolved.target, way.asked.options.machine)
    options, _ = watching.watch(way.asked.options, resolved)
    options, cores = _watch(options, options.server_pid), engine_spec.cores_of(options.server_pid)
    requests, process = way.asked.requests_at(resolved.path), lost.process(options.server_pid)

    @contextmanager
    def opened() -> Iterator[RunningServer]:
        yield RunningServer(resolved.target, requests, options, process)

    return _site_of(version, opened, way, cores, afresh=False)


def _of_server(version: Version, server: ServerVersion, built: Built, way: _Way) -> Site:
    settings = servers.settings_with(server.description, server.settings)
    requests = way.requests()

    @contextmanager
    def opened() -> Iterator[RunningServer]:
        with checked_start.start(
            built,
            cores=way.cores.server,
            settings=settings,
            workload=way.workload,
            parameters=way.parameters,
        ) as running:
            yield _place(running, requests, way)

    return _site_of(version, opened, way, way.cores.server)


def _of_command(version: Version, command: CommandVersion, way: _Way, folder: Path | None) -> Site:
    requests = way.requests()

    @contextmanager
    def opened() -> Iterator[RunningServer]:
        with command_start.start(
            command.words,
            cores=way.cores.server,
            folder=folder,
            host=way.asked.options.machine.server_host,
        ) as running:
            yield _place(running, requests, way)

    return _site_of(version, opened, way, way.cores.server)


def _place(running: StartedServer, requests: tuple[contract.RequestSpec, ...], way: _Way) -> RunningServer:
    target = contract.Target(address=running.address, host=running.address)
    process = lost.process(running.pid, running.guarded)
    return RunningServer(target, requests, _watch(way.options, running.pid), process)


def _watch(options: Options, server_pid: int | None) -> Options:
    """Return the options with who serves the server's dependencies: they are none of those who disturb it."""
    return replace(options, server_pid=server_pid, dependencies=True)


def _site_of(
    version: Version,
    opened: Callable[[], AbstractContextManager[RunningServer]],
    way: _Way,
    server_cores: tuple[int, ...],
    *,
    afresh: bool = True,
) -> Site:
    asks = way.workload is not None and way.workload.database is not None

    def taken(record: TrialRecord) -> Disturbance:
        # Without those who serve dependencies, what a database uses looks like what others use.
        return disturbance(record, database_ns=None if asks else 0)

    def assess(record: TrialRecord) -> Validity:
        return validity.assess(
            record,
            placement=way.placement,
            server_cores=server_cores,
            disturbance=taken(record),
            unsteady=growth.growth_sentence(record),
            by_figure=True,
        )

    return Site(version.label, opened, afresh, way.threads, server_cores, assess, taken)
