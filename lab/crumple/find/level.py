"""One level of the search: one load for some seconds, and whether the objective held.

Pure: a record, and what was seen while it ran → what the search and the reports need. `next_level` chooses
the next load.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean

from crumple.contract import OpenShapeSpec, Outcomes, TrialRecord
from crumple.documents.parts_of_documents import TimeField
from crumple.find.next_level import NextLevel, Purpose
from crumple.find.seen import Base, Judged, LevelOutcome, PartEvidence
from crumple.find.watch import ShareWatch, Watch
from crumple.load.objective import Objective, Term, asked
from crumple.machine import at_rest, capacity
from crumple.machine.at_rest import AtRest
from crumple.observation import loaded
from crumple.observation.at_load import AtLoad
from crumple.observation.loaded import Beside
from crumple.record import engine_limits, failures, histogram, lateness, limiter_course, stages, windows
from crumple.record.disturbance import Disturbance, disturbance
from crumple.record.limiter_course import Limiter
from crumple.record.validity import Validity
from crumple.stats import shares

# The largest growth of a backlog with which a load lasts, as a share of what came due, and what chance may
# add, as a multiple of the root of the number of requests: at the capacity chance alone moves the backlog by
# the root of twice that number. A growth shows even where a level of seconds is too short for response times
# to show it.
GROWTH_SHARE_MAX, GROWTH_ROOTS = 0.005, 2.0
# What must hold besides the objective.
KEEPS_UP, ANSWERS = "keeps up", "answers"
# The limit of a part that is judged as a whole: breaking and holding are equally likely there.
WHOLE_LIMIT = 0.5
# The least share of failed requests among those that missed a time with which failures, and not slow answers,
# are why.
MOST_FAILED = 0.5
# The fewest readings in a level, which is short. Intervals are wider than with those of a longer load, and
# hold nearly as often.
READINGS_MIN = 15
# The fewest answers from which a median and a variance are computed.
BASE_ANSWERS_MIN = 20


@dataclass(frozen=True)
class PartResult:
    """The result of one part of the objective; `value` and `limit`: in ns, a share, or per second.

    `name`: as written, or KEEPS_UP. `holds` None: not decided. `known`: requests of which it is known
    whether they missed the part; `against`: those that did. Both are 0 for a part that limits no share.
    """

    name: str
    quantity: str
    limit: float
    value: float | None
    holds: bool | None
    known: int = 0
    against: int = 0

    @property
    def share(self) -> float | None:
        """The share of the known requests that missed the part (0..1)."""
        return self.against / self.known if self.known else None


@dataclass(frozen=True)
class Level:
    """A load and its result. `start` counts from 0; None: not read, or too few samples.

    `failed_share`: share of the scheduled requests that failed or were not sent (`not_sent`). `failures`:
    failed requests by outcome; `statuses`: unexpected answers by status. `backlog_grew`: how many more
    requests waited at the end than when measuring began, without short peaks. `connections_limit`: that of
    the shape. `server_cores_busy`: CPU time of the server over the time measured. `retransmitted`: TCP
    segments. `time`: where the mean response time went; `seen`: what was seen of the server; None: it is not
    on this machine. `taken_share`, `slowdown`, `delayed_share`: what others took, as in `Disturbance`.
    `limiter`: what most of the failures may come from; None: not from one.
    """

    load: float
    start: int
    purpose: Purpose
    outcome: LevelOutcome
    parts: tuple[PartResult, ...]
    word: str
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    measured_s: float
    scheduled: int
    ok: int
    throughput_per_s: float
    p50_ns: float | None
    p90_ns: float | None
    p95_ns: float | None
    p99_ns: float | None
    failed_share: float
    not_sent: int
    failures: Mapping[str, int]
    statuses: Mapping[int, int]
    backlog_grew: int
    connections_most: int
    connections_limit: int
    server_cores_busy: float | None
    engine_share: float | None
    retransmitted: int | None
    base: Base | None = None
    time: TimeField = None
    seen: AtLoad | None = None
    taken_share: float = 0.0
    slowdown: float = 1.0
    delayed_share: float = 0.0
    limiter: Limiter | None = None
    evidence: tuple[PartEvidence, ...] = field(default=(), repr=False)

    @property
    def broken(self) -> tuple[PartResult, ...]:
        """The parts that did not hold. A time that requests missed because they failed is none of them."""
        broke = [part for part in self.parts if part.holds is False]
        failed = next((part for part in self.parts if part.quantity == "failed"), None)
        if failed is None or failed.share is None or failed.share <= failed.limit:
            return tuple(broke)
        most = failed.share / MOST_FAILED
        missed = [part for part in broke if part is not failed and (part.share or math.inf) <= most]
        left = [part for part in broke if part not in missed]
        return tuple(left if failed in left or not missed else [failed, *left])

    @property
    def judged(self) -> Judged:
        """What the breaking point is computed from."""
        return Judged(
            self.load,
            self.start,
            self.outcome,
            self.evidence,
            self.base,
            self.taken_share,
            self.slowdown,
            self.delayed_share,
        )

    def lost(self, why: str) -> "Level":
        """Return the level without figures, as the server was lost in it. `why`: a sentence."""
        return replace(
            self,
            outcome="limited",
            word="lost",
            problems=(why,),
            parts=(),
            evidence=(),
            throughput_per_s=0.0,
            p50_ns=None,
            p90_ns=None,
            p95_ns=None,
            p99_ns=None,
            failed_share=0.0,
            failures={},
            statuses={},
            server_cores_busy=None,
            time=None,
            seen=None,
        )


def level(
    step: NextLevel, start: int, record: TrialRecord, objective: Objective, watch: Watch, judged: Validity
) -> Level:
    """Return the level that `watch` saw run, from its record; `judged`: the validity of that record.

    Raises NotStored on a damaged histogram.
    """
    watch.close(record)
    courses = {course.term: course for course in watch.courses}
    parts = tuple(_part(term, courses.get(term), record) for term in objective.terms)
    # The record has the backlog at two instants, either of which may be an outlier. The lines of progress
    # have it throughout, but with late counts. A backlog that grows does so by both, so use the smaller one.
    grew = min(watch.backlog.grew(), _grew(record))
    parts += _kept_up(record, grew)
    outcome = _outcome(parts, objective, record, judged, watch)
    if judged.word not in ("valid", "not-valid") and not _is_in_time(objective, record, judged):
        parts = tuple(_unless_late(part, record) for part in parts)
    measured_s, outcomes, others = record.measured_ns / 1e9, record.outcomes, disturbance(record)
    return Level(
        load=step.load,
        start=start,
        purpose=step.purpose,
        outcome=outcome,
        parts=parts,
        word=judged.word,
        problems=judged.problems,
        warnings=judged.warnings,
        measured_s=measured_s,
        scheduled=record.scheduled,
        ok=outcomes.ok,
        throughput_per_s=outcomes.ok / measured_s if measured_s else 0.0,
        p50_ns=_quantile_ns(record, 0.5),
        p90_ns=_quantile_ns(record, 0.9),
        p95_ns=_quantile_ns(record, 0.95),
        p99_ns=_quantile_ns(record, 0.99),
        failed_share=(outcomes.failed + outcomes.not_sent) / record.scheduled if record.scheduled else 0.0,
        not_sent=outcomes.not_sent,
        failures=_failures(outcomes),
        statuses=dict(failures.unexpected_statuses(record).most_common()),
        backlog_grew=grew,
        connections_most=max(record.series.connections, default=0),
        connections_limit=capacity.connections_of(record.spec.shape),
        server_cores_busy=windows.cores(record, windows.server(record)),
        engine_share=engine_limits.engine_share(record),
        retransmitted=failures.again(record),
        base=base(record, BASE_ANSWERS_MIN),
        taken_share=others.taken_share,
        slowdown=others.slowdown,
        delayed_share=others.delayed_share,
        limiter=limiter_course.maybe(record),
        evidence=_evidence(parts, watch, record, _by_others(parts, objective, record, others)),
    )


def watched(
    seen: Level,
    record: TrialRecord,
    server_cores: int,
    elsewhere: int | None = None,
    rest: AtRest | None = None,
) -> Level:
    """Return the level with what its record says of the server, if the server is on this machine.

    `server_cores`: how many the server may use; `elsewhere`: how many others the engine may. `rest`: what the
    server does without a load; None: not known.
    """
    if record.probes.stages is None:
        return seen
    time = stages.budget(record, at_rest.cores(rest), READINGS_MIN)
    at_load = loaded.from_record(record, server_cores, Beside(rest=rest), elsewhere)
    return replace(seen, time=time, seen=at_load)


def base(record: TrialRecord, answers_min: int) -> Base | None:
    """Return the response times in brief; None with fewer than `answers_min` answers."""
    times = histogram.decoded(record.histograms.response_time)
    mean_ns = times.mean_ns
    if mean_ns is None or times.count < answers_min:
        return None
    squares = [(value_ns - mean_ns) ** 2 for value_ns in times.values_ns]
    square = fmean(squares, times.counts)
    return Base(times.quantile_ns(0.5) / 1e9, square / mean_ns**2, mean_s=mean_ns / 1e9)


def _part(term: Term, course: ShareWatch | None, record: TrialRecord) -> PartResult:
    value = term.value(record)
    if course is None:
        return PartResult(str(term), term.quantity, term.limit, value, term.holds(record))
    holds = {"yes": True, "no": False, "open": None}[course.holds]
    seen = course.counted
    return PartResult(str(term), term.quantity, term.limit, value, holds, seen.known, seen.against)


def _kept_up(record: TrialRecord, grew: int) -> tuple[PartResult, ...]:
    """In an open shape: whether the backlog grew no more than chance allows."""
    if not isinstance(record.spec.shape, OpenShapeSpec) or not record.scheduled:
        return ()
    limit = GROWTH_SHARE_MAX + GROWTH_ROOTS / math.sqrt(record.scheduled)
    value = max(0, grew) / record.scheduled
    return (PartResult(KEEPS_UP, "backlog", limit, value, value <= limit),)


def _outcome(
    parts: tuple[PartResult, ...], objective: Objective, record: TrialRecord, judged: Validity, watch: Watch
) -> LevelOutcome:
    """Return what the level shows of the server, whatever the engine did.

    Response times run from when a request was due, so a late engine can only lengthen them: a level that
    holds in spite of it holds. A level that breaks counts if the engine contributed little.
    """
    said = _said(parts, watch)
    if judged.word == "valid":
        return said
    if judged.word == "not-valid":
        # A record without any right answer is not valid either, but the server is the cause.
        return "broke" if record.scheduled > 0 and not record.outcomes.ok else "limited"
    is_open = isinstance(record.spec.shape, OpenShapeSpec)
    # In a closed shape a busy engine sends fewer requests than intended, which no response time shows.
    if (said == "held" and is_open) or (said == "broke" and _is_in_time(objective, record, judged)):
        return said
    return _by_wrong_answers(objective, record)


def _said(parts: tuple[PartResult, ...], watch: Watch) -> LevelOutcome:
    answers = [part.holds for part in parts]
    if False in answers:
        return "broke"
    # Do not wait for a share that needs more answers than a level can have, if no answer is against it.
    hopeless = {str(course.term) for course in watch.hopeless}
    decided = all(part.holds or part.name in hopeless for part in parts)
    return "held" if decided and any(part.holds for part in parts if part.name != KEEPS_UP) else "undecided"


def _is_in_time(objective: Objective, record: TrialRecord, judged: Validity) -> bool:
    """Whether the engine, although busy, sent nearly all requests when they were due."""
    is_open = isinstance(record.spec.shape, OpenShapeSpec)
    return (
        judged.word == "engine-limited" and is_open and not lateness.problem(record, asked(objective.terms))
    )


def _by_wrong_answers(objective: Objective, record: TrialRecord) -> LevelOutcome:
    """Judge by wrong answers and refusals alone, which the engine cannot cause however late it is."""
    seen = _wrong(record)
    limits = [term.share_limit for term in objective.terms if term.share_limit is not None]
    none_may = any(term.quantity == "failed" and not term.limit for term in objective.terms)
    if (none_may and seen.against) or any(shares.stays_below(limit, seen) == "no" for limit in limits):
        return "broke"
    leans = seen.against > 1 and any(shares.evidence(limit, seen) > 0 for limit in limits)
    return "undecided" if leans else "limited"


def _wrong(record: TrialRecord) -> shares.AnswerCount:
    """Count requests that ended, and those that failed for another reason than their time."""
    outcomes = record.outcomes
    wrong = outcomes.failed - outcomes.timeout - outcomes.connect_timeout
    return shares.AnswerCount(outcomes.total - outcomes.unfinished, wrong, wrong)


def _grew(record: TrialRecord) -> int:
    """How many more requests waited at the end than when measuring began."""
    left = record.outcomes.unfinished + record.not_sent.too_late + record.warm_up.outcomes.unfinished
    return left - record.histograms.carried_over.count


def _unless_late(part: PartResult, record: TrialRecord) -> PartResult:
    """Return a part without what a late engine may have caused: requests that were too slow or not sent."""
    if part.holds:
        return part
    if part.quantity == "failed":
        seen = _wrong(record)
        broke = shares.stays_below(part.limit, seen) == "no" if 0 < part.limit < 1 else seen.against > 0
        return replace(part, holds=False if broke else None, known=seen.known, against=seen.against)
    return replace(part, holds=None, known=0, against=0)


def _by_others(
    parts: tuple[PartResult, ...], objective: Objective, record: TrialRecord, others: Disturbance
) -> frozenset[str]:
    """Return the parts that may have come out as they did because of what others took."""
    found = {str(term) for term in objective.terms if term.by_others(record, others)}
    for part in parts:
        # As many requests wait at the end, at most, as came while others had the cores.
        if part.name == KEEPS_UP and (part.value or 0.0) - others.taken_share <= part.limit:
            found.add(part.name)
    return frozenset(found)


def _evidence(
    parts: tuple[PartResult, ...], watch: Watch, record: TrialRecord, by_others: Collection[str]
) -> tuple[PartEvidence, ...]:
    settled_s = record.warm_up_ns / 1e9
    told = {part.name for part in parts if part.known}
    of_shares = [course.evidence(settled_s) for course in watch.courses if str(course.term) in told]
    names = {each.name for each in of_shares}
    wholes = [
        replace(_whole(part.name, part.holds), by_others=not part.holds and part.name in by_others)
        for part in parts
        if part.name not in names and part.holds is not None
    ]
    if record.scheduled and not record.outcomes.ok and not any(each.leans_against for each in of_shares):
        # No part of the objective covers that nothing was answered.
        wholes.append(_whole(ANSWERS, False))
    return (*of_shares, *wholes)


def _whole(name: str, holds: bool) -> PartEvidence:
    """Evidence of a level that counts as a whole, for or against."""
    return PartEvidence(name, WHOLE_LIMIT, known=1, against=int(not holds), bunches=int(not holds))


def _failures(outcomes: Outcomes) -> dict[str, int]:
    apart = ("ok", "unfinished")
    return {name: number for name, number in outcomes.as_dict().items() if number and name not in apart}


def _quantile_ns(record: TrialRecord, q: float) -> float | None:
    stored = record.histograms.response_time
    if not histogram.printable(q, stored.count):
        return None
    return histogram.decoded(stored).quantile_ns(q)
