"""One run as reports show it: trials grouped by experiment and server, summarised over starts, and judged.

Everything that a report prints is computed here, once, from stored trials; formats only word and place it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from crumple.contract import OUTCOMES
from crumple.record import failures, stages
from crumple.record.failures import SilentConnections, silent_connections
from crumple.record.figures import Figures, figures
from crumple.record.metrics import METRICS, Metric
from crumple.record.stages import Budget, NoBudget
from crumple.record.undisturbed import SURE
from crumple.run.run_file import TIME_OVER, RunFile, ServerNote
from crumple.run.store import StoredTrial
from crumple.stats import of_hosts
from crumple.stats.interval import Interval
from crumple.stats.sequential import Looks
from crumple.study.claim import Claim
from crumple.study.study import Experiment
from crumple.study.study_load import Scale
from crumple.verdict import verdict
from crumple.verdict.case import experiments_of, looks_of, missing
from crumple.verdict.effect import Limit, VerdictWord
from crumple.verdict.opinions import Noise, Twins
from crumple.verdict.verdict import Verdict

SPEED = "throughput"
# The fewest readings of stages that give a start a time budget. Five are enough, because the budgets of
# several starts are joined, and the interval comes from how these differ.
READINGS_MIN = 5

# Every experiment shows these of the metrics that claims may name, and the p99.9 besides.
_OF_EVERY_EXPERIMENT = (
    SPEED, "response_mean", "response_p50", "response_p99", "cpu_per_request", "memory",
)  # fmt: skip
_SHOWN: dict[str, Metric] = {
    **{name: METRICS[name] for name in _OF_EVERY_EXPERIMENT},
    "response_p999": replace(
        METRICS["response_p99"],
        title="99.9th percentile of the response time",
        of=lambda trial: trial.response_ns.get(0.999),
        undisturbed=lambda trial: trial.response_factors.get(0.999, SURE),
    ),
}


@dataclass(frozen=True)
class StartView:
    """One trial; `figures` is None if it was not measured."""

    trial: StoredTrial
    figures: Figures | None

    @property
    def counts(self) -> bool:
        """Whether the start enters summaries and verdicts."""
        return self.figures is not None and self.figures.valid

    @property
    def engine_limited(self) -> bool:
        """Whether it does not count only because of the engine; its throughput is still a lower bound."""
        return self.figures is not None and self.figures.engine_limited

    @property
    def lossy(self) -> bool:
        """Whether more than 1 % of its requests failed; reports mark the start wherever it appears."""
        return self.figures is not None and self.figures.failed_share > failures.SHARE_MAX

    @cached_property
    def unanswered(self) -> SilentConnections | None:
        """Its users who got no answer, and are in no quantile; None if every user got one."""
        return silent_connections(self.trial.record) if self.trial.record is not None else None

    @cached_property
    def time(self) -> Budget | NoBudget | None:
        """Where the mean response time goes, or why that is not known; None if nobody asked.

        Several starts make one budget, whose interval is of their means. So each may be short.
        """
        record = self.trial.record
        return stages.budget(record, readings_min=READINGS_MIN, batches_min=0) if record else None

    @property
    def block_name(self) -> str:
        """The block's name, as in "b02"."""
        return f"b{self.trial.trial.block:02d}"


@dataclass(frozen=True)
class ServerView:
    """One server in one experiment."""

    name: str
    """The server's label."""
    note: ServerNote
    starts: tuple[StartView, ...]
    twin: bool = False
    """Whether these starts are the A/A control."""

    @property
    def counting(self) -> tuple[StartView, ...]:
        """The starts that enter summaries."""
        return tuple(start for start in self.starts if start.counts)

    @property
    def figures(self) -> tuple[Figures, ...]:
        """The figures of the starts that enter summaries."""
        return tuple(start.figures for start in self.counting if start.figures)

    @property
    def engine_limited(self) -> tuple[StartView, ...]:
        """The starts of which only the throughput enters summaries, as a lower bound."""
        return tuple(start for start in self.starts if start.engine_limited)

    @cached_property
    def summaries(self) -> Mapping[str, Interval | None]:
        """Metric → geometric mean over starts with its interval; None if a start has no value.

        Starts are left out whose figure others may have changed by more than what was measured.
        If the engine was the limit of a start, the interval of the throughput has no upper end.
        """
        return {name: self._summary(name, metric) for name, metric in _SHOWN.items()}

    def limit(self, metric: str) -> Limit:
        """Return whether the summary is only a lower bound: "at least", or empty."""
        return "at least" if metric == SPEED and self.engine_limited else ""

    @cached_property
    def failed_share(self) -> float | None:
        """The share (0..1) of failed requests among those that ended, over all starts that count."""
        outcomes = [start.trial.record.outcomes for start in self.counting if start.trial.record]
        ended = sum(outcome.ok + outcome.failed for outcome in outcomes)
        return sum(outcome.failed for outcome in outcomes) / ended if ended else None

    @property
    def lossy(self) -> tuple[StartView, ...]:
        """The starts that reports mark for their failures."""
        return tuple(start for start in self.starts if start.lossy)

    @property
    def ranked(self) -> bool:
        """Whether its speed may be compared with that of others: no start that counts is marked."""
        return not any(start.lossy for start in self.counting)

    def _summary(self, name: str, metric: Metric) -> Interval | None:
        limit = self.limit(name)
        starts = (start for start in self.starts if start.counts or (limit and start.engine_limited))
        every = [start.figures for start in starts if start.figures]
        seen = [each for each in every if not metric.is_disturbed(each)]
        found = over_starts(map(metric.of, seen), [each.host for each in seen])
        return replace(found, high=math.inf) if found and limit else found


