"""What requests that are sent one after the other take, and what they cost the server. Pure."""

from crumple.cause.observed import Alone
from crumple.contract import TrialRecord
from crumple.record import windows


def alone(record: TrialRecord, disturbed: str) -> Alone | None:
    """Return what the requests took; None: none was answered. `disturbed`: who else used the machine."""
    taken = record.histograms.response_time
    if not taken.count or taken.mean_ns is None or taken.min_ns is None:
        return None
    mean_s, least_s, requests = taken.mean_ns / 1e9, taken.min_ns / 1e9, record.spec.requests
    alike = len(requests) == 1 and not requests[0].varies
    first_ns = record.histograms.time_to_first_byte.mean_ns
    first_s = first_ns / 1e9 if first_ns is not None else None
    failed = record.outcomes.failed
    return Alone(taken.count, mean_s, least_s, cpu_s(record), disturbed, alike, first_s, failed)


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
