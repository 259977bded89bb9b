"""What a measured trial comes to, in figures, and the metrics a claim may name.

Figures are read off the stored record; nothing is compared, judged or formatted here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from crumple.errors import NotStored
from crumple.record import histogram, invariants
from crumple.record.curve import Curve, Point, between, curve, sound
from crumple.record.validity import engine_share
from crumple.stats import knee
from crumple.stats.knee import Knee
from crumple.verify.io_model import Observed, Tree

if TYPE_CHECKING:
    from crumple.contract import ProbeRecord, TrialRecord
    from crumple.run.store import StoredTrial

QUANTILES = (0.5, 0.75, 0.9, 0.99, 0.999)


@dataclass(frozen=True)
class Figures:
    """One measured trial. `block` counts from 1; `problems` say why it is not `valid`. None: was not read.

    `throughput_per_s`: ok answers per second of the measured window. `failed_share`: failed requests in those
    that ended (0..1). `response_ns`: quantile → ns of ok answers, only those with samples enough. The costs
    `…_per_request` are over ok answers. `memory_peak_bytes`: proportional set size if read, else resident.
    `engine_core_share`: 0..1 of the engine's cores. `connections`: open on average. `canary_ns`: quantiles of
    the light requests that ran beside. `curve`: in a ramp, the trial along its load. `waiting`: processes
    and threads while requests wait as their workload asks; None: they do not wait.
    """

    trial_id: str
    experiment: str
    block: int
    server: str
    twin: bool
    valid: bool
    problems: tuple[str, ...]
    throughput_per_s: float
    failed_share: float
    response_mean_ns: float | None
    response_ns: dict[float, float]
    cpu_per_request_us: float | None
    cpu_user_us: float | None
    cpu_kernel_us: float | None
    switches_per_request: float | None
    memory_peak_bytes: float | None
    processes_max: int | None
    threads_max: int | None
    engine_cpu_per_request_us: float | None
    engine_core_share: float | None
    connections: float | None = None
    memory_per_connection_bytes: float | None = None
    timed_out_share: float | None = None
    first_byte_mean_ns: float | None = None
    measured_ns: float | None = None
    cores_busy: float | None = None
    canary_ns: dict[float, float] = field(default_factory=dict)
    start_ns: float | None = None
    database_cpu_per_query_us: float | None = None
    curve: Curve = ()
    waiting: Observed | None = None

    @cached_property
    def knee(self) -> Knee | None:
        """Where the rounds of a ramp's users begin to take longer; None: nowhere.

        No quantile of the answers would do: where a pool of workers is taken, those who hold one are answered
        as fast as ever, and of the others there is no answer. Where requests begin to fail before rounds take
        longer, that is where users notice.
        """
        points = sound(self.curve)
        timed = [(point.connections, taken_s) for point in points if (taken_s := point.round_s)]
        found = knee.knee(*zip(*timed, strict=True)) if timed else None
        if found is not None:
            return _with_newcomers(found, points[0].comers_per_s * points[0].pause_s)
        if len(points) >= knee.SIDE_MIN and len(points) < len(self.curve):
            last, first = points[-1].connections, self.curve[len(points)].connections
            middle = math.sqrt(last * first)
            return Knee(middle, last, first, (last, first), timed[-1][1] if timed else 0.0, knee.CONFIDENCE)
        return None


@dataclass(frozen=True)
class Metric:
    """A figure that trials are compared by. `unit` is that of the value `of` returns, never scaled.

    `despite_failures`: it says something of a server that fails, too. `along`: the same of a part of a ramp.
    `absent`: why there may be none.
    """

    title: str
    unit: str
    better: Literal["higher", "lower"]
    of: Callable[[Figures], float | None]
    despite_failures: bool = False
    along: Callable[[Point], float | None] | None = None
    absent: str = "not read, or from too few requests"

    @property
    def phrase(self) -> str:
        """The title as it stands within a sentence: "mean response time", "CPU time per request"."""
        return self.title if self.title[:2].isupper() else self.title[0].lower() + self.title[1:]

    def while_connected(self, low: float, high: float) -> "Metric":
        """The same, while `low` to `high` users were connected only. Raises ValueError without `along`."""
        along = self.along
        if along is None:
            raise ValueError(f"the {self.phrase} is not known along a ramp")

        def of(trial: Figures) -> float | None:
            part = between(trial.curve, low, high)
            return along(part) if part else None

        return replace(self, title=f"{self.title} at {low:g} to {high:g} users", of=of)


def _with_newcomers(found: Knee, newcomers: float) -> Knee:
    """A knee of rounds is up to `newcomers` users too low: those who set out within one pause.

    Where they share what is left they belong to the load, and where they get nothing they do not.
    """
    low, high = found.between
    return replace(
        found, at=found.at + newcomers / 2, high=found.high + newcomers, between=(low, high + newcomers)
    )


def phrase(metric: str) -> str:
    """The metric's title within a sentence."""
    return METRICS[metric].phrase


def _quantile(q: float) -> Callable[[Figures], float | None]:
    return lambda trial: trial.response_ns.get(q)


