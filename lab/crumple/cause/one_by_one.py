"""What requests that are sent one after the other take, and what they cost the server. Pure."""

from crumple.cause.observed import Alone
from crumple.contract import TrialRecord


def alone(record: TrialRecord, disturbed: str) -> Alone | None:
    """Return what the requests took; None: none was answered. `disturbed`: who else used the machine."""
    taken = record.histograms.response_time
    if not taken.count or taken.mean_ns is None or taken.min_ns is None:
        return None
    return Alone(taken.count, taken.mean_ns / 1e9, taken.min_ns / 1e9, cpu_s(record), disturbed)


def cpu_s(record: TrialRecord) -> float | None:
    """Return the CPU time of the server for one request, in seconds; None: it was not read, or none ended.

    A request that the measured phase cuts, at its beginning or its end, is not among those that ended, and
    used CPU time as well. Then it is the mean time of a request, by the share of it in which the server
    computed.
    """
    window = record.probes.server and record.probes.server.window
    ended, mean_ns = record.outcomes.ok + record.outcomes.failed, record.histograms.response_time.mean_ns
    if not window or not ended:
        return None
    if mean_ns is not None and (record.outcomes.unfinished or record.histograms.carried_over.count):
        return window.cpu_ns / record.measured_ns * mean_ns / 1e9
    return window.cpu_ns / 1e9 / ended
