"""A start of a server whose answers were checked, with the database that its workload needs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from crumple.subject import answer_check, servers
from crumple.subject.build import Built
from crumple.subject.server_toml import Setting
from crumple.subject.servers import StartedServer
from crumple.subject.workload import Value, Workload


@contextmanager
def start(
    built: Built,
    *,
    cores: tuple[int, ...],
    settings: Mapping[str, Setting],
    workload: Workload | None,
    parameters: Mapping[str, Value],
) -> Iterator[StartedServer]:
    """Run the server until the `with` ends. `workload` None: nothing is known of its answers to check them.

    Raises ServerFailed, WrongAnswer, DatabaseMissing and DatabaseFailed.
    """
    # Imported here because the search of a URL needs no database, and may not have its packages.
    from crumple.subject import database

    asks = workload is not None and workload.database is not None
    with (
        database.on_demand() as databases,
        servers.start(
            built,
            cores=cores,
            settings=settings,
            environment=databases.ready(cores).environment() if asks else {},
        ) as running,
    ):
        if workload is not None:
            keeps = built.description.keeps_connections(running.settings)
            answer_check.answers(running.address, workload, parameters, keeps=keeps)
        yield running
