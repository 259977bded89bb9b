"""Whether an open load was more than its server takes: requests come due faster than they end. Pure.

The numbers of requests that come due and that end are counted in short intervals. What came due and has not
ended waits. In an overload it grows for as long as the load lasts, by more than chance, and requests wait for
one another. If a server just keeps up, and n requests come due and m end independently of one another, the
number that waits changes by √(n + m), one standard deviation; with even arrivals by √m. A server that stalls
and then catches up is no overload, nor is one in which each request takes long, as a long poll: what waits
then grows for as long as one request takes, and stays.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from crumple.contract import OpenShapeSpec, RateSpec, TrialRecord
from crumple.record import histogram
from crumple.stats import averages

# What waits grows by more than chance if it does so by three standard deviations over the whole time, and by
# two over its second half.
WHOLE_SIGMAS, HALF_SIGMAS = 3.0, 2.0
# What waits grows by 1 % of what came due or more. Less would not matter in a load of seconds.
GREW_SHARE_MIN = 0.01
# What waits has grown by a quarter of the second half's growth before its last quarter, never falls below
# that in it, and grows by as much again.
THROUGH_SHARE = 0.25
# Half as many requests end in the first half as in the second, or more: otherwise the server has only begun.
EARLY_SHARE = 0.5
# Requests wait for one another if half of the latest ones are unanswered, or if half of those that are
# answered take ten times as long as the quickest, for which the fifth stands: the first may be chance.
UNANSWERED_SHARE, WAITED_FACTOR, QUICKEST = 0.5, 10.0, 5
# Answers of the second half that took less than a tenth of the median age in flight overtook others.
OVERTAKEN_SHARE = 0.1
# The engine itself may be late by as much as makes a quarter of what waits; its lateness is the p99.
ENGINE_SHARE_MAX, LATE_QUANTILE = 0.25, 0.99
# Two times are the same if they differ by less than a microsecond: sums of tenths are not exact.
EXACT_S = 1e-6
# A course has ten intervals or more.
INTERVALS_MIN = 10


@dataclass(frozen=True)
class Overload:
    """Requests per second, on average over the load, or over its last step if it has several."""

    due_per_s: float
    ended_per_s: float
    """Requests that were answered, rightly or not."""
    given_up_per_s: float
    """Requests that timed out."""
    grows_per_s: float
    """By how many more requests wait each second."""


@dataclass(frozen=True)
class _Arrivals:
    """What came due, ended and was given up in each interval.

    `waiting`: how many more than before the first are not answered. What was given up is not: it is the load
    that did not wait any longer.
    """

    due: Sequence[float]
    ended: Sequence[float]
    given_up: Sequence[float]
    p50_ns: Sequence[float | None]
    spent_s: Sequence[float]

    @property
    def waiting(self) -> list[float]:
        return [*accumulate(due - ended for due, ended in zip(self.due, self.ended, strict=True))]

    @cached_property
    def half(self) -> int:
        """How many intervals are in the first half of the time. In a long load later ones are longer."""
        return self._until(0.5)

    @cached_property
    def quarter(self) -> int:
        """How many intervals are before the last quarter of the time."""
        return self._until(0.75)

    def _until(self, share: float) -> int:
        ends_s = [*accumulate(self.spent_s)]
        # Sums of tenths are not exact.
        return bisect_right(ends_s, share * ends_s[-1] + EXACT_S)


def overload(record: TrialRecord) -> Overload | None:
    """Return what the load was beyond; None: it is not shown to be an overload, or has no constant rate."""
    shape = record.spec.shape
    if not isinstance(shape, OpenShapeSpec) or not _is_constant(shape.rates[-1]):
        return None
    course = _course(record, shape, sum(rate.duration_s for rate in shape.rates[:-1]))
    if len(course.due) < INTERVALS_MIN or not _grows(course, by_chance=shape.arrivals == "poisson"):
        return None
    if not _are_waiting(record, course) or _is_of_engine(record, course):
        return None
    spent_s, due, ended, given_up = map(sum, (course.spent_s, course.due, course.ended, course.given_up))
    return Overload(
        due_per_s=due / spent_s,
        ended_per_s=ended / spent_s,
        given_up_per_s=given_up / spent_s,
        grows_per_s=max(0.0, due - ended - given_up) / spent_s,
    )


def _is_constant(rate: RateSpec) -> bool:
    return rate.from_per_s == rate.to_per_s


def _course(record: TrialRecord, shape: OpenShapeSpec, from_s: float) -> _Arrivals:
    """Return the intervals of the last step, which begins `from_s` after measuring did, to the last due."""
    series, given_up = record.series, _given_up_share(record)
    begins_ns = record.warm_up_ns + 1e9 * from_s
    rows = [
        row
        for row, (at_ns, long_ns, phase) in enumerate(
            zip(series.at_ns, series.duration_ns, series.phase, strict=True)
        )
        if phase == "measured" and at_ns + long_ns / 2 >= begins_ns
    ]
    while rows and not series.scheduled[rows[-1]]:
        rows.pop()
    # The engine counts a request when it begins it. Those that wait for a connection are counted at the end.
    rate, spent_s = shape.rates[-1], [series.duration_ns[row] / 1e9 for row in rows]
    due = [float(series.scheduled[row]) for row in rows]
    if record.not_sent.too_late:
        due = [rate.from_per_s * each for each in spent_s]
    ended = [series.ok[row] + (1 - given_up) * series.failed[row] for row in rows]
    return _Arrivals(
        due=due,
        ended=_with_earlier(ended, spent_s, record.histograms.carried_over.count if not from_s else 0),
        given_up=[given_up * series.failed[row] for row in rows],
        p50_ns=[series.p50_ns[row] for row in rows],
        spent_s=spent_s,
    )


def _with_earlier(ended: list[float], spent_s: Sequence[float], number: int) -> list[float]:
    """Return what ended in each interval, with requests of the warm-up: a server has worked on these first.

    When each of them ended is not known. All intervals are taken to have had room for as many as on average.
    """
    per_s = (sum(ended) + number) / (sum(spent_s) or 1.0)
    left = float(number)
    for at, (own, long_s) in enumerate(zip(ended, spent_s, strict=True)):
        more = min(left, max(0.0, per_s * long_s - own))
        ended[at], left = own + more, left - more
    return ended


def _given_up_share(record: TrialRecord) -> float:
    """Return the share of the failed requests that failed because they were waited for in vain."""
    ends = record.outcomes
    return (ends.timeout + ends.connect_timeout) / ends.failed if ends.failed else 0.0


def _grows(course: _Arrivals, *, by_chance: bool) -> bool:
    """Whether what waits grows throughout the second half, by more than chance in it and in the whole.

    `by_chance`: arrivals vary by chance, as what ends does in any case.
    """
    half, quarter = course.half, course.quarter
    waiting = [0.0, *course.waiting]
    grew = waiting[-1] - waiting[half]
    due, ended = sum(course.due[half:]), sum(course.ended[half:])
    if grew < max(HALF_SIGMAS * _chance(due, ended, by_chance), GREW_SHARE_MIN * due):
        return False
    if waiting[-1] < WHOLE_SIGMAS * _chance(sum(course.due), sum(course.ended), by_chance):
        return False
    early = sum(course.ended[:half])
    if not early or early < EARLY_SHARE * ended:
        return False
    before, last = min(waiting[quarter:]) - waiting[half], waiting[-1] - waiting[quarter]
    return min(before, last) >= THROUGH_SHARE * grew


def _chance(due: float, ended: float, by_chance: bool) -> float:
    """Return the standard deviation of the growth of a queue whose server just keeps up."""
    return math.sqrt((due if by_chance else 0.0) + ended)


def _are_waiting(record: TrialRecord, course: _Arrivals) -> bool:
    """Whether requests wait for one another: otherwise some merely take long, and the others do not wait."""
    if _waited_factor(record, course) >= WAITED_FACTOR:
        return True
    return _unanswered_share(record, course) >= UNANSWERED_SHARE and not _are_overtaken(record, course)


def _is_of_engine(record: TrialRecord, course: _Arrivals) -> bool:
    """Whether much of what waits may do so because the engine is late with it."""
    late = record.histograms.engine_lateness
    if not late.count:
        return False
    late_s = histogram.decoded(late).quantile_ns(LATE_QUANTILE) / 1e9
    late_at_once = late_s * sum(course.due) / sum(course.spent_s)
    return late_at_once > ENGINE_SHARE_MAX * course.waiting[-1]


def _unanswered_share(record: TrialRecord, course: _Arrivals) -> float:
    """Return which share of the latest requests is unanswered at the end.

    The latest are those no older than the median age of what is in flight. What waits for a connection is
    younger.
    """
    ages = record.histograms.unfinished_age
    if not ages.count:
        return 0.0
    age_s = histogram.decoded(ages).quantile_ns(0.5) / 1e9
    latest, spent_s = course.due[::-1], course.spent_s[::-1]
    back_s = [*accumulate(spent_s)]
    last = min(len(latest) - 1, bisect_left(back_s, age_s))
    # The interval in which that age lies counts as far as it is not older.
    of_last = min(1.0, 1 - (back_s[last] - age_s) / spent_s[last])
    due = sum(latest[:last]) + of_last * latest[last]
    return (ages.count / 2 + record.not_sent.too_late) / due if due else 0.0


def _are_overtaken(record: TrialRecord, course: _Arrivals) -> bool:
    """Whether later requests are answered quickly while older ones are open: these are in no queue."""
    late_ns = _late_ns(course)
    age_ns = histogram.decoded(record.histograms.unfinished_age).quantile_ns(0.5)
    return late_ns is not None and late_ns < OVERTAKEN_SHARE * age_ns


def _late_ns(course: _Arrivals) -> float | None:
    """Return how long half of the answers in the second half took; None: there is none."""
    late_ns = [ns for ns in course.p50_ns[course.half :] if ns is not None]
    return averages.quantile(late_ns, 0.5) if late_ns else None


def _waited_factor(record: TrialRecord, course: _Arrivals) -> float:
    """Return how many times as long as the quickest answers half of those in the second half take."""
    times, late_ns = record.histograms.response_time, _late_ns(course)
    if times.count < QUICKEST or late_ns is None:
        return 0.0
    return late_ns / histogram.decoded(times).quantile_ns(QUICKEST / times.count)
