"""Where a server's response time goes in an experiment, and what limits it there. Pure.

Both come from the readings of its starts that count. `stages` and `cause.in_short` judge one record each;
this module joins the starts of a server.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from crumple.cause import in_short, loaded
from crumple.cause.finding import Cause, Finding, Said, Unclear
from crumple.record.budget_of_starts import budget_of_starts
from crumple.record.stages import Budget, NoBudget
from crumple.run.report.view import ExperimentView, RunView, ServerView, Start
from crumple.verdict.case import servers_of

# A cause limits a server if it comes first in at least this share of its starts.
STARTS_SHARE = 0.5


@dataclass(frozen=True)
class Limit:
    """What limits a server: the finding of the start with the median share of the time.

    `starts` of `judged` starts have this cause first.
    """

    finding: Finding
    starts: int
    judged: int


@dataclass(frozen=True)
class ServerWhy:
    """One server in one experiment.

    `time` None, or `limit` None: not known; `no_time` or `no_limit` says why.
    """

    server: ServerView
    time: Budget | None
    no_time: str
    limit: Limit | None
    no_limit: str


# Claim → where its servers ran, and what limits them there.
Limits = Mapping[str, Sequence[tuple[ExperimentView, ServerWhy]]]


def servers(shown: ExperimentView) -> tuple[ServerWhy, ...]:
    """Return every server of the experiment that was watched, in the order of its tables."""
    return tuple(why for row in shown.servers if (why := _of(row, shown)) is not None)


def has_time(shown: ExperimentView) -> bool:
    """Whether it is known of a server where its time goes."""
    return any(isinstance(start.time, Budget) for row in shown.servers for start in row.counting)


def of_claims(view: RunView) -> Limits:
    """Return claim → what limits the servers that it compares, for the claims that argue a cause."""
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
    time, no_time = _time(starts)
    limit, no_limit = _limit(starts, shared=shown.experiment.placement == "shared")
    return ServerWhy(row, time, no_time, limit, no_limit)


def _was_watched(start: Start) -> bool:
    record = start.trial.record
    return record is not None and record.probes.stages is not None


def _time(starts: Sequence[Start]) -> tuple[Budget | None, str]:
    known = [start.time for start in starts if isinstance(start.time, Budget)]
    why = _commonest(start.time.why for start in starts if isinstance(start.time, NoBudget))
    return budget_of_starts(known), "" if known else why


def _limit(starts: Sequence[Start], shared: bool) -> tuple[Limit | None, str]:
    """Return the cause that comes first in most starts, or why there is none."""
    said = [_said(start, shared) for start in starts]
    first = [each[0] for each in said if each and isinstance(each[0], Finding)]
    if not first:
        whys = (one.why for each in said for one in each[:1] if isinstance(one, Unclear))
        return None, _commonest(whys) or "nothing was read that would show it"
    cause, number = Counter(each.cause for each in first).most_common(1)[0]
    if number < STARTS_SHARE * len(said):
        return None, f"its starts differ: {_counted(first, len(said))}"
    return Limit(_median(each for each in first if each.cause == cause), number, len(said)), ""


def _said(start: Start, shared: bool) -> Sequence[Said]:
    record, cores = start.trial.record, start.trial.server.cores
    if record is None or record.probes.server is None or not cores:
        return ()
    beyond = loaded.from_record(record, cores)
    # An engine with cores of its own uses none of the server's.
    return in_short.of_load(beyond if shared else replace(beyond, engine_cores=0.0), None)


def _median(findings: Iterable[Finding]) -> Finding:
    """Return the finding with the median share; those whose share is not known come first."""
    known = sorted(findings, key=lambda each: -1.0 if each.share_s is None else each.share_s)
    return known[(len(known) - 1) // 2]


def _counted(first: Sequence[Finding], of: int) -> str:
    causes: Counter[Cause] = Counter(each.cause for each in first)
    return ", ".join(f"{cause} in {number} of {of}" for cause, number in causes.most_common())


def _commonest(whys: Iterable[str]) -> str:
    counted = Counter(whys).most_common(1)
    return counted[0][0] if counted else ""