def over_starts(each: Iterable[float | None], hosts: Sequence[str] = ()) -> Interval | None:
    """Return the geometric mean of a figure over starts with its interval; None if a start has no value.

    `hosts`: the host of each; none: all are of one.
    """
    values = [*each]
    known = [value for value in values if value is not None and value > 0]
    return of_hosts.geometric_mean(known, hosts) if known and len(known) == len(values) else None


@dataclass(frozen=True)
class ExperimentView:
    """One experiment. `servers` by throughput, best first, and then those that are not ranked by it."""

    name: str
    experiment: Experiment
    scale: Scale
    servers: tuple[ServerView, ...]
    twin: ServerView | None
    noise: Mapping[str, Noise]
    """Metric → how starts differ."""
    blocks: int = 0
    """How many blocks there are."""
    stopped: str = ""
    """Why the other planned blocks were not run; empty: that is not known."""
    claims: tuple[Claim, ...] = ()
    """The claims that the run's scale asks of it."""

    @property
    def rows(self) -> tuple[ServerView, ...]:
        """The servers, each followed by its twin if it has one."""
        rows: list[ServerView] = []
        for server in self.servers:
            rows.append(server)
            if self.twin and server.name == self.twin.name:
                rows.append(self.twin)
        return tuple(rows)

    @property
    def starts(self) -> tuple[StartView, ...]:
        """Every trial, in the order of `rows`."""
        return tuple(start for row in self.rows for start in row.starts)

    @property
    def outcomes(self) -> tuple[int, dict[str, int]]:
        """The number of requests scheduled in all measured windows, and how many had each outcome."""
        records = [start.trial.record for start in self.starts if start.trial.record]
        sums: dict[str, int] = {
            name: sum(record.outcomes.as_dict()[name] for record in records) for name in OUTCOMES
        }
        return sum(record.scheduled for record in records), sums


@dataclass(frozen=True)
class RunView:
    """A run, ready to be worded."""

    run: RunFile
    experiments: tuple[ExperimentView, ...]
    verdicts: tuple[Verdict, ...]

    @cached_property
    def asked(self) -> tuple[Verdict, ...]:
        """The verdicts on claims that the run asks: its scale may answer them and its plan has the trials."""
        planned = {trial.experiment for trial in self.run.plan.trials}
        claims = {claim.id: claim for claim in self.run.study.claims}

        def is_asked(claim: Claim) -> bool:
            return self.run.scale in claim.scales and planned.issuperset(experiments_of(claim))

        return tuple(
            each
            for each in self.verdicts
            if is_asked(claims[each.claim_id]) and each.claim_id not in self.unasked_servers
        )

    @cached_property
    def unasked_servers(self) -> Mapping[str, tuple[str, ...]]:
        """Claim → its servers that --servers leaves out, so that the claim cannot be tested."""
        if self.run.only is None:
            return {}
        untested = {each.claim_id for each in self.verdicts if each.answer is VerdictWord.NOT_TESTABLE}
        asked_here = (each for each in self.run.study.claims if self.run.scale in each.scales)
        # A server that another experiment has was left out of this one by the scale.
        study, kept = self.run.study, self.run.study.servers
        gone = {
            each.id: tuple(name for name in missing(each, study) if name not in kept)
            for each in asked_here
            if each.id in untested
        }
        return {claim: servers for claim, servers in gone.items() if servers}

    @cached_property
    def not_asked(self) -> tuple[Verdict, ...]:
        """The verdicts on the other claims, which another scale could ask."""
        asked = {each.claim_id for each in self.asked}
        return tuple(each for each in self.verdicts if each.claim_id not in asked)

    @property
    def starts(self) -> tuple[StartView, ...]:
        """Every trial of the run, by experiment and row."""
        return tuple(start for experiment in self.experiments for start in experiment.starts)

    @property
    def starts_by_id(self) -> list[StartView]:
        """Every trial of the run, in the order of their ids."""
        return sorted(self.starts, key=lambda start: start.trial.trial.id)

    @property
    def failed(self) -> tuple[StartView, ...]:
        """Trials that ended before they were measured."""
        return tuple(
            start for start in self.starts if start.trial.status == "failed" and not start.trial.skipped
        )

    @property
    def skipped(self) -> tuple[StartView, ...]:
        """Trials that could not be tried on this machine."""
        return tuple(start for start in self.starts if start.trial.skipped)

    @property
    def not_valid(self) -> tuple[StartView, ...]:
        """Trials that were measured, but do not count."""
        return tuple(start for start in self.starts if start.figures is not None and not start.counts)

    @property
    def warned(self) -> tuple[StartView, ...]:
        """Trials that count, but carry a warning."""
        return tuple(start for start in self.starts if start.counts and start.trial.warnings)

    @property
    def twins(self) -> tuple[Twins, ...]:
        """Every comparison of a server with its twin, by the same rules as between servers."""
        of_all = (noise.twins for shown in self.experiments for noise in shown.noise.values())
        return tuple(twins for twins in of_all if twins is not None)

    @property
    def left_out(self) -> int:
        """The number of planned trials that are not stored: the run was interrupted, or still goes on."""
        kept = {start.trial.trial.id for start in self.starts}
        begun = [block for block in self.run.blocks if self.run.must(block) or block.labels & kept]
        return sum(len(block.labels - kept) for block in begun)


