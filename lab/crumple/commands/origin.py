"""Where the loads of a command come from: this machine, or the load host that --from names."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crumple import engine, project
from crumple.engine import Engine
from crumple.load.load_flags import FromFlags
from crumple.machine import load_machine
from crumple.machine.load_machine import LoadMachine

if TYPE_CHECKING:
    from crumple.documents.loaded_from import LoadedFrom
    from crumple.load_host.load_host import LoadHost


@dataclass(frozen=True)
class Origin:
    """Where loads come from. `host`, `loaded_from` None: from this machine."""

    machine: LoadMachine
    host: "LoadHost | None" = None
    loaded_from: "LoadedFrom | None" = None
    """As a result says it."""

    def engine(self) -> Engine:
        """The engine whose loads come from there. Raises EngineMissing, EngineMismatch, EngineFailed."""
        found = engine.load(project.root())
        return found if self.host is None else replace(found, load_host=self.host)


@contextmanager
def of(flags: FromFlags) -> Iterator[Origin]:
    """Reach what --from names, for all loads of a command. Raises UsageError, LoadHostFailed."""
    if flags.from_ is None:
        yield Origin(load_machine.this())
        return
    # Imported here because most loads come from this machine.
    from crumple.documents.loaded_from import LoadedFrom
    from crumple.load_host import machine_there, where
    from crumple.load_host.load_host import LoadHost

    named = where.read(flags.from_)
    with LoadHost(named, engine.load(project.root()).path) as host:
        there = machine_there.reached(host)
        machine = there.machine()
        yield Origin(
            machine,
            host,
            LoadedFrom(
                where=host.name,
                cores=len(machine.cores),
                cpu_model=there.facts.cpu_model,
                kernel=there.facts.kernel,
                cpu_quota_cores=there.facts.cpu_quota_cores,
                round_trip_ns=there.round_trip_ns,
                is_apart=machine.is_apart,
            ),
        )
