"""How far the times of a record may lie from those of a calm machine, by the shape of its load. Pure."""

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
    """Of the quantile q (0..1) of times whose mean is `mean_ns`; `quantile_ns`: quantile → ns."""
    pause_ns = _fixed_pause_ns(record)
    if pause_ns is None:
        return undisturbed.open_quantile(quantile_ns, q, others.delayed_share)
    delay_ns = undisturbed.mean_delay_ns(mean_ns or 0.0, pause_ns, others.slowdown)
    return undisturbed.closed_quantile(quantile_ns, q, delay_ns)


def mean(
    record: TrialRecord, quantile_ns: Callable[[float], float], mean_ns: float | None, others: Disturbance
) -> Factors:
    """Of the mean of times; `quantile_ns`: quantile → ns."""
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
