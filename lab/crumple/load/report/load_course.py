"""The course of a load: times, requests and costs by stretches of time, as many as a page can show. Pure.

Percentiles are never averaged: where an interval has too few samples for one, or a load has too many
intervals, the histograms of several seconds are merged, but never those of two steps of the load.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from crumple import contract
from crumple.load.report.load_document import LoadDocument
from crumple.load.report.load_figures import SECOND_NS
from crumple.record import histogram

# A page does not have enough pixels for more.
INTERVALS_MAX = 900
# The fewest requests, on average, of a stretch whose rate is drawn: with fewer it jumps by chance.
REQUESTS_MIN = 10
# The lengths in seconds to which intervals are merged, tried from the shortest until half of the intervals
# have enough answers for the percentile.
_MERGED_S = (1, 2, 5, 10, 30, 60, 300)
# A row of the log belongs to a stretch if it lies within it, give or take a millisecond.
_SAME_S = 1e-3


@dataclass(frozen=True)
class Stretch:
    """The response times of the answers of a stretch of time, in seconds since the first instant."""

    part: int
    """Which part of the load it is of: the warm-up, or one of its steps."""
    begin_s: float
    end_s: float
    count: int
    """The ok answers."""
    p50_ns: float | None
    """None: too few for it."""
    p99_ns: float | None
    max_ns: float | None
    """Never below the quantiles."""

    @property
    def middle_s(self) -> float:
        """The instant half-way."""
        return (self.begin_s + self.end_s) / 2


def parts(load: LoadDocument) -> list[tuple[float, float]]:
    """Return begin and end of the parts in which a load is even: the warm-up first, if there is one."""
    warm_up_s = load.record.warm_up_ns / SECOND_NS
    end_s = warm_up_s + load.measured_s
    begins = [warm_up_s + step.from_s for step in load.steps] or [warm_up_s]
    return list(pairwise([*([0.0] if warm_up_s else []), *begins, end_s]))


def of_quantile(load: LoadDocument, q: float) -> list[Stretch]:
    """Return of each part the finest stretches of which half have enough answers for a quantile, if any have.

    Stretches without an answer do not count.
    """
    resolutions = [*_resolutions(load)]
    return [each for part in range(len(parts(load))) for each in _finest(resolutions, part, q)]


def _finest(resolutions: Sequence[Sequence[Stretch]], part: int, q: float) -> Sequence[Stretch]:
    for stretches in resolutions:
        own = [each for each in stretches if each.part == part]
        answered = [each for each in own if each.count]
        known = sum(histogram.printable(q, each.count) for each in answered)
        if known and 2 * known >= len(answered):
            return own
    return ()


def _resolutions(load: LoadDocument) -> Iterator[list[Stretch]]:
    if len(load.record.series.at_ns) <= INTERVALS_MAX:
        yield [*_as_recorded(load)]
    for seconds in _MERGED_S:
        if seconds * SECOND_NS <= load.record.measured_ns <= INTERVALS_MAX * seconds * SECOND_NS:
            yield [*_merged(load, seconds)]


def _as_recorded(load: LoadDocument) -> Iterator[Stretch]:
    series, within = load.record.series, parts(load)
    columns = (series.at_ns, series.duration_ns, series.ok, series.p50_ns, series.p99_ns, series.max_ns)
    for at_ns, long_ns, ok, p50_ns, p99_ns, max_ns in zip(*columns, strict=True):
        begin_s, end_s = at_ns / SECOND_NS, (at_ns + long_ns) / SECOND_NS
        yield _stretch(_part_of(within, (begin_s + end_s) / 2), begin_s, end_s, ok, (p50_ns, p99_ns), max_ns)


def _merged(load: LoadDocument, seconds: int) -> Iterator[Stretch]:
    """Yield stretches of so many seconds, each within one part of the measured phase."""
    log, within = load.record.log, parts(load)
    warm_up_s = load.record.warm_up_ns / SECOND_NS
    begins = [warm_up_s + at_ns / SECOND_NS for at_ns in log.at_ns]
    ends = [begin_s + long_ns / SECOND_NS for begin_s, long_ns in zip(begins, log.duration_ns, strict=True)]

    def of_row(row: int) -> tuple[int, int]:
        part = _part_of(within, (begins[row] + ends[row]) / 2)
        return part, int((begins[row] + _SAME_S - within[part][0]) / seconds)

    for (part, _), group in groupby(range(len(begins)), of_row):
        rows = [row for row in group if ends[row] <= within[part][1] + _SAME_S]
        if rows:
            times = histogram.merge(load.log_times[rows[0] : rows[-1] + 1])
            quantiles = [times.quantile_ns(q) if times.count else None for q in (0.5, 0.99)]
            longest = times.values_ns[-1] if times.count else None
            yield _stretch(part, begins[rows[0]], ends[rows[-1]], times.count, quantiles, longest)


def _stretch(
    part: int,
    begin_s: float,
    end_s: float,
    count: int,
    quantiles: Sequence[float | None],
    max_ns: float | None,
) -> Stretch:
    p50_ns, p99_ns = (
        None if ns is None or max_ns is None or not histogram.printable(q, count) else min(ns, max_ns)
        for q, ns in zip((0.5, 0.99), quantiles, strict=True)
    )
    return Stretch(part, begin_s, end_s, count, p50_ns, p99_ns, max_ns if count else None)


def _part_of(within: Sequence[tuple[float, float]], at_s: float) -> int:
    return next((part for part, (_, end_s) in enumerate(within) if at_s < end_s), len(within) - 1)


# The instant (s since the first), and a value; None: a line does not go on there.
Course = list[tuple[float, float] | None]


def per_second(load: LoadDocument, column: Sequence[int]) -> Course:
    """Return how many of a column of the series came per second, part by part of the load."""
    series = load.record.series
    course: Course = []
    for rows in _gathered(load):
        if rows is None:
            course.append(None)
            continue
        long_ns = sum(series.duration_ns[row] for row in rows)
        number = sum(column[row] for row in rows)
        course.append((_middle_s(series, rows), SECOND_NS * number / long_ns))
    return course


def connections(load: LoadDocument) -> Course:
    """Return the most connections that were open; nothing where their number never changed."""
    series = load.record.series
    measured = {n for n, phase in zip(series.connections, series.phase, strict=True) if phase == "measured"}
    if len(measured) < 2:
        return []
    groups = [rows for rows in _gathered(load) if rows is not None]
    return [(_middle_s(series, rows), max(series.connections[row] for row in rows)) for rows in groups]


def cpu(probe: contract.ProcessRecord) -> Course:
    """Return the cores kept busy between one sample and a later one."""
    samples = probe.samples
    spent = zip(samples.cpu_user_ns, samples.cpu_kernel_ns, strict=True)
    spent_ns = [user + kernel for user, kernel in spent]
    readings = list(zip(samples.at_ns, spent_ns, strict=True))[:: _step(len(spent_ns))]
    return [
        ((before_ns + at_ns) / 2 / SECOND_NS, max(0, now_ns - then_ns) / (at_ns - before_ns))
        for (before_ns, then_ns), (at_ns, now_ns) in pairwise(readings)
        if at_ns > before_ns
    ]


def memory(probe: contract.ProcessRecord) -> Course:
    """Return bytes by sample: the proportional set size where it was read, else the resident set size."""
    samples = probe.samples
    shared = any(pss_bytes is not None for pss_bytes in samples.pss_bytes)
    column = samples.pss_bytes if shared else samples.rss_bytes
    readings = [(at_ns, size) for at_ns, size in zip(samples.at_ns, column, strict=True) if size is not None]
    return [(at_ns / SECOND_NS, size) for at_ns, size in readings[:: _step(len(readings))]]


def _gathered(load: LoadDocument) -> Iterator[list[int] | None]:
    """Yield rows of the series that are drawn as one; None between two parts. Rows cut off are left out."""
    series, within = load.record.series, parts(load)
    whole = [n for n, long_ns in enumerate(series.duration_ns) if long_ns * 2 >= series.interval_ms * 1e6]
    came = sum(series.ok[row] + series.failed[row] for row in whole)
    together = max(_step(len(whole)), -(-REQUESTS_MIN * len(whole) // max(1, came)))

    def part(row: int) -> int:
        return _part_of(within, (series.at_ns[row] + series.duration_ns[row] / 2) / SECOND_NS)

    for at, (_, group) in enumerate(groupby(whole, part)):
        if at:
            yield None
        rows = list(group)
        yield from (rows[first : first + together] for first in range(0, len(rows), together))


def _middle_s(series: contract.Series, rows: Sequence[int]) -> float:
    return (series.at_ns[rows[0]] + series.at_ns[rows[-1]] + series.duration_ns[rows[-1]]) / 2 / SECOND_NS


def _step(points: int) -> int:
    return max(1, -(-points // INTERVALS_MAX))
