"""How many answers per second a load came to, with a standard error from batches of its time. Pure."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import stdev

from crumple.contract import TrialRecord
from crumple.observation.outcome import SD_MIN, MeasuredRate

# The number of batches of a load whose rates give the error of its throughput.
BATCHES = 5
# How much of an answer may be missing in a window or be too much: its ends cut the first and the last
# anywhere.
CUT = 0.5


def rate(record: TrialRecord, from_share: float = 0.0, to_share: float = 1.0) -> MeasuredRate:
    """Return the rate within a part of the measured phase, from 0, its begin, to 1, its end."""
    series = record.series
    begin_ns, span_ns = record.warm_up_ns, record.measured_ns
    low, high = begin_ns + from_share * span_ns, begin_ns + to_share * span_ns
    rows = [
        row
        for row, (at_ns, lasted_ns) in enumerate(zip(series.at_ns, series.duration_ns, strict=True))
        if series.phase[row] == "measured" and lasted_ns and low <= at_ns + lasted_ns / 2 < high
    ]
    if not rows:
        return MeasuredRate(0.0, 0.0)
    per_s, spread = by_batches(record, rows)
    # The rate of a load that is too short for the batches is not known to any accuracy.
    sd = per_s if spread is None else spread
    return MeasuredRate(per_s, max(sd, SD_MIN * per_s, CUT / _seconds(record, rows)))


def by_batches(record: TrialRecord, rows: Sequence[int]) -> tuple[float, float | None]:
    """Return the answers per second within these rows of the series, with a standard error by batches.

    The error is None if there are too few rows for it.
    """
    ends = [round(len(rows) * batch / BATCHES) for batch in range(BATCHES + 1)]
    rates = [_per_s(record, rows[start:end]) for start, end in pairwise(ends) if end > start]
    spread = stdev(rates) / BATCHES**0.5 if len(rates) == BATCHES else None
    return _per_s(record, rows), spread


def _per_s(record: TrialRecord, rows: Sequence[int]) -> float:
    return sum(record.series.ok[row] for row in rows) / _seconds(record, rows)


def _seconds(record: TrialRecord, rows: Sequence[int]) -> float:
    return sum(record.series.duration_ns[row] for row in rows) / 1e9
