"""The account of an experiment: what each cause expected, what was read, and how the belief changed. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crumple.cause import next_experiment, reading_words
from crumple.cause.belief import Belief
from crumple.cause.experiments import CauseExperiment
from crumple.cause.hypothesis import ANY, Reading
from crumple.limit.finding import Cause

# The least probability, before or after an experiment, of a hypothesis that its account names.
NAMED = 0.05


@dataclass(frozen=True)
class Rival:
    """A cause, its probability before and after an experiment, and what it expected; empty: nothing.

    "none": something else.
    """

    cause: Cause
    before: float
    after: float
    expected: str


@dataclass(frozen=True)
class ExperimentMade:
    """One experiment. `does`: in words; `seen`: what was read; empty: nothing, and `why` may say why."""

    name: str
    does: str
    seen: str
    rivals: tuple[Rival, ...]
    why: str = ""


def of(
    experiment: CauseExperiment,
    readings: Mapping[str, Reading],
    before: Sequence[Belief],
    after: Sequence[Belief],
    why: str,
) -> ExperimentMade:
    """Return an experiment with what was believed before it and after it.

    If it gives several readings, the largest is shown: it says where most wait.
    """
    earlier = {each.cause: each.probability for each in before}
    name = max(
        (each for each in experiment.gives if each in readings),
        key=lambda each: readings[each].value,
        default=experiment.name,
    )
    # What an experiment did, and so what was expected of it, is known when it was made.
    rivals = [
        Rival(each.cause, earlier[each.cause], each.probability, _expected(each, name, experiment))
        for each in after
        if max(each.probability, earlier[each.cause]) >= NAMED
    ]
    seen = reading_words.said(name, readings[name]) if name in readings else ""
    return ExperimentMade(experiment.name, experiment.does, seen, tuple(rivals), why)


def _expected(held: Belief, name: str, experiment: CauseExperiment) -> str:
    range_ = next_experiment.expected(held, name)
    return "" if range_ in (None, ANY) else reading_words.range_(range_, Reading(0.0, 1.0, experiment.scale))
