"""Compare two runs of a study: what became faster or slower, and which verdicts changed. Pure.

Each run is read from its report's JSON, so either may be a stored file. A change of the machine between two
runs counts as a change of the servers; `cautions` names what is known to have changed.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, FiniteFloat, ValidationError
from scipy.stats import fisher_exact

from crumple import parsing
from crumple.errors import NotStored
from crumple.record import failures
from crumple.record.metrics import METRICS
from crumple.stats import stats
from crumple.stats.interval import Interval
from crumple.verdict.effect import Limit
from crumple.verdict.evidence import SPEED
from crumple.verdict.verdict_sentences import IN_SIZE_ONLY

Place = tuple[str, str]
SPEEDS = frozenset(name for name, metric in METRICS.items() if metric.unit == SPEED)


@dataclass(frozen=True)
class Side:
    """One of two runs. `values`: (experiment, server, twin) → metric → value of each start that counts.

    `failed`: (experiment, server) → share of failed requests of each start that counts or answered nothing.
    `starts`: (experiment, server) → how many starts count, and how many there are. `answers`: claim → its
    verdict. `limited`: each (experiment, server) with a start in which the engine was the limit; such a start
    counts as a lower bound of the speed.
    """

    run: str
    study: str
    scale: str
    machine: Mapping[str, Any]
    versions: Mapping[str, Mapping[str, str]]
    answers: Mapping[str, str]
    values: Mapping[tuple[str, str, bool], Mapping[str, tuple[float, ...]]]
    failed: Mapping[Place, tuple[float, ...]]
    starts: Mapping[Place, tuple[int, int]]
    limited: frozenset[Place] = frozenset()


class _Trial(BaseModel):
    experiment: str
    server: str
    twin: bool
    counts: bool
    # A stored report may be older than this field.
    engine_limited: bool = False
    figures: dict[str, FiniteFloat | None] | None

    def speaks(self, metric: str) -> bool:
        """Whether the trial's value of `metric` counts."""
        return self.counts or (self.engine_limited and metric in SPEEDS)


class _Claim(BaseModel):
    id: str
    answer: str
    in_size_only: bool


class _Report(BaseModel):
    """The part of a report's JSON that is compared."""

    version: Literal[2]
    run: str
    study: str
    scale: str
    machine: dict[str, Any]
    versions: dict[str, dict[str, str]]
    claims: list[_Claim]
    trials: list[_Trial]


def side(document: object, name: str) -> Side:
    """Return a report's JSON as a run to compare. `name`: for messages. Raises NotStored for other JSON."""
    try:
        read = _Report.model_validate(document)
    except ValidationError as error:
        raise NotStored(
            f"{name} is not the report of a study ({parsing.first_fault(error, document)})",
            "write it with: crumple report RUN --format json --out BASELINE.json",
        ) from None
    values: dict[tuple[str, str, bool], dict[str, list[float]]] = {}
    for trial in read.trials:
        mine = values.setdefault((trial.experiment, trial.server, trial.twin), {})
        for metric, value in (trial.figures or {}).items():
            if value is not None and trial.speaks(metric):
                mine.setdefault(metric, []).append(value)
    limited = (each for each in read.trials if each.engine_limited and not each.twin)
    return Side(
        run=read.run,
        study=read.study,
        scale=read.scale,
        machine=read.machine,
        versions=read.versions,
        answers={claim.id: _answer(claim) for claim in read.claims},
        values={key: {name: tuple(each) for name, each in mine.items()} for key, mine in values.items()},
        failed=_failed(read.trials),
        starts=_starts(read.trials),
        limited=frozenset((each.experiment, each.server) for each in limited),
    )


def _failed(trials: list[_Trial]) -> dict[Place, tuple[float, ...]]:
    shares: dict[Place, list[float]] = {}
    for trial in trials:
        share = (trial.figures or {}).get("failed_share")
        # A start without any answer counts nowhere else, but the server caused its failures.
        if share is not None and not trial.twin and (trial.counts or share == 1):
            shares.setdefault((trial.experiment, trial.server), []).append(share)
    return {place: tuple(each) for place, each in shares.items()}


def _starts(trials: list[_Trial]) -> dict[Place, tuple[int, int]]:
    starts: dict[Place, tuple[int, int]] = {}
    for trial in trials:
        if not trial.twin:
            counted, all_ = starts.get((trial.experiment, trial.server), (0, 0))
            # A start that was too fast for the engine has a result: a lower bound.
            counts = trial.counts or trial.engine_limited
            starts[trial.experiment, trial.server] = (counted + counts, all_ + 1)
    return starts


def _answer(claim: _Claim) -> str:
    return f"{claim.answer} {IN_SIZE_ONLY}" if claim.in_size_only else claim.answer


