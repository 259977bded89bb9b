"""Two runs of a study against each other: what became faster or slower, which verdicts changed. Pure.

Each run is read from its report's JSON, so one of them may be a file kept from yesterday. What changed on the
machine between two runs counts as a change of the servers; `cautions` names what is known of that.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, FiniteFloat, ValidationError
from scipy.stats import fisher_exact

from crumple import faults
from crumple.errors import NotStored
from crumple.record.metrics import METRICS
from crumple.stats import stats
from crumple.stats.stats import Interval
from crumple.verdict.verdict_sentences import IN_SIZE_ONLY

Place = tuple[str, str]


@dataclass(frozen=True)
class Side:
    """`values`: (experiment, server, twin) → metric → value of each start that counts.

    `failed`: (experiment, server) → share of failed requests of each start that counts, and of those that
    answered nothing. `starts`: the same → how many count, of how many. `answers`: claim → its verdict.
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


class _Trial(BaseModel):
    experiment: str
    server: str
    twin: bool
    counts: bool
    figures: dict[str, FiniteFloat | None] | None


class _Claim(BaseModel):
    id: str
    answer: str
    in_size_only: bool


class _Report(BaseModel):
    """The part of it that is compared."""

    version: Literal[2]
    run: str
    study: str
    scale: str
    machine: dict[str, Any]
    versions: dict[str, dict[str, str]]
    claims: list[_Claim]
    trials: list[_Trial]


def side(document: object, name: str) -> Side:
    """A report's JSON as a run to compare. `name`: for messages. Raises NotStored."""
    try:
        read = _Report.model_validate(document)
    except ValidationError as error:
        raise NotStored(
            f"{name} is not the report of a study ({faults.first(error, document)})",
            "write it with: crumple report RUN --format json --out BASELINE.json",
        ) from None
    counting = [trial for trial in read.trials if trial.counts]
    values: dict[tuple[str, str, bool], dict[str, list[float]]] = {}
    for trial in counting:
        mine = values.setdefault((trial.experiment, trial.server, trial.twin), {})
        for metric, value in (trial.figures or {}).items():
            if value is not None:
                mine.setdefault(metric, []).append(value)
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
    )


def _failed(trials: list[_Trial]) -> dict[Place, tuple[float, ...]]:
    shares: dict[Place, list[float]] = {}
    for trial in trials:
        share = (trial.figures or {}).get("failed_share")
        # A start in which nothing was answered counts nowhere else, and is the server's doing all the same.
        if share is not None and not trial.twin and (trial.counts or share == 1):
            shares.setdefault((trial.experiment, trial.server), []).append(share)
    return {place: tuple(each) for place, each in shares.items()}


def _starts(trials: list[_Trial]) -> dict[Place, tuple[int, int]]:
    starts: dict[Place, tuple[int, int]] = {}
    for trial in trials:
        if not trial.twin:
            counted, all_ = starts.get((trial.experiment, trial.server), (0, 0))
            starts[trial.experiment, trial.server] = (counted + trial.counts, all_ + 1)
    return starts


def _answer(claim: _Claim) -> str:
    return f"{claim.answer} {IN_SIZE_ONLY}" if claim.in_size_only else claim.answer


# Those by which a server is called slower. What it costs is shown, and called by its name only on request.
JUDGED = ("throughput", "response_p50", "response_p99")
STARTS_MIN = 2
# Of runs that are alike one in twenty at most raises an alarm: one in 25 by a figure, one in 100 by failures.
FIGURES_ALPHA, FAILURES_ALPHA = 0.04, 0.01
# A share of failures below this is as good as none.
SHARE_SEEN = 0.001
# One start that fails may be chance.
FAILING_MIN = 2
FAILED_SHARE_MAX = 0.01
# Facts in which two machines, or one on two days, may differ so that times do.
LASTING = ("cpu_model", "cores", "usable_cores", "kernel", "governor", "memory_bytes")

Change = Literal["slower", "faster", "as before", "not known"]


@dataclass(frozen=True)
class Difference:
    """A metric of a server, after ÷ before. `reason`: a clause, why it is called so.

    `ratio`: with the interval it is judged by, in which the other figures compared are allowed for.
    `visible`: a change above this ratio would have been seen in four cases of five.
    """

    experiment: str
    server: str
    metric: str
    ratio: Interval | None
    visible: float | None
    change: Change
    reason: str


