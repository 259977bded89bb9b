"""The metrics that trials are compared by and a claim may name: a figure, its unit, the better direction."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from crumple.record import disturbance, undisturbed
from crumple.record.curve import Point, between
from crumple.record.figures import Figures
from crumple.record.undisturbed import SURE, Factors

DISTURBED = "others may have taken more from it than it had left"
LATE = "the engine was late, and it is not the server's alone"
UNREACHED = "it lies among requests that had no answer when the load ended"
SLICED = "servers that are measured in turns share pages"
UNSPLIT = "too few ticks of CPU time for each process to split it"
NO_CANARY = "too few requests, or a canary whose own engine was not in time"


@dataclass(frozen=True)
class Metric:
    """A figure that trials are compared by."""

    title: str
    unit: str
    """The unit of what `of` returns, which is never scaled."""
    better: Literal["higher", "lower"]
    of: Callable[[Figures], float | None]
    despite_failures: bool = False
    """Whether it means something for a server whose requests fail as well."""
    along: Callable[[Point], float | None] | None = None
    """Returns the figure of a part of a ramp, whose quantiles are of its answers alone, as in every closed
    shape.
    """
    late_along: Callable[[Point], bool] | None = None
    """Returns whether it is missing in a part of a ramp because the engine was late."""
    absent: str = "not read, or from too few requests"
    """Why a trial may have none."""
    why: Callable[[Figures], str] = lambda _: ""
    """Returns why that trial has none; empty if that is not known."""
    undisturbed: Callable[[Figures], Factors] = lambda _: SURE
    """Returns how far the figure of a calm machine may lie from this one; for a part of a ramp it is asked of
    the whole.
    """

    def is_disturbed(self, trial: Figures) -> bool:
        """Whether others may have changed it by more than what was measured."""
        return disturbance.is_beyond(self.undisturbed(trial))

    def reason(self, trial: Figures) -> str:
        """Why the trial has no such figure."""
        return self.why(trial) or self.absent

    @property
    def phrase(self) -> str:
        """The title as it stands within a sentence: "mean response time", "CPU time per request"."""
        return self.title if self.title[:2].isupper() else self.title[0].lower() + self.title[1:]

    def while_connected(self, low: float, high: float) -> "Metric":
        """Return the metric while `low` to `high` users were connected. Raises ValueError without `along`."""
        along, late_along = self.along, self.late_along
        if along is None:
            raise ValueError(f"the {self.phrase} is not known along a ramp")

        def of(trial: Figures) -> float | None:
            part = between(trial.curve, low, high)
            return along(part) if part else None

        def why(trial: Figures) -> str:
            part = between(trial.curve, low, high)
            return LATE if part and late_along and late_along(part) else ""

        return replace(self, title=f"{self.title} at {low:g} to {high:g} users", of=of, why=why)


def seen_in(metric: str, users: tuple[int, int] | None = None) -> Metric:
    """Return the metric of that name, taken while `users` were connected if they are given.

    Raises KeyError if there is no such metric, and ValueError if it is not known along a ramp.
    """
    found = METRICS[metric]
    return found.while_connected(*users) if users else found


def derived(title: str, unit: str, of: Callable[[Figures], float | None], absent: str) -> Metric:
    """Return a metric that only one claim uses."""
    return Metric(title, unit, "lower", of, despite_failures=True, absent=absent)


def phrase(metric: str) -> str:
    """The metric's title within a sentence."""
    return METRICS[metric].phrase


def _quantile(title: str, q: float) -> Metric:
    return Metric(
        title, "ns", "lower", lambda trial: trial.response_ns.get(q),
        along=lambda part: part.quantile_ns(q), late_along=lambda part: part.spoiled(q),
        why=lambda trial: LATE if q in trial.late else UNREACHED if q in trial.unreached else "",
        undisturbed=lambda trial: trial.response_factors.get(q, SURE),
    )  # fmt: skip


def _sliced(trial: Figures) -> str:
    return SLICED if trial.sliced else ""


def _unsplit(trial: Figures) -> str:
    return UNSPLIT if trial.cpu_user_us is None and trial.cpu_per_request_us is not None else ""


def _canary(title: str, q: float) -> Metric:
    return Metric(
        title, "ns", "lower", lambda trial: trial.canary_ns.get(q), True, absent=NO_CANARY,
        undisturbed=lambda trial: trial.canary_factors.get(q, SURE),
    )  # fmt: skip


def _late(trial: Figures) -> str:
    return "" if trial.shows_knee else LATE


def _rate(trial: Figures) -> Factors:
    return undisturbed.rate(trial.slowdown)


def _answers(trial: Figures) -> Factors:
    return undisturbed.rate(trial.slowdown, trial.failed_share, trial.delayed_share)


