"""How far the times of a record may lie from those of a calm machine, by the shape of its load. Pure.

*In a closed shape* each user is always in a request or in a pause, so the mean of both together is at most F
times as long as on a calm machine (Little's law). What is left of the mean, d, is how much longer requests
took on average. At most a share d/b of them was delayed by more than b (Markov), so the quantile q is at
least the quantile q − d/b here, less b. The b that gives the best bound counts.

*Elsewhere* requests pile up while something is taken, and those that come while the server works that off are
delayed as well: 1/(1 − ρ) for each that came in that time, for a server that is busy for a share ρ of the
time. So at most T/L·(1 + 1/(1 − ρ)) of them were delayed. ρ is the share of the time that the server's
busiest thread ran, or that all cores were busy, and a half at least, because a lock or a pool may be busy
unseen.
"""

from collections.abc import Callable

from crumple.contract import OpenShapeSpec, TrialRecord
from crumple.record import undisturbed
from crumple.record.disturbance import Disturbance
from crumple.record.undisturbed import SURE, Factors


def quantile(
    record: TrialRecord,
    quantile_ns: Callable[[float], float],
    q: float,
    mean_ns: float | None,
    others: Disturbance,
) -> Factors:
    """The factors of the quantile q (0..1) of times whose mean is `mean_ns`; `quantile_ns`: quantile → ns."""
    pause_ns = _fixed_pause_ns(record)
    if pause_ns is None:
        return undisturbed.open_quantile(quantile_ns, q, others.delayed_share)
    delay_ns = undisturbed.mean_delay_ns(mean_ns or 0.0, pause_ns, others.slowdown)
    return undisturbed.closed_quantile(quantile_ns, q, delay_ns)


def mean(
    record: TrialRecord, quantile_ns: Callable[[float], float], mean_ns: float | None, others: Disturbance
) -> Factors:
    """The factors of the mean of times; `quantile_ns`: quantile → ns."""
    if others.slowdown <= 1 or not mean_ns:
        return SURE
    pause_ns = _fixed_pause_ns(record)
    if pause_ns is None:
        return undisturbed.open_mean(quantile_ns, others.delayed_share)
    return undisturbed.closed_mean(mean_ns, pause_ns, others.slowdown)


def _fixed_pause_ns(record: TrialRecord) -> float | None:
    """Return how long each user pauses (0: not at all); None: requests come at random, or on a schedule."""
    shape = record.spec.shape
    if isinstance(shape, OpenShapeSpec) or (shape.pause_ms and shape.pause != "fixed"):
        return None
    return shape.pause_ms * 1e6
