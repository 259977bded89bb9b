"""Response times in the percentile distribution format of HdrHistogram (.hgrm): histogram → text."""

import math
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, count

from crumple.contract import HistogramRecord
from crumple.record import histogram
from crumple.record.histogram_codec import Cells

# Nanoseconds in a millisecond, the unit of the times in the file.
NS_PER_MS = 1e6
# How often the distance to 100 % is divided between two halvings, as HdrHistogram's own tools do.
TICKS_PER_HALF = 5
HEAD = f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}"


def percentiles(stored: HistogramRecord) -> str:
    """Return the whole distribution, in milliseconds, as HdrHistogram's plotters read it."""
    lines, footer, deviation_ms = [HEAD, ""], [], 0.0
    if stored.count:
        cells = histogram.cells(stored.encoded)
        for value_ns, share, found in _steps(cells):
            line = f"{value_ns / NS_PER_MS:12.3f} {share:2.12f} {found:10d}"
            lines.append(line if share >= 1 else f"{line} {1 / (1 - share):14.2f}")
        deviation_ms = _deviation_ns(cells) / NS_PER_MS
        footer = [f"#[Buckets = {cells.buckets:12d}, SubBuckets     = {2 * cells.half:12d}]"]
    mean_ms, max_ms = (each / NS_PER_MS for each in (stored.mean_ns or 0.0, stored.max_ns or 0))
    lines += [
        f"#[Mean    = {mean_ms:12.3f}, StdDeviation   = {deviation_ms:12.3f}]",
        f"#[Max     = {max_ms:12.3f}, Total count    = {stored.count:12d}]",
        *footer,
    ]
    return "\n".join(lines) + "\n"


def _steps(cells: Cells) -> Iterator[tuple[int, float, int]]:
    """Yield the value that a share does not exceed, that share, and how many values are not above it."""
    places, up_to = list(cells.counts), list(accumulate(cells.counts.values()))
    for share in _shares():
        # Round first: in binary, 0.55 × 100 is slightly above 55.
        at = bisect_left(up_to, round(share * up_to[-1], 6))
        yield cells.top(places[at]), share, up_to[at]
        if at == len(places) - 1:
            break
    yield cells.top(places[-1]), 1.0, up_to[-1]


def _shares() -> Iterator[float]:
    for halvings in count():
        for tick in range(TICKS_PER_HALF):
            yield 1 - 0.5**halvings * (1 - tick / (2 * TICKS_PER_HALF))


def _deviation_ns(cells: Cells) -> float:
    values = [(cells.middle(index), number) for index, number in cells.counts.items()]
    total = sum(number for _, number in values)
    mean = sum(value * number for value, number in values) / total
    return math.sqrt(sum((value - mean) ** 2 * number for value, number in values) / total)
