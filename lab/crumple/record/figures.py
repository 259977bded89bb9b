"""The figures of a measured trial, read from its stored record.

Nothing is compared, judged or formatted here; `metrics` lists the figures that a claim may name.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from crumple.errors import NotStored
from crumple.machine.process_tree import Tree
from crumple.record import (
    due_times,
    engine_limits,
    failures,
    histogram,
    invariants,
    lateness,
    undisturbed,
    undisturbed_times,
    windows,
)
from crumple.record.curve import Curve, curve, users_knee
from crumple.record.disturbance import Disturbance
from crumple.record.undisturbed import Factors
from crumple.record.validity import against_canary
from crumple.stats.knee import Knee
from crumple.subject.effects import TreeSeen

if TYPE_CHECKING:
    from crumple.contract import HistogramRecord, ProcessRecord, TrialRecord
    from crumple.run.store import StoredTrial

# The quantiles of response times that are computed; studies may claim something about any of them.
QUANTILES = (0.5, 0.75, 0.9, 0.99, 0.999)


# That of a trial of which it is not known what others took.
CALM = Disturbance(others_share=None, steal_share=None)


@dataclass(frozen=True)
class Figures:
    """The figures of one measured trial. None: not read."""

    trial_id: str
    experiment: str
    block: int
    """The number of its block, from 1."""
    server: str
    twin: bool
    valid: bool
    """Whether it counts."""
    problems: tuple[str, ...]
    """Why it does not count; empty if it does."""
    throughput_per_s: float
    """Ok answers per second of the measured window."""
    failed_share: float
    """Failed requests as a share of those that ended (0..1)."""
    response_mean_ns: float | None
    response_ns: dict[float, float]
    """Quantile → ns, if there are enough samples: of the right answers; on a schedule of all requests that
    were due.
    """
    cpu_per_request_us: float | None
    """Over the right answers, as all costs per request are."""
    cpu_user_us: float | None
    """The part of `cpu_per_request_us` in user mode; None, too, if there are too few ticks to split it."""
    cpu_kernel_us: float | None
    """The part of `cpu_per_request_us` in the kernel; None, too, if there are too few ticks to split it."""
    switches_per_request: float | None
    memory_peak_bytes: float | None
    """Proportional set size, or resident set size where the kernel reports no other."""
    processes_max: int | None
    threads_max: int | None
    connections: float | None = None
    """Open connections, on average."""
    memory_per_connection_bytes: float | None = None
    timed_out_share: float | None = None
    first_byte_mean_ns: float | None = None
    measured_ns: float | None = None
    cores_busy: float | None = None
    canary_ns: dict[float, float] = field(default_factory=dict)
    """Quantiles of all light requests of the canary."""
    start_ns: float | None = None
    database_cpu_per_query_us: float | None = None
    curve: Curve = ()
    """In a ramp, the trial along its load."""
    waiting: TreeSeen | None = None
    """The server's processes and threads while requests wait as their workload asks; None: they do not wait.
    """
    ended: int = 0
    """The number of requests that ended."""
    unanswered_share: float = 0.0
    """Share of the users (0..1) that got no answer in the measured window."""
    unattended_share: float = 0.0
    """Share of their time (0..1) that users of a closed shape waited for the engine."""
    unfinished: int = 0
    """The number of requests without an end."""
    late: tuple[float, ...] = ()
    """Quantiles of the response times that are left out because the engine was late."""
    unreached: tuple[float, ...] = ()
    """Quantiles that are left out because they lie among requests without an answer."""
    sliced: bool = False
    """Whether it was measured in slices. Suspended servers then share pages with it, so there are no figures
    of its memory.
    """
    warnings: tuple[str, ...] = ()
    """What may have affected the figures of a trial that counts."""
    engine_took: float | None = None
    """Share of all cores (0..1) that the engine used where it ran on the server's cores."""
    slowdown: float = 1.0
    """The factor by which others slowed the trial, at most."""
    delayed_share: float = 0.0
    """The share of the requests that others delayed, at most."""
    mean_factors: Factors = undisturbed.SURE
    """How far the mean response time of a calm machine may lie from this one, as factors."""
    first_byte_factors: Factors = undisturbed.SURE
    """How far the mean time to the first byte of a calm machine may lie from this one, as factors."""
    response_factors: dict[float, Factors] = field(default_factory=dict)
    """Quantile → how far that of a calm machine may lie from the one in `response_ns`, as factors."""
    canary_factors: dict[float, Factors] = field(default_factory=dict)
    """Quantile → how far that of a calm machine may lie from the one in `canary_ns`, as factors."""
    host: str = ""
    """The id of the host that measured it; empty: that is not known, and all are taken for one."""

    @property
    def engine_limited(self) -> bool:
        """Whether the engine's limit is the only problem: the throughput is then a lower bound."""
        return engine_limits.was_the_limit(self.problems)

    @property
    def maybe_engine_limited(self) -> bool:
        """Whether a warning says that the engine may have been at its limit."""
        return engine_limits.may_have_been_the_limit(self.warnings)

    @property
    def shows_knee(self) -> bool:
        """Whether a ramp without a knee has none: if the engine was late, its times are not the server's."""
        return QUANTILES[0] not in self.late

    @cached_property
    def knee(self) -> Knee | None:
        """Where the rounds of a ramp's users begin to take longer; None: nowhere, or it is not known."""
        return users_knee(self.curve) if self.shows_knee else None


