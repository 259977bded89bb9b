"""Connections without an answer, of those that sent a request, in a sentence. Pure.

Such a connection is in no quantile: a server that starves 56 of 64 connections looks fast by the other 8.
"""

from dataclasses import dataclass

from crumple.contract import Histogram, TrialRecord
from crumple.record import histogram
from crumple.record.histogram import Times

# A request that waited this many times the median was not merely in flight when the load ended.
_LONG = 10.0


@dataclass(frozen=True)
class Unanswered:
    """Connections without a whole answer, of those that sent a request; ages of the unfinished requests."""

    connections: int
    of: int
    p50_age_ns: float | None
    oldest_ns: int | None


def connections(record: TrialRecord) -> Unanswered | None:
    """Return the connections that got no answer while others did, or None.

    A connection counts only if a request of it waited long or may have failed; others had only just sent
    their first request. Raises NotStored where a histogram is damaged.
    """
    if not record.users_unanswered or not record.outcomes.ok:
        return None
    ages = _times(record.histograms.unfinished_age)
    usual_ns = _times(record.histograms.response_time).quantile_ns(0.5)
    # A connection without an answer may have had only requests that failed.
    waited = ages.count_above(_LONG * usual_ns) + record.outcomes.failed
    number = min(record.users_unanswered, waited)
    if not number:
        return None
    return Unanswered(
        connections=number,
        of=record.users,
        p50_age_ns=ages.quantile_ns(0.5) if ages.count else None,
        oldest_ns=record.histograms.unfinished_age.max_ns,
    )


def sentence(record: TrialRecord) -> str:
    """Return how many got no answer, and what that means for the quantiles; empty: none. Raises NotStored."""
    found = connections(record)
    if found is None:
        return ""
    measured_s, others = record.measured_ns / 1e9, found.of - found.connections
    said = (
        f"{found.connections:,} of {found.of:,} connections got no answer in {measured_s:.3g} s; "
        f"the quantiles are of the other {others:,}"
    )
    if found.p50_age_ns is None or found.oldest_ns is None:
        return said
    ages = f"{found.p50_age_ns / 1e9:.2g} s (median), the oldest {found.oldest_ns / 1e9:.2g} s"
    return f"{said}; requests in flight at the end had waited {ages}"


def _times(stored: Histogram) -> Times:
    return histogram.decode(stored.encoded) if stored.count else histogram.merge([])
