"""Whether the times of a record, or of a part of it, include the engine's own lateness.

Pure. Times run from due, so lateness can only lengthen them. A request that took longer than v did so in the
server for more than v − b, or was late by more than b, whatever b is. Let v be the quantile q that is shown,
b a tenth of it. A share 1 − q of the requests lies beyond v. Let at most half of that share be later than b.
Then at least (1 − q)/2 of the requests took the server longer than nine tenths of v: nine tenths of what is
shown as p99 are at most the server's own p99.5. If all of the share were allowed to be late, nothing would
follow.

A record has a histogram of the lateness of the whole trial, but only the p99 for each interval of its series.
So the late requests of the trial are distributed over its intervals: where the p99 was late, by all requests
of the interval; elsewhere by the hundredth of them that may lie beyond the p99.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from crumple.contract import TrialRecord
from crumple.record import histogram
from crumple.record.histogram import Times

# Late requests may be three times as dense in the late intervals of a part as in late intervals on average.
DENSER_MOST = 3
# With fewer than 100 requests the p99 is the longest of them: none lies beyond it.
HAS_BEYOND_P99 = 100


@dataclass(frozen=True, eq=False)
class TrialLateness:
    """A trial's lateness: its histogram, and for each interval of its series the requests due and the p99."""

    late: Times
    requests: tuple[int, ...]
    p99_ns: tuple[int, ...]

    def weights(self, beyond_ns: float) -> list[float]:
        """Return for each interval the most requests that may have been later than `beyond_ns`."""
        return [
            requests if p99_ns > beyond_ns else 0.01 * requests if requests >= HAS_BEYOND_P99 else 0.0
            for requests, p99_ns in zip(self.requests, self.p99_ns, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class PartLateness:
    """Some intervals of a trial, by their indices in its series."""

    whole: TrialLateness
    intervals: tuple[int, ...]

    @property
    def _requests(self) -> float:
        return self._mine(self.whole.requests)

    def _mine(self, values: Sequence[float]) -> float:
        """The sum over the intervals of this part."""
        return math.fsum(values[interval] for interval in self.intervals)

    def spoils(self, q: float, shown_ns: float) -> bool:
        """Whether `shown_ns`, the quantile `q` of the response times here, includes the engine's lateness."""
        whole, requests = self.whole, self._requests
        beyond_ns, limit = allowed_ns(shown_ns), SHARE_BEYOND * (1 - q) * requests
        late = whole.late.count_above(beyond_ns)
        # Even if all late requests of the trial were in this part, they would be too few.
        if not requests or late <= limit:
            return False
        weights = whole.weights(beyond_ns)
        everywhere = math.fsum(weights)
        if not everywhere:
            return False
        return min(1.0, DENSER_MOST * late / everywhere) * self._mine(weights) > limit

    def spoils_mean(self, shown_ns: float) -> bool:
        """Whether `shown_ns`, the mean of the response times here, includes the engine's lateness."""
        whole, requests = self.whole, self._requests
        weights = [number * p99_ns for number, p99_ns in zip(whole.requests, whole.p99_ns, strict=True)]
        everywhere = sum(weights)
        if not requests or not everywhere:
            return False
        late_ns = (whole.late.mean_ns or 0.0) * whole.late.count * self._mine(weights) / everywhere
        return late_ns / requests > SHARE_OF_TIME * shown_ns

    def with_(self, others: "list[PartLateness]") -> "PartLateness":
        """Return this part and others of the same trial as one."""
        more = (interval for other in others for interval in other.intervals)
        return replace(self, intervals=(*self.intervals, *more))


def of_trial(record: TrialRecord) -> TrialLateness:
    """Return the lateness of a trial's measured phase. Raises NotStored where its histogram is damaged."""
    series, stored = record.series, record.histograms.engine_lateness
    measured = [
        number if phase == "measured" else 0
        for number, phase in zip(series.scheduled, series.phase, strict=True)
    ]
    return TrialLateness(
        histogram.decoded(stored),
        tuple(measured),
        tuple(each or 0 for each in series.engine_late_p99_ns),
    )


def allowed_ns(shown_ns: float) -> float:
    """Return how late, in ns, a request may be sent without spoiling a time of `shown_ns`."""
    return max(LATE_NS, SHARE_OF_TIME * shown_ns)


# These quantiles decide the validity of a trial.
JUDGED = (0.5, 0.75, 0.9, 0.99)
# The higher quantiles are shown as well, and only cause a warning.
SHOWN = (*JUDGED, 0.999, 0.9999)
# A request is late if it was sent later than it could have been by a tenth of the time that is shown.
SHARE_OF_TIME = 0.1
# A quantile is the server's own if at most half as many requests were late as lie beyond it.
SHARE_BEYOND = 0.5
# Lateness below a millisecond leaves no trial out.
LATE_NS = 1_000_000
# Lateness below a tenth of a millisecond causes no warning: a calm machine wakes a program that late.
FELT_NS = 100_000

# Quantile (0..1) → the limit that an objective has for it, in ns.
Limits = Mapping[float, float]


@dataclass(frozen=True)
class _Late:
    """The quantile `q` of the response times includes lateness: `share` of the requests were late.

    Late means by more than `beyond_ns`; `limit` is the largest share that may be.
    """

    q: float
    share: float
    limit: float
    beyond_ns: float


def problem(record: TrialRecord, asked: Limits | None = None) -> str | None:
    """Return which quantiles asked for, or else up to p99, include the engine's lateness, or None.

    Lateness is also compared with the limit asked for: a time far below or far above the limit is known well
    enough however late the engine was.
    """
    asked = asked or {}
    found = _late_quantiles(record, tuple(asked) or JUDGED, asked, LATE_NS)
    return f"the engine was late: {_describe(found)}" if found else None


def spoiled_quantiles(
    record: TrialRecord, quantiles: Sequence[float] = JUDGED, asked: Limits | None = None
) -> tuple[float, ...]:
    """Return those of the quantiles that include the engine's lateness, from low to high."""
    return tuple(late.q for late in _late_quantiles(record, quantiles, asked or {}, LATE_NS))


def problem_of_all_figures(record: TrialRecord) -> str | None:
    """Return why the median or the mean includes the engine's lateness, so that no figure counts, or None."""
    if JUDGED[0] in spoiled_quantiles(record):
        return problem(record)
    times, mean_ns = record.histograms.response_time, on_average_ns(record)
    if not times.mean_ns or mean_ns <= SHARE_OF_TIME * times.mean_ns:
        return None
    return (
        f"the engine was late: requests were sent {mean_ns / 1e6:.3g} ms later than they could have been on "
        f"average (limit {SHARE_OF_TIME * 100:g}% of the mean response time, {times.mean_ns / 1e6:.3g} ms)"
    )


def on_average_ns(record: TrialRecord) -> float:
    """Return by how much, in ns, lateness lengthens the mean response time; a request not late adds 0."""
    late, times = record.histograms.engine_lateness, record.histograms.response_time
    return late.mean_ns * late.count / max(late.count, times.count) if late.mean_ns else 0.0


def spoiled_quantiles_of_part(
    record: TrialRecord, times: Times, quantiles: Sequence[float]
) -> tuple[float, ...]:
    """Return those of the quantiles of `times`, of a part of the requests, that may include lateness.

    Which requests were late is not known, so all that were may be of this part.
    """
    stored = record.histograms.engine_lateness
    late = _late_quantiles_in(histogram.decoded(stored), times, times.count, quantiles, {}, LATE_NS)
    return tuple(each.q for each in late)


def warning(record: TrialRecord, asked: Limits | None = None) -> str | None:
    """Return which quantiles shown include the engine's lateness, where the trial counts all the same."""
    if problem(record, asked):
        return None
    found = _late_quantiles(record, SHOWN, {}, FELT_NS)
    return f"the engine was late at times: {_describe(found)}" if found else None


def _late_quantiles(
    record: TrialRecord, quantiles: Sequence[float], asked: Limits, least_ns: float
) -> tuple[_Late, ...]:
    late = histogram.decoded(record.histograms.engine_lateness)
    if not late.count:
        return ()
    # Only requests whose due time was known ahead have a lateness; the others were sent as they became due.
    requests = max(late.count, record.histograms.response_time.count)
    return _late_quantiles_in(late, _times(record), requests, quantiles, asked, least_ns)


def _late_quantiles_in(
    late: Times, times: Times, requests: int, quantiles: Sequence[float], asked: Limits, least_ns: float
) -> tuple[_Late, ...]:
    if not late.count:
        return ()
    found = []
    for q in sorted(quantiles):
        if not times.count or (q not in asked and not histogram.printable(q, times.count)):
            continue
        longest_ns = max(times.quantile_ns(q), asked.get(q, 0.0))
        beyond_ns = max(least_ns, SHARE_OF_TIME * longest_ns)
        share, limit = late.count_above(beyond_ns) / requests, SHARE_BEYOND * (1 - q)
        if share > limit * (1 + 1e-9):
            found.append(_Late(q, share, limit, beyond_ns))
    return tuple(found)


def _times(record: TrialRecord) -> Times:
    """Return the response times; where too few for a median, also how long unanswered requests waited."""
    times = record.histograms
    parts = [times.response_time]
    if not histogram.printable(JUDGED[0], times.response_time.count):
        parts += [times.timed_out, times.unfinished_age]
    return histogram.merge([histogram.decoded(part) for part in parts if part.count])


def _describe(found: Sequence[_Late]) -> str:
    names, worst = [_name(late.q) for late in found], found[-1]
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else names[0]
    return (
        f"{worst.share * 100:.2g}% of the requests were sent more than {worst.beyond_ns / 1e6:.3g} ms later "
        f"than they could have been (limit {worst.limit * 100:.3g}%), so {listed} of the response times "
        f"{'are' if names[1:] else 'is'} not the server's alone"
    )


def _name(q: float) -> str:
    return "the longest" if q >= 1 else f"p{q * 100:g}"
