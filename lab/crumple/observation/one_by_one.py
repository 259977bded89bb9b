"""What requests that are sent one after the other take, and what they cost the server. Pure."""

import math

from crumple.contract import TrialRecord
from crumple.observation.observed import WorkAlone
from crumple.record import histogram, windows

# The fewest readings of what a single request does, and the smallest share of its time, that are reported.
READINGS_MIN, WAITS_SHARE_MIN = 10, 0.1
# The largest error of a mean that is known well, as a share of it.
UNEVEN_ERROR = 0.25
OUTSIDE = {"dependency": "", "disk": "a disk", "ready": "a core"}


def alone(record: TrialRecord, disturbed: str) -> WorkAlone | None:
    """Return what the requests took; None: none was answered. `disturbed`: who else used the machine."""
    taken = record.histograms.response_time
    if not taken.count or taken.mean_ns is None or taken.min_ns is None:
        return None
    mean_s, spread_s = _mean_and_spread_s(record)
    least_s, requests = taken.min_ns / 1e9, record.spec.requests
    alike = len(requests) == 1 and not requests[0].varies
    first_ns = record.histograms.time_to_first_byte.mean_ns
    first_s = first_ns / 1e9 if first_ns is not None else None
    failed = record.outcomes.failed
    return WorkAlone(
        answers=taken.count,
        mean_s=mean_s,
        spread_s=spread_s,
        least_s=least_s,
        cpu_s=cpu_s(record),
        disturbed=disturbed,
        alike=alike,
        first_byte_s=first_s,
        failed=failed,
        waits_s=_waits_s(record),
        rest_s=_rest_s(record),
    )


def is_uneven(record: TrialRecord) -> bool:
    """Whether the mean of the response times is not known well, as they differ by much."""
    if not record.outcomes.ok:
        return False
    mean_s, spread_s = _mean_and_spread_s(record)
    return spread_s > UNEVEN_ERROR * mean_s * math.sqrt(record.outcomes.ok)


def _mean_and_spread_s(record: TrialRecord) -> tuple[float, float]:
    """Return the mean of the response times and their standard deviation, in seconds.

    A request that the end cuts after it took longer than all others is one of the long ones: without it, the
    mean of uneven times would be that of the short ones. Its age then counts, as with times that are
    exponentially distributed and censored: their sum, with that age, over the number of answers.
    """
    times, taken = histogram.decoded(record.histograms.response_time), record.histograms
    mean_s = (times.mean_ns or 0.0) / 1e9
    age_ns = taken.unfinished_age.max_ns or 0 if record.outcomes.unfinished else 0
    if age_ns > (taken.response_time.max_ns or 0):
        mean_s += age_ns / 1e9 / times.count
    squares = sum(
        count * (value / 1e9 - mean_s) ** 2
        for value, count in zip(times.values_ns, times.counts, strict=True)
    )
    squares += max(0.0, age_ns / 1e9 - mean_s) ** 2
    return mean_s, math.sqrt(squares / times.count)


def _rest_s(record: TrialRecord) -> float | None:
    """Return how long the rest of an answer takes after its first byte, by the medians of both."""
    whole, first = record.histograms.response_time, record.histograms.time_to_first_byte
    if not first.count:
        return None
    whole_ns, first_ns = (histogram.decoded(each).quantile_ns(0.5) for each in (whole, first))
    return (whole_ns - first_ns) / 1e9


def _waits_s(record: TrialRecord) -> dict[str, float]:
    """Return for what outside the server a request waits, for how long, where that is a good part of it."""
    # Imported here because it takes time before a load.
    from crumple.record import stages
    from crumple.record.inside import Divided
    from crumple.record.stages import Budget

    found = stages.budget(record, readings_min=READINGS_MIN, batches_min=1)
    if not isinstance(found, Budget) or not isinstance(found.inside, Divided):
        return {}
    outside = [each for each in found.inside.pieces if each.name in OUTSIDE]
    least_ns = WAITS_SHARE_MIN * found.sum_ns
    return {each.of or OUTSIDE[each.name]: each.mean_ns / 1e9 for each in outside if each.mean_ns >= least_ns}


def cpu_s(record: TrialRecord) -> float | None:
    """Return the CPU time of the server for one request, in seconds; None: it was not read, or none ended.

    A request that the end of the phase cuts used CPU time as well: it counts as the part of a request that
    its age is, and one that hangs as a whole one. Where one was cut at the beginning, it is the mean time
    of a request, by the share of it in which the server computed.
    """
    used_ns = windows.cpu_ns(record, windows.server(record))
    ended, mean_ns = record.outcomes.ok + record.outcomes.failed, record.histograms.response_time.mean_ns
    if used_ns is None or not ended:
        return None
    times = record.histograms
    if mean_ns and times.carried_over.count:
        return used_ns / record.measured_ns * mean_ns / 1e9
    age_ns = times.unfinished_age.max_ns if record.outcomes.unfinished else 0.0
    cut = min(1.0, (age_ns or 0.0) / mean_ns) if mean_ns else 0.0
    return used_ns / 1e9 / (ended + cut)