def _canary(q: float) -> Callable[[Figures], float | None]:
    return lambda trial: trial.canary_ns.get(q)


def _user_share(trial: Figures) -> float | None:
    if trial.cpu_user_us is None or not trial.cpu_per_request_us:
        return None
    return trial.cpu_user_us / trial.cpu_per_request_us


def _cores_busy_to_knee(trial: Figures) -> float | None:
    """The most CPU that a ramp took before its knee, or in all of it where there is none."""
    end = trial.knee.at if trial.knee else math.inf
    read = [p.cores_busy for p in trial.curve if p.connections <= end and p.cores_busy is not None]
    return max(read, default=None)


METRICS: dict[str, Metric] = {
    "throughput": Metric(
        "Throughput", "requests/s", "higher", lambda trial: trial.throughput_per_s,
        along=lambda part: part.throughput_per_s,
    ),
    "response_mean": Metric(
        "Mean response time", "ns", "lower", lambda trial: trial.response_mean_ns,
        along=lambda part: part.times.mean_ns,
    ),
    "response_p50": Metric(
        "Median response time", "ns", "lower", _quantile(0.5), along=lambda part: part.quantile_ns(0.5)
    ),
    "response_p90": Metric(
        "90th percentile of the response time", "ns", "lower", _quantile(0.9),
        along=lambda part: part.quantile_ns(0.9),
    ),
    "response_p99": Metric(
        "99th percentile of the response time", "ns", "lower", _quantile(0.99),
        along=lambda part: part.quantile_ns(0.99),
    ),
    "cpu_per_request": Metric("CPU time per request", "µs", "lower", lambda trial: trial.cpu_per_request_us),
    "memory": Metric(
        "Peak memory", "bytes", "lower", lambda trial: trial.memory_peak_bytes,
        along=lambda part: part.memory_bytes,
    ),
    "failed_share": Metric(
        "Share of failed requests", "share", "lower", lambda trial: trial.failed_share, True,
        along=lambda part: part.failed_share,
    ),
    "timed_out_share": Metric(
        "Share of requests that timed out", "share", "lower", lambda trial: trial.timed_out_share, True
    ),
    "successes": Metric(
        "Rate of successful requests", "requests/s", "higher", lambda trial: trial.throughput_per_s, True,
        along=lambda part: part.throughput_per_s,
    ),
    "wall_time": Metric("Time for all requests", "ns", "lower", lambda trial: trial.measured_ns),
    "first_byte": Metric("Mean time to first byte", "ns", "lower", lambda trial: trial.first_byte_mean_ns),
    "cpu_user": Metric("User CPU time per request", "µs", "lower", lambda trial: trial.cpu_user_us),
    "cpu_kernel": Metric("Kernel CPU time per request", "µs", "lower", lambda trial: trial.cpu_kernel_us),
    "cpu_user_share": Metric("Share of CPU time outside the kernel", "share", "lower", _user_share),
    "cores_busy": Metric(
        "CPU time of the server", "cores", "lower", lambda trial: trial.cores_busy, True,
        along=lambda part: part.cores_busy,
    ),
    "cores_busy_to_knee": Metric(
        "CPU time of the server up to the knee", "cores", "lower", _cores_busy_to_knee, True
    ),
    "memory_per_connection": Metric(
        "Memory per connection", "bytes", "lower", lambda trial: trial.memory_per_connection_bytes, True
    ),
    "processes": Metric(
        "Number of processes", "processes", "lower", lambda trial: trial.processes_max, True,
        along=lambda part: part.processes,
    ),
    "threads": Metric(
        "Number of threads", "threads", "lower", lambda trial: trial.threads_max, True,
        along=lambda part: part.threads,
    ),
    "knee": Metric(
        "Knee of the response time", "users", "higher", lambda trial: trial.knee.at if trial.knee else None,
        True, absent="one straight line fits as well, or it was no ramp",
    ),
    "canary_p50": Metric("Median response time of the canary", "ns", "lower", _canary(0.5), True),
    "canary_p90": Metric("90th percentile of the canary's response time", "ns", "lower", _canary(0.9), True),
    "canary_p99": Metric("99th percentile of the canary's response time", "ns", "lower", _canary(0.99), True),
    "database_cpu": Metric(
        "CPU time of the database per query", "µs", "lower", lambda trial: trial.database_cpu_per_query_us
    ),
    "start_time": Metric("Time to start", "ns", "lower", lambda trial: trial.start_ns, True),
}  # fmt: skip