# The metrics compared if the user names none. CPU time and memory are compared only on request.
JUDGED = ("throughput", "response_p50", "response_p99")
STARTS_MIN = 2
WITHIN_CHANCE, BEYOND_CHANCE = "within chance", "beyond chance"
# At most one in twenty comparisons of like runs raises an alarm: one in 25 for a figure, one in 100 for
# failures.
FIGURES_ALPHA, FAILURES_ALPHA = 0.04, 0.01
# Added to each share of failures before its logarithm is taken, so that smaller shares differ little from 0.
SHARE_SEEN = 0.001
# A single start that fails may be chance.
FAILING_MIN = 2
# Facts that change times, and that may differ between two machines or between two days on one machine.
LASTING = ("cpu_model", "cores", "usable_cores", "kernel", "governor", "memory_bytes")

Change = Literal["slower", "faster", "as before", "not known"]


@dataclass(frozen=True)
class Difference:
    """One metric of one server, after ÷ before. `reason`: a clause, why the change has its name.

    `ratio`: with the interval that decides; its confidence allows for the other figures that are compared.
    `visible`: a change above this ratio would have been seen in four cases of five. `limit`: the ratio is
    only a bound, because the engine was the limit of some starts afterwards ("at least") or before ("at
    most").
    """

    experiment: str
    server: str
    metric: str
    ratio: Interval | None
    visible: float | None
    change: Change
    reason: str
    limit: Limit = ""


@dataclass(frozen=True)
class Comparison:
    """All differences; `verdicts`: claim → its answer before and after, of claims whose answer changed."""

    before: str
    after: str
    differences: tuple[Difference, ...]
    verdicts: Mapping[str, tuple[str, str]]
    cautions: tuple[str, ...]

    @property
    def slower(self) -> tuple[Difference, ...]:
        """The differences that make the exit code 1."""
        return tuple(each for each in self.differences if each.change == "slower")


def compare(before: Side, after: Side, metrics: Sequence[str] = JUDGED) -> Comparison:
    """Return what changed from `before` to `after` in `metrics`.

    Each ratio is one of geometric means over starts, tested by Welch's t on logarithms. Holm's procedure over
    all figures compared decides which are slower or faster. Tests with an error of their own call a server
    slower that fails more, or of which fewer starts count. Of runs that are alike, at most one in twenty
    raises a false alarm.
    """
    places = sorted(before.starts.keys() & after.starts.keys())
    worse = _worse(before, after, places)
    found = [
        _difference(before, after, place, metric, worse.get(place, ""))
        for place in places
        for metric in metrics
    ]
    return Comparison(
        before=before.run,
        after=after.run,
        differences=tuple(_judged(found)),
        verdicts={
            claim: (was, after.answers[claim])
            for claim, was in before.answers.items()
            if claim in after.answers and after.answers[claim] != was
        },
        cautions=tuple(_cautions(before, after)),
    )


@dataclass(frozen=True)
class _Found:
    """A figure of both runs, to be tested; `p` is 1 if there is nothing to test."""

    difference: Difference
    was: tuple[float, ...] = ()
    now: tuple[float, ...] = ()
    p: float = 1.0


def _difference(before: Side, after: Side, place: Place, metric: str, alarm: str) -> _Found:
    experiment, server = place
    key = (experiment, server, False)
    was, now = before.values.get(key, {}).get(metric, ()), after.values.get(key, {}).get(metric, ())

    def untested(change: Change, reason: str) -> _Found:
        return _Found(Difference(experiment, server, metric, None, None, change, reason))

    if alarm:
        return untested("slower", alarm)
    marked = [when for when, side in (("before", before), ("after", after)) if _failing(side, place)]
    if marked and not METRICS[metric].despite_failures:
        return untested("not known", f"more than 1 % of its requests failed {' and '.join(marked)}")
    if min(len(was), len(now)) < STARTS_MIN:
        return untested("not known", f"{len(was)} and {len(now)} starts, of {STARTS_MIN} each that it takes")
    if not all(value > 0 for value in (*was, *now)):
        return untested("not known", "zero has no ratio")
    limit = _limit(before, after, place) if metric in SPEEDS else ""
    if limit is None:
        return untested("not known", "the engine was the limit in both runs, and only lower bounds are known")
    ratio, p = stats.unpaired_ratio(now, was)
    # A bound shows a change in one direction only.
    p = 1.0 if limit and (ratio.estimate > 1) != (limit == "at least") else p
    return _Found(Difference(experiment, server, metric, ratio, None, "as before", "", limit), was, now, p)


def _limit(before: Side, after: Side, place: Place) -> Limit | None:
    """Return whether a ratio of speeds is only a bound; None: both speeds are, so nothing is known of it."""
    if place in after.limited:
        return None if place in before.limited else "at least"
    return "at most" if place in before.limited else ""


def _worse(before: Side, after: Side, places: Sequence[Place]) -> dict[Place, str]:
    """Return the servers that are called slower whatever their speed, and why.

    A server that sometimes fails in a start does so in either run. So each suspicion is tested, and the error
    is shared out over all of them (Holm).
    """
    suspects = [(*found, place) for place in places for found in _suspicions(before, after, place)]
    suspects.sort()
    worse: dict[Place, str] = {}
    for rank, (p, why, place) in enumerate(suspects):
        if p > FAILURES_ALPHA / (len(suspects) - rank):
            break
        if why:
            worse.setdefault(place, why)
    return worse


