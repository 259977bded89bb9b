"""Quantiles of the response times of all requests that were due, in loads on a schedule. Pure.

On a schedule slow requests are still in flight when the load ends, or were never sent. By its answers alone
a server would then look the faster the more requests it leaves. In a closed shape a request waits for the
answer before it, so the answers are what there is.
"""

from collections.abc import Callable
from dataclasses import dataclass

from crumple.contract import OpenShapeSpec, TrialRecord
from crumple.record import histogram
from crumple.record.histogram import Times


@dataclass(frozen=True)
class Quantile:
    """A quantile in ns."""

    ns: float
    is_least: bool = False
    """Whether it is decided by requests without an answer, and is at least `ns`."""


def quantile(record: TrialRecord, q: float) -> Quantile | None:
    """Return the quantile q (0..1) of the response times; None: too few requests.

    A request without an answer counts as one that had waited so long; one that was never sent as slower than
    all others. Failures other than timeouts are left out. Raises NotStored where a histogram is damaged.
    """
    answered, left, never = _requests(record)
    if not histogram.printable(q, answered.count + left.count + never):
        return None
    return _quantile(q, answered, left, never)


def quantiles_ns(record: TrialRecord) -> Callable[[float], float]:
    """Return what gives each of the same quantiles in ns, however few requests there are; 0: there are none.

    Raises NotStored where a histogram is damaged.
    """
    answered, left, never = _requests(record)

    def quantile_ns(q: float) -> float:
        found = _quantile(q, answered, left, never) if answered.count or left.count else None
        return found.ns if found else 0.0

    return quantile_ns


def _requests(record: TrialRecord) -> tuple[Times, Times, int]:
    """Return the times of the answers, how long others have waited, and how many were never sent."""
    times, answered = record.histograms, histogram.decoded(record.histograms.response_time)
    if not isinstance(record.spec.shape, OpenShapeSpec):
        return answered, histogram.merge([]), 0
    left = histogram.merge([histogram.decoded(each) for each in (times.unfinished_age, times.timed_out)])
    return answered, left, record.outcomes.not_sent


def _quantile(q: float, answered: Times, left: Times, never: int) -> Quantile | None:
    if not (left.count or never):
        return Quantile(answered.quantile_ns(q))
    found_ns = histogram.answered_within_ns(q, answered, left, never)
    if found_ns is not None:
        return Quantile(found_ns)
    waited = histogram.merge([answered, left])
    if not waited.count:
        return None
    # Each request takes at least as long as it has waited, so the quantile is at least that of the waits.
    rank_share = min(1.0, q * (waited.count + never) / waited.count)
    return Quantile(waited.quantile_ns(rank_share), is_least=True)
