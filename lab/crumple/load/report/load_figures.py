"""The figures of one load, as its document has them: each is computed once, from the record. Pure."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated

from pydantic import PlainSerializer

from crumple import contract
from crumple.contract import Example, Outcomes, Reason, TrialRecord
from crumple.contract_base import Lenient
from crumple.record import histogram, lateness, windows
from crumple.record.failures import Unexpected
from crumple.record.histogram import Times
from crumple.stats import averages

# The quantiles of times that a load reports, as far as there are enough samples for each.
QUANTILES = (0.5, 0.75, 0.9, 0.99, 0.999)
# Nanoseconds in a second.
SECOND_NS = 1e9
# The ends of a drawn histogram are at least a factor of 2 apart; a narrower one would show its own buckets.
_NARROWEST = 2.0
# An interval of the log belongs to a step if it begins and ends within it, give or take a millisecond.
_SAME_S = 1e-3
# In a document a quantile is written as text, "0.999".
Quantile = Annotated[float, PlainSerializer(lambda q: f"{q:g}", return_type=str)]


class Spread(Lenient):
    """Times of one kind, in ns."""

    count: int
    """How many there are."""
    mean_ns: float | None
    """Their mean."""
    max_ns: int | None
    """The longest."""
    quantile_ns: dict[Quantile, float]
    """Quantile → time, for those that have enough samples."""
    at_most: tuple[Quantile, ...] = ()
    """The quantiles that are upper bounds, as they include the engine's lateness."""


NO_SPREAD = Spread(count=0, mean_ns=None, max_ns=None, quantile_ns={})
NO_TIMES = histogram.merge(())


class UnexpectedEnd(Lenient):
    """Requests that ended in the same unexpected way, and the first of them."""

    outcome: str
    """How they ended."""
    status: int | None
    """The status of their answers, if these were whole."""
    count: int
    """How many there are."""
    reason: Reason | None = None
    """What refines the outcome."""
    since_ns: int | None = None
    """When the first of them ended, since measuring began."""
    tls_fault: str | None
    """What TLS reported."""
    bodies_compared: int | None
    """The number of ok answers whose bytes were compared."""
    first: Example | None
    """The first of them, as it went over the wire."""

    @classmethod
    def of(cls, found: Unexpected) -> "UnexpectedEnd":
        """Return what the document has of it."""
        return cls(
            outcome=found.outcome,
            status=found.status,
            count=found.count,
            reason=found.reason,
            since_ns=found.since_ns,
            tls_fault=found.tls_fault,
            bodies_compared=found.compared and found.compared[0],
            first=found.first,
        )


class RequestFigures(Lenient):
    """One kind of request."""

    name: str
    """Its name."""
    share: float
    """Its share of all that were sent."""
    scheduled: int
    """How many were due."""
    outcomes: Outcomes
    """How they ended."""
    statuses: dict[str, int]
    """Whole answers by status."""
    response_time: Spread
    """The times of its ok answers."""


class HostFigures(Lenient):
    """What one of several load hosts saw of a load."""

    name: str
    """As --from named it, without secrets."""
    share: float
    """Its share of the requests."""
    outcomes: Outcomes
    """How its requests ended."""
    response_time: Spread
    """Of the ok answers that came to it."""
    engine_lateness: Spread
    """Its engine's own lateness."""
    late_ns: int
    """How much later than the first of them it began, as far as their clocks tell."""
    late_off_ns: int
    """By how much `late_ns` may be wrong."""
    round_trip_ns: int
    """How long a line took there and back."""
    validity: str
    """Whether its own record measured the server, in a word."""
    problems: tuple[str, ...]
    """The problems of its own record."""


