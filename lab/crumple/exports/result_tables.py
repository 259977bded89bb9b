"""A result as tables of plain columns: trials, series, quantiles; levels of a search; turns and ratios. Pure.

Each row names its result and its trial, so that tables of several results can be put together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from crumple.contract import Histograms, TrialRecord
from crumple.exports.measured import TURN_COLUMNS, Measured, Trial, column
from crumple.record import histogram
from crumple.record.metrics import METRICS

Type = Literal["text", "whole", "number", "yes or no"]
# The quantiles of a table, as far as there are enough samples: those that other tools print.
QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999)
# In the series these columns are of response times.
RESPONSE = {f"{which}_ns": f"response_time_{which}_ns" for which in ("p50", "p99", "max")}
TRIALS, SERIES, TIMES, LEVELS = "trials", "series", "quantiles", "levels"
TURNS, RATIOS = "turns", "ratios"
_OF_A_LEVEL: Mapping[str, Type] = {
    "start": "whole", "load": "number", "purpose": "text", "outcome": "text", "word": "text",
    "measured_s": "number", "scheduled": "whole", "ok": "whole", "throughput_per_s": "number",
    "p50_ns": "number", "p90_ns": "number", "p95_ns": "number", "p99_ns": "number",
    "failed_share": "number", "not_sent": "whole", "backlog_grew": "whole", "connections_most": "whole",
    "connections_limit": "whole", "server_cores_busy": "number", "engine_share": "number",
    "retransmitted": "whole",
}  # fmt: skip


_OF_A_TURN: Mapping[str, Type] = {
    "block": "whole", "letter": "text", "version": "text", "twin": "yes or no",
    "rate_per_s": "number",
    "closed_validity": "text", "closed_counts": "yes or no", "closed_failed_share": "number",
    "closed_speed_per_s": "number",
    "at_rate_validity": "text", "at_rate_counts": "yes or no", "at_rate_failed_share": "number",
    "at_rate_speed_per_s": "number",
    "at_least": "text",
    **dict.fromkeys(TURN_COLUMNS.values(), "number"),
}  # fmt: skip

_OF_A_RATIO: Mapping[str, Type] = {
    "letter": "text", "version": "text", "to": "text", "metric": "text", "answer": "text", "blocks": "whole",
    "ratio": "number", "low": "number", "high": "number", "confidence": "number",
}  # fmt: skip


@dataclass(frozen=True)
class DataColumn:
    """A column: its name, the type of its values, and the values; None: no value."""

    name: str
    type_: Type
    values: Sequence[Any]


Table = tuple[DataColumn, ...]


def tables(found: Measured) -> dict[str, Table]:
    """Return the tables of a result by their names; those that it has."""
    if found.levels:
        return {LEVELS: _levels(found)}
    if found.turns:
        turns, ratios = (
            _table(({"result": found.name, **each} for each in rows), {"result": "text", **types})
            for rows, types in ((found.turns, _OF_A_TURN), (found.ratios, _OF_A_RATIO))
        )
        return {TURNS: turns, RATIOS: ratios}
    return {
        TRIALS: _table(_trial_rows(found), _trial_types(found)),
        SERIES: _table(_series_rows(found), _series_types(found)),
        TIMES: _table(_quantile_rows(found), {**_of(found), **_QUANTILE}),
    }


def _table(rows: Iterator[Mapping[str, Any]], types: Mapping[str, Type]) -> Table:
    made = list(rows)
    return tuple(DataColumn(name, type_, [row.get(name) for row in made]) for name, type_ in types.items())


_LABELS: Mapping[str, Type] = {
    "trial": "text", "experiment": "text", "block": "whole", "server": "text", "twin": "yes or no",
}  # fmt: skip


def _of(found: Measured) -> dict[str, Type]:
    """Return the columns that say of which result and trial a row is."""
    labels = found.trials[0].labels if found.trials else {}
    return {"result": "text", **{name: _LABELS[name] for name in labels}}


def _trial_types(found: Measured) -> dict[str, Type]:
    own: dict[str, Type] = {
        "began": "text", "asked": "text", "validity": "text", "counts": "yes or no", "scheduled": "whole",
        "ok": "whole", "failed": "whole", "not_sent": "whole", "unfinished": "whole", "measured_s": "number",
        "users": "whole", "users_unanswered": "whole",
    }  # fmt: skip
    return {**_of(found), **own, **{column(name): "number" for name in METRICS}}


def _trial_rows(found: Measured) -> Iterator[dict[str, Any]]:
    for each in found.trials:
        row = {"result": found.name, **each.labels, "began": found.began, "asked": found.asked}
        row |= {"validity": each.word, "counts": each.counts, **_counts(each.record)}
        seen = each.figures
        yield row | {column(name): metric.of(seen) if seen else None for name, metric in METRICS.items()}


def _counts(record: TrialRecord | None) -> dict[str, Any]:
    if record is None:
        return {}
    ends = record.outcomes
    return {
        "scheduled": record.scheduled, "ok": ends.ok, "failed": ends.failed, "not_sent": ends.not_sent,
        "unfinished": ends.unfinished, "measured_s": record.measured_ns / 1e9, "users": record.users,
        "users_unanswered": record.users_unanswered,
    }  # fmt: skip


def _series_types(found: Measured) -> dict[str, Type]:
    own: dict[str, Type] = {
        "at_ns": "whole", "duration_ns": "whole", "phase": "text", "ok": "whole", "failed": "whole",
        **dict.fromkeys(RESPONSE.values(), "whole"), "scheduled": "whole", "engine_late_p99_ns": "whole",
        "connections": "whole",
    }  # fmt: skip
    return {**_of(found), **own}


def _series_rows(found: Measured) -> Iterator[dict[str, Any]]:
    for each in found.trials:
        if each.record is None:
            continue
        columns = each.record.series.model_dump(exclude={"interval_ms"})
        names = [RESPONSE.get(name, name) for name in columns]
        for values in zip(*columns.values(), strict=True):
            yield {"result": found.name, **each.labels, **dict(zip(names, values, strict=True))}


_QUANTILE: Mapping[str, Type] = {
    "time": "text", "count": "whole", "quantile": "number", "value_ns": "number",
}  # fmt: skip


def _quantile_rows(found: Measured) -> Iterator[dict[str, Any]]:
    for each in found.trials:
        for row in _quantiles(each):
            yield {"result": found.name, **each.labels, **row}


def _quantiles(trial: Trial) -> Iterator[dict[str, Any]]:
    """Yield the quantiles of each kind of time that there are samples enough for, and the longest as 1."""
    for name in Histograms.model_fields if trial.record is not None else ():
        stored = getattr(trial.record.histograms, name) if trial.record else None
        if stored is None or not stored.count:
            continue
        times = histogram.decoded(stored)
        known = [q for q in QUANTILES if histogram.printable(q, stored.count)]
        rows = [*((q, times.quantile_ns(q)) for q in known), (1.0, float(stored.max_ns))]
        yield from ({"time": name, "count": stored.count, "quantile": q, "value_ns": ns} for q, ns in rows)


def _levels(found: Measured) -> Table:
    rows = ({"result": found.name, **{name: each[name] for name in _OF_A_LEVEL}} for each in found.levels)
    return _table(rows, {"result": "text", **_OF_A_LEVEL})
