"""A stored result or run → its trials with their records, and its figures, whatever kind it is.

A load is one trial; a diagnosis has two, below and beyond the breaking point; a search has levels instead,
and a comparison of versions turns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from crumple.contract import TrialRecord
from crumple.errors import NotStored
from crumple.record import figures
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.record.validity import Validity
from crumple.results import restored
from crumple.results.load_trial import stored_trial
from crumple.results.selection import StoredEntry
from crumple.run.store import RunStore
from crumple.stats.interval import Interval
from crumple.versus.letters import FIRST, TWIN

if TYPE_CHECKING:
    # Each kind of result imports what it needs when one is read: a load is exported without numpy.
    from crumple.diagnose.report.diagnose_document import DiagnoseDocument
    from crumple.find.report.find_document import FindDocument
    from crumple.load.report.load_document import LoadDocument
    from crumple.run.report.view import RunView
    from crumple.versus.report.versus_document import RatioData, TurnData, VersusDocument

Better = Literal["higher", "lower"]
POINT = "breaking_point"
# The ends of the names of columns, by the unit of a metric.
ENDS = {"ns": "_ns", "µs": "_us", "bytes": "_bytes", "requests/s": "_per_s"}


@dataclass(frozen=True)
class Trial:
    """One trial of a result."""

    labels: Mapping[str, str | int | bool]
    """What it is, by column."""
    word: str
    """Its validity."""
    counts: bool
    """Whether it is valid."""
    record: TrialRecord | None
    figures: Figures | None


@dataclass(frozen=True)
class ExportedFigure:
    """One figure of a result, for tools that keep a history."""

    of: str
    """The experiment and server, or empty."""
    metric: str
    title: str
    unit: str
    better: Better
    value: float
    low: float | None = None
    high: float | None = None
    """In which share of studies such an interval holds the truth; None: not known, as for a single load."""
    confidence: float | None = None


@dataclass(frozen=True)
class Measured:
    """A result as exports see it."""

    name: str
    kind: str
    asked: str
    began: str
    command: str
    """Repeats it."""
    trials: tuple[Trial, ...]
    figures: tuple[ExportedFigure, ...]
    problems: tuple[str, ...] = ()
    """Why it is not valid."""
    levels: tuple[Mapping[str, Any], ...] = ()
    """The levels of a search."""
    turns: tuple[Mapping[str, Any], ...] = ()
    ratios: tuple[Mapping[str, Any], ...] = ()
    """The ratios of a comparison of versions."""


# Kinds of documents that a command makes of others: what each is, and what to export instead.
WITHOUT_RECORDS: Mapping[str, tuple[str, str]] = {
    "report": ("the report of a run", "name the run, or its folder, where it is stored"),
    "compare": ("a comparison", "name one of the results that it compares"),
}

# The columns of a turn's figures.
TURN_COLUMNS: Mapping[str, str] = {
    "p50": "response_p50_ns",
    "p90": "response_p90_ns",
    "p99": "response_p99_ns",
    "throughput": "throughput_per_s",
    "cpu": "cpu_per_request_ns",
}

# The figures of a load, or of a server of a run, that a history keeps.
KEPT = (
    "throughput", "response_p50", "response_p90", "response_p99", "failed_share", "cpu_per_request", "memory",
)  # fmt: skip


def column(metric: str) -> str:
    """Return the name of a metric's column, with its unit: "response_p99_ns"."""
    return metric + ENDS.get(METRICS[metric].unit, "")


def measure(entry: StoredEntry) -> Measured:
    """Return what an entry measured. Raises NotStored."""
    if entry.is_run:
        return _of_run(RunStore(entry.path))
    if (kind := entry.document["kind"]) in WITHOUT_RECORDS:
        what, remedy = WITHOUT_RECORDS[kind]
        raise NotStored(f"{entry.name} is {what}, which has no records", remedy)
    found = restored.read(entry.document, entry.name)
    return _OF_KINDS[found.kind](found, entry)


def of_load(found: LoadDocument, entry: StoredEntry) -> Measured:
    """Return what a load measured; no figures if the server was lost in it."""
    # Over the whole load, as the record has them: of none if the server was lost in it.
    seen = None
    if found.lost is None:
        seen = figures.figures(stored_trial(found.record, found.validity, "load"))
    trial = Trial({"trial": "load"}, found.validity.word, not found.validity.problems, found.record, seen)
    return Measured(
        name=entry.name,
        kind=found.kind,
        asked=found.asked,
        began=found.began,
        command=found.command,
        trials=(trial,),
        figures=tuple(_figures(seen)),
        problems=found.validity.problems,
    )


def _figures(seen: Figures | None) -> Iterator[ExportedFigure]:
    for name in KEPT if seen is not None else ():
        metric = METRICS[name]
        assert seen is not None
        value = metric.of(seen)
        if value is not None:
            yield ExportedFigure("", name, metric.title, metric.unit, metric.better, value)


def _of_search(found: FindDocument, entry: StoredEntry) -> Measured:
    unit = "requests/s" if found.by == "rate" else "connections"
    return Measured(
        name=entry.name,
        kind=found.kind,
        asked=found.asked,
        began=found.began,
        command=found.command,
        trials=(),
        figures=_point(found.breaking_point, unit),
        problems=() if found.decided else (found.headline,),
        levels=tuple(entry.document["levels"]),
    )


