"""Conducts a diagnosis: observes the server, searches its breaking point, and looks at it at two loads."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from crumple import contract, engine
from crumple.cause import loaded, rules
from crumple.cause.finding import Facts, Said
from crumple.cause.observed import Observed
from crumple.contract import TrialRecord
from crumple.diagnose import observe
from crumple.diagnose.diagnose_plan import Plan
from crumple.diagnose.observe import Subject
from crumple.engine import Engine
from crumple.find import conduct, search
from crumple.find.search import Found, Place, Question, Site
from crumple.load import engine_spec
from crumple.load.load_shape import CONNECTIONS_OPEN_MAX
from crumple.load.objective import asked
from crumple.machine import bounds_of, connection_ends, facts
from crumple.machine import ceiling as ceilings
from crumple.machine.ceiling import Ceiling
from crumple.record import validity
from crumple.record.disturbance import disturbance
from crumple.record.validity import Validity

SEARCH_S, SEARCH_WARM_UP_S = 30.0, 0.5
# The load at which the time is looked at: this share of the breaking point, or of the highest load that held.
BELOW_SHARE = 0.85
# Beyond its limit the server is loaded with this many times the connections that it had in flight below it.
BEYOND_FACTOR, BEYOND_MIN, BEYOND_MAX = 4.0, 64, 512
LOOK_WARM_S, LOOK_S = 1.0, 5.0

CeilingOf = Callable[[TrialRecord], Ceiling | None]


class Watcher(observe.Watcher, search.Watcher, Protocol):
    """Receives the progress of a diagnosis and of its search."""


@dataclass(frozen=True)
class Diagnosis:
    """What was found. `command` repeats it.

    `found` None: nothing was searched, or nothing was answered as expected. `below` and `beyond`: records of
    loads below the breaking point and beyond it. `said`: what limits the server, and what does not.
    """

    plan: Plan
    subject: Subject
    seen: Observed
    found: Found | None
    below: TrialRecord | None
    beyond: TrialRecord
    said: tuple[Said, ...]
    engine_version: str
    command: str
    began_unix_s: float
    took_s: float


def diagnose(plan: Plan, loader: Engine, ceiling: CeilingOf, watcher: Watcher, command: str) -> Diagnosis:
    """Diagnose a server. `command`: what was typed.

    Raises what starting the server raises, EngineFailed and Interrupted.
    """
    began_s, began_unix_s = time.monotonic(), time.time()
    with plan.running() as subject:
        others = _others(subject)
        seen = observe.observe(subject, observe.runner(loader), watcher)
        found = _searched(plan, subject, loader, ceiling, watcher)
        below = None
        if found is not None and (load := _held(found)) is not None:
            watcher.doing("where the time goes, below the limit")
            below = _looked_at(subject, _open(BELOW_SHARE * load), loader)
        watcher.doing("where the time goes, beyond the limit")
        shape = contract.ClosedShape(connections=_beyond(below))
        bounds = _Bounds(subject.pid)
        beyond = _looked_at(subject, shape, loader, bounds.look)
        loaded_ = loaded.from_record(beyond, subject.cores, bounds.open_files, bounds.throttled_share())
    watcher.doing("what a context switch costs here")
    facts_seen = Facts(
        seen=seen,
        beyond=loaded_,
        alone_s=seen.work.mean_s if seen.work is not None else 0.0,
        others=others,
        switch_s=_switch_s(loader),
    )
    said = tuple(rules.judged(facts_seen)) if seen.work is not None or others else ()
    return Diagnosis(
        plan=plan,
        subject=subject,
        seen=seen,
        found=found,
        below=below,
        beyond=beyond,
        said=said,
        engine_version=loader.version,
        command=command,
        began_unix_s=began_unix_s,
        took_s=time.monotonic() - began_s,
    )


class _Bounds:
    """Looks at the bounds of the server's processes while it is loaded."""

    def __init__(self, pid: int | None) -> None:
        self._pid = pid
        self.open_files: tuple[int, int] | None = None
        self._throttled_ns = None if pid is None else bounds_of.throttled_ns(pid)
        self._began_s = time.monotonic()

    def look(self, _: object) -> None:
        """Look at the open files; the engine calls this once a second."""
        if self._pid is not None and (seen := bounds_of.open_files(self._pid)):
            self.open_files = max(self.open_files or seen, seen)

    def throttled_share(self) -> float | None:
        """Return for how much of the time since the beginning the control group stopped the server."""
        now_ns = None if self._pid is None else bounds_of.throttled_ns(self._pid)
        if now_ns is None or self._throttled_ns is None:
            return None
        return (now_ns - self._throttled_ns) / 1e9 / (time.monotonic() - self._began_s)


