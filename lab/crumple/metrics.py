"""What a measured trial comes to, in figures, and the metrics a claim may name.

Figures are read off the stored record; nothing is compared, judged or formatted here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crumple import histogram
from crumple.errors import NotStored
from crumple.validity import engine_share

if TYPE_CHECKING:
    from crumple.contract import ProbeRecord, TrialRecord
    from crumple.store import StoredTrial

QUANTILES = (0.5, 0.75, 0.9, 0.99, 0.999)


@dataclass(frozen=True)
class Figures:
    """One measured trial. `block` counts from 1; `problems` say why it is not `valid`. None: was not read.

    `throughput_per_s`: ok answers per second of the measured window. `failed_share`: failed requests in those
    that ended (0..1). `response_ns`: quantile → ns of ok answers, only those with samples enough. The costs
    `…_per_request` are over ok answers. `memory_peak_bytes`: proportional set size if read, else resident.
    `engine_core_share`: 0..1 of the engine's cores.
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


@dataclass(frozen=True)
class Metric:
    """A figure that trials are compared by. `unit` is that of the value `of` returns, never scaled."""

    title: str
    unit: str
    better: Literal["higher", "lower"]
    of: Callable[[Figures], float | None]


METRICS: dict[str, Metric] = {
    "throughput": Metric("Throughput", "requests/s", "higher", lambda trial: trial.throughput_per_s),
    "response_mean": Metric("Mean response time", "ns", "lower", lambda trial: trial.response_mean_ns),
    "response_p50": Metric("Median response time", "ns", "lower", lambda trial: trial.response_ns.get(0.5)),
    "response_p99": Metric(
        "99th percentile of the response time", "ns", "lower", lambda trial: trial.response_ns.get(0.99)
    ),
    "cpu_per_request": Metric("CPU time per request", "µs", "lower", lambda trial: trial.cpu_per_request_us),
    "memory": Metric("Peak memory", "bytes", "lower", lambda trial: trial.memory_peak_bytes),
    "failed_share": Metric("Share of failed requests", "share", "lower", lambda trial: trial.failed_share),
}


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
    )


def _throughput_per_s(record: "TrialRecord") -> float:
    return record.outcomes.ok / record.measured_ns * 1e9 if record.measured_ns > 0 else 0.0


def _failed_share(record: "TrialRecord") -> float:
    outcomes = record.outcomes
    ended = outcomes.ok + outcomes.failed
    # A server that let no request end has not served them without failure.
    return outcomes.failed / ended if ended else 1.0


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
