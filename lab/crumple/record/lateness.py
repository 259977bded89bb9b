"""Whether the engine's own lateness is in the times that a record shows: a record → a sentence, or None.

Pure. Times run from due, so it can only lengthen them. How much of it is too much, and why, stands in
docs/method.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crumple.contract import TrialRecord
from crumple.record import histogram
from crumple.record.histogram import Times

# The quantiles that give a trial its word, and those above that are shown with a warning.
JUDGED = (0.5, 0.75, 0.9, 0.99)
SHOWN = (*JUDGED, 0.999, 0.9999)
# A quantile is the server's where at most half of those beyond it were late by more than a tenth of it.
SHARE_OF_TIME = 0.1
SHARE_BEYOND = 0.5
# Less than the one is no reason to leave a trial out; less than the other is how late a calm machine wakes.
LATE_NS = 1_000_000
FELT_NS = 100_000

# Quantile (0..1) → the limit that an objective has for it, in ns.
Asked = Mapping[float, float]


@dataclass(frozen=True)
class _Late:
    """The quantile `q` of the response times is not the server's alone: `share` of the requests were late.

    By more than `beyond_ns`; up to `limit` of them may be.
    """

    q: float
    share: float
    limit: float
    beyond_ns: float


def missed(record: TrialRecord, asked: Asked | None = None) -> str | None:
    """What was asked, or else the quantiles up to p99, is not the server's alone.

    A limit that is asked is compared with the lateness as well: a time far below it, or far above, is known
    well enough whatever the engine did.
    """
    asked = asked or {}
    found = _found(record, tuple(asked) or JUDGED, asked, LATE_NS)
    return f"the engine was late: {_said(found)}" if found else None


def spoiled(record: TrialRecord, quantiles: Sequence[float] = JUDGED) -> tuple[float, ...]:
    """Those of the quantiles that are not the server's alone, from low to high."""
    return tuple(late.q for late in _found(record, quantiles, {}, LATE_NS))


def of_the_whole(record: TrialRecord) -> str | None:
    """The median or the mean is not the server's alone, and with it nothing that the record shows."""
    if JUDGED[0] in spoiled(record):
        return missed(record)
    late, times = record.histograms.engine_lateness, record.histograms.response_time
    if not late.mean_ns or not times.mean_ns:
        return None
    mean_ns = late.mean_ns * late.count / max(late.count, times.count)
    if mean_ns <= SHARE_OF_TIME * times.mean_ns:
        return None
    return (
        f"the engine was late: requests were sent {mean_ns / 1e6:.3g} ms later than they could have been on "
        f"average (limit {SHARE_OF_TIME * 100:g}% of the mean response time, {times.mean_ns / 1e6:.3g} ms)"
    )


def felt(record: TrialRecord, asked: Asked | None = None) -> str | None:
    """The same of any quantile that is shown, where the trial counts in spite of it."""
    if missed(record, asked):
        return None
    found = _found(record, SHOWN, {}, FELT_NS)
    return f"the engine was late at times: {_said(found)}" if found else None


def _found(
    record: TrialRecord, quantiles: Sequence[float], asked: Asked, least_ns: float
) -> tuple[_Late, ...]:
    stored = record.histograms.engine_lateness
    if not stored.count:
        return ()
    late, times = histogram.decode(stored.encoded), _times(record)
    # Where few due times were known ahead, the other requests were sent as they became due.
    requests = max(late.count, record.histograms.response_time.count)
    found = []
    for q in sorted(quantiles):
        if not times.count or (q not in asked and not histogram.printable(q, times.count)):
            continue
        longest_ns = max(times.quantile_ns(q), asked.get(q, 0.0))
        beyond_ns = max(least_ns, SHARE_OF_TIME * longest_ns)
        share, limit = late.count_above(beyond_ns) / requests, SHARE_BEYOND * (1 - q)
        if share > limit * (1 + 1e-9):
            found.append(_Late(q, share, limit, beyond_ns))
    return tuple(found)


def _times(record: TrialRecord) -> Times:
    """Response times; where too few were answered to show any, how long the others waited as well."""
    times = record.histograms
    parts = [times.response_time]
    if not histogram.printable(JUDGED[0], times.response_time.count):
        parts += [times.timed_out, times.unfinished_age]
    return histogram.merge([histogram.decode(part.encoded) for part in parts if part.count])


def _said(found: Sequence[_Late]) -> str:
    names, worst = [_name(late.q) for late in found], found[-1]
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else names[0]
    return (
        f"{worst.share * 100:.2g}% of the requests were sent more than {worst.beyond_ns / 1e6:.3g} ms later "
        f"than they could have been (limit {worst.limit * 100:.3g}%), so {listed} of the response times "
        f"{'are' if names[1:] else 'is'} not the server's alone"
    )


def _name(q: float) -> str:
    return "the longest" if q >= 1 else f"p{q * 100:g}"