def _others(subject: Subject) -> int:
    """Return how many connections of other clients the server holds; 0 if that cannot be seen here."""
    address = subject.target.address
    if subject.pid is None or address.startswith("unix:"):
        return 0
    return connection_ends.held_by_others(int(address.rpartition(":")[2]))


def _switch_s(loader: Engine) -> float:
    """Return what a context switch costs on this machine, in seconds: the 10th percentile, on one core.

    Between threads on two cores it would be the time that a sleeping core takes to wake, and no CPU time. The
    server may still work on what was asked of it, which makes some switches longer.
    """
    costs = ceilings.costs(loader, facts.usable_cores()[0])
    return next(each.low_ns for each in costs if each.name == "thread_switch") / 1e9


def _searched(
    plan: Plan, subject: Subject, loader: Engine, ceiling: CeilingOf, watcher: Watcher
) -> Found | None:
    """Search the breaking point by rate; None: it was not asked for, or nothing was answered."""
    if plan.objective is None:
        return None
    limits = asked(plan.objective.terms)

    @contextmanager
    def opened() -> Iterator[Place]:
        yield Place(subject.target, subject.work, subject.options, alive=lambda: True)

    def assess(record: TrialRecord) -> Validity:
        return validity.assess(record, server_cores=(), ceiling=ceiling(record), asked=limits)

    threads_most = max(1, len(facts.usable_cores()) // 2)
    site = Site(plan.label, opened, False, threads_most, (), assess)
    question = Question(
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
    except search.Unanswered:
        return None


def _held(found: Found) -> float | None:
    """The load that the server held: the low end of the breaking point, or the highest that held."""
    return found.point.low if found.point is not None else found.highest_held


def _open(per_s: float) -> contract.OpenShape:
    rate = contract.Rate(from_per_s=per_s, to_per_s=per_s, duration_s=LOOK_S)
    return contract.OpenShape(connections=CONNECTIONS_OPEN_MAX, arrivals="poisson", rates=(rate,))


def _beyond(below: TrialRecord | None) -> int:
    """How many connections the load beyond the limit has."""
    if below is None or below.histograms.response_time.mean_ns is None:
        return BEYOND_MIN
    in_flight = below.scheduled / below.measured_ns * below.histograms.response_time.mean_ns
    return min(BEYOND_MAX, max(BEYOND_MIN, round(BEYOND_FACTOR * in_flight)))


def _looked_at(
    subject: Subject, shape: contract.Shape, loader: Engine, look: engine.OnProgress = lambda _: None
) -> TrialRecord:
    """Load the server, and read meanwhile where requests are."""
    drawn = random.Random(f"{subject.options.seed}/{shape.kind}")
    options = replace(
        subject.options,
        stages=True,
        tasks=True,
        dependencies=True,
        seed=drawn.getrandbits(engine_spec.SEED_BITS),
    )
    spec = engine_spec.spec(
        label=f"diagnose/{shape.kind}",
        target=subject.target,
        requests=subject.work,
        shape=shape,
        stop=contract.AfterDuration(duration_s=LOOK_S),
        options=options,
        usable_cores=len(facts.usable_cores()),
        warm_up_s=LOOK_WARM_S,
    )
    record = engine.run(loader, spec, look)
    # Once more, if others used the machine.
    return engine.run(loader, spec, look) if disturbance(record).disturbed else record