class StepFigures(Lenient):
    """One step of an open schedule. Seconds count from when measuring began."""

    rate: contract.RateSpec
    """Its rate."""
    from_s: float
    """When it began."""
    to_s: float
    """When it ended."""
    scheduled: int
    """How many requests came due in it."""
    ok: int
    """How many ok answers arrived in it."""
    failed: int
    """How many requests failed in it."""
    throughput_per_s: float
    """Ok answers per second."""
    response_time: Spread
    """The times of the ok answers in whole intervals of the log, so that no interval is split."""

    @property
    def due_per_s(self) -> float:
        """Requests per second that came due."""
        return self.scheduled / (self.to_s - self.from_s)


@dataclass(frozen=True)
class Spent:
    """What one process tree used while measuring."""

    cpu_per_request_us: float | None
    """CPU time per ok answer; null: most requests failed, so that it says nothing of the others."""
    cores: float
    """How many cores it kept busy."""
    memory_peak_bytes: int
    """Its memory at the most: proportional if it could be read, else resident."""
    processes_max: int
    """Its processes at the most."""
    threads_max: int
    """Its threads at the most."""


def spreads(record: TrialRecord) -> dict[str, Spread]:
    """Return name of a histogram in the record → its times, without those that the shape does not have."""
    at_most = lateness.spoiled_quantiles(record, QUANTILES)
    stored = {name: getattr(record.histograms, name) for name in contract.Histograms.model_fields}
    return {
        name: spread_of(each, at_most if name == "response_time" else ())
        for name, each in stored.items()
        if each is not None
    }


def by_host(record: TrialRecord) -> tuple[HostFigures, ...]:
    """Return the figures of each of several load hosts; empty: the load came from one machine."""
    return tuple(
        HostFigures(
            name=host.name,
            share=host.scheduled / record.scheduled if record.scheduled else 0.0,
            outcomes=host.outcomes,
            response_time=spread_of(host.response_time),
            engine_lateness=spread_of(host.engine_lateness),
            late_ns=host.late_ns,
            late_off_ns=host.late_off_ns,
            round_trip_ns=host.round_trip_ns,
            validity=host.validity,
            problems=host.problems,
        )
        for host in record.load_hosts
    )


def by_request(record: TrialRecord, *, has_times: bool) -> tuple[RequestFigures, ...]:
    """Return the figures of each request of the load."""
    sent = sum(each.scheduled for each in record.requests)
    return tuple(
        RequestFigures(
            name=each.name,
            share=each.scheduled / sent if sent else 0.0,
            scheduled=each.scheduled,
            outcomes=each.outcomes,
            statuses={str(status): count for status, count in each.statuses.items()},
            response_time=_of_request(record, each.response_time) if has_times else NO_SPREAD,
        )
        for each in record.requests
    )


def _of_request(record: TrialRecord, stored: contract.HistogramRecord) -> Spread:
    if not histogram.printable(QUANTILES[0], stored.count):
        return spread_of(stored)
    return spread_of(stored, lateness.spoiled_quantiles_of_part(record, histogram.decoded(stored), QUANTILES))


def steps(record: TrialRecord, counted_s: float) -> tuple[StepFigures, ...]:
    """Return the steps that were reached of an open schedule with several; empty for any other shape.

    `counted_s`: how much of the measured phase figures are of.
    """
    shape = record.spec.shape
    if shape.kind != "open" or len(shape.rates) < 2:
        return ()
    ends_s = list(accumulate(rate.duration_s for rate in shape.rates))
    # The rate of the last step continues after it.
    ends_s[-1] = max(ends_s[-1], counted_s)
    log_times = [histogram.decode(encoded) for encoded in record.log.response_time]
    whole = lateness.of_trial(record)
    return tuple(
        _step(record, log_times, whole, rate, begin_s, min(end_s, counted_s))
        for rate, begin_s, end_s in zip(shape.rates, [0.0, *ends_s[:-1]], ends_s, strict=True)
        if begin_s < counted_s - _SAME_S
    )


