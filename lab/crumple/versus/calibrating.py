"""What is learned of each version before the first block: its answer, its throughput, how long it warms up.

Nothing of it is compared, but for the answers: status, content type and length of each request's.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from crumple import contract
from crumple.contract import Series, TrialRecord, TrialSpec
from crumple.load import engine_spec, load_plan
from crumple.load.site import NothingAnswered, RunningServer
from crumple.words import masked
from crumple.words.answer_sentences import Exchange, header

# For how long a version is loaded to see its throughput: a fresh start, which may warm up, and a process
# that runs already.
AFRESH_S, RUNNING_S = 4.0, 1.5
# The largest share of the budget that these loads of all versions take.
BUDGET_SHARE = 0.15
# The shortest load, as a multiple of the time that an answer takes.
ANSWERS = 4.0
# The throughput has settled when means of STEP_S stay above SETTLED times what it ends at.
STEP_S, SETTLED = 0.5, 0.9
# The shortest and the longest warm-up of a fresh start.
WARM_UP_S_MIN, WARM_UP_S_MAX = 0.5, 4.0
# For how long new connections to a process that runs already are warmed up, which itself is warm.
REWARM_S = 0.3

Run = Callable[[TrialSpec], TrialRecord]


@dataclass(frozen=True)
class SampleAnswer:
    """How one request was answered."""

    asked: str
    status: int | None
    content_type: str
    body_bytes: int
    """The length of the body, without framing if the head says its length."""


@dataclass(frozen=True)
class Calibrated:
    """What was learned of a version."""

    answers: tuple[SampleAnswer, ...]
    per_s: float
    warm_up_s: float
    beside_s: float
    """What a start takes beside its loads, its end included."""


def calibrated(
    place: RunningServer,
    connections: int,
    run: Run,
    *,
    afresh: bool,
    budget_s: float,
    warm_up_s: float | None,
) -> Calibrated:
    """Ask each request once, then all connections at once. Raises Unanswered. `beside_s` is left at 0."""
    shape = contract.ClosedShapeSpec(connections=connections)
    wanted_s = AFRESH_S if afresh else RUNNING_S
    asked = [Exchange(run(spec)) for spec in load_plan.specs(_spec(place, shape, wanted_s))]
    for each in asked:
        if not each.is_met:
            raise NothingAnswered(each.record)
    alone_s = max((each.took_ns or 0) for each in asked) / 1e9
    load_s = max(min(wanted_s, BUDGET_SHARE * budget_s), ANSWERS * alone_s)
    record = run(_spec(place, shape, load_s))
    if not record.outcomes.ok:
        raise NothingAnswered(record)
    settled_s = settled(record.series) if afresh else 0.0
    warm = warm_up_s if warm_up_s is not None else _warm_up_s(settled_s) if afresh else REWARM_S
    return Calibrated(tuple(map(_answer, asked)), per_s(record, settled_s), warm, 0.0)


def settled(series: Series) -> float:
    """Return after how many seconds the throughput had settled."""
    steps = _steps(series)
    if len(steps) < 2:
        return 0.0
    end = fmean(steps[-max(1, len(steps) // 4) :])
    rising = [at for at, value in enumerate(steps) if value < SETTLED * end]
    return STEP_S * (rising[-1] + 1) if rising else 0.0


def per_s(record: TrialRecord, settled_s: float) -> float:
    """Return the right answers per second once the throughput had settled."""
    series = record.series
    after = [at for at, at_ns in enumerate(series.at_ns) if at_ns >= settled_s * 1e9]
    ok, spent_ns = sum(series.ok[at] for at in after), sum(series.duration_ns[at] for at in after)
    if not ok or not spent_ns:
        ok, spent_ns = record.outcomes.ok, record.measured_ns
    return ok / spent_ns * 1e9


def differences(
    first: Sequence[SampleAnswer], other: Sequence[SampleAnswer]
) -> list[tuple[SampleAnswer, SampleAnswer]]:
    """Return the answers of two versions to the same requests that differ."""
    return [
        (one, two)
        for one, two in zip(first, other, strict=False)
        if (one.status, one.content_type, one.body_bytes) != (two.status, two.content_type, two.body_bytes)
    ]


def _warm_up_s(settled_s: float) -> float:
    return min(WARM_UP_S_MAX, max(WARM_UP_S_MIN, settled_s + STEP_S))


def _steps(series: Series) -> list[float]:
    """Right answers in each step of the load, without the last step, which is not whole."""
    found: dict[int, int] = {}
    for at_ns, ok in zip(series.at_ns, series.ok, strict=True):
        step = math.floor(at_ns / 1e9 / STEP_S + 1e-6)
        found[step] = found.get(step, 0) + ok
    return [found.get(step, 0) / STEP_S for step in range(max(found, default=0))]


def _spec(place: RunningServer, shape: contract.ClosedShapeSpec, load_s: float) -> TrialSpec:
    return engine_spec.spec(
        label="calibration",
        target=place.target,
        requests=place.requests,
        shape=shape,
        stop=contract.DurationStopSpec(duration_s=load_s),
        options=place.options,
        threads_most=1,
    )


def _answer(exchange: Exchange) -> SampleAnswer:
    example = exchange.example
    asked = exchange.asked
    name = asked.name or f"{asked.method} {masked.url(asked.path)}"
    head = example.head if example else ""
    return SampleAnswer(
        asked=name,
        status=example.status if example else None,
        content_type=header(head, "Content-Type") or "",
        body_bytes=exchange.body_bytes,
    )
