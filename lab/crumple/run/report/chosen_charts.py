"""Which charts of an experiment a report draws: the one that an article has, and those that a claim needs."""

from collections.abc import Iterator

from crumple.run.report.view import ExperimentView
from crumple.study.claim import Claim
from crumple.study.study_load import RampShape

# What a trial's problem says of a server that still grew; `record/growth.py` words it.
GREW = " while measured"
# The chart that has the panels of a ramp for which no claim asks.
REST = "ramp-rest"
# What the name of a metric begins with → the chart that shows it.
_OF_METRICS = {"response": "response-time", "cpu": "cpu", "cores": "cpu", "memory": "memory"}
# What the name of a metric begins with → the panel of a ramp that shows it.
_OF_PANELS = {
    "response": "p50", "failed": "failed", "timed_out": "failed", "throughput": "throughput",
    "successes": "throughput", "cores": "cores", "memory": "memory", "processes": "processes",
    "threads": "threads",
}  # fmt: skip


def of(shown: ExperimentView) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the charts beside the table, and of those that are folded, if a trial counts."""
    if not any(row.counting or row.engine_limited for row in shown.rows):
        return (), ()
    first = _first(shown)
    needed = dict.fromkeys(name for claim in shown.claims for name in _needed(claim))
    if any(GREW in said for start in shown.starts for said in start.trial.problems):
        needed["over-time"] = None
    rest = (REST,) if first == "ramp" else ()
    return (first,), (*rest, *(name for name in needed if name != first))


def panels(shown: ExperimentView) -> frozenset[str]:
    """Return the names of the panels of a ramp that its claims ask for, by which its chart is drawn.

    Without such a claim: the response time and the throughput.
    """
    asked = {name for claim in shown.claims for name in _panels(claim)}
    return frozenset(asked or ("p50", "throughput"))


def _panels(claim: Claim) -> Iterator[str]:
    metric = str(getattr(claim, "metric", None) or "")
    if claim.kind == "knee" or metric == "knee":
        yield "p50"
    yield from (name for begins, name in _OF_PANELS.items() if metric.startswith(begins))


def _first(shown: ExperimentView) -> str:
    if isinstance(shown.experiment.shape, RampShape):
        return "ramp"
    return "canary" if shown.experiment.canary else "throughput"


def _needed(claim: Claim) -> Iterator[str]:
    metric = str(getattr(claim, "metric", None) or "")
    yield from (chart for begins, chart in _OF_METRICS.items() if metric.startswith(begins))
    if claim.argues_cause:
        yield "time"
    if claim.kind == "ratio" and metric in ("throughput", "successes"):
        yield "throughput"