def figures(stored: "StoredTrial") -> Figures | None:
    """Return the trial's figures; None for a failed trial. Raises NotStored where a histogram is damaged."""
    if stored.status == "failed" or stored.record is None:
        return None
    try:
        return _figures(stored, stored.record)
    except NotStored as damage:
        raise NotStored(f"{stored.trial.id}: {damage.message}", damage.remedy) from None


def _figures(stored: "StoredTrial", record: "TrialRecord") -> Figures:
    trial = stored.trial
    server = _Costs(record.probes.server, record)
    is_late = engine_limits.late_throughout(record) is not None
    late = QUANTILES if is_late else lateness.spoiled_quantiles(record, QUANTILES)
    canary = _Canary(stored.canary)
    others = stored.disturbance or CALM
    response = {q: found for q in QUANTILES if q not in late and (found := due_times.quantile(record, q))}
    return Figures(
        trial_id=trial.id,
        experiment=trial.experiment,
        block=trial.block,
        server=trial.server,
        twin=trial.twin,
        valid=stored.valid,
        problems=stored.problems,
        throughput_per_s=_throughput_per_s(record),
        failed_share=_failed_share(record),
        response_mean_ns=None if is_late else record.histograms.response_time.mean_ns,
        response_ns={q: each.ns for q, each in response.items() if not each.is_least},
        cpu_per_request_us=server.cpu_us,
        cpu_user_us=server.cpu_user_us,
        cpu_kernel_us=server.cpu_kernel_us,
        switches_per_request=server.switches,
        memory_peak_bytes=server.memory_peak_bytes,
        processes_max=server.processes_max,
        threads_max=server.threads_max,
        connections=_connections(record),
        memory_per_connection_bytes=_memory_per_connection(record),
        timed_out_share=_timed_out_share(record),
        first_byte_mean_ns=record.histograms.time_to_first_byte.mean_ns,
        measured_ns=float(record.measured_ns),
        cores_busy=server.cores_busy,
        canary_ns=canary.quantiles_ns,
        start_ns=None if stored.server.start_s is None else stored.server.start_s * 1e9,
        database_cpu_per_query_us=_database_cpu_per_query_us(stored),
        curve=curve(record),
        waiting=_waiting(record),
        ended=record.outcomes.ok + record.outcomes.failed,
        unanswered_share=record.users_unanswered / record.users if record.users else 0.0,
        unattended_share=engine_limits.unattended_share(record),
        unfinished=record.outcomes.unfinished,
        late=late,
        unreached=tuple(q for q, each in response.items() if each.is_least),
        sliced=bool(record.spec.turns),
        warnings=stored.warnings,
        engine_took=engine_limits.cpu_share_on_shared_cores(record),
        slowdown=others.slowdown,
        delayed_share=others.delayed_share,
        mean_factors=_mean_factors(record, record.histograms.response_time, others),
        first_byte_factors=_mean_factors(record, record.histograms.time_to_first_byte, others),
        response_factors=_response_factors(record, response, others),
        canary_factors=canary.factors(others.delayed_share),
        host=stored.host_id,
    )


def _throughput_per_s(record: "TrialRecord") -> float:
    return record.outcomes.ok / record.measured_ns * 1e9 if record.measured_ns > 0 else 0.0


def _failed_share(record: "TrialRecord") -> float:
    share = failures.share(record.outcomes)
    # If no request ended, the server did not serve them without failure: count all as failed.
    return 1.0 if share is None else share


def _timed_out_share(record: "TrialRecord") -> float | None:
    outcomes = record.outcomes
    ended = outcomes.ok + outcomes.failed
    return (outcomes.timeout + outcomes.connect_timeout) / ended if ended else None


def _connections(record: "TrialRecord") -> float | None:
    """Return how many connections were open while measuring, on average."""
    series = record.series
    read = [index for index, phase in enumerate(series.phase) if phase == "measured"]
    seconds = sum(series.duration_ns[index] for index in read)
    return sum(series.connections[i] * series.duration_ns[i] for i in read) / seconds if seconds else None


def _memory_per_connection(record: "TrialRecord") -> float | None:
    """Return the server's peak memory beyond what it held at the first sample, in bytes per connection."""
    probe, most = record.probes.server, max(record.series.connections, default=0)
    if probe is None or probe.window is None or not probe.samples.at_ns or not most:
        return None
    if record.spec.turns:  # Servers that are suspended share pages with it.
        return None
    first, last = probe.samples.pss_bytes[0], probe.window.pss_max_bytes
    if first is None or last is None:
        first, last = probe.samples.rss_bytes[0], probe.window.rss_max_bytes
    return max(0, last - first) / most


