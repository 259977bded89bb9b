"""What every rule is given, figures and facts of a run, and what it hands back, an effect and its trials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from crumple.record.figures import Figures
from crumple.record.metrics import Metric
from crumple.stats import stats
from crumple.stats.stats import Interval
from crumple.verdict.effect import Answer, Effect, Opinion
from crumple.verdict.evidence import NO_FLOOR, Alone, Evidence, Floor

# An effect, the trials it rests on, and the floor it was held against.
Judged = tuple[Effect, tuple[str, ...], Floor]


@dataclass(frozen=True)
class Facts:
    """What no trial holds. `models`: server → the I/O model it declares; `costs`: name → readings in ns."""

    models: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, Sequence[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A run, as far as a claim may draw on it. `failed`: id of each trial that failed → why."""

    figures: tuple[Figures, ...]
    failed: Mapping[str, str]
    facts: Facts
    confidence: float = stats.CONFIDENCE

    def evidence(self, experiment: str, metric: Metric, against: str | None = None) -> Evidence:
        """The run in one metric; names that bring no experiment belong to this one."""
        return Evidence(experiment, metric, self.figures, self.failed, against, self.confidence)


def untestable(what: str, of: str, why: str, bound: str = "") -> Judged:
    """Nothing could be measured, and why."""
    effect = Effect(
        label=of, of=of, to="", published=None, ratio=None, noise_floor=None, answer=Answer.NOT_TESTABLE,
        direction_only=False, reason=why, bound=bound, what=what,
    )  # fmt: skip
    return effect, (), NO_FLOOR


def told(
    evidence: Evidence, of: str, alone: Alone, value: Interval, floor: Floor, opinion: Opinion, bound: str
) -> Judged:
    """The value of one server and what a rule says of it."""
    left_out = f"; left out: {alone.left_out}" if alone.left_out else ""
    effect = Effect(
        label=of, of=of, to="", published=None, ratio=None, noise_floor=floor.ratio, answer=opinion.answer,
        direction_only=opinion.direction_only, reason=f"{opinion.reason}{left_out}", value=value,
        unit=evidence.metric.unit, bound=bound, what=evidence.phrase,
    )  # fmt: skip
    return effect, alone.trials, floor