def _step(
    record: TrialRecord,
    log_times: Sequence[Times],
    whole: lateness.TrialLateness,
    rate: contract.RateSpec,
    from_s: float,
    to_s: float,
) -> StepFigures:
    series, log = record.series, record.log
    within = [
        row
        for row, (at_ns, long_ns, phase) in enumerate(
            zip(series.at_ns, series.duration_ns, series.phase, strict=True)
        )
        if phase == "measured" and from_s <= (at_ns + long_ns / 2 - record.warm_up_ns) / SECOND_NS < to_s
    ]
    times = histogram.merge(
        [
            part
            for at_ns, long_ns, part in zip(log.at_ns, log.duration_ns, log_times, strict=True)
            if from_s - _SAME_S <= at_ns / SECOND_NS and (at_ns + long_ns) / SECOND_NS <= to_s + _SAME_S
        ]
    )
    late = lateness.PartLateness(whole, tuple(within))
    at_most = tuple(q for q in QUANTILES if times.count and late.spoils(q, times.quantile_ns(q)))
    ok = sum(series.ok[row] for row in within)
    return StepFigures(
        rate=rate,
        from_s=from_s,
        to_s=to_s,
        scheduled=sum(series.scheduled[row] for row in within),
        ok=ok,
        failed=sum(series.failed[row] for row in within),
        throughput_per_s=ok / (to_s - from_s),
        response_time=_spread(times, times.values_ns[-1] if times.count else None, at_most),
    )


def spent(record: TrialRecord, probe: contract.ProcessRecord | None) -> Spent | None:
    """Return what a process tree used; None: it was not watched, or could not be read."""
    window = probe.window if probe is not None else None
    used_ns, outcomes = windows.cpu_ns(record, window), record.outcomes
    if window is None or used_ns is None:
        return None
    is_of_answers = outcomes.ok > outcomes.failed
    return Spent(
        cpu_per_request_us=used_ns / outcomes.ok / 1e3 if is_of_answers else None,
        cores=used_ns / record.measured_ns,
        memory_peak_bytes=window.pss_max_bytes if window.pss_max_bytes is not None else window.rss_max_bytes,
        processes_max=window.processes_max,
        threads_max=window.threads_max,
    )


def bins(times: Times, number: int) -> tuple[list[float], list[int]]:
    """Return times in bins of equal width on a logarithmic axis: the bins' ends in ns, their counts."""
    if not times.count:
        return [], []
    low, high = max(1.0, float(times.values_ns[0])), float(times.values_ns[-1])
    if high < _NARROWEST * low:
        middle = (low * high) ** 0.5
        low, high = middle / _NARROWEST**0.5, middle * _NARROWEST**0.5
    edges = averages.even_on_logarithms(low, high, number + 1)
    counts = [0] * number
    for value_ns, count in zip(times.values_ns, times.counts, strict=True):
        counts[min(number, max(1, bisect_right(edges, value_ns))) - 1] += count
    return edges, counts


def spread_of(stored: contract.HistogramRecord, at_most: tuple[float, ...] = ()) -> Spread:
    """Return the figures of a record's histogram. Raises NotStored if it is damaged.

    `at_most`: the quantiles that are upper bounds.
    """
    if not histogram.printable(QUANTILES[0], stored.count):
        return Spread(count=stored.count, mean_ns=stored.mean_ns, max_ns=stored.max_ns, quantile_ns={})
    # Use the engine's own mean, which is more exact than one from the buckets.
    spread = _spread(histogram.decoded(stored), stored.max_ns, at_most)
    return spread.model_copy(update={"count": stored.count, "mean_ns": stored.mean_ns})


def _spread(times: Times, max_ns: int | None, at_most: tuple[float, ...]) -> Spread:
    carried = [q for q in QUANTILES if histogram.printable(q, times.count)]
    return Spread(
        count=times.count,
        mean_ns=times.mean_ns,
        max_ns=max_ns,
        quantile_ns={q: times.quantile_ns(q) for q in carried},
        at_most=tuple(q for q in at_most if q in carried),
    )
