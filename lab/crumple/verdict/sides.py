"""What is compared: the figures of one run, or of several runs or loads together. Pure.

A run is read from its report's JSON, so that it may be a stored file.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, FiniteFloat, ValidationError

from crumple import parsing
from crumple.errors import NotStored
from crumple.record import undisturbed
from crumple.record.disturbance import Disturbance
from crumple.record.metrics import METRICS
from crumple.record.undisturbed import SURE, Factors
from crumple.verdict.evidence import SPEED
from crumple.verdict.verdict_sentences import IN_SIZE_ONLY

Place = tuple[str, str]
# (experiment, server, twin).
Key = tuple[str, str, bool]
Unit = Literal["start", "host", "load", "run"]
# Quantile (0..1) → time in ns.
Quantiles = Mapping[float, float]
Grouped = TypeVar("Grouped")
SPEEDS = frozenset(name for name, metric in METRICS.items() if metric.unit == SPEED)


@dataclass(frozen=True)
class Side:
    """One of two sides."""

    run: str
    study: str
    scale: str
    machine: Mapping[str, Any]
    versions: Mapping[str, Mapping[str, str]]
    answers: Mapping[str, str]
    """Claim → its verdict."""
    values: Mapping[Key, Mapping[str, tuple[float, ...]]]
    """(experiment, server, twin) → metric → value of each unit that counts."""
    failed: Mapping[Place, tuple[float, ...]]
    """(experiment, server) → share of failed requests of each start that counts or answered nothing."""
    starts: Mapping[Place, tuple[int, int]]
    """(experiment, server) → how many starts count, and how many there are."""
    limited: frozenset[Place] = frozenset()
    """Each (experiment, server) with a start in which the engine was the limit.

    Such a start counts as a lower bound of the speed.
    """
    unit: Unit = "start"
    """What has one value: a start of one run, a host of one run on several, or a load or run of several."""
    quantiles: Mapping[Place, tuple[Quantiles, ...]] = field(default_factory=dict)
    """The quantiles of response times of each unit that counts, in ns."""
    factors: Mapping[Key, Mapping[str, tuple[Factors, ...]]] = field(default_factory=dict)
    """For each of `values`, how far that of a calm machine may lie from it.

    A metric without factors was not disturbed.
    """
    certain: Mapping[Place, tuple[float, ...]] = field(default_factory=dict)
    """As `failed`, but the least share on a calm machine."""
    taken: tuple[Disturbance, ...] = ()
    """What others took from each start that was measured."""

    def off(self, key: Key, metric: str) -> tuple[float, float]:
        """Return how far below, and above, the mean of logarithms that of a calm machine may lie."""
        return undisturbed.logarithms(self.factors.get(key, {}).get(metric, ()))

    def certain_failed(self, place: Place) -> tuple[float, ...]:
        """The share of failed requests of each start that others did not cause."""
        return self.certain.get(place, self.failed.get(place, ()))


class _Programs(BaseModel):
    # A stored report may be older than this field.
    host: str = ""


class _Trial(BaseModel):
    experiment: str
    server: str
    twin: bool
    counts: bool
    # A stored report may be older than this field.
    engine_limited: bool = False
    figures: dict[str, FiniteFloat | None] | None
    factors: dict[str, tuple[float, float | None]] | None
    disturbed: tuple[str, ...]
    disturbance: Disturbance | None
    programs: _Programs | None = None
    response_ns: dict[float, float] | None = None

    @property
    def place(self) -> Place:
        """Where it was measured."""
        return self.experiment, self.server

    @property
    def host(self) -> str:
        """The host that measured it; empty: it could not be tried, or the host is not known."""
        return self.programs.host if self.programs else ""

    def speaks(self, metric: str) -> bool:
        """Whether the trial's value of `metric` counts."""
        counts = self.counts or (self.engine_limited and metric in SPEEDS)
        return counts and metric not in self.disturbed

    def undisturbed(self, metric: str) -> Factors:
        """How far the value of a calm machine may lie from that of the trial."""
        low, high = (self.factors or {}).get(metric, SURE)
        return low, math.inf if high is None else high


class _ReportedClaim(BaseModel):
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
    claims: list[_ReportedClaim]
    trials: list[_Trial]


def side(document: object, name: str) -> Side:
    """Return a report's JSON as a run to compare. `name`: for messages. Raises NotStored for other JSON.

    A run on several hosts has one value for each host, as the starts of one host have in common what it does.
    """
    try:
        read = _Report.model_validate(document)
    except ValidationError as error:
        raise NotStored(
            f"{name} is not the report of a study ({parsing.first_fault(error, document)})",
            "write it with: crumple report RUN --format json --out BASELINE.json",
        ) from None
    hosts = [*dict.fromkeys(each.host for each in read.trials if each.host)]
    if len(hosts) < 2:
        return _of_starts(read, read.trials)
    # A trial that could not be tried has no host, and no figure either.
    of = {host: [each for each in read.trials if (each.host or hosts[0]) == host] for host in hosts}
    return replace(together([_of_starts(read, own) for own in of.values()]), run=read.run, unit="host")


def _of_starts(read: _Report, trials: list[_Trial]) -> Side:
    """Return a side in which each of these trials has one value."""
    values, factors = _values(trials)
    limited = (each for each in trials if each.engine_limited and not each.twin)
    return Side(
        run=read.run,
        study=read.study,
        scale=read.scale,
        machine=read.machine,
        versions=read.versions,
        answers={claim.id: _answer(claim) for claim in read.claims},
        values=values,
        failed=_failed(trials),
        starts=_starts(trials),
        limited=frozenset((each.experiment, each.server) for each in limited),
        quantiles=_quantiles(trials),
        factors=factors,
        certain=_failed(trials, certain=True),
        taken=tuple(each.disturbance for each in trials if each.disturbance is not None),
    )


