"""When a server gave no right answers: until the end of a load, or within it. Pure.

A server that ends, stalls, refuses, or fails every request in the middle of a load has no figures for the
time after that: a mean over both times is of neither. Here is only what the record of one load shows. Whether
the server is lost, or only paused, is seen by what happens afterwards (`load/lost.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from crumple.contract import OpenShapeSpec, RampShapeSpec, TrialRecord
from crumple.machine import capacity
from crumple.stats import averages

# An outage takes 0.15 s, and 1.5 times the longest time without an answer before it. A server that only
# paused answers one more request, so both may be little.
LEAST_NS, TIMES_LONGER = 0.15e9, 1.5
# A server answers as usual at the rate that nine of ten intervals do not exceed. A twentieth of that rate, or
# a tenth of what is due, is as good as no answer.
USUAL_QUANTILE, USUAL_SHARE, DUE_SHARE = 0.9, 0.05, 0.1
# Nanoseconds in a second.
SECOND_NS = 1e9
# Requests that end so may have come long after the server was lost.
_LATE = ("timeout", "connect-timeout")
# Response times have grown until -t if an answer took 70 % of it in one of the last three rows that have any.
GREW_SHARE, GREW_ROWS = 0.7, 3


@dataclass(frozen=True)
class Outage:
    """The time from which on a server gave next to no right answers, until the load was over."""

    since_s: float
    """When it began, since measuring began; less than 0: in the warm-up."""
    lasted_s: float
    """How long it lasted, until the load was over."""
    answered: int
    """Right answers before it, warm-up included."""
    answered_after: int
    """Right answers that came in it, as of a server that slows down to a crawl."""
    failed: int
    """Requests that failed in it."""
    waiting: int
    """Requests without an end when the load was over."""
    in_flight: int
    """Requests that were in flight when it began."""
    ok_measured: int
    """Right answers of the measured phase before it."""
    is_exact: bool = False
    """Whether the first failure shows when it began; else that is known to a tenth of a second."""


@dataclass(frozen=True)
class Gap:
    """A time within a load in which requests failed and hardly any was answered; then answers came again."""

    since_s: float
    """When it began, since measuring began; less than 0: in the warm-up."""
    until_s: float
    """When answers came again, since measuring began."""
    answered: int
    """Right answers before it, warm-up included."""
    in_flight: int
    """Requests that were in flight when it began."""


def of(record: TrialRecord) -> Outage | None:
    """Return the outage in which the load ended; None: it ended in none, or nothing was ever answered."""
    ok = record.series.ok
    if not any(ok):
        return None
    # The rows until the last one in which it answered as usual.
    until = 1 + max(row for row, is_up in enumerate(_up(record)) if is_up)
    over_ns = _end_ns(record, len(ok) - 1)
    waiting = record.outcomes.unfinished + record.warm_up.outcomes.unfinished
    failed = sum(record.series.failed[until:])
    silent_ns = over_ns - _end_ns(record, until - 1)
    if not failed + waiting or silent_ns < max(LEAST_NS, TIMES_LONGER * _longest_ns(record, until)):
        return None
    died_ns = _died_ns(record, until)
    since_ns = _end_ns(record, until - 1) if died_ns is None else died_ns
    # It may have answered in a part of the next row, too.
    rows = range(min(until + 1, len(ok)))
    return Outage(
        since_s=(since_ns - record.warm_up_ns) / SECOND_NS,
        lasted_s=(over_ns - since_ns) / SECOND_NS,
        answered=sum(ok[row] for row in rows),
        answered_after=sum(ok[len(rows) :]),
        failed=failed,
        waiting=waiting,
        in_flight=_in_flight(record, until),
        ok_measured=sum(ok[row] for row in rows if record.series.phase[row] == "measured"),
        is_exact=died_ns is not None,
    )


def gaps(record: TrialRecord) -> tuple[Gap, ...]:
    """Return the times within a load in which requests failed and none was answered as usual, in order."""
    if not any(record.series.ok):
        return ()
    series, up = record.series, [row for row, is_up in enumerate(_up(record)) if is_up]
    found = []
    for before, after in pairwise(up):
        long_ns = series.at_ns[after] - _end_ns(record, before)
        if long_ns < LEAST_NS or not sum(series.failed[before + 1 : after]):
            continue
        died_ns = _died_ns(record, before + 1)
        since_ns = _end_ns(record, before) if died_ns is None else died_ns
        found.append(
            Gap(
                since_s=(since_ns - record.warm_up_ns) / SECOND_NS,
                until_s=(series.at_ns[after] - record.warm_up_ns) / SECOND_NS,
                answered=sum(series.ok[: before + 2]),
                in_flight=_in_flight(record, before + 1),
            )
        )
    return tuple(found)


def grew_until_timeout(record: TrialRecord) -> bool:
    """Whether answers took ever longer, until they took longer than requests may."""
    if not record.outcomes.timeout:
        return False
    answered = [row for row, number in enumerate(record.series.ok) if number]
    last_ns = [record.series.max_ns[row] or 0 for row in answered[-GREW_ROWS:]]
    limit_ns = record.spec.timeouts.request_s * SECOND_NS
    middle_ns = record.series.max_ns[answered[len(answered) // 2]] or 0 if answered else 0
    return max(last_ns, default=0) >= GREW_SHARE * limit_ns and middle_ns < max(last_ns)


def _end_ns(record: TrialRecord, row: int) -> int:
    return record.series.at_ns[row] + record.series.duration_ns[row]


def _died_ns(record: TrialRecord, until: int) -> int | None:
    """When it was lost, in the last row in which it answered as usual, or in the next one.

    That is when the first request failed that did not fail by taking long; None: no failure shows it.
    """
    next_row = min(until, len(record.series.at_ns) - 1)
    within = range(record.series.at_ns[until - 1], _end_ns(record, next_row))
    firsts = (row.first_ns for row in record.reasons if row.outcome not in _LATE and row.first_ns in within)
    return min(firsts, default=None)


def _up(record: TrialRecord) -> list[bool]:
    """In which rows it answered as usual: an answer here and there is none of that."""
    series = record.series
    if isinstance(record.spec.shape, RampShapeSpec):
        return [number > 0 for number in series.ok]
    is_open = isinstance(record.spec.shape, OpenShapeSpec)
    usual = averages.quantile(_per_ns(series.ok, series.duration_ns), USUAL_QUANTILE)
    return [
        number > 0
        and (number >= USUAL_SHARE * usual * long_ns or (is_open and number >= DUE_SHARE * max(1, due)))
        for number, due, long_ns in zip(series.ok, series.scheduled, series.duration_ns, strict=True)
    ]


def _per_ns(numbers: Sequence[int], long_ns: Sequence[int]) -> list[float]:
    """The rates of the rows that have any."""
    return [number / long for number, long in zip(numbers, long_ns, strict=True) if number and long]


def _longest_ns(record: TrialRecord, until: int) -> float:
    """The longest pause before that row, in which no request failed, and the longest that an answer took."""
    series = record.series
    answered = [row for row in range(until) if series.ok[row]]
    gaps_ns = (
        series.at_ns[after] - series.at_ns[before] - series.duration_ns[before]
        for before, after in pairwise(answered)
        if not sum(series.failed[before + 1 : after])
    )
    took_ns = (series.max_ns[row] or 0 for row in answered)
    return max(0, *gaps_ns, *took_ns)


def _in_flight(record: TrialRecord, until: int) -> int:
    """How many requests were in flight when it began: those due until then that had not ended.

    The row in which it began has requests that failed because of it, so the row before counts.
    """
    series, row = record.series, max(0, until - 2)
    due, ok, failed = ([*accumulate(each)][row] for each in (series.scheduled, series.ok, series.failed))
    return min(capacity.connections_of(record.spec.shape), max(0, due - ok - failed))
