"""One load that was put on for some seconds on the way to the breaking point, and whether the objective held.

Pure: a record → what the search and the reader need of it. Which load comes next is `search`.
"""

import math
from dataclasses import dataclass, replace

from crumple.contract import OpenShape, ProbeRecord, TrialRecord
from crumple.find.search import Outcome, Purpose, Step
from crumple.load.objective import Objective
from crumple.record import engine_limits, histogram
from crumple.record.validity import Validity

# A backlog that grows by more than this share of what came due, and by more than chance moves it, is of no
# load that lasts, even where a level of seconds is too short for its response times to show it.
GROWTH_SHARE_MAX = 0.005
# What must hold besides the objective.
KEEPS_UP, ALIVE = "keeps up", "stays alive"
# The engine gave in, or sent late: its part of the response times makes them longer, never shorter.
LATE = ("engine-limited", "schedule-missed")


@dataclass(frozen=True)
class Part:
    """What one part of the objective came to; `value` and `limit`: in ns, a share, or per second.

    `name`: as written, or KEEPS_UP, ALIVE. `holds` None: too few requests to know.
    """

    name: str
    quantity: str
    limit: float
    value: float | None
    holds: bool | None


@dataclass(frozen=True)
class Level:
    """A load and what came of it. `start` counts from 0; None: not read, or too few samples.

    `failed_share`: of the scheduled, with those not sent, which are `not_sent`. `backlog_grew`: requests that
    waited when it ended, less those when measuring began. `connections_limit`: of the shape.
    `server_cores_busy`: CPU time of the server over the time measured. `retransmitted`: TCP segments.
    """

    load: float
    start: int
    purpose: Purpose
    outcome: Outcome
    parts: tuple[Part, ...]
    word: str
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    measured_s: float
    scheduled: int
    ok: int
    throughput_per_s: float
    p50_ns: float | None
    p99_ns: float | None
    failed_share: float
    not_sent: int
    backlog_grew: int
    connections_most: int
    connections_limit: int
    server_cores_busy: float | None
    engine_share: float | None
    retransmitted: int | None

    @property
    def broken(self) -> tuple[Part, ...]:
        """The parts that did not hold."""
        return tuple(part for part in self.parts if part.holds is False)

    def died(self) -> "Level":
        """The same, of a server that was gone when it was over."""
        gone = Part(ALIVE, "alive", 1.0, 0.0, False)
        return replace(self, outcome="broke", parts=(gone, *self.parts))


def level(step: Step, start: int, record: TrialRecord, objective: Objective, judged: Validity) -> Level:
    """What a record says of a level; `judged`: the same record. Raises NotStored on a damaged histogram."""
    parts = (*_terms(record, objective), *_kept_up(record))
    measured_s, outcomes = record.measured_ns / 1e9, record.outcomes
    return Level(
        load=step.load,
        start=start,
        purpose=step.purpose,
        outcome=_outcome(parts, judged, record),
        parts=parts,
        word=judged.word,
        problems=judged.problems,
        warnings=judged.warnings,
        measured_s=measured_s,
        scheduled=record.scheduled,
        ok=outcomes.ok,
        throughput_per_s=outcomes.ok / measured_s if measured_s else 0.0,
        p50_ns=_quantile_ns(record, 0.5),
        p99_ns=_quantile_ns(record, 0.99),
        not_sent=outcomes.not_sent,
        failed_share=(outcomes.failed + outcomes.not_sent) / record.scheduled if record.scheduled else 0.0,
        backlog_grew=_backlog_grew(record),
        connections_most=max(record.series.connections, default=0),
        connections_limit=_connections_limit(record),
        server_cores_busy=_cores_busy(record.probes.server, record.measured_ns),
        engine_share=engine_limits.engine_share(record),
        retransmitted=_retransmitted(record),
    )


def _terms(record: TrialRecord, objective: Objective) -> tuple[Part, ...]:
    return tuple(
        Part(str(term), term.quantity, term.limit, term.value(record), term.holds(record))
        for term in objective.terms
    )


def _kept_up(record: TrialRecord) -> tuple[Part, ...]:
    """In an open shape: whether the backlog stayed as it was, as far as chance allows."""
    if not isinstance(record.spec.shape, OpenShape) or not record.scheduled:
        return ()
    # Of n independent arrivals the number varies by its square root.
    limit = GROWTH_SHARE_MAX + 1 / math.sqrt(record.scheduled)
    value = max(0, _backlog_grew(record)) / record.scheduled
    return (Part(KEEPS_UP, "backlog", limit, value, value <= limit),)


def _backlog_grew(record: TrialRecord) -> int:
    left = record.outcomes.unfinished + record.not_sent.too_late + record.warm_up.outcomes.unfinished
    return left - record.histograms.carried_over.count


def _outcome(parts: tuple[Part, ...], judged: Validity, record: TrialRecord) -> Outcome:
    if judged.word in LATE:
        return _outcome_though_late(parts, record)
    if judged.word != "valid":
        # Where nothing was answered the record is not valid either, but that is the server's doing.
        unanswered = judged.word == "not-valid" and record.scheduled > 0 and not record.outcomes.ok
        return "broke" if unanswered else "limited"
    answers = [part.holds for part in parts]
    if False in answers:
        return "broke"
    return "unknown" if None in answers else "held"


def _outcome_though_late(parts: tuple[Part, ...], record: TrialRecord) -> Outcome:
    """Times run from due, so an engine that is late or busy can only make them longer: what holds, holds.

    And what the server answered wrongly, or refused, is no matter of time.
    """
    if all(part.holds for part in parts):
        return "held"
    answered = record.outcomes.ok + record.outcomes.failed
    failed_share = record.outcomes.failed / answered if answered else 0.0
    of_failures = [part for part in parts if part.quantity == "failed" and part.holds is False]
    return "broke" if any(failed_share > part.limit for part in of_failures) else "limited"


def _quantile_ns(record: TrialRecord, q: float) -> float | None:
    stored = record.histograms.response_time
    if not histogram.printable(q, stored.count):
        return None
    return histogram.decode(stored.encoded).quantile_ns(q)


def _connections_limit(record: TrialRecord) -> int:
    shape = record.spec.shape
    return shape.to_connections if shape.kind == "ramp" else shape.connections


def _cores_busy(probe: ProbeRecord | None, measured_ns: int) -> float | None:
    if probe is None or probe.window is None or not measured_ns:
        return None
    return (probe.window.cpu_user_ns + probe.window.cpu_kernel_ns) / measured_ns


def _retransmitted(record: TrialRecord) -> int | None:
    """By all of the machine, from the last sample before measuring began to the last of all."""
    sockets = record.probes.sockets
    read = [
        (at_ns, total)
        for at_ns, total in zip(sockets.at_ns, sockets.retransmitted, strict=True)
        if total is not None
    ]
    if not read:
        return None
    before = [total for at_ns, total in read if at_ns <= record.warm_up_ns]
    return read[-1][1] - (before[-1] if before else read[0][1])
