"""The search of the breaking point within a diagnosis."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from crumple import contract, engine
from crumple.contract import TrialRecord
from crumple.diagnose.diagnose_plan import DiagnosisPlan
from crumple.engine import Engine
from crumple.experiment.subject import Subject
from crumple.find import conduct, search
from crumple.find.search import SearchQuestion, SearchResult
from crumple.load.load_shape import CONNECTIONS_OPEN_MAX
from crumple.load.lost import ServerProcess
from crumple.load.objective import asked
from crumple.load.site import NothingAnswered, RunningServer, Site
from crumple.machine.ceiling import Ceiling
from crumple.record import validity
from crumple.record.disturbance import disturbance
from crumple.record.validity import Validity

# The budget of the search in a diagnosis and the warm-up before it, in seconds: a third and a quarter of what
# is usual in `crumple find`.
SEARCH_S, SEARCH_WARM_UP_S = 30.0, 0.5

CeilingOf = Callable[[TrialRecord], Ceiling | None]


def search_point(
    plan: DiagnosisPlan,
    subject: Subject,
    loader: Engine,
    ceiling: CeilingOf,
    watcher: search.SearchWatcher,
    process: ServerProcess,
) -> SearchResult | None:
    """Search the breaking point by rate; None: it was not asked for, or nothing was answered."""
    if plan.objective is None:
        return None
    limits = asked(plan.objective.terms)

    @contextmanager
    def opened() -> Iterator[RunningServer]:
        yield RunningServer(subject.target, subject.work, subject.options, process)

    def assess(record: TrialRecord) -> Validity:
        return validity.assess(
            record,
            server_cores=(),
            ceiling=ceiling(record),
            asked=limits,
            disturbance=disturbance(record),
        )

    site = Site(plan.label, opened, False, subject.options.machine.threads_most, (), assess)
    question = SearchQuestion(
        objective=plan.objective,
        by="rate",
        budget_s=SEARCH_S,
        warm_up_s=SEARCH_WARM_UP_S,
        connections_most=CONNECTIONS_OPEN_MAX,
        arrivals="poisson",
        pause_ms=0.0,
        pause="fixed",
        seed=plan.seed,
    )

    def run(
        spec: contract.TrialSpec, on_progress: engine.OnProgress, end_early: engine.EndEarly
    ) -> TrialRecord:
        return engine.run(loader, spec, on_progress, end_early)

    try:
        return conduct.find(question, site, run, time.monotonic, watcher)
    except NothingAnswered:
        return None


def held(found: SearchResult) -> float | None:
    """The load that the server held: the low end of the breaking point, or the highest that held."""
    return found.point.low if found.point is not None else found.highest_held
