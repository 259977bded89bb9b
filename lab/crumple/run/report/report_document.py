"""The report of a run as JSON: its class, and how it is made of a run. Times in ns, CPU in µs, shares 0..1.

`json_schemas` generates the schema from the class; the other formats word the same facts.
"""

import json
from dataclasses import asdict
from typing import Any, Literal

from crumple.contract import Outcomes
from crumple.contract_base import Lenient
from crumple.documents.parts_of_documents import BudgetData, IntervalData, NoBudgetData, TimeData, finite
from crumple.drawing.terminal import shown_json
from crumple.limit.finding import Cause, Sure
from crumple.record.disturbance import Disturbance
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.record.undisturbed import SURE
from crumple.run.report import host_rows, left_sentences, run_sentences, study_answer, why, why_sentences
from crumple.run.report.host_rows import HostSeen
from crumple.run.report.server_names import circumstances
from crumple.run.report.view import ExperimentView, RunView, ServerView, StartView
from crumple.run.report.why import ServerWhy
from crumple.run.run_file import ServerNote
from crumple.run.store import Failure, ProgramHashes, Status
from crumple.study.claim import ScaleName
from crumple.study.study import Article, StudyProse
from crumple.study.study_load import Scale, Shape
from crumple.verdict.effect import Effect, VerdictWord
from crumple.verdict.opinions import Noise
from crumple.verdict.verdict import Verdict


class SummaryData(IntervalData):
    """A figure over the starts of a server."""

    limit: Literal["at least", "at most"] | None
    """The figure is only a bound, because the engine was the limit."""


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
    answer: VerdictWord
    direction: VerdictWord | None
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
    answer: VerdictWord
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
    """One server in an experiment."""

    server: str
    twin: bool
    starts: int
    starts_counted: int
    failed_share: float | None
    ranked: bool
    unanswered: tuple[str, ...]
    failed_marked: tuple[str, ...]
    summaries: dict[str, SummaryData | None]
    """Metric → the geometric mean of the server's starts that count."""


class LimitData(Lenient):
    """What limits a server: the finding of one start, and in how many of them that cause comes first."""

    cause: Cause
    sure: Sure
    probability: float
    share_s: float | None
    evidence: str
    remedy: str
    rival: Cause | None
    rival_probability: float
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
    """One trial."""

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
    programs: ProgramHashes | None
    settings: dict[str, Any]
    start_s: float | None
    scheduled: int | None
    outcomes: Outcomes | None
    users: int | None
    users_unanswered: int | None
    figures: dict[str, float | None] | None
    """Metric → value: times in ns, CPU time in µs, memory in bytes, shares 0..1."""
    factors: dict[str, tuple[float, float | None]] | None
    """Metric that others may have changed → the value on a calm machine is at least the figure times the
    first factor, and at most the figure times the second (null: unbounded)."""
    disturbed: tuple[str, ...]
    """Metrics that others may have changed so strongly that their figures do not count."""
    response_ns: dict[str, float] | None
    command: str


class HostData(Lenient):
    """One of several hosts."""

    id: str
    """The host of a trial, as its programs have it."""
    blocks: int
    machine: dict[str, Any]
    """Facts of the machine; null: could not be read."""
    versions: dict[str, dict[str, str]]
    """Server → runtime → version."""
    apart: tuple[str, ...]
    """The facts and versions in which it differs from the first host."""
    speed: IntervalData | None
    """How fast its cores are beside those of the first host; null: that is not known."""
    alike: bool | None
    """Whether it is like the first host; null: that is not decided."""


class ReportDocument(Lenient):
    """The report of a run of a study."""

    kind: Literal["report"]
    """The command that makes it."""
    version: Literal[2]
    """Grows when a field changes its meaning."""
    run: str
    """The run's name."""
    study: str
    title: str
    question: str
    article: Article | None
    prose: StudyProse
    scale: ScaleName
    seed: int
    only: tuple[str, ...] | None
    """The servers to which it was restricted."""
    shard: str | None = None
    """The part of a run that this is, "2/5"; null: the whole run."""
    hosts: tuple[HostData, ...] = ()
    """The hosts on which it was measured, if there were several."""
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