def _suspicions(before: Side, after: Side, place: Place) -> Iterator[tuple[float, str]]:
    """Yield p and the message of each suspicion: more failures, and fewer starts that count."""
    was, now = before.failed.get(place, ()), after.failed.get(place, ())
    if _failing(before, place) or _failing(after, place):
        yield _failures_rose(was, now), _fails_now(before, after, place)
    (counted, starts), (counted_before, starts_before) = after.starts[place], before.starts[place]
    if counted < starts or counted_before < starts_before:
        table = np.array([[starts - counted, counted], [starts_before - counted_before, counted_before]])
        p = float(fisher_exact(table, alternative="greater").pvalue)
        yield p, f"{counted} of {starts} starts count, and {counted_before} of {starts_before} did before"


def _failures_rose(was: Sequence[float], now: Sequence[float]) -> float:
    """Return p for shares that did not rise: Welch's t on their logarithms, one-sided."""
    if min(len(was), len(now)) < STARTS_MIN:
        return 1.0
    one, other = ([share + SHARE_SEEN for share in shares] for shares in (now, was))
    ratio, p = stats.unpaired_ratio(one, other)
    return p / 2 if ratio.estimate > 1 else 1.0


def _fails_now(before: Side, after: Side, place: Place) -> str:
    """Return what an alarm would say; empty if the server failed before too, or fails in one start only."""
    failing, known = _failing(after, place), after.failed.get(place, ())
    if len(failing) < FAILING_MIN or place not in before.failed or _failing(before, place):
        return ""
    return (
        f"in {len(failing)} of {len(known)} starts more than {failures.SHARE_MAX * 100:g} % of its requests "
        f"fail (up to {max(failing) * 100:.2g} %), and in none did before"
    )


def _failing(side: Side, place: Place) -> list[float]:
    return [share for share in side.failed.get(place, ()) if share > failures.SHARE_MAX]


def _judged(found: Sequence[_Found]) -> list[Difference]:
    """Apply Holm's procedure: test the smallest p first, each at its level, until one is above its level."""
    tested = sorted((each.p, index) for index, each in enumerate(found) if each.difference.ratio)
    levels: dict[int, float] = {}
    level, going = FIGURES_ALPHA, True
    for rank, (p, index) in enumerate(tested):
        # All figures after that one are judged at its level.
        level = FIGURES_ALPHA / (len(tested) - rank) if going else level
        going = going and p <= level
        levels[index] = level
    return [_called(each, levels.get(index)) for index, each in enumerate(found)]


def _called(found: _Found, level: float | None) -> Difference:
    difference = found.difference
    if level is None:
        return difference
    ratio, _ = stats.unpaired_ratio(found.now, found.was, 1 - level)
    visible = stats.unpaired_visible(found.now, found.was, 1 - level)
    if difference.limit:
        return _called_by_its_bound(difference, ratio)
    difference = replace(difference, ratio=ratio, visible=visible)
    if ratio.low <= 1 <= ratio.high:
        return replace(difference, reason=WITHIN_CHANCE)
    better = (ratio.estimate > 1) == (METRICS[difference.metric].better == "higher")
    return replace(difference, change="faster" if better else "slower", reason=BEYOND_CHANCE)


def _called_by_its_bound(difference: Difference, ratio: Interval) -> Difference:
    """Judge by one end of the interval, because the engine's limit leaves the other end unknown."""
    of = "second" if difference.limit == "at least" else "first"
    reason = f"the engine was the limit of starts in the {of} run"
    change: Change
    if difference.limit == "at least":
        shown, change = replace(ratio, high=math.inf), "faster" if ratio.low > 1 else "not known"
    else:
        shown, change = replace(ratio, low=0.0), "slower" if ratio.high < 1 else "not known"
    # A change in the other direction cannot be seen at all.
    return replace(difference, ratio=shown, visible=math.inf, change=change, reason=reason)


def _cautions(before: Side, after: Side) -> list[str]:
    said = []
    if before.study != after.study:
        said.append(f"these are runs of two studies, {before.study} and {after.study}")
    if before.scale != after.scale:
        said.append(f"one run is of scale {before.scale}, the other of {after.scale}")
    for fact in LASTING:
        was, now = before.machine.get(fact), after.machine.get(fact)
        if was != now and fact in before.machine and fact in after.machine:
            said.append(f"the machine is another: {fact.replace('_', ' ')} was {was}, is {now}")
    for server in sorted(before.versions.keys() & after.versions.keys()):
        if before.versions[server] != after.versions[server]:
            said.append(f"{server} runs on other versions: {_worded(before.versions[server])}, now "
                        f"{_worded(after.versions[server])}")  # fmt: skip
    gone = sorted(before.starts.keys() - after.starts.keys())
    said += [f"{server} in {experiment} is only in the first run" for experiment, server in gone]
    new = sorted(after.starts.keys() - before.starts.keys())
    said += [f"{server} in {experiment} is only in the second run" for experiment, server in new]
    return said


def _worded(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
