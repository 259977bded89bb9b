"""The report of a run as JSON: its class, from which its schema is generated. `run_json` writes it."""

from typing import Any, Literal

from crumple.contract import Outcomes
from crumple.contract_base import Lenient
from crumple.limit.finding import Cause
from crumple.load.report.parts_of_documents import TimeData
from crumple.record.disturbance import Disturbance
from crumple.run.run_file import ServerNote
from crumple.run.store import Failure, Programs, Status
from crumple.study.claim import ScaleName
from crumple.study.study import Article, Prose
from crumple.study.study_load import Scale, Shape
from crumple.verdict.effect import Answer


class IntervalData(Lenient):
    """An estimate with its interval; an end that is not known is null. `n`: starts or blocks."""

    estimate: float
    low: float | None
    high: float | None
    confidence: float
    n: int


class SummaryData(IntervalData):
    """A figure over the starts of a server. `limit`: it is only a bound, because the engine was the limit."""

    limit: Literal["at least", "at most"] | None


class EffectData(Lenient):
    """One comparison of a claim, or one figure: measured, published or expected, and what it says."""

    of: str
    to: str
    published: float | None
    expected: float | None
    ratio: IntervalData | None
    metric: str
    value: IntervalData | None
    unit: str
    bound: str | None
    answer: Answer
    direction: Answer | None
    blocks_needed: int | None
    margin: float | None
    limit: Literal["at least", "at most"] | None
    reason: str


class ClaimData(Lenient):
    """A claim and its verdict."""

    id: str
    text: str
    kind: str
    asked: bool
    """Whether this scale asks it."""
    answer: Answer
    in_size_only: bool
    """Whether its direction holds and its size does not."""
    sentence: str
    doubt: str | None
    place: str | None
    conditions: tuple[str, ...]
    circumstances: str | None
    effects: tuple[EffectData, ...]
    trials: tuple[str, ...]
    """The trials that it rests on."""
    blocks: int
    left: str | None
    """Why it was left without a decision."""
    limits: str | None
    """What limits the servers that it compares."""


class TwinsData(Lenient):
    """How far a server and its twin lie apart."""

    server: str
    ratio: IntervalData | None
    different: bool


class NoiseData(Lenient):
    """How much starts of one server differ in a metric, and which difference would be seen, as factors."""

    spread: float | None
    visible: float | None
    blocks: int
    twins: TwinsData | None
    why_unknown: str | None


class ServerData(Lenient):
    """One server in an experiment. `summaries`: metric → the geometric mean of its starts that count."""

    server: str
    twin: bool
    starts: int
    starts_counted: int
    failed_share: float | None
    ranked: bool
    unanswered: tuple[str, ...]
    failed_marked: tuple[str, ...]
    summaries: dict[str, SummaryData | None]


class LimitData(Lenient):
    """What limits a server: the finding of one start, and in how many of them that cause comes first."""

    cause: Cause
    sure: Literal["tested", "likely"]
    share_s: float | None
    evidence: str
    remedy: str
    starts: int
    judged: int
    of: int


class WhyData(Lenient):
    """Where the time of a server goes, and what limits it."""

    time: TimeData
    timed: int
    starts: int
    limit: LimitData | None
    no_limit: str | None


class IdentityData(Lenient):
    """All requests of an experiment: how many were scheduled, and how they ended."""

    scheduled: int
    outcomes: dict[str, int]


class ExperimentData(Lenient):
    """One experiment: what was asked of which servers, and what came out."""

    name: str
    title: str
    about: str
    setup: str
    workload: str
    placement: str
    connection: str
    shape: Shape
    scale: Scale
    identity: IdentityData
    noise: dict[str, NoiseData]
    servers: tuple[ServerData, ...]
    why: dict[str, WhyData]


class TrialData(Lenient):
    """One trial. `figures`: metric → value; times in ns, CPU time in µs, memory in bytes, shares 0..1.

    `factors`: of figures that others may have changed: metric → that of a calm machine is at least the figure
    times the first, and at most times the second (null: unbounded). `disturbed`: metrics that they may have
    changed by so much that the figure does not count.
    """

    id: str
    experiment: str
    block: int
    position: int
    server: str
    twin: bool
    status: Status
    skipped: bool
    counts: bool
    engine_limited: bool
    disturbance: Disturbance | None
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    failure: Failure | None
    programs: Programs | None
    settings: dict[str, Any]
    start_s: float | None
    scheduled: int | None
    outcomes: Outcomes | None
    users: int | None
    users_unanswered: int | None
    figures: dict[str, float | None] | None
    factors: dict[str, tuple[float, float | None]] | None
    disturbed: tuple[str, ...]
    response_ns: dict[str, float] | None
    command: str


class ReportDocument(Lenient):
    """The report of a run of a study. `version` grows when a field changes its meaning."""

    version: Literal[2]
    run: str
    """The run's name."""
    study: str
    title: str
    question: str
    article: Article | None
    prose: Prose
    scale: ScaleName
    seed: int
    only: tuple[str, ...] | None
    """The servers to which it was restricted."""
    began: str
    """ISO 8601, UTC."""
    ended: str | None
    """Null: it was interrupted, or still goes on."""
    stopped: dict[str, str]
    """Experiment → why it got no more of the planned blocks."""
    caution: str
    answer: str
    """The answer to the study's question."""
    summary: str
    """How many claims have each answer."""
    claims: tuple[ClaimData, ...]
    experiments: tuple[ExperimentData, ...]
    trials: tuple[TrialData, ...]
    trials_left_out: int
    """Planned trials that are not stored."""
    machine: dict[str, Any]
    """Facts of the machine; null: could not be read."""
    versions: dict[str, dict[str, str]]
    """Server → runtime → version."""
    servers: dict[str, ServerNote]
    """Server → its description."""
    lab_version: str
    engine_version: str
