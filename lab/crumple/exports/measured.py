"""A stored result or run → its trials with their records, and its figures, whatever kind it is.

A load is one trial; a diagnosis has two, below and beyond the breaking point; a search has levels instead.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from crumple.contract import TrialRecord
from crumple.errors import NotStored
from crumple.record import figures
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.record.validity import Validity
from crumple.results import restored
from crumple.results.diagnose_document import DiagnoseDocument
from crumple.results.find_document import FindDocument
from crumple.results.load_document import LoadDocument
from crumple.results.load_trial import stored_trial
from crumple.results.result_store import REPORT
from crumple.results.selection import Entry
from crumple.run import run_file
from crumple.run.report.view import RunView, view
from crumple.run.store import RunStore
from crumple.stats.interval import Interval

Better = Literal["higher", "lower"]
POINT = "breaking_point"
# The ends of the names of columns, by the unit of a metric.
ENDS = {"ns": "_ns", "µs": "_us", "bytes": "_bytes", "requests/s": "_per_s"}


@dataclass(frozen=True)
class Trial:
    """One trial of a result. `labels`: what it is; `counts`: it is valid; `word`: its validity."""

    labels: Mapping[str, str | int | bool]
    word: str
    counts: bool
    record: TrialRecord | None
    figures: Figures | None


@dataclass(frozen=True)
class Figure:
    """One figure of a result, for tools that keep a history. `of`: the experiment and server, or empty.

    `low`, `high`: the 95 % interval; None: not known, as for a single load.
    """

    of: str
    metric: str
    title: str
    unit: str
    better: Better
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Measured:
    """A result as exports see it. `problems`: why it is not valid; `levels`: of a search.

    `command` repeats it.
    """

    name: str
    kind: str
    asked: str
    began: str
    command: str
    trials: tuple[Trial, ...]
    figures: tuple[Figure, ...]
    problems: tuple[str, ...] = ()
    levels: tuple[Mapping[str, Any], ...] = ()


# The figures of a load, or of a server of a run, that a history keeps.
KEPT = (
    "throughput", "response_p50", "response_p90", "response_p99", "failed_share", "cpu_per_request", "memory",
)  # fmt: skip


def column(metric: str) -> str:
    """Return the name of a metric's column, with its unit: "response_p99_ns"."""
    return metric + ENDS.get(METRICS[metric].unit, "")


def measured(entry: Entry) -> Measured:
    """Return what an entry measured. Raises NotStored."""
    if entry.is_run:
        store = RunStore(entry.path)
        return _of_run(view(run_file.read(store), store.trials()))
    if entry.document["kind"] == REPORT:
        raise NotStored(f"{entry.name} is a report, which has no records", "name the run, or its folder")
    found = restored.read(entry.document, entry.name)
    if isinstance(found, LoadDocument):
        return _of_load(found, entry.name)
    if isinstance(found, FindDocument):
        return _of_search(found, entry)
    return _of_diagnosis(found, entry.name)


def _of_load(found: LoadDocument, name: str) -> Measured:
    seen = figures.figures(stored_trial(found.record, found.validity, "load"))
    trial = Trial({"trial": "load"}, found.validity.word, not found.validity.problems, found.record, seen)
    return Measured(
        name=name,
        kind=found.kind,
        asked=found.asked,
        began=found.began,
        command=found.command,
        trials=(trial,),
        figures=tuple(_figures(seen)),
        problems=found.validity.problems,
    )


def _figures(seen: Figures | None) -> Iterator[Figure]:
    for name in KEPT if seen is not None else ():
        metric = METRICS[name]
        assert seen is not None
        value = metric.of(seen)
        if value is not None:
            yield Figure("", name, metric.title, metric.unit, metric.better, value)


def _of_search(found: FindDocument, entry: Entry) -> Measured:
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


def _of_diagnosis(found: DiagnoseDocument, name: str) -> Measured:
    looked = (("below", found.below), ("beyond", found.beyond))
    valid = Validity("valid", (), ())
    return Measured(
        name=name,
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


def _point(point: Interval | None, unit: str) -> tuple[Figure, ...]:
    if point is None:
        return ()
    return (Figure("", POINT, "Breaking point", unit, "higher", point.estimate, point.low, point.high),)


def _of_run(seen: RunView) -> Measured:
    run = seen.run
    starts = sorted((*seen.starts, *seen.replaced), key=lambda each: each.trial.trial.id)
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
            for each in starts
        ),
        figures=tuple(_of_servers(seen)),
    )


def _of_servers(seen: RunView) -> Iterator[Figure]:
    for experiment in seen.experiments:
        for row in experiment.rows:
            for name in KEPT:
                found = row.summaries.get(name)
                if row.twin or found is None:
                    continue
                metric = METRICS[name]
                # With one start, or two that differ much, an end of the interval is not known.
                known = found.n > 1 and math.isfinite(found.high)
                yield Figure(
                    of=f"{experiment.name}/{row.name}",
                    metric=name,
                    title=metric.title,
                    unit=metric.unit,
                    better=metric.better,
                    value=found.estimate,
                    low=found.low if known else None,
                    high=found.high if known else None,
                )
