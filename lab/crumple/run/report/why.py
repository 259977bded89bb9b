"""Where a server's response time goes in an experiment, and what limits it there. Pure.

Both come from the readings of its starts that count. `stages` and `cause.in_short` judge one record each;
this module joins the starts of a server.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from crumple.cause import in_short
from crumple.limit.finding import Cause, Finding, Unclear
from crumple.observation import loaded
from crumple.observation.at_load import AtLoad
from crumple.record import stages, windows
from crumple.record.budget_of_starts import STARTS_MIN, budget_of_starts
from crumple.record.stages import Budget, NoBudget
from crumple.run.report.view import ExperimentView, RunView, ServerView, StartView
from crumple.study.study import Experiment
from crumple.verdict.case import servers_of

# A cause limits a server if it comes first in at least half of its starts that can be judged.
STARTS_SHARE = 0.5


@dataclass(frozen=True)
class Limit:
    """What limits a server."""

    finding: Finding
    """That of the start with the median share of the time."""
    starts: int
    """How many of the judged starts have this cause first."""
    judged: int
    """How many starts could be judged: one that others disturbed, for instance, cannot."""
    of: int
    """How many starts there are."""


@dataclass(frozen=True)
class ServerWhy:
    """Where the time of one server in one experiment goes, and what limits it."""

    server: ServerView
    time: Budget | None
    no_time: str
    """Why the time is not known."""
    timed: int
    """For how many of its starts it is known where the time went."""
    starts: int
    limit: Limit | None
    no_limit: str
    """Why the limit is not known."""


# Claim → where its servers ran, and what limits them there.
Limits = Mapping[str, Sequence[tuple[ExperimentView, ServerWhy]]]


def servers(shown: ExperimentView) -> tuple[ServerWhy, ...]:
    """Return every server of the experiment that was watched, in the order of its tables."""
    return tuple(why for row in shown.servers if (why := _of(row, shown)) is not None)


def has_time(shown: ExperimentView) -> bool:
    """Whether it is known of a server where its time goes."""
    return any(each.time is not None for each in servers(shown))


def of_claims(view: RunView) -> Limits:
    """Return claim → what limits the servers that it compares, for the claims that argue a cause."""
    if not any(claim.argues_cause for claim in view.run.study.claims):
        return {}
    known = {shown.name: {why.server.name: why for why in servers(shown)} for shown in view.experiments}
    of = {shown.name: shown for shown in view.experiments}
    asked = {each.claim_id for each in view.asked}
    found = {}
    for claim in view.run.study.claims:
        if claim.argues_cause and claim.id in asked:
            found[claim.id] = tuple(
                (of[name], known[name][server])
                for name, its in servers_of(claim).items()
                for server in sorted(its)
                if server in known.get(name, {})
            )
    return found


def _of(row: ServerView, shown: ExperimentView) -> ServerWhy | None:
    starts = [start for start in row.counting if _was_watched(start)]
    if not starts:
        return None
    known, no_time = _times(starts)
    limit, no_limit = _limit(starts, shown.experiment)
    return ServerWhy(row, budget_of_starts(known), no_time, len(known), len(starts), limit, no_limit)


def _times(starts: Sequence[StartView]) -> tuple[list[Budget], str]:
    """Return the budgets of starts, and the commonest reason why others have none.

    Three starts or more may be short, if they have readings enough together. Of fewer each needs enough for
    an interval of its own.
    """
    known = [start.time for start in starts if isinstance(start.time, Budget)]
    readings = sum(each.readings for each in known)
    if len(known) >= STARTS_MIN and readings >= stages.READINGS_MIN:
        return known, _commonest(start.time.said for start in starts if isinstance(start.time, NoBudget))
    whole = [stages.budget(start.trial.record) for start in starts if start.trial.record is not None]
    return [each for each in whole if isinstance(each, Budget)], _commonest(
        each.said for each in whole if isinstance(each, NoBudget)
    )


def _was_watched(start: StartView) -> bool:
    record = start.trial.record
    return record is not None and record.probes.stages is not None


def _limit(starts: Sequence[StartView], experiment: Experiment) -> tuple[Limit | None, str]:
    """Return the cause that comes first in most starts, or why there is none."""
    loads = [_at_load(start, experiment) for start in starts]
    said = [in_short.of_load(load, None) for load in loads if load is not None]
    whys = (one.why for each in said for one in each[:1] if isinstance(one, Unclear))
    first = [each[0] for each in said if each and isinstance(each[0], Finding)]
    if not first:
        return None, _commonest(whys) or "nothing was read that would show it"
    judged = sum(load is not None and _can_be_judged(load) for load in loads)
    most = Counter(each.cause for each in first).most_common(2)
    (cause, number), *others = most
    if number < STARTS_SHARE * judged or any(as_many == number for _, as_many in others):
        return None, f"its starts differ: {_count(first, judged)}"
    return Limit(_median(each for each in first if each.cause == cause), number, judged, len(starts)), ""


def _can_be_judged(load: AtLoad) -> bool:
    return not (load.engine_limited or load.disturbed)


def _at_load(start: StartView, experiment: Experiment) -> AtLoad | None:
    """Return what is known of the server; None: too little was read to judge it.

    Who disturbed a trial was found beside it: its database and its canary did not.
    """
    record, cores = start.trial.record, start.trial.server.cores
    if record is None or record.probes.server is None or not cores:
        return None
    shared = experiment.placement == "shared"
    # A server that shares all cores of the run leaves the engine none of its own.
    elsewhere = 0 if shared and experiment.server_cores is None else None
    load = loaded.from_record(record, cores, elsewhere=elsewhere)
    if start.trial.disturbance is not None:
        load = replace(load, disturbed=start.trial.disturbance.why)
    if shared:
        return load
    # An engine with cores of its own uses none of the server's. Its database does.
    left = max(0.0, cores - (load.cores or 0.0) - _database_cores(start))
    idle_most = left if load.idle_most is None else min(left, load.idle_most)
    return replace(load, engine_cores=0.0, idle_most=idle_most)


def _database_cores(start: StartView) -> float:
    """Return how many cores its database used: what neither engine, canary, server nor others did."""
    trial, record = start.trial, start.trial.record
    machine = record.probes.machine_of_server.window if record is not None else None
    found = trial.disturbance
    if record is None or machine is None or found is None or found.others_share is None:
        return 0.0
    probes = [record.probes.engine, record.probes.server]
    probes += [trial.canary.probes.engine] if trial.canary is not None else []
    busy_ns = windows.in_phase(record, machine.busy_ns, machine.span_ns)
    if busy_ns is None:
        return 0.0
    ours = sum(windows.cores(record, probe.window) or 0.0 for probe in probes if probe is not None)
    return max(0.0, busy_ns / record.measured_ns - ours - found.others_share * machine.cores)


def _median(findings: Iterable[Finding]) -> Finding:
    """Return the finding with the median share; those whose share is not known come first."""
    known = sorted(findings, key=lambda each: -1.0 if each.share_s is None else each.share_s)
    return known[(len(known) - 1) // 2]


def _count(first: Sequence[Finding], of: int) -> str:
    causes: Counter[Cause] = Counter(each.cause for each in first)
    return ", ".join(f"{cause} in {number} of {of}" for cause, number in causes.most_common())


def _commonest(whys: Iterable[str]) -> str:
    counted = Counter(whys).most_common(1)
    return counted[0][0] if counted else ""
