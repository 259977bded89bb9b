"""Little's law in its exact form: do the times of a closed shape's requests account for all its connections?

Pure: record → what is amiss. It needs no model of the server; what it finds is a fault of the measurement.
"""

import math

from crumple.contract import AfterRequests, ClosedShape, Histogram, OpenShape, RampShape, TrialRecord

TOLERANCE = 0.02
# An engine that waited longer for a core is to be suspected less than what it waited for.
WAITED_SHARE_MAX = 0.05
FAILED_MAX = 0.01
REQUESTS_MIN = 1_000
# So many standard errors a sum of random pauses may be off its mean.
DEVIATIONS = 4
# What the engine waits, at least, after a connection that failed, or could not be made.
BACKOFF_NS = 10_000_000


def problem(record: TrialRecord, waited_share: float = 0.0) -> str | None:
    """Why the law does not hold; None: it does, or says nothing (open shape, few requests, many failures).

    The time that requests spent in the window, whole or cut off by either end of it, answers that lay unread
    and pauses included, is that of the connections over its length. `waited_share`: how long the engine had
    no core, of the time measured (0..1).
    """
    shape, outcomes = record.spec.shape, record.outcomes
    if isinstance(shape, OpenShape) or outcomes.ok < REQUESTS_MIN or record.measured_ns <= 0:
        return None
    if outcomes.failed > FAILED_MAX * record.scheduled:
        return None
    there = connections(shape, record.measured_ns)
    accounted = (spent_ns(record) + _paused_ns(record, shape)) / record.measured_ns
    spare, missing = _slack(record, shape, there)
    if -missing <= accounted - there <= spare:
        return None
    return (
        f"Little's law does not hold: the times of the requests account for {accounted:.1f} "
        f"of {round(there, 1):,.10g} connections (limit {TOLERANCE:.0%} off); "
        f"{_remedy(waited_share)}"
    )


def _remedy(waited_share: float) -> str:
    report = "keep the record and report it as a fault of the engine"
    if waited_share <= WAITED_SHARE_MAX:
        return report
    return (
        f"its thread waited for a core {waited_share:.0%} of the time, so measure again with no other "
        f"program there; if it does not hold then either, {report}"
    )


def unused(record: TrialRecord) -> int:
    """Connections of a closed shape without pauses that never had a request: they were opened too late."""
    shape = record.spec.shape
    if not isinstance(shape, ClosedShape) or shape.pause_ms or not record.users:
        return 0
    return max(0, shape.connections - record.users)


def connections(shape: ClosedShape | RampShape, measured_ns: int) -> float:
    """How many the shape holds over the window, on average."""
    if isinstance(shape, ClosedShape):
        return shape.connections
    rise = shape.to_connections - shape.from_connections
    if not rise:
        return shape.to_connections
    # One joins whenever the line has reached its number, and stays until the end.
    apart = shape.over_s * 1e9 / rise / measured_ns
    joined = min(rise, int(1 / apart))
    return shape.from_connections + joined - apart * joined * (joined + 1) / 2


def spent_ns(record: TrialRecord) -> float:
    """The time connections had a request in flight, or waited for the engine, during the window."""
    times = record.histograms
    parts = (times.response_time, times.failed, times.timed_out, times.unfinished_age, times.carried_over)
    # Of those that the window took over from the warm-up, the part before it is not its own.
    return sum(map(_sum_ns, parts)) - _sum_ns(times.taken_over) + unattended_ns(record)


def unattended_ns(record: TrialRecord) -> int:
    """The engine's part of it: answers lay unread, and users waited for it with nothing in flight."""
    return record.arrivals.held_ns + record.users_waited_ns


def _sum_ns(times: Histogram) -> float:
    return times.count * (times.mean_ns or 0)


def _paused_ns(record: TrialRecord, shape: ClosedShape | RampShape) -> float:
    """Pauses by their number and mean length: the record does not hold them."""
    outcomes, pause_ns = record.outcomes, shape.pause_ms * 1e6
    broken = outcomes.refused + outcomes.connect_timeout + outcomes.reset
    broken += outcomes.closed_early + outcomes.malformed
    whole = outcomes.ok + outcomes.failed - broken
    # What was not sent for want of a connection in time was nobody's; the rest is as good as refused.
    broken += outcomes.not_sent - record.not_sent.too_late
    return whole * pause_ns + broken * max(pause_ns, BACKOFF_NS)


def _slack(record: TrialRecord, shape: ClosedShape | RampShape, there: float) -> tuple[float, float]:
    """By how many connections the account may exceed and fall short of those that are there."""
    pause_ns = shape.pause_ms * 1e6
    # A pause that an end of the window cut off counts as whole, or not at all: one for each connection that
    # was there at that end, which in a ramp are all.
    cut_off = shape.connections if isinstance(shape, ClosedShape) else shape.to_connections
    both = there * TOLERANCE + cut_off * min(1.0, pause_ns / record.measured_ns)
    if shape.pause == "exponential":
        both += DEVIATIONS * pause_ns * math.sqrt(record.outcomes.ok) / record.measured_ns
    # Who was never set to work is in no time.
    missing = both + unused(record)
    if isinstance(record.spec.stop, AfterRequests):
        # When no request is left to send, connections idle until the last answer is there.
        longest_ns = record.histograms.response_time.max_ns or 0
        missing += there * min(1.0, longest_ns / record.measured_ns)
    return both, missing
