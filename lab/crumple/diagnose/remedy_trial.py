"""Tries a change: starts the server a second time with it, and puts the same load on both in turn.

The first server is as it was diagnosed. Both run at the same time, each on a port of its own, and one at a
time is loaded. Afterwards the changed one is looked at under one load, for what limits it then. The second
server ends with the `with` of the plan, and with the lab, however that ends (machine/guard.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from crumple import contract
from crumple.cause import in_short
from crumple.diagnose import looking, observe, running
from crumple.diagnose.diagnose_plan import DiagnosisPlan
from crumple.diagnose.presence import Presence
from crumple.diagnose.running import Run, StepWatcher
from crumple.engine import Engine
from crumple.errors import CrumpleError
from crumple.experiment import in_pairs, settling
from crumple.experiment.bench import Bench
from crumple.limit import change_gain
from crumple.limit.finding import Said
from crumple.limit.remedy import BeforeAndAfter, Remedy, compared
from crumple.observation.server_facts import ServerFacts

# The shortest of the loads that are compared, and how long the changed server is looked at, in seconds.
LOAD_S, LOOK_S = 1.5, 3.0
# A server that has just started is loaded until a further load raises its throughput by no more than
# GAINS_SHARE, and at most WARMING_LOADS times.
GAINS_SHARE, WARMING_LOADS = 0.05, 6


@dataclass(frozen=True)
class Diagnosed:
    """The server as it is. `bench`: puts loads on it; None: how long a request takes is not known.

    `connections`: those of the load beyond its limit.
    """

    facts: ServerFacts
    said: Sequence[Said]
    bench: Bench | None
    connections: int


def try_change(plan: DiagnosisPlan, diagnosed: Diagnosed, loader: Engine, watcher: StepWatcher) -> Remedy:
    """Return what the change of the plan came to; what prevents it is a problem of the remedy, no error.

    Raises Interrupted.
    """
    assert plan.change is not None and plan.changed is not None
    facts, said, numbers = diagnosed.facts, diagnosed.said, plan.change.numbers
    connections = change_gain.in_flight(facts, said, numbers, diagnosed.connections)
    predicted, why_none = change_gain.predicted(facts, said, numbers, connections)
    remedy = Remedy(plan.change.says, predicted, why_none, connections=connections)
    if diagnosed.bench is None:
        return replace(remedy, problem="how long a request takes alone is not known, so it was not compared")
    before = _loading(diagnosed.bench, connections)
    watcher.doing(f"the server a second time, with {plan.change.says}")
    try:
        with plan.changed() as subject:
            run = running.runner(loader, Presence(subject, loader).check)
            course = observe.Observation(subject, run, watcher)
            bench = course.work_alone()
            if bench is None:
                return replace(remedy, problem="none of its requests was answered, one at a time")
            changed = _loading(bench, connections)
            _warm(changed)
            watcher.doing(f"the same load as it is and with {plan.change.says}, in turn")
            found = _compared(before, changed)
            watcher.doing(f"what limits it with {plan.change.says}")
            return replace(remedy, compared=found, then=_then(course, run, connections))
    except CrumpleError as error:
        return replace(remedy, problem=str(error))


def _loading(bench: Bench, connections: int) -> Bench:
    return replace(bench, connections=connections, load_s=max(LOAD_S, bench.load_s))


def _warm(bench: Bench) -> None:
    best = 0.0
    for _ in range(WARMING_LOADS):
        per_s = bench.per_s()
        settling.settle(bench)
        if per_s <= (1 + GAINS_SHARE) * best:
            return
        best = max(best, per_s)


def _compared(before: Bench, changed: Bench) -> BeforeAndAfter | None:
    rates: dict[bool, list[float]] = {False: [], True: []}

    def loaded(bench: Bench, *, is_changed: bool) -> float:
        rates[is_changed].append(bench.per_s())
        settling.settle(bench)
        return rates[is_changed][-1]

    paired = in_pairs.compare(
        before, lambda: loaded(changed, is_changed=True), lambda: loaded(before, is_changed=False)
    )
    return None if paired is None else compared(paired, rates[False], rates[True])


def _then(course: observe.Observation, run: Run, connections: int) -> tuple[Said, ...]:
    """Return what is said of the changed server by one load."""
    subject = course.subject
    record, _ = run(looking.spec(subject, contract.ClosedShapeSpec(connections=connections), LOOK_S), None)
    work, rest = course.seen.work, course.seen.rest
    return in_short.judged(record, subject.cores, work, rest=rest, elsewhere=subject.elsewhere)
