"""Which charts of an experiment a report draws: the one that an article has, and those that a claim needs."""

from collections.abc import Iterator

from crumple.run.report.view import ExperimentView, RunView
from crumple.study.claim import Claim
from crumple.study.study_load import RampShape
from crumple.verdict.case import experiments_of

# What a trial's problem says of a server that still grew; `record/growth.py` words it.
GREW = " while measured"
# What the name of a metric begins with → the chart that shows it.
_OF_METRICS = {"response": "response-time", "cpu": "cpu", "cores": "cpu", "memory": "memory"}


def of(view: RunView, shown: ExperimentView) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the charts beside the table, and of those that are folded, if a trial counts."""
    if not any(row.counting or row.engine_limited for row in shown.rows):
        return (), ()
    first = _first(shown)
    claims = {claim.id: claim for claim in view.run.study.claims}
    own = [
        claims[each.claim_id] for each in view.asked if shown.name in experiments_of(claims[each.claim_id])
    ]
    needed = dict.fromkeys(name for claim in own for name in _needed(claim))
    if any(GREW in said for start in shown.starts for said in start.trial.problems):
        needed["over-time"] = None
    return (first,), tuple(name for name in needed if name != first)


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