def _database_cpu_per_query_us(stored: "StoredTrial") -> float | None:
    database = stored.database
    if database is None or database.cpu_s is None or not database.queries:
        return None
    return database.cpu_s / database.queries * 1e6


def _waiting(record: "TrialRecord") -> TreeSeen | None:
    probe, wait_s, there = record.probes.server, invariants.wait_s(record), _connections(record)
    if probe is None or probe.window is None or not probe.samples.at_ns or not (wait_s and there):
        return None
    idle = Tree(probe.samples.processes[0], probe.samples.threads[0])
    waiting = Tree(probe.window.processes_max, probe.window.threads_max)
    # Little's law: requests waiting at once = answers per second × the time each waits.
    at_once = min(round(there), round(_throughput_per_s(record) * wait_s))
    return TreeSeen(idle, waiting, round(there), at_once)


def _response_factors(
    record: "TrialRecord", quantiles: Iterable[float], others: Disturbance
) -> dict[float, Factors]:
    quantile_ns, mean_ns = due_times.quantiles_ns(record), record.histograms.response_time.mean_ns
    return {q: undisturbed_times.quantile(record, quantile_ns, q, mean_ns, others) for q in quantiles}


def _mean_factors(record: "TrialRecord", stored: "HistogramRecord", others: Disturbance) -> Factors:
    def quantile_ns(q: float) -> float:
        return histogram.decoded(stored).quantile_ns(q)

    return undisturbed_times.mean(record, quantile_ns, stored.mean_ns, others)


class _Canary:
    """Quantiles of all light requests, answered or not: those without an answer waited longest."""

    def __init__(self, canary: "TrialRecord | None") -> None:
        times = canary.histograms if canary and not against_canary(canary) else None
        self._answered, self._left, self._lost = (
            histogram.merge([histogram.decoded(each) for each in parts])
            for parts in (
                (times.response_time,) if times else (),
                (times.unfinished_age,) if times else (),
                (times.failed, times.timed_out) if times else (),
            )
        )

    @property
    def quantiles_ns(self) -> dict[float, float]:
        asked = self._answered.count + self._left.count + self._lost.count
        return {q: self._quantile_ns(q) for q in QUANTILES if histogram.printable(q, asked)}

    def factors(self, delayed_share: float) -> dict[float, Factors]:
        return {q: undisturbed.open_quantile(self._quantile_ns, q, delayed_share) for q in self.quantiles_ns}

    def _quantile_ns(self, q: float) -> float:
        return histogram.censored_quantile_ns(q, self._answered, self._left, self._lost)


class _Costs:
    """What one process tree spent per ok answer, and the most it held; None where that was not read."""

    def __init__(self, probe: "ProcessRecord | None", record: "TrialRecord") -> None:
        self._window = probe.window if probe else None
        self._reads_pss = probe is not None and any(each is not None for each in probe.samples.pss_bytes)
        self._record = record

    def _each(self, span_ns: int | None, *spent: int | None) -> float | None:
        ok = self._record.outcomes.ok
        known = [windows.in_phase(self._record, part, span_ns) for part in spent]
        parts = [part for part in known if part is not None]
        return sum(parts) / ok if ok and len(parts) == len(spent) else None

    @property
    def cpu_us(self) -> float | None:
        window = self._window
        return _us(self._each(window.span_ns, window.cpu_ns)) if window else None

    @property
    def cpu_user_us(self) -> float | None:
        window = self._window
        return _us(self._each(window.span_ns, window.cpu_user_ns)) if window and self._is_split else None

    @property
    def cpu_kernel_us(self) -> float | None:
        window = self._window
        return _us(self._each(window.span_ns, window.cpu_kernel_ns)) if window and self._is_split else None

    @property
    def _is_split(self) -> bool:
        return self._window is not None and windows.is_split(self._window)

    @property
    def cores_busy(self) -> float | None:
        return windows.cores(self._record, self._window)

    @property
    def switches(self) -> float | None:
        window = self._window
        if window is None:
            return None
        return self._each(window.threads_span_ns, window.voluntary_switches, window.involuntary_switches)

    @property
    def memory_peak_bytes(self) -> float | None:
        if self._window is None or self._record.spec.turns:
            return None
        if self._window.pss_max_bytes is not None:
            return float(self._window.pss_max_bytes)
        # If proportional sizes were read outside the window, resident ones cannot replace them: they count
        # shared pages once for each process.
        return None if self._reads_pss else float(self._window.rss_max_bytes)

    @property
    def processes_max(self) -> int | None:
        return self._window.processes_max if self._window else None

    @property
    def threads_max(self) -> int | None:
        return self._window.threads_max if self._window else None


def _us(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e3