def as_json(view: RunView) -> str:
    """Return the document as text, for a terminal or a file."""
    made = document(view).model_dump(mode="json")
    return shown_json(json.dumps(made, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def document(view: RunView) -> ReportDocument:
    """Return the document of a run."""
    run = view.run
    limits = why.of_claims(view)
    return ReportDocument(
        kind="report",
        version=2,
        run=run.id,
        study=run.study.name,
        title=run.study.title,
        question=run.study.question,
        article=run.study.article,
        prose=run.study.prose,
        scale=run.scale,
        seed=run.seed,
        only=run.only,
        shard=str(run.shard) if run.shard else None,
        hosts=tuple(map(_host, host_rows.seen(view))),
        began=run.began,
        ended=run.ended,
        stopped=run.stopped,
        caution=run_sentences.LOOPBACK,
        answer=study_answer.answer(view).said,
        summary=run_sentences.summary(view),
        claims=tuple(_claim(view, verdict, limits) for verdict in view.verdicts),
        experiments=tuple(map(_experiment, view.experiments)),
        trials=tuple(_trial(view, start) for start in view.starts_by_id),
        trials_left_out=view.left_out,
        machine=run.machine,
        versions=run.versions,
        servers=run.servers,
        lab_version=run.lab_version,
        engine_version=run.engine_version,
    )


def _host(seen: HostSeen) -> HostData:
    return HostData(
        id=seen.host.id,
        blocks=seen.blocks,
        machine=seen.host.machine,
        versions=seen.host.versions,
        apart=seen.apart,
        speed=IntervalData.of(seen.speed),
        alike=seen.alike,
    )


def _claim(view: RunView, verdict: Verdict, limits: why.Limits) -> ClaimData:
    return ClaimData(
        id=verdict.claim_id,
        text=verdict.text,
        kind=verdict.kind,
        asked=verdict in view.asked,
        answer=verdict.answer,
        in_size_only=verdict.in_size_only,
        sentence=verdict.sentence,
        doubt=verdict.doubt or None,
        place=verdict.place or None,
        conditions=tuple(verdict.conditions),
        circumstances=circumstances(view, verdict) or None,
        effects=tuple(map(_effect, verdict.effects)),
        trials=tuple(verdict.trials),
        blocks=verdict.blocks,
        left=left_sentences.why_left(view).get(verdict.claim_id),
        limits=why_sentences.of_claim(limits.get(verdict.claim_id, ())) or None,
    )


def _effect(effect: Effect) -> EffectData:
    return EffectData(
        of=effect.of,
        to=effect.to,
        published=effect.published,
        expected=effect.expected,
        ratio=IntervalData.of(effect.ratio),
        metric=effect.what,
        value=IntervalData.of(effect.value),
        unit=effect.unit,
        bound=effect.bound or None,
        answer=effect.answer,
        direction=effect.direction,
        blocks_needed=effect.blocks_needed,
        margin=effect.margin,
        limit=effect.limit or None,
        reason=effect.reason,
    )


def _experiment(shown: ExperimentView) -> ExperimentData:
    scheduled, outcomes = shown.outcomes
    return ExperimentData(
        name=shown.name,
        title=shown.experiment.title,
        about=shown.experiment.about,
        setup=run_sentences.setup(shown),
        workload=shown.experiment.workload,
        placement=shown.experiment.placement,
        connection=shown.experiment.connection,
        shape=shown.experiment.shape,
        scale=shown.scale,
        identity=IdentityData(scheduled=scheduled, outcomes=outcomes),
        noise={name: _noise(noise) for name, noise in shown.noise.items()},
        servers=tuple(map(_server, shown.rows)),
        why={each.server.name: _why(each) for each in why.servers(shown)},
    )


def _server(row: ServerView) -> ServerData:
    return ServerData(
        server=row.name,
        twin=row.twin,
        starts=len(row.starts),
        starts_counted=len(row.counting),
        failed_share=row.failed_share,
        ranked=row.ranked,
        unanswered=tuple(start.trial.trial.id for start in row.starts if start.unanswered),
        failed_marked=tuple(start.trial.trial.id for start in row.lossy),
        summaries={name: _summary(row, name) for name in row.summaries},
    )


def _summary(row: ServerView, name: str) -> SummaryData | None:
    found = IntervalData.of(row.summaries[name])
    return SummaryData(**found.model_dump(), limit=row.limit(name) or None) if found else None


def _noise(noise: Noise) -> NoiseData:
    twins = noise.twins
    return NoiseData(
        spread=finite(noise.spread),
        visible=finite(noise.visible),
        blocks=noise.blocks,
        twins=TwinsData(
            server=twins.server, ratio=IntervalData.of(twins.ratio), different=twins.called_different
        )
        if twins
        else None,
        why_unknown=noise.why or None,
    )


def _why(found: ServerWhy) -> WhyData:
    limit = found.limit
    return WhyData(
        time=BudgetData.of(found.time) if found.time else NoBudgetData(why=found.no_time),
        timed=found.timed,
        starts=found.starts,
        limit=LimitData(**asdict(limit.finding), starts=limit.starts, judged=limit.judged, of=limit.of)
        if limit
        else None,
        no_limit=found.no_limit or None,
    )


def _trial(view: RunView, start: StartView) -> TrialData:
    stored, trial, seen, record = start.trial, start.trial.trial, start.figures, start.trial.record
    return TrialData(
        id=trial.id,
        experiment=trial.experiment,
        block=trial.block,
        position=trial.position,
        server=trial.server,
        twin=trial.twin,
        status=stored.status,
        skipped=stored.skipped,
        counts=start.counts,
        engine_limited=start.engine_limited,
        disturbance=stored.disturbance,
        problems=stored.problems,
        warnings=stored.warnings,
        failure=stored.failure,
        programs=stored.programs,
        settings=stored.server.settings,
        start_s=stored.server.start_s,
        scheduled=record.scheduled if record else None,
        outcomes=record.outcomes if record else None,
        users=record.users if record else None,
        users_unanswered=record.users_unanswered if record else None,
        figures={name: metric.of(seen) for name, metric in METRICS.items()} if seen else None,
        factors=_factors(seen) if seen else None,
        disturbed=tuple(name for name, metric in METRICS.items() if seen and metric.is_disturbed(seen)),
        response_ns={f"{q:g}": ns for q, ns in seen.response_ns.items()} if seen else None,
        command=run_sentences.command(view, trial.id),
    )


def _factors(seen: Figures) -> dict[str, tuple[float, float | None]]:
    """Return how far figures of a calm machine may lie from those that others may have changed."""
    found = {name: metric.undisturbed(seen) for name, metric in METRICS.items()}
    rounded = {name: (round(low, 9), round(high, 9)) for name, (low, high) in found.items()}
    return {name: (low, finite(high)) for name, (low, high) in rounded.items() if (low, high) != SURE}