def view(run: RunFile, trials: Sequence[StoredTrial]) -> RunView:
    """Group, summarise and judge the stored trials of one run; return the result."""
    starts = [StartView(trial, figures(trial)) for trial in trials]
    known = [start.figures for start in starts if start.figures is not None]
    failed = {start.trial.trial.id: start.trial.failure.message for start in starts if start.trial.failure}
    looks = looks_of(run.study, run.scale, _ended(run, starts))
    experiments = tuple(_experiment(run, name, starts, looks) for name in run.study.experiments)
    skipped = {start.trial.trial.id for start in starts if start.trial.skipped}
    facts = run.facts(skipped, trial_s(starts))
    verdicts = tuple(
        verdict.judge(claim, known, failed, run.scale, facts, looks) for claim in run.study.claims
    )
    return RunView(run, experiments, verdicts)


def _ended(run: RunFile, starts: Sequence[StartView]) -> dict[str, int]:
    """Return experiment → how many blocks it had, for those that ended because the time was over."""
    over = [name for name, why in run.stopped.items() if why == TIME_OVER]
    of = {name: [s.trial.trial.block for s in starts if s.trial.trial.experiment == name] for name in over}
    return {name: max(blocks, default=0) for name, blocks in of.items()}


def _experiment(
    run: RunFile, name: str, starts: Sequence[StartView], looks: Mapping[str, Looks]
) -> ExperimentView:
    experiment = run.study.experiments[name]
    own = sorted(
        (start for start in starts if start.trial.trial.experiment == name),
        key=lambda start: start.trial.trial.block,
    )

    def of(server: str, twin: bool) -> ServerView:
        trials = (s for s in own if s.trial.trial.server == server and s.trial.trial.twin == twin)
        note = run.servers.get(server, _undescribed(server))
        return ServerView(server, note, tuple(trials), twin)

    servers = sorted((of(server, False) for server in experiment.servers), key=_place)
    scale = experiment.scales[run.scale]
    # A run restricted to other servers has no twin.
    has_twin = scale.twin and experiment.twin in experiment.servers
    twin = of(experiment.twin, True) if has_twin else None
    seen = [start.figures for start in own if start.figures is not None]
    noise = {metric: verdict.noise_of(seen, name, metric, looks) for metric in _OF_EVERY_EXPERIMENT}
    blocks = len({start.trial.trial.block for start in own})
    stopped = run.stopped.get(name, "")
    claims = tuple(
        each for each in run.study.claims if run.scale in each.scales and name in experiments_of(each)
    )
    return ExperimentView(name, experiment, scale, tuple(servers), twin, noise, blocks, stopped, claims)


def trial_s(starts: Sequence[StartView]) -> dict[tuple[str, str], float]:
    """Return experiment and server → the seconds that a trial of it took on average.

    Blocks may have different servers, so the time of a further one is that of the servers it would have.
    """
    took: dict[tuple[str, str], list[float]] = {}
    for trial in (start.trial for start in starts if not start.trial.trial.twin):
        took.setdefault((trial.trial.experiment, trial.trial.server), []).append(_took_s(trial))
    return {place: fmean(each) for place, each in took.items()}


def _took_s(trial: StoredTrial) -> float:
    record = trial.record
    load_s = (record.warm_up_ns + record.measured_ns) / 1e9 if record else 0.0
    return load_s + (trial.server.start_s or 0.0) + trial.overhead_s


def _undescribed(server: str) -> ServerNote:
    return ServerNote(title=server, language="", io_model="", about="", libraries={})


def _place(server: ServerView) -> tuple[bool, bool, float]:
    """Return the sort key: servers by throughput, then those not ranked by it, then those without one."""
    summary = server.summaries[SPEED]
    return summary is None, not server.ranked, -summary.estimate if summary else 0.0