def _span(trial: Figures) -> Factors:
    return undisturbed.span(trial.slowdown)


def _either(trial: Figures) -> Factors:
    return undisturbed.either(trial.slowdown)


def _failed(trial: Figures) -> Factors:
    return undisturbed.failed(trial.failed_share, trial.slowdown, trial.delayed_share)


def _timed_out(trial: Figures) -> Factors:
    return undisturbed.failed(trial.timed_out_share or 0.0, trial.slowdown, trial.delayed_share)


def _user_share(trial: Figures) -> float | None:
    if trial.cpu_user_us is None or not trial.cpu_per_request_us:
        return None
    return trial.cpu_user_us / trial.cpu_per_request_us


def _cores_busy_to_knee(trial: Figures) -> float | None:
    """Return the most cores that a ramp kept busy up to its knee, or in all of it if it has none."""
    if not trial.shows_knee:
        return None
    end = trial.knee.at if trial.knee else math.inf
    read = [p.cores_busy for p in trial.curve if p.connections <= end and p.cores_busy is not None]
    return max(read, default=None)


METRICS: dict[str, Metric] = {
    "throughput": Metric(
        "Throughput", "requests/s", "higher", lambda trial: trial.throughput_per_s,
        along=lambda part: part.throughput_per_s, undisturbed=_answers,
    ),
    "response_mean": Metric(
        "Mean response time", "ns", "lower", lambda trial: trial.response_mean_ns, why=_late,
        along=lambda part: part.mean_ns, late_along=lambda part: part.mean_spoiled,
        undisturbed=lambda trial: trial.mean_factors,
    ),
    "response_p50": _quantile("Median response time", 0.5),
    "response_p90": _quantile("90th percentile of the response time", 0.9),
    "response_p99": _quantile("99th percentile of the response time", 0.99),
    "cpu_per_request": Metric("CPU time per request", "µs", "lower", lambda trial: trial.cpu_per_request_us),
    "memory": Metric(
        "Peak memory", "bytes", "lower", lambda trial: trial.memory_peak_bytes,
        along=lambda part: part.memory_bytes, why=_sliced,
    ),
    "failed_share": Metric(
        "Share of failed requests", "share", "lower", lambda trial: trial.failed_share, True,
        along=lambda part: part.failed_share, undisturbed=_failed,
    ),
    "timed_out_share": Metric(
        "Share of requests that timed out", "share", "lower", lambda trial: trial.timed_out_share, True,
        undisturbed=_timed_out,
    ),
    "successes": Metric(
        "Rate of successful requests", "requests/s", "higher", lambda trial: trial.throughput_per_s, True,
        along=lambda part: part.throughput_per_s, undisturbed=_answers,
    ),
    "wall_time": Metric(
        "Time for all requests", "ns", "lower", lambda trial: trial.measured_ns, undisturbed=_span
    ),
    "switches": Metric(
        "Number of context switches per request", "switches", "lower",
        lambda trial: trial.switches_per_request,
    ),
    "first_byte": Metric(
        "Mean time to first byte", "ns", "lower", lambda trial: trial.first_byte_mean_ns,
        undisturbed=lambda trial: trial.first_byte_factors,
    ),
    "cpu_user": Metric(
        "User CPU time per request", "µs", "lower", lambda trial: trial.cpu_user_us, why=_unsplit
    ),
    "cpu_kernel": Metric(
        "Kernel CPU time per request", "µs", "lower", lambda trial: trial.cpu_kernel_us, why=_unsplit
    ),
    "cpu_user_share": Metric(
        "Share of CPU time outside the kernel", "share", "lower", _user_share, why=_unsplit
    ),
    "cores_busy": Metric(
        "CPU time of the server", "cores", "lower", lambda trial: trial.cores_busy, True,
        along=lambda part: part.cores_busy, undisturbed=_rate,
    ),
    "cores_busy_to_knee": Metric(
        "CPU time of the server up to the knee", "cores", "lower", _cores_busy_to_knee, True,
        undisturbed=_rate,
    ),
    "memory_per_connection": Metric(
        "Memory per connection", "bytes", "lower", lambda trial: trial.memory_per_connection_bytes, True,
        why=_sliced,
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
        True, absent="one straight line fits as well, requests failed from the beginning, or it was no ramp",
        undisturbed=_either, why=_late,
    ),
    "canary_p50": _canary("Median response time of the canary", 0.5),
    "canary_p90": _canary("90th percentile of the canary's response time", 0.9),
    "canary_p99": _canary("99th percentile of the canary's response time", 0.99),
    "database_cpu": Metric(
        "CPU time of the database per query", "µs", "lower", lambda trial: trial.database_cpu_per_query_us
    ),
    "start_time": Metric("Time to start", "ns", "lower", lambda trial: trial.start_ns, True),
}  # fmt: skip