def in_one_unit(before: Side, after: Side) -> tuple[Side, Side]:
    """Return two runs with a value for each start, or for each host if one of them has several hosts."""
    if before.unit == after.unit:
        return before, after
    before, after = (
        each if each.unit == "host" else replace(together([each]), unit="host") for each in (before, after)
    )
    return before, after


def together(sides: Sequence[Side]) -> Side:
    """Return several runs as one side, in which each run has one value: the geometric mean of its starts.

    So what differs from run to run is part of the comparison. Facts and verdicts are those of the last run.
    """
    last = sides[-1]
    return Side(
        run=last.run if len(sides) == 1 else f"{len(sides)} runs (the last: {last.run})",
        study=last.study,
        scale=last.scale,
        machine=last.machine,
        versions=last.versions,
        answers=last.answers,
        values=_of_runs(sides),
        failed=_means(each.failed for each in sides),
        starts=_sums((place, counts) for each in sides for place, counts in each.starts.items()),
        limited=frozenset(place for each in sides for place in each.limited),
        unit="run",
        quantiles=_group(
            (place, curve) for each in sides for place, curves in each.quantiles.items() for curve in curves
        ),
        factors=_factors_of_runs(sides),
        certain=_means({place: each.certain_failed(place) for place in each.failed} for each in sides),
        taken=tuple(found for each in sides for found in each.taken),
    )


def _group(pairs: Iterable[tuple[Place, Grouped]]) -> dict[Place, tuple[Grouped, ...]]:
    """Return the values of each place, in their order."""
    found: dict[Place, list[Grouped]] = {}
    for place, value in pairs:
        found.setdefault(place, []).append(value)
    return {place: tuple(values) for place, values in found.items()}


def _sums(pairs: Iterable[tuple[Place, tuple[int, int]]]) -> dict[Place, tuple[int, int]]:
    """Return the sums of the numbers of each place: how many starts count, and how many there are."""
    return {
        place: (sum(counted for counted, _ in numbers), sum(number for _, number in numbers))
        for place, numbers in _group(pairs).items()
    }


def _means(shares: Iterable[Mapping[Place, tuple[float, ...]]]) -> dict[Place, tuple[float, ...]]:
    return _group((place, mean(values)) for side in shares for place, values in side.items())


def _factors_of_runs(sides: Sequence[Side]) -> dict[Key, dict[str, tuple[Factors, ...]]]:
    found: dict[Key, dict[str, tuple[Factors, ...]]] = {}
    for each in sides:
        for key, metrics in each.values.items():
            mine, factors = found.setdefault(key, {}), each.factors.get(key, {})
            for metric in metrics:
                mine[metric] = (*mine.get(metric, ()), undisturbed.mean(factors.get(metric, ())))
    return found


def _of_runs(sides: Sequence[Side]) -> dict[Key, dict[str, tuple[float, ...]]]:
    values: dict[Key, dict[str, tuple[float, ...]]] = {}
    for each in sides:
        for key, metrics in each.values.items():
            mine = values.setdefault(key, {})
            for metric, all_ in metrics.items():
                # A run in which a value is 0 has no geometric mean; its value stays 0, and has no ratio.
                one = math.exp(mean(map(math.log, all_))) if min(all_) > 0 else 0.0
                mine[metric] = (*mine.get(metric, ()), one)
    return values


def _values(
    trials: list[_Trial],
) -> tuple[dict[Key, dict[str, tuple[float, ...]]], dict[Key, dict[str, tuple[Factors, ...]]]]:
    """Return the values that count, and how far those of a calm machine may lie from them."""
    values: dict[Key, dict[str, tuple[float, ...]]] = {}
    factors: dict[Key, dict[str, tuple[Factors, ...]]] = {}
    for trial in trials:
        key = trial.experiment, trial.server, trial.twin
        mine, off = values.setdefault(key, {}), factors.setdefault(key, {})
        for metric, value in (trial.figures or {}).items():
            if value is not None and trial.speaks(metric):
                mine[metric] = (*mine.get(metric, ()), value)
                off[metric] = (*off.get(metric, ()), trial.undisturbed(metric))
    return values, factors


def _quantiles(trials: list[_Trial]) -> dict[Place, tuple[Quantiles, ...]]:
    counted = (trial for trial in trials if trial.counts and not trial.twin)
    return _group((trial.place, trial.response_ns) for trial in counted if trial.response_ns)


def _failed(trials: list[_Trial], *, certain: bool = False) -> dict[Place, tuple[float, ...]]:
    """Return shares of failed requests; `certain`: the least that they are on a calm machine."""
    shares = ((trial, (trial.figures or {}).get("failed_share")) for trial in trials if not trial.twin)
    return _group(
        (trial.place, share * trial.undisturbed("failed_share")[0] if certain else share)
        for trial, share in shares
        # A start without any answer counts nowhere else, but the server caused its failures.
        if share is not None and (trial.counts or share == 1)
    )


def _starts(trials: list[_Trial]) -> dict[Place, tuple[int, int]]:
    # A start that was too fast for the engine has a result: a lower bound.
    return _sums(
        (trial.place, (int(trial.counts or trial.engine_limited), 1)) for trial in trials if not trial.twin
    )


def _answer(claim: _ReportedClaim) -> str:
    return f"{claim.answer} {IN_SIZE_ONLY}" if claim.in_size_only else claim.answer