def figures(stored: "StoredTrial") -> Figures | None:
    """The trial in figures; None for one that failed. Raises NotStored where its histogram is damaged."""
    record, trial = stored.record, stored.trial
    if stored.status == "failed" or record is None:
        return None
    server, engine = _Costs(record.probes.server, record), _Costs(record.probes.engine, record)
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
        response_mean_ns=record.histograms.response_time.mean_ns,
        response_ns=_response_ns(record, trial.id),
        cpu_per_request_us=server.cpu_us,
        cpu_user_us=server.cpu_user_us,
        cpu_kernel_us=server.cpu_kernel_us,
        switches_per_request=server.switches,
        memory_peak_bytes=server.memory_peak_bytes,
        processes_max=server.processes_max,
        threads_max=server.threads_max,
        engine_cpu_per_request_us=engine.cpu_us,
        engine_core_share=engine_share(record),
        connections=_connections(record),
        memory_per_connection_bytes=_memory_per_connection(record),
        timed_out_share=_timed_out_share(record),
        first_byte_mean_ns=record.histograms.time_to_first_byte.mean_ns,
        measured_ns=float(record.measured_ns),
        cores_busy=server.cores_busy,
        canary_ns=_response_ns(stored.canary, trial.id) if stored.canary else {},
        start_ns=None if stored.server.start_s is None else stored.server.start_s * 1e9,
        database_cpu_per_query_us=_database_cpu_per_query_us(stored),
        curve=_curve(record, trial.id),
        waiting=_waiting(record),
    )


def _throughput_per_s(record: "TrialRecord") -> float:
    return record.outcomes.ok / record.measured_ns * 1e9 if record.measured_ns > 0 else 0.0


def _failed_share(record: "TrialRecord") -> float:
    outcomes = record.outcomes
    ended = outcomes.ok + outcomes.failed
    # A server that let no request end has not served them without failure.
    return outcomes.failed / ended if ended else 1.0


def _timed_out_share(record: "TrialRecord") -> float | None:
    outcomes = record.outcomes
    ended = outcomes.ok + outcomes.failed
    return (outcomes.timeout + outcomes.connect_timeout) / ended if ended else None


def _connections(record: "TrialRecord") -> float | None:
    """Open while measuring, on average."""
    series = record.series
    read = [index for index, phase in enumerate(series.phase) if phase == "measured"]
    seconds = sum(series.duration_ns[index] for index in read)
    return sum(series.connections[i] * series.duration_ns[i] for i in read) / seconds if seconds else None


def _memory_per_connection(record: "TrialRecord") -> float | None:
    """What the server holds at most beyond what it held when the first sample was taken, per connection."""
    probe, most = record.probes.server, max(record.series.connections, default=0)
    if probe is None or probe.window is None or not probe.samples.at_ns or not most:
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


def _waiting(record: "TrialRecord") -> Observed | None:
    probe, wait_s, there = record.probes.server, invariants.wait_s(record), _connections(record)
    if probe is None or probe.window is None or not probe.samples.at_ns or not (wait_s and there):
        return None
    idle = Tree(probe.samples.processes[0], probe.samples.threads[0])
    waiting = Tree(probe.window.processes_max, probe.window.threads_max)
    # Little's law: what waits at once is what comes per second times how long each waits.
    at_once = min(round(there), round(_throughput_per_s(record) * wait_s))
    return Observed(idle, waiting, round(there), at_once)


def _curve(record: "TrialRecord", trial_id: str) -> Curve:
    try:
        return curve(record)
    except NotStored as damage:
        raise NotStored(f"{trial_id}: {damage.message}", damage.remedy) from None


def _response_ns(record: "TrialRecord", trial_id: str) -> dict[float, float]:
    stored = record.histograms.response_time
    printable = [q for q in QUANTILES if histogram.printable(q, stored.count)]
    if not printable:
        return {}
    try:
        times = histogram.decode(stored.encoded)
    except NotStored as damage:
        raise NotStored(f"{trial_id}: {damage.message}", damage.remedy) from None
    return {q: times.quantile_ns(q) for q in printable}


class _Costs:
    """What one process tree spent per ok answer, and the most it held; None where that was not read."""

    def __init__(self, probe: "ProbeRecord | None", record: "TrialRecord") -> None:
        self._window = probe.window if probe else None
        self._ok = record.outcomes.ok
        self._measured_ns = record.measured_ns

    def _each(self, *spent: int | None) -> float | None:
        known = [part for part in spent if part is not None]
        return sum(known) / self._ok if self._ok and len(known) == len(spent) else None

    @property
    def cpu_us(self) -> float | None:
        window = self._window
        return _us(self._each(window.cpu_user_ns, window.cpu_kernel_ns)) if window else None

    @property
    def cpu_user_us(self) -> float | None:
        return _us(self._each(self._window.cpu_user_ns)) if self._window else None

    @property
    def cpu_kernel_us(self) -> float | None:
        return _us(self._each(self._window.cpu_kernel_ns)) if self._window else None

    @property
    def cores_busy(self) -> float | None:
        window = self._window
        if window is None or self._measured_ns <= 0:
            return None
        return (window.cpu_user_ns + window.cpu_kernel_ns) / self._measured_ns

    @property
    def switches(self) -> float | None:
        window = self._window
        return self._each(window.voluntary_switches, window.involuntary_switches) if window else None

    @property
    def memory_peak_bytes(self) -> float | None:
        if self._window is None:
            return None
        pss = self._window.pss_max_bytes
        return float(pss if pss is not None else self._window.rss_max_bytes)

    @property
    def processes_max(self) -> int | None:
        return self._window.processes_max if self._window else None

    @property
    def threads_max(self) -> int | None:
        return self._window.threads_max if self._window else None


def _us(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e3
