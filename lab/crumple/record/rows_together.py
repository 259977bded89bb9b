"""Series and logs of parts of a load that were put on at once → those of the whole load. Pure.

All parts began at one instant, so that rows and entries of the same number are of the same time. A part has
in its log the histogram of each measured row of its series. Those are joined, and quantiles are taken as the
engine takes them. Rows of the warm-up have no histograms: their quantiles are the highest of any part.
"""

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from crumple.contract import Log, RampShapeSpec, RequestsStopSpec, Series, TrialRecord, TrialSpec
from crumple.record import histogram, histogram_codec
from crumple.record.histogram_codec import Cells

# An entry of an engine's log is of ten intervals of its series; in a ramp, of as few as make 30 entries at
# most. The first 2,048 entries are so short (engine/src/collector/series.rs, thinning.rs).
INTERVALS_LOGGED_AS_ONE, PIECES_OF_A_RAMP, FINE_ENTRIES = 10, 30, 2_048
# The columns that are added up, and those of which the highest counts.
SUMS = ("ok", "failed", "scheduled", "connections")
HIGHEST = ("duration_ns", "max_ns", "engine_late_p99_ns")
QUANTILES = {"p50_ns": 0.5, "p99_ns": 0.99}
COLUMNS = ("at_ns", "phase", *SUMS, *HIGHEST, *QUANTILES)


# When each entry of a log begins, since the measured phase began → its cells.
Entries = dict[int, Cells]


def entries(record: TrialRecord) -> Entries:
    """Return the entries of a log. Raises NotStored where one is damaged."""
    log = record.log
    return {at_ns: histogram.cells(text) for at_ns, text in zip(log.at_ns, log.response_time, strict=True)}


def joined(parts: Sequence[Entries]) -> Entries:
    """Return the entries of several logs as those of one."""
    same: dict[int, list[Cells]] = defaultdict(list)
    for part in parts:
        for at_ns, read in part.items():
            same[at_ns].append(read)
    return {at_ns: _added(same[at_ns]) for at_ns in sorted(same)}


def series(records: Sequence[TrialRecord], times: Entries) -> Series:
    """Return the series of the whole load. `times`: the entries of the logs of all parts."""
    rows: dict[tuple[int, bool], list[tuple[Series, int]]] = defaultdict(list)
    for record in records:
        own = record.series
        for row, (at_ns, phase) in enumerate(zip(own.at_ns, own.phase, strict=True)):
            rows[at_ns, phase == "measured"].append((own, row))
    columns: dict[str, list[int | str | None]] = {name: [] for name in COLUMNS}
    for (at_ns, is_measured), parts in sorted(rows.items()):
        columns["at_ns"].append(at_ns)
        columns["phase"].append("measured" if is_measured else "warm-up")
        for name in SUMS:
            columns[name].append(sum(getattr(own, name)[row] for own, row in parts))
        for name in HIGHEST:
            columns[name].append(_highest(name, parts))
        read = times.get(at_ns - records[0].warm_up_ns) if is_measured else None
        for name, q in QUANTILES.items():
            columns[name].append(quantile_ns(read, q) if read else _highest(name, parts))
    return Series.model_validate({"interval_ms": records[0].series.interval_ms, **columns})


def log(spec: TrialSpec, interval_ms: int, times: Entries, measured_ns: int) -> Log:
    """Return the log of the whole load, with entries as long as those of a load from one host.

    `interval_ms`: of its series; `times`: the entries of the logs of all parts.
    """
    each_ns = _logged_as_one(spec, interval_ms * 1_000_000) * interval_ms * 1_000_000
    # The entries of each turn begin with the turn.
    begins_ns = [0, *accumulate(round(turn.measured_s * 1e9) for turn in spec.turns)]
    same: dict[tuple[int, int], list[Cells]] = defaultdict(list)
    for at_ns, read in times.items():
        turn = bisect_right(begins_ns, at_ns) - 1
        same[turn, _first((at_ns - begins_ns[turn]) // each_ns)].append(read)
    made = [(begins_ns[turn] + first * each_ns, turn, first) for turn, first in sorted(same)]
    ends_ns = [*begins_ns[1:-1], measured_ns, measured_ns]
    return Log(
        interval_ms=each_ns // 1_000_000,
        at_ns=tuple(at_ns for at_ns, _, _ in made),
        duration_ns=tuple(
            min(_apart(first) * each_ns, max(0, ends_ns[turn] - at_ns)) for at_ns, turn, first in made
        ),
        response_time=tuple(histogram_codec.write(_added(same[turn, first])) for _, turn, first in made),
    )


def quantile_ns(read: Cells, q: float) -> int:
    """Return the largest time of the cell that holds quantile q (0..1), as the engine does."""
    count = sum(read.counts.values())
    rank, seen = min(max(1, math.ceil(q * count)), count), 0
    for index, number in read.counts.items():
        seen += number
        if seen >= rank:
            return read.top(index)
    raise ValueError(f"no quantile {q} of nothing")


def _added(parts: Sequence[Cells]) -> Cells:
    if len(parts) == 1:
        return parts[0]
    counts: Counter[int] = Counter()
    for part in parts:
        counts.update(part.counts)
    return replace(parts[0], counts=dict(sorted(counts.items())))


def _highest(name: str, parts: Sequence[tuple[Series, int]]) -> int | None:
    return max((value for own, row in parts if (value := getattr(own, name)[row]) is not None), default=None)


def _logged_as_one(spec: TrialSpec, interval_ns: int) -> int:
    """Return how many intervals of the series an entry of the log of the whole load is of."""
    if not isinstance(spec.shape, RampShapeSpec):
        return INTERVALS_LOGGED_AS_ONE
    stop = spec.stop
    within_s = stop.within_s if isinstance(stop, RequestsStopSpec) else stop.duration_s
    pieces = -(-(round(within_s * 1e9) // interval_ns) // PIECES_OF_A_RAMP)
    return min(max(1, pieces), INTERVALS_LOGGED_AS_ONE)


def _apart(number: int) -> int:
    """Return how many entries of the first length the entry has that holds this one: a power of two."""
    return 1 if number < FINE_ENTRIES else 1 << (number // FINE_ENTRIES).bit_length()


def _first(number: int) -> int:
    """Return the first of them."""
    return number & ~(_apart(number) - 1)
