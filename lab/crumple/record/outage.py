"""From when on a server gave no more right answers until the end of a load. Pure.

A server that ends, stalls, refuses, or fails every request in the middle of a load has no figures for the
time after that: a mean over both times is of neither. Here is only what the record of one load shows. Whether
the server is lost, or only paused, is seen by what happens afterwards (`load/lost.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from crumple.contract import OpenShape, RampShape, TrialRecord
from crumple.stats import averages

# A shorter time without an answer is no outage, and neither is one that is not this many times as long as the
# longest before it. A server that only paused answers one more request, so this may be little.
LEAST_NS, TIMES_LONGER = 0.15e9, 1.5
# A server answers as usual in the intervals in which most answers come. Of that, and of what is due, a
# smaller share is as good as none.
USUAL_QUANTILE, USUAL_SHARE, DUE_SHARE = 0.9, 0.05, 0.1
SECOND_NS = 1e9


@dataclass(frozen=True)
class Outage:
    """When it began and what is known of it.

    `since_s`: since measuring began, to a tenth of a second; less than 0: in the warm-up. `lasted_s`: until
    the load was over. `answered`: right answers until then, warm-up included; `answered_after`: those that
    came all the same, as of a server that slows down to a crawl. `failed`: requests that failed since then;
    `waiting`: those without an end when the load was over; `in_flight`: those that were in flight then.
    `measured_s`: how much of the measured phase came before it; `ok_measured`: right answers in that time.
    """

    since_s: float
    lasted_s: float
    answered: int
    answered_after: int
    failed: int
    waiting: int
    in_flight: int
    measured_s: float
    ok_measured: int

    @property
    def in_warm_up(self) -> bool:
        """Whether it began before the load was measured."""
        return self.since_s < 0


def of(record: TrialRecord) -> Outage | None:
    """Return the outage in which the load ended; None: it ended in none, or nothing was ever answered."""
    ok = record.series.ok
    if not any(ok):
        return None
    # The rows until the last one in which it answered as usual.
    until = 1 + max(row for row, is_up in enumerate(_up(record)) if is_up)
    ends_ns = [at + long for at, long in zip(record.series.at_ns, record.series.duration_ns, strict=True)]
    since_ns, over_ns = ends_ns[until - 1], ends_ns[-1]
    waiting = record.outcomes.unfinished + record.warm_up.outcomes.unfinished
    failed = sum(record.series.failed[until:])
    silent_ns = over_ns - since_ns
    if not failed + waiting or silent_ns < max(LEAST_NS, TIMES_LONGER * _longest_ns(record, until)):
        return None
    measured = [row for row in range(until) if record.series.phase[row] == "measured"]
    return Outage(
        since_s=(since_ns - record.warm_up_ns) / SECOND_NS,
        lasted_s=silent_ns / SECOND_NS,
        answered=sum(ok[:until]),
        answered_after=sum(ok[until:]),
        failed=failed,
        waiting=waiting,
        in_flight=_in_flight(record, until),
        measured_s=max(0.0, since_ns - record.warm_up_ns) / SECOND_NS,
        ok_measured=sum(ok[row] for row in measured),
    )


def _up(record: TrialRecord) -> list[bool]:
    """In which rows it answered as usual: an answer here and there is none of that."""
    series = record.series
    if isinstance(record.spec.shape, RampShape):
        return [number > 0 for number in series.ok]
    is_open = isinstance(record.spec.shape, OpenShape)
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
    """The longest time without an answer before that row, and the longest that an answer took until then."""
    series = record.series
    answered = [row for row in range(until) if series.ok[row]]
    gaps_ns = (
        series.at_ns[after] - series.at_ns[before] - series.duration_ns[before]
        for before, after in pairwise(answered)
    )
    took_ns = (series.max_ns[row] or 0 for row in answered)
    return max(0, *gaps_ns, *took_ns)


def _in_flight(record: TrialRecord, until: int) -> int:
    """How many requests were in flight when it began: those due until then that had not ended.

    The row in which it began has requests that failed because of it, so the row before counts.
    """
    series, row = record.series, max(0, until - 2)
    due, ok, failed = ([*accumulate(each)][row] for each in (series.scheduled, series.ok, series.failed))
    shape = record.spec.shape
    most = shape.to_connections if isinstance(shape, RampShape) else shape.connections
    return min(most, max(0, due - ok - failed))
