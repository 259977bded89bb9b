"""What every rule is given, figures and facts of a run, and what it hands back, an effect and its trials."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crumple.record.figures import Figures
from crumple.record.metrics import Metric
from crumple.stats.looks import Look
from crumple.stats.stats import Interval
from crumple.verdict.effect import Answer, Effect, Opinion
from crumple.verdict.evidence import Alone, Evidence, Paired

# An effect, and the trials it rests on.
Judged = tuple[Effect, tuple[str, ...]]


@dataclass(frozen=True)
class Facts:
    """What no trial holds. `models`: server → the I/O model it declares; `costs`: name → readings in ns.

    `block_s`: experiment → what one more block of it takes, in seconds. `skipped`: ids of the failed trials
    that could not be tried on this machine.
    """

    models: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, Sequence[float]] = field(default_factory=dict)
    block_s: Mapping[str, float] = field(default_factory=dict)
    skipped: Collection[str] = ()


@dataclass(frozen=True)
class Case:
    """A run, as far as a claim may draw on it at a look. `failed`: id of each trial that failed → why.

    `memory`: trial → what is dear to work out of it for this claim; the same for all looks.
    """

    figures: tuple[Figures, ...]
    failed: Mapping[str, str]
    facts: Facts
    look: Look
    memory: dict[str, Any] = field(default_factory=dict)

    def evidence(self, experiment: str, metric: Metric, against: str | None = None) -> Evidence:
        """The run in one metric; names that bring no experiment belong to this one."""
        return Evidence(experiment, metric, self.figures, self.failed, against, self.facts.skipped)

    def reason(self, opinion: Opinion, evidence: Evidence, names: Sequence[str], blocks: int) -> str:
        """The opinion's, and where it is undecided what it would take."""
        if opinion.answer is not Answer.UNDECIDED or not blocks:
            return opinion.reason
        if opinion.blocks_needed is None:
            return f"{opinion.reason}; how many blocks would tell is not known, or more than 100"
        most, total = self.look.most, opinion.blocks_needed + max(0, self.look.blocks - blocks)
        if most is not None and total > most:
            return f"{opinion.reason}; it would take about {total} blocks, and this scale has {most} at most"
        places = dict.fromkeys(evidence.place(name).experiment for name in names)
        if evidence.against:
            places[evidence.against] = None
        more = opinion.blocks_needed - blocks
        seconds = sum(self.facts.block_s.get(place, 0.0) for place in places) * more
        said = f"{opinion.reason}; it would take about {opinion.blocks_needed} blocks, {more} more"
        return f"{said} ({_time(seconds)})" if seconds else said


def untestable(
    what: str, of: str, why: str, bound: str = "", evidence: Alone | Paired | None = None
) -> Judged:
    """Nothing could be measured, and why. `evidence`: what there was to it."""
    effect = Effect(
        label=of, of=of, to="", published=None, ratio=None, answer=Answer.NOT_TESTABLE, reason=why,
        bound=bound, what=what, refused=evidence is not None and evidence.refused,
        more_may_help=evidence is not None and evidence.more_may_help,
    )  # fmt: skip
    return effect, ()


def told(
    case: Case, evidence: Evidence, of: str, alone: Alone, value: Interval, opinion: Opinion, bound: str
) -> Judged:
    """The value of one server and what a rule says of it."""
    left_out = f"; left out: {alone.left_out}" if alone.left_out else ""
    effect = Effect(
        label=of, of=of, to="", published=None, ratio=None, answer=opinion.answer,
        reason=f"{case.reason(opinion, evidence, [of], value.n)}{left_out}",
        blocks_needed=opinion.blocks_needed, value=value, unit=evidence.metric.unit, bound=bound,
        what=evidence.phrase, bounds=opinion.bounds, limit=alone.limit,
        blocks_hoped=opinion.blocks_hoped,
    )  # fmt: skip
    return effect, alone.trials


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} seconds"
    return f"{round(seconds / 60)} minutes"
