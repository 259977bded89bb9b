"""The input of every rule, a run's figures and facts, and its output, an effect with its trials."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crumple.record.figures import Figures
from crumple.record.metrics import Metric
from crumple.stats.looks import Look
from crumple.stats.stats import SLACK, Interval
from crumple.verdict.effect import Answer, Effect, Opinion
from crumple.verdict.evidence import Alone, Evidence, Paired
from crumple.verdict.verdict_sentences import number

# An effect, and the ids of the trials it rests on.
Judged = tuple[Effect, tuple[str, ...]]


@dataclass(frozen=True)
class Facts:
    """Facts that no trial record holds. `models`: server → the I/O model it declares.

    `costs`: name → readings in ns; `block_s`: experiment → the seconds that one more block of it takes.
    `skipped`: the ids of the failed trials that could not be tried on this machine.
    """

    models: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, Sequence[float]] = field(default_factory=dict)
    block_s: Mapping[str, float] = field(default_factory=dict)
    skipped: Collection[str] = ()


@dataclass(frozen=True)
class Case:
    """The part of a run that a claim may use at one look. `failed`: id of each trial that failed → why.

    `memory`: trial → a value that is slow to compute for this claim; all looks share it.
    """

    figures: tuple[Figures, ...]
    failed: Mapping[str, str]
    facts: Facts
    look: Look
    memory: dict[str, Any] = field(default_factory=dict)

    def evidence(self, experiment: str, metric: Metric, against: str | None = None) -> Evidence:
        """Return the run's evidence in one metric; a name without an experiment belongs to `experiment`."""
        return Evidence(experiment, metric, self.figures, self.failed, against, self.facts.skipped)

    def reason(self, opinion: Opinion, evidence: Evidence, names: Sequence[str], blocks: int) -> str:
        """Return the opinion's reason, with its margin if decided, or the blocks needed if undecided."""
        if opinion.answer is not Answer.UNDECIDED or not blocks:
            return f"{opinion.reason}{how_far(opinion)}"
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
    """Return the effect of a comparison that could not be measured. `evidence`: what was read of it."""
    effect = Effect(
        label=of, of=of, to="", published=None, ratio=None, answer=Answer.NOT_TESTABLE, reason=why,
        bound=bound, what=what, refused=evidence is not None and evidence.refused,
        more_may_help=evidence is not None and evidence.more_may_help,
    )  # fmt: skip
    return effect, ()


def told(
    case: Case, evidence: Evidence, of: str, alone: Alone, value: Interval, opinion: Opinion, bound: str
) -> Judged:
    """Return the effect that holds the value of one server and a rule's opinion of it."""
    left_out = f"; left out: {alone.left_out}" if alone.left_out else ""
    effect = Effect(
        label=of, of=of, to="", published=None, ratio=None, answer=opinion.answer,
        reason=f"{case.reason(opinion, evidence, [of], value.n)}{left_out}",
        blocks_needed=opinion.blocks_needed, value=value, unit=evidence.metric.unit, bound=bound,
        what=evidence.phrase, bounds=opinion.bounds, limit=alone.limit,
        blocks_hoped=opinion.blocks_hoped, margin=opinion.margin,
    )  # fmt: skip
    return effect, alone.trials


def how_far(opinion: Opinion) -> str:
    """Return a clause that says how far the interval's nearest end lies from the bound.

    It is empty if the only bound is 1, because the interval itself then shows the distance.
    """
    margin = opinion.margin
    if margin is None or margin <= 1 + SLACK or opinion.bounds == (1.0,):
        return ""
    if margin >= 2:
        return f"; its nearest end is a factor of {number(margin)} from the bound"
    return f"; its nearest end is {float(f'{(margin - 1) * 100:.2g}'):g} % from the bound"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} seconds"
    return f"{round(seconds / 60)} minutes"
