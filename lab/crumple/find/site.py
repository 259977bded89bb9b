"""Where the search runs its loads: a URL as it is, or a server of the project, each start a fresh process.

This starts servers and looks at processes; `conduct` decides what is loaded, and how much.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from crumple import contract
from crumple.contract import TrialRecord
from crumple.find.conduct import Place, Site
from crumple.find.find_plan import ServerPlan, UrlPlan
from crumple.load import engine_spec
from crumple.load.objective import asked
from crumple.machine import capacity
from crumple.machine.capacity import Placement
from crumple.machine.ceiling import Ceiling
from crumple.machine.facts import usable_cores
from crumple.record import validity
from crumple.record.validity import Validity
from crumple.subject import answer_check, database, servers
from crumple.subject.build import Built

# Record → the engine's ceiling, if the validity of the record depends on it.
CeilingOf = Callable[[TrialRecord], Ceiling | None]
# Where the engine has cores of its own, it gets one of this many.
CORES_PER_THREAD = 4


def of_url(plan: UrlPlan, ceiling: CeilingOf) -> Site:
    """Return the site of a server that runs already."""
    cores, limits = engine_spec.cores_of(plan.options.server_pid), asked(plan.question.objective.terms)

    @contextmanager
    def opened() -> Iterator[Place]:
        yield Place(plan.resolved.target, plan.requests, plan.options, alive=lambda: True)

    def assess(record: TrialRecord) -> Validity:
        return validity.assess(record, server_cores=cores, ceiling=ceiling(record), asked=limits)

    threads_most = plan.options.threads or max(1, len(usable_cores()) // 2)
    return Site(plan.resolved.url, opened, False, threads_most, cores, assess)


def of_server(plan: ServerPlan, built: Built, ceiling: CeilingOf) -> Site:
    """Return the site of a server of the project, on cores of its own where the machine has two or more.

    `opened` checks the answers of each start. It raises ServerFailed, WrongAnswer, DatabaseMissing and
    DatabaseFailed.
    """
    many = len(usable_cores())
    threads = plan.options.threads or max(1, many // CORES_PER_THREAD)
    placement: Placement = "separate" if many > 1 else "shared"
    cores = capacity.cores_for(placement, threads)
    options = replace(plan.options, cores=plan.options.cores or cores.engine)

    limits = asked(plan.question.objective.terms)
    asks = plan.workload is not None and plan.workload.database is not None

    @contextmanager
    def opened() -> Iterator[Place]:
        with (
            database.on_demand() as databases,
            servers.start(
                built,
                cores=cores.server,
                settings=plan.settings,
                environment=databases.ready(cores.server).environment() if asks else {},
            ) as running,
        ):
            if plan.workload is not None:
                keeps = built.description.keeps_connections(running.settings)
                answer_check.answers(running.address, plan.workload, plan.parameters, keeps=keeps)
            target = contract.Target(address=running.address, host=running.address)
            yield Place(target, plan.requests, replace(options, server_pid=running.pid), running.alive)

    def assess(record: TrialRecord) -> Validity:
        return validity.assess(
            record, placement=placement, server_cores=cores.server, ceiling=ceiling(record), asked=limits
        )

    return Site(plan.label, opened, True, threads, cores.server, assess)
