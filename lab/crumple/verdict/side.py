"""One run as its report's JSON tells it, to be compared: of a run stored here, or one kept from yesterday.

Reading only; what became of the difference is `compare`'s to say.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, FiniteFloat, ValidationError

from crumple.errors import NotStored
from crumple.verdict.sentences import IN_SIZE_ONLY

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
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        raise NotStored(
            f"{name} is not the report of a study: {at}{': ' if at else ''}{first['msg']}",
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