def _of_diagnosis(found: DiagnoseDocument, entry: StoredEntry) -> Measured:
    looked = (("below", found.below), ("beyond", found.beyond))
    valid = Validity("valid", (), ())
    return Measured(
        name=entry.name,
        kind=found.kind,
        asked=found.asked,
        began=found.began,
        command=found.command,
        trials=tuple(
            Trial(
                {"trial": where}, "valid", True, record, figures.figures(stored_trial(record, valid, where))
            )
            for where, record in looked
            if record is not None
        ),
        figures=_point(found.breaking_point, "requests/s"),
    )


def _of_versions(found: VersusDocument, entry: StoredEntry) -> Measured:
    return Measured(
        name=entry.name,
        kind=found.kind,
        asked=found.asked,
        began=found.began,
        command=found.command,
        trials=(),
        figures=tuple(_figures_of_ratios(found)),
        problems=() if any(each.ratio for each in found.ratios) else (found.headline,),
        turns=tuple(
            _turn(block, each, found) for block, turns in enumerate(found.blocks, 1) for each in turns
        ),
        ratios=tuple(_ratio(each, found) for each in found.ratios),
    )


_OF_KINDS: Mapping[str, Callable[[Any, StoredEntry], Measured]] = {
    "load": of_load,
    "find": _of_search,
    "diagnose": _of_diagnosis,
    "versus": _of_versions,
}


def _figures_of_ratios(found: VersusDocument) -> Iterator[ExportedFigure]:
    """Yield each version's ratio to the first. Its interval allows for all that the comparison looks at."""
    from crumple.results.versus_side import METRICS as COMPARED

    for each in found.ratios:
        if each.ratio is not None:
            better: Better = "higher" if each.figure == "throughput" else "lower"
            metric, seen = COMPARED[each.figure], each.ratio
            # An interval of two blocks may reach from a billionth to a million.
            known = seen.blocks > 2
            yield ExportedFigure(
                of=each.of,
                metric=f"{metric}_ratio",
                title=f"{METRICS[metric].title}, {each.of} ÷ {each.to}",
                unit="",
                better=better,
                value=seen.estimate,
                low=seen.low if known else None,
                high=seen.high if known else None,
                confidence=seen.confidence if known else None,
            )


def _ratio(found: RatioData, of: VersusDocument) -> dict[str, Any]:
    from crumple.results.versus_side import METRICS as COMPARED

    labels = {each.letter: each.label for each in of.versions}
    row: dict[str, Any] = {
        "letter": found.of,
        "version": labels[found.of],
        "to": found.to,
        "metric": COMPARED[found.figure],
        "answer": found.answer,
    }
    if (seen := found.ratio) is not None:
        row |= {"blocks": seen.blocks, "ratio": seen.estimate, "low": seen.low, "high": seen.high}
        row |= {"confidence": seen.confidence}
    return row


def _turn(block: int, turn: TurnData, found: VersusDocument) -> dict[str, Any]:
    labels = {each.letter: each.label for each in found.versions}
    row: dict[str, Any] = {
        "block": block,
        "letter": turn.letter,
        "version": labels.get(turn.letter, labels[FIRST]),
        "twin": turn.letter == TWIN,
        "rate_per_s": found.rate_per_s,
    }
    for name, load in (("closed", turn.closed), ("at_rate", turn.at_rate)):
        row |= {
            f"{name}_validity": load.validity,
            f"{name}_counts": load.counts,
            f"{name}_failed_share": load.failed_share,
            f"{name}_speed_per_s": load.speed_per_s,
        }
    bounds = (*turn.closed.at_least, *turn.at_rate.at_least)
    # The names of the columns whose values are lower bounds.
    row["at_least"] = " ".join(TURN_COLUMNS[figure] for figure in bounds)
    figures = {**turn.closed.figures, **turn.at_rate.figures}
    return row | {TURN_COLUMNS[figure]: value for figure, value in figures.items()}


def _point(point: Interval | None, unit: str) -> tuple[ExportedFigure, ...]:
    if point is None:
        return ()
    ends = (point.estimate, point.low, point.high, point.confidence)
    return (ExportedFigure("", POINT, "Breaking point", unit, "higher", *ends),)


def _of_run(store: RunStore) -> Measured:
    from crumple.run import run_file
    from crumple.run.report.view import view

    seen = view(run_file.read(store), store.trials())
    run = seen.run
    return Measured(
        name=run.id,
        kind="run",
        asked=f"study {run.study.name}, scale {run.scale}",
        began=run.began,
        command=f"crumple run {run.study.name} --scale {run.scale} --seed {run.seed}",
        trials=tuple(
            Trial(
                labels={
                    "trial": each.trial.trial.id,
                    "experiment": each.trial.trial.experiment,
                    "block": each.trial.trial.block,
                    "server": each.trial.trial.server,
                    "twin": each.trial.trial.twin,
                },
                word="valid" if each.counts else "does not count",
                counts=each.counts,
                record=each.trial.record,
                figures=each.figures,
            )
            for each in seen.starts_by_id
        ),
        figures=tuple(_of_servers(seen)),
    )


def _of_servers(seen: RunView) -> Iterator[ExportedFigure]:
    for experiment in seen.experiments:
        for row in experiment.rows:
            for name in KEPT:
                found = row.summaries.get(name)
                if row.twin or found is None:
                    continue
                metric = METRICS[name]
                # With one start, or two that differ much, an end of the interval is not known.
                known = found.n > 1 and math.isfinite(found.high)
                yield ExportedFigure(
                    of=f"{experiment.name}/{row.name}",
                    metric=name,
                    title=metric.title,
                    unit=metric.unit,
                    better=metric.better,
                    value=found.estimate,
                    low=found.low if known else None,
                    high=found.high if known else None,
                    confidence=found.confidence if known else None,
                )
