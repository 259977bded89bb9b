"""One load for its reports: its record, its validity, and the figures, each computed once.

All that summary, page and exports print is computed here; they only put it into words and places.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from crumple import contract
from crumple.gate.condition import Outcome
from crumple.record import failures, histogram, lateness, stages, windows
from crumple.record.engine_limits import engine_share
from crumple.record.failures import SilentConnections, Unexpected, silent_connections
from crumple.record.histogram import Times
from crumple.stats import averages

if TYPE_CHECKING:
    from crumple.limit.finding import Said
    from crumple.load.compression import Compressible
    from crumple.machine.program import Program
    from crumple.observation.observed import WorkAlone
    from crumple.record.loss import Lost
    from crumple.record.overload import Overload
    from crumple.record.stages import Budget, NoBudget
    from crumple.record.validity import Validity

QUANTILES = (0.5, 0.75, 0.9, 0.99, 0.999)
SECOND_NS = 1e9
# The smallest ratio between the ends of a drawn histogram; a narrower one would show its own buckets.
_NARROWEST = 2.0
_SAME_S = 1e-3
# The kernel sends an unanswered SYN again after a second; half a percent allows for a histogram's buckets.
_SYN_AGAIN_NS = 0.995 * SECOND_NS
_CLOSES_SHARE = 0.9


@dataclass(frozen=True)
class Spread:
    """Times of one kind, in ns. `quantile_ns`: those of QUANTILES for which there are enough samples.

    `at_most`: those of them that include the engine's lateness, and are upper bounds.
    """

    count: int
    mean_ns: float | None
    max_ns: int | None
    quantile_ns: Mapping[float, float]
    at_most: tuple[float, ...] = ()


NO_SPREAD = Spread(0, None, None, {})
NO_TIMES = histogram.merge(())


@dataclass(frozen=True)
class Step:
    """The results of one step of an open schedule; `from_s` and `to_s` count from when measuring began.

    `requests`: how many came due in it. Answers count in the step in which they arrived; `spread`: the times
    of the ok ones in whole intervals of the log, so that no interval is split.
    """

    rate: contract.RateSpec
    from_s: float
    to_s: float
    requests: int
    ok: int
    failed: int
    spread: Spread

    @property
    def throughput_per_s(self) -> float:
        """Ok answers per second."""
        return self.ok / (self.to_s - self.from_s)

    @property
    def due_per_s(self) -> float:
        """Requests per second that came due."""
        return self.requests / (self.to_s - self.from_s)


@dataclass(frozen=True)
class Spent:
    """What one process tree used while measuring; None: could not be read. `cores`: how many it kept busy."""

    cpu_per_request_us: float | None
    cores: float
    memory_peak_bytes: int
    processes_max: int
    threads_max: int


@dataclass(frozen=True)
class Kind:
    """Results of one kind of request. `share`: of all requests sent; `spread`: times of its ok answers."""

    asked: contract.RequestSpec
    record: contract.RequestRecord
    share: float
    unexpected: tuple[Unexpected, ...]
    spread: Spread


@dataclass(frozen=True)
class Load:
    """One load that is over. `url`: as typed; `command`: the command that repeats it.

    `ceiling_per_s`: what the engine reaches here against the null server; None: not known, or not measured
    because the load was far below it. `ceiling_at_least`: it may be more. Of a watched server: `idle_cores`,
    that it kept busy before the load; `alone`, requests sent one at a time after it; `said`, what limits it.
    `compressible`: its answers as they are and compressed; None: it does not compress, or that is not known.
    `unwatched`: why its side is not known, or not all of it; empty: it is, or nobody asked. `program`: what
    runs there. `lost`: how the server was lost; then all figures are of the time before that.
    """

    record: contract.TrialRecord
    validity: "Validity"
    url: str
    command: str
    fail_if: Sequence[Outcome] = ()
    ceiling_per_s: float | None = None
    ceiling_at_least: bool = False
    idle_cores: float | None = None
    alone: "WorkAlone | None" = None
    said: "tuple[Said, ...]" = ()
    compressible: "Compressible | None" = None
    unwatched: str = ""
    program: "Program | None" = None
    lost: "Lost | None" = None

    def of_lost(self, lost: "Lost") -> "Load":
        """Return the load of a server that was lost in it, without what would rest on the time after that."""
        # Imported here because it takes time before a load.
        from crumple.record.validity import Validity
        from crumple.words import lost_sentences

        until = lost_sentences.until(lost)
        said = lost_sentences.sentence(lost)
        problem = f"{said}; all figures are of {until}" if until else f"{said}; no figure is of it"
        return replace(
            self,
            validity=Validity("not-valid", (problem,), ()),
            alone=None,
            said=tuple(each for each in self.said if getattr(each, "cause", "") == "limiter"),
            lost=lost,
        )

    @property
    def measured_s(self) -> float:
        """Length of the measured phase."""
        return self.record.measured_ns / SECOND_NS

    @property
    def throughput_per_s(self) -> float:
        """Ok answers per second."""
        outage = self.lost.outage if self.lost is not None else None
        return self.per_s(self.record.outcomes.ok if outage is None else outage.ok_measured)

    @property
    def counted_s(self) -> float:
        """How much of the measured phase figures are of: all of it, unless the server was lost in it.

        0: no figure per second is known.
        """
        return self.measured_s if self.lost is None else self.lost.measured_s

    @property
    def has_times(self) -> bool:
        """Whether response times are shown: not if the server was lost and answered again within it."""
        return self.lost is None or not self.lost.gaps

    def per_s(self, count: int) -> float:
        """Convert a count over the measured phase, until the server was lost, to a rate per second."""
        return count / self.counted_s if self.counted_s else 0.0

    @property
    def lossy(self) -> bool:
        """Whether over 1 % of requests were lost or of users unanswered: marked beside every speed."""
        lost = failures.lost_share(self.record.outcomes)
        silent = self.unanswered
        return (lost or 0.0) > failures.SHARE_MAX or (
            silent is not None and silent.connections > failures.SHARE_MAX * silent.of
        )

    @cached_property
    def unanswered(self) -> SilentConnections | None:
        """Users who got no answer; None where all did."""
        return silent_connections(self.record)

    @cached_property
    def unexpected(self) -> tuple[Unexpected, ...]:
        """What came instead of the answers expected; of a server that was lost without a remedy for each."""
        found = failures.unexpected_ends(self.record)
        return found if self.lost is None else tuple(each.without_remedy() for each in found)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """Each request of the load."""
        record = self.record
        sent = sum(each.scheduled for each in record.requests)
        return tuple(
            Kind(
                asked=asked,
                record=each,
                share=each.scheduled / sent if sent else 0.0,
                unexpected=failures.unexpected_ends_of(record, asked, each),
                spread=self._of_kind(each.response_time),
            )
            for asked, each in zip(record.spec.requests, record.requests, strict=True)
        )

    @property
    def server_closes(self) -> bool:
        """Whether the server closed the connection after each answer although it was to be kept alive."""
        record = self.record
        answered = sum(failures.answers_by_status(record).values())
        kept = record.spec.connection == "keep-alive"
        return kept and 0 < _CLOSES_SHARE * answered <= record.connections_closed_by_server

    @property
    def renewed_share(self) -> float:
        """Connections opened beyond each user's first, or broken, as a share of the requests that ended."""
        record, outcomes = self.record, self.record.outcomes
        renewed = max(record.connections_opened - record.users, outcomes.reset + outcomes.closed_early)
        ended = outcomes.ok + outcomes.failed
        return min(1.0, max(0, renewed) / ended) if ended else 0.0

    @property
    def slow_connects(self) -> int:
        """How many connects took so long that the kernel had sent the SYN again."""
        return histogram.decoded(self.record.histograms.connect_time).count_above(_SYN_AGAIN_NS)

    @cached_property
    def response_times(self) -> Times:
        """Response times of the ok answers."""
        return histogram.decoded(self.record.histograms.response_time) if self.has_times else NO_TIMES

    @cached_property
    def log_times(self) -> tuple[Times, ...]:
        """Response times of the ok answers, by interval of the log."""
        return tuple(histogram.decode(encoded) for encoded in self.record.log.response_time)

    @cached_property
    def at_most(self) -> tuple[float, ...]:
        """The quantiles of the response times that include the engine's lateness."""
        return lateness.spoiled_quantiles(self.record, QUANTILES)

    @cached_property
    def spreads(self) -> Mapping[str, Spread]:
        """Name of a histogram in the record → its times; without those that the shape does not have."""
        kinds = contract.Histograms.model_fields
        stored = {name: getattr(self.record.histograms, name) for name in kinds}
        return {
            name: spread_of(each, self.at_most if name == "response_time" else ())
            if self.has_times
            else NO_SPREAD
            for name, each in stored.items()
            if each is not None
        }

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps that were reached of an open schedule with several; empty for any other shape."""
        shape = self.record.spec.shape
        if shape.kind != "open" or len(shape.rates) < 2:
            return ()
        ends_s = list(accumulate(rate.duration_s for rate in shape.rates))
        # The rate of the last step continues after it.
        ends_s[-1] = max(ends_s[-1], self.counted_s)
        begins_s = [0.0, *ends_s[:-1]]
        return tuple(
            self._step(rate, begin_s, min(end_s, self.counted_s))
            for rate, begin_s, end_s in zip(shape.rates, begins_s, ends_s, strict=True)
            if begin_s < self.counted_s - _SAME_S
        )

    @cached_property
    def engine(self) -> Spent | None:
        """What the engine cost; None: was not read."""
        return self._spent(self.record.probes.engine)

    @cached_property
    def server(self) -> Spent | None:
        """What the watched server cost; None: was not watched, or not read, or it was lost."""
        if self.lost is not None:
            return None
        return self._spent(self.record.probes.server)

    @cached_property
    def budget(self) -> "Budget | NoBudget | None":
        """The mean response time by stages, or why that is not known; None: nobody asked, or it was lost."""
        if self.lost is not None:
            return None
        return stages.budget(self.record, self.idle_cores or 0.0)

    @property
    def is_time_known(self) -> bool:
        """Whether it is known where the mean response time goes."""
        return isinstance(self.budget, stages.Budget)

    @cached_property
    def overload(self) -> "Overload | None":
        """By how much the load was more than the server takes; None: it was not, as far as it shows."""
        # Imported here because it takes time before a load.
        from crumple.record.overload import overload

        # An engine that was late at times does not make a queue grow; one that was the limit does.
        is_of_server = self.validity.word in ("valid", "schedule-missed")
        return overload(self.record) if is_of_server else None

    @cached_property
    def kept_back_ns(self) -> float | None:
        """How long the rest of an answer waits for its first part to be acknowledged; None: not shown."""
        # Imported here because what limits a server is not judged of every load.
        from crumple.observation import in_parts

        return in_parts.kept_back_ns(self.record, self.budget)

    @property
    def engine_share(self) -> float | None:
        """CPU time of the engine over that of its cores (0..1)."""
        return engine_share(self.record)

    @property
    def held_mean_ns(self) -> float | None:
        """How long an answer lay unread until the engine read it, on average."""
        ok = self.record.outcomes.ok
        return self.record.arrivals.held_ns / ok if ok else None

    def bins(self, number: int) -> tuple[list[float], list[int]]:
        """Response times in bins of equal width on a logarithmic axis: the bins' ends in ns, their counts."""
        times = self.response_times
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

    def _step(self, rate: contract.RateSpec, from_s: float, to_s: float) -> Step:
        series, log = self.record.series, self.record.log
        began_ns = self.record.warm_up_ns
        within = [
            row
            for row, (at_ns, long_ns, phase) in enumerate(
                zip(series.at_ns, series.duration_ns, series.phase, strict=True)
            )
            if phase == "measured" and from_s <= (at_ns + long_ns / 2 - began_ns) / SECOND_NS < to_s
        ]
        times = histogram.merge(
            [
                part
                for at_ns, long_ns, part in zip(log.at_ns, log.duration_ns, self.log_times, strict=True)
                if from_s - _SAME_S <= at_ns / SECOND_NS and (at_ns + long_ns) / SECOND_NS <= to_s + _SAME_S
            ]
        )
        return Step(
            rate=rate,
            from_s=from_s,
            to_s=to_s,
            requests=sum(series.scheduled[row] for row in within),
            ok=sum(series.ok[row] for row in within),
            failed=sum(series.failed[row] for row in within),
            spread=_spread(times, times.values_ns[-1] if times.count else None, self._at_most(times, within)),
        )

    def _at_most(self, times: Times, rows: Sequence[int]) -> tuple[float, ...]:
        """Return the quantiles of a step, of these rows of the series, that include the engine's lateness."""
        part = lateness.PartLateness(self._lateness, tuple(rows))
        return tuple(q for q in QUANTILES if times.count and part.spoils(q, times.quantile_ns(q)))

    @cached_property
    def _lateness(self) -> lateness.TrialLateness:
        return lateness.of_trial(self.record)

    def _of_kind(self, stored: contract.HistogramRecord) -> Spread:
        if not self.has_times:
            return NO_SPREAD
        times = histogram.decoded(stored)
        return spread_of(stored, lateness.spoiled_quantiles_of_part(self.record, times, QUANTILES))

    def _spent(self, probe: contract.ProcessRecord | None) -> Spent | None:
        window = probe.window if probe is not None else None
        used_ns, outcomes = windows.cpu_ns(self.record, window), self.record.outcomes
        if window is None or used_ns is None:
            return None
        # Where most requests fail, most of it is for these, and says nothing of the others.
        tells = outcomes.ok > outcomes.failed
        return Spent(
            cpu_per_request_us=used_ns / outcomes.ok / 1e3 if tells else None,
            cores=used_ns / self.record.measured_ns,
            memory_peak_bytes=window.pss_max_bytes
            if window.pss_max_bytes is not None
            else window.rss_max_bytes,
            processes_max=window.processes_max,
            threads_max=window.threads_max,
        )


def spread_of(stored: contract.HistogramRecord, at_most: tuple[float, ...] = ()) -> Spread:
    """Return the figures of a record's histogram. Raises NotStored where it is damaged.

    `at_most`: the quantiles that are upper bounds.
    """
    if not histogram.printable(QUANTILES[0], stored.count):
        return Spread(stored.count, stored.mean_ns, stored.max_ns, {})
    # Use the engine's own mean, which is more exact than one from the buckets.
    spread = _spread(histogram.decoded(stored), stored.max_ns, at_most)
    return replace(spread, count=stored.count, mean_ns=stored.mean_ns)


def _spread(times: Times, max_ns: int | None, at_most: tuple[float, ...]) -> Spread:
    carried = [q for q in QUANTILES if histogram.printable(q, times.count)]
    quantile_ns = {q: times.quantile_ns(q) for q in carried}
    return Spread(times.count, times.mean_ns, max_ns, quantile_ns, tuple(q for q in at_most if q in carried))
