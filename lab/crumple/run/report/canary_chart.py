"""The chart of a canary: how long light requests took beside a load, a row for each server.

Pure. Answers are ticks there, so that a server with few of them is seen, too.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crumple.drawing import numerals, scale, theme
from crumple.drawing.plot import ChartKey, ChartRow, Picture, RowChart, RowMark, RowPoint, Whisker, picture
from crumple.record import histogram
from crumple.run.report.bars import short_labels, spread, start_sign
from crumple.run.report.view import ExperimentView, ServerView, StartView, over_starts

# How many answers of a row have ticks. More would cover one another, and make the page larger.
TICKS_MAX = 48
QUANTILES: Mapping[float, str] = {0.5: "p50", 0.9: "p90", 0.99: "p99"}
KEYS = {
    "": ChartKey("a light request", theme.MUTED, "tick"),
    "p50": ChartKey("their p50", theme.INK, "dot"),
    "p90": ChartKey("p90", theme.INK, "ring"),
    "p99": ChartKey("p99", theme.INK, "tick"),
    "block": ChartKey("p50 of a start", theme.INK, "ring"),
    "heavy": ChartKey("p50 of the heavy requests", theme.INK, "diamond"),
}


def canary(experiment: ExperimentView) -> Picture | None:
    """Draw a row for each server, from the shortest times to the longest; None if there was no canary."""
    rows = [row for row in experiment.servers if any(_answers_ns(start) for start in row.counting)]
    if not rows:
        return None
    rows.sort(key=lambda row: float(np.median(_all_ns(row))))
    drawn = [_row(row, name) for row, name in zip(rows, short_labels(rows), strict=True)]
    times_ns = [mark.at for row in drawn for mark in row.marks if isinstance(mark, RowPoint)]
    x = scale.time_axis(scale.times(min(times_ns), max(times_ns)))
    says = "; ".join(f"{row.name} {row.figure}" for row in drawn)
    titles = {mark.title for row in drawn for mark in row.marks}
    keys = [key for name, key in KEYS.items() if any(title.startswith(name) for title in titles)]
    return picture(RowChart(x, drawn), f"median time of light requests beside the load: {says}", keys)


def _row(row: ServerView, name: str) -> ChartRow:
    median = over_starts(trial.canary_ns.get(0.5) for trial in row.figures)
    figure = f"p50 {numerals.duration(median.estimate)}" if median else ""
    return ChartRow(name, [*_ticks(row), *_marks(row)], figure, _answer_count(row))


def _ticks(row: ServerView) -> Iterator[RowPoint]:
    """Yield a tick for every answer, but at most TICKS_MAX, spread evenly over their ranks."""
    times_ns = _all_ns(row)
    for at in spread(len(times_ns), TICKS_MAX):
        yield RowPoint(float(times_ns[at]), "", theme.MUTED, "tick", 7)


def _marks(row: ServerView) -> Iterator[RowMark]:
    """Yield quantiles over starts, the medians of single starts, and the median of the load's requests."""
    colour, found = theme.colour_of(row.note.language), {}
    for q, name in QUANTILES.items():
        if value := over_starts(trial.canary_ns.get(q) for trial in row.figures):
            found[name] = value.estimate
    if found:
        yield Whisker(min(found.values()), max(found.values()), colour, width=2.4)
    shapes: Any = {"p99": "tick", "p90": "ring", "p50": "dot"}
    for name, shape in shapes.items():
        if name in found:
            yield RowPoint(found[name], f"{name}: {numerals.duration(found[name])}", colour, shape, 5)
    for start in row.counting if len(row.counting) > 1 else ():
        ns = start.figures.canary_ns.get(0.5) if start.figures else None
        if ns is not None:
            yield start_sign(start, ns, numerals.duration(ns))
    if heavy := over_starts(trial.response_ns.get(0.5) for trial in row.figures):
        said = f"heavy requests, p50: {numerals.duration(heavy.estimate)}"
        yield RowPoint(heavy.estimate, said, theme.INK, "diamond")


def _answer_count(row: ServerView) -> str:
    """Return "42 of 300 answered in time"; empty if at most one request per start was not answered."""
    records = [start.trial.canary for start in row.counting if start.trial.canary]
    asked, ok = sum(record.scheduled for record in records), sum(record.outcomes.ok for record in records)
    return "" if asked - ok <= len(records) else f"{ok:,} of {asked:,} answered in time"


def _all_ns(row: ServerView) -> NDArray[np.float64]:
    return np.sort(np.concatenate([_answers_ns(start) for start in row.counting]).astype(float))


def _answers_ns(start: StartView) -> list[float]:
    record = start.trial.canary
    if record is None or not record.histograms.response_time.count:
        return []
    times = histogram.decoded(record.histograms.response_time)
    return [float(ns) for ns in np.repeat(times.values_ns, times.counts)]
