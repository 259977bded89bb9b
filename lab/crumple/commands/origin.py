"""Where the loads of a command come from: this machine, or the load hosts that --from names."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crumple import engine, project
from crumple.engine import Engine, LoadSource
from crumple.errors import UsageError
from crumple.load.load_flags import FromFlags
from crumple.machine import load_machine
from crumple.machine.load_machine import LoadMachine

if TYPE_CHECKING:
    from crumple.documents.loaded_from import LoadedFrom
    from crumple.load_host.load_host import LoadHost
    from crumple.load_host.machine_there import There


@dataclass(frozen=True)
class Origin:
    """Where loads come from. `source`, `loaded_from` None: from this machine."""

    machine: LoadMachine
    source: LoadSource | None = None
    loaded_from: "LoadedFrom | None" = None
    """As a result says it."""

    def engine(self) -> Engine:
        """The engine whose loads come from there. Raises EngineMissing, EngineMismatch, EngineFailed."""
        found = engine.load(project.root())
        return found if self.source is None else replace(found, load_host=self.source)


@contextmanager
def of(flags: FromFlags) -> Iterator[Origin]:
    """Reach what --from names, for all loads of a command. Raises UsageError, LoadHostFailed."""
    if not flags.from_:
        yield Origin(load_machine.this())
        return
    # Imported here because most loads come from this machine.
    from crumple.load_host import where
    from crumple.load_host.load_host import LoadHost

    named = [where.read(text) for text in flags.from_]
    _check_distinct([each.text for each in named])
    program = engine.load(project.root()).path
    with ExitStack() as stack:
        yield _reached([stack.enter_context(LoadHost(each, program)) for each in named])


def _check_distinct(texts: Sequence[str]) -> None:
    """Return if no load host is named twice. Raises UsageError."""
    if twice := next((text for text in texts if texts.count(text) > 1), None):
        raise UsageError(f"--from {twice} is given twice", "name each load host once")


def _reached(hosts: "Sequence[LoadHost]") -> Origin:
    """Return the load hosts as one origin. Raises LoadHostFailed, LoadHostLost, EngineFailed."""
    from concurrent.futures import ThreadPoolExecutor

    from crumple.documents.loaded_from import LoadedFrom
    from crumple.load_host import machine_there
    from crumple.load_host.several_hosts import SeveralHosts

    source: LoadSource = hosts[0] if len(hosts) == 1 else SeveralHosts(hosts)
    with ThreadPoolExecutor(len(hosts)) as pool:
        found = list(pool.map(machine_there.reached, hosts))
    stated = [_stated(each) for each in found]
    whole = stated[0] if len(stated) == 1 else LoadedFrom.several(source.name, stated)
    return Origin(machine_there.of_several(found, source.name), source, whole)


def _stated(there: "There") -> "LoadedFrom":
    """Return a load host as a result says it."""
    from crumple.documents.loaded_from import LoadedFrom

    machine = there.machine()
    return LoadedFrom(
        where=there.name,
        cores=len(machine.cores),
        cpu_model=there.facts.cpu_model,
        kernel=there.facts.kernel,
        cpu_quota_cores=there.facts.cpu_quota_cores,
        round_trip_ns=there.round_trip_ns,
        is_apart=machine.is_apart,
    )