@dataclass(frozen=True)
class Comparison:
    """All differences; `verdicts`: claim → what was and what is, of those that changed."""

    before: str
    after: str
    differences: tuple[Difference, ...]
    verdicts: Mapping[str, tuple[str, str]]
    cautions: tuple[str, ...]

    @property
    def slower(self) -> tuple[Difference, ...]:
        """What makes the exit code 1."""
        return tuple(each for each in self.differences if each.change == "slower")


def compare(before: Side, after: Side, metrics: Sequence[str] = JUDGED) -> Comparison:
    """What changed from `before` to `after`, by these metrics.

    Ratios of geometric means over starts, by Welch's t on logarithms. Slower or faster is what Holm's
    procedure tells apart over everything that is compared. So is what fails, or no longer counts: of runs
    that are alike, one in twenty at most raises a false alarm.
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
    """A figure of both runs, to be tested; `p` 1 where there is nothing to test."""

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
    marked = [side.run for side in (before, after) if _failing(side, place)]
    if marked and not METRICS[metric].despite_failures:
        return untested("not known", f"more than 1 % of its requests fail in {' and in '.join(marked)}")
    if min(len(was), len(now)) < STARTS_MIN:
        return untested("not known", f"{len(was)} and {len(now)} starts, of {STARTS_MIN} each that it takes")
    if not all(value > 0 for value in (*was, *now)):
        return untested("not known", "zero has no ratio")
    ratio, p = stats.unpaired_ratio(now, was)
    return _Found(Difference(experiment, server, metric, ratio, None, "as before", ""), was, now, p)


def _worse(before: Side, after: Side, places: Sequence[Place]) -> dict[Place, str]:
    """The servers that are called slower whatever their speed, and why.

    A server that now and then fails in some start does so in either run. So each is tested, and the error
    shared out (Holm) over those with anything to test.
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
    """p and what would be said: of more failures, and of starts that no longer count."""
    was, now = before.failed.get(place, ()), after.failed.get(place, ())
    if _failing(before, place) or _failing(after, place):
        yield _failures_rose(was, now), _fails_now(before, after, place)
    (counted, starts), (counted_before, starts_before) = after.starts[place], before.starts[place]
    if counted < starts or counted_before < starts_before:
        table = [[starts - counted, counted], [starts_before - counted_before, counted_before]]
        p = float(fisher_exact(table, alternative="greater").pvalue)
        yield p, f"{counted} of {starts} starts count, and {counted_before} of {starts_before} did before"


def _failures_rose(was: Sequence[float], now: Sequence[float]) -> float:
    """p of shares that are no higher than they were: Welch's t on their logarithms, one-sided."""
    if min(len(was), len(now)) < STARTS_MIN:
        return 1.0
    one, other = ([share + SHARE_SEEN for share in shares] for shares in (now, was))
    ratio, p = stats.unpaired_ratio(one, other)
    return p / 2 if ratio.estimate > 1 else 1.0


def _fails_now(before: Side, after: Side, place: Place) -> str:
    """What an alarm would say; empty where it failed before too, which is no news, or in one start only."""
    failing, known = _failing(after, place), after.failed.get(place, ())
    if len(failing) < FAILING_MIN or place not in before.failed or _failing(before, place):
        return ""
    return (
        f"in {len(failing)} of {len(known)} starts more than 1 % of its requests fail "
        f"(up to {max(failing) * 100:.2g} %), and in none did before"
    )


def _failing(side: Side, place: Place) -> list[float]:
    return [share for share in side.failed.get(place, ()) if share > FAILED_SHARE_MAX]


def _judged(found: Sequence[_Found]) -> list[Difference]:
    """Holm: the clearest first, each held to what is left of the error; the first that fails ends it."""
    tested = sorted((each.p, index) for index, each in enumerate(found) if each.difference.ratio)
    levels: dict[int, float] = {}
    level, going = FIGURES_ALPHA, True
    for rank, (p, index) in enumerate(tested):
        # What comes after the end is held to the level that ended it.
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
    difference = replace(difference, ratio=ratio, visible=visible)
    if ratio.low <= 1 <= ratio.high:
        return replace(difference, reason="within chance")
    better = (ratio.estimate > 1) == (METRICS[difference.metric].better == "higher")
    return replace(difference, change="faster" if better else "slower", reason="beyond chance")


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
