"""What no record can say unless it is wrong: more answers than there was time for, more CPU than there was.

Pure: record → a sentence for each. Little's law in its exact form is one of them: the times of a closed
shape's requests account for all its connections. It needs no model of the server; what it finds is a fault of
the measurement. `validity` decides what follows.
"""

import math
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from crumple.contract import AfterRequests, ClosedShape, Expect, Histogram, OpenShape, RampShape, TrialRecord

# Clocks, rounding, and what ends just inside the window.
TOLERANCE = 0.02
BLOCKING = ("process-per-connection", "process-pool", "thread-pool")
# Whole heads with every header a server adds; the framing of chunks counts as head.
HEAD_MAX = 4_096
WAIT_PARAMETERS = ("delay_ms", "wait_ms")


def broken(
    record: TrialRecord, *, workers: int | None = None, server_cores: Collection[int] = ()
) -> tuple[str, ...]:
    """Why the record cannot be true; none where nothing speaks against it.

    `workers`: at most so many requests wait at once in a server that blocks; None: it does not, or nobody
    knows. `server_cores`: those it could use.
    """
    found = (_waited(record, workers), _cpu_time(record, server_cores), _received(record))
    return tuple(problem for problem in found if problem)


def workers(io_model: str, settings: Mapping[str, Any]) -> int | None:
    """How many requests a server with these settings can have in hand; None: waiting holds no worker."""
    number, threads = settings.get("workers"), settings.get("threads", 1)
    if io_model not in BLOCKING or not isinstance(number, int) or number < 1:
        return None
    return number * (threads if isinstance(threads, int) and threads > 1 else 1)


def wait_s(record: TrialRecord) -> float:
    """How long each request asks the server to wait; of several requests, the shortest."""
    return min((asked_wait_s(request.path) for request in record.spec.requests), default=0.0)


def asked_wait_s(path: str) -> float:
    """How long a request of that path asks the server to wait."""
    asked = parse_qs(urlsplit(path).query)
    waits = (
        float(asked[name][0]) for name in WAIT_PARAMETERS if name in asked and _is_number(asked[name][0])
    )
    return sum(waits) / 1e3


def _waited(record: TrialRecord, workers: int | None) -> str | None:
    """So many at once, each for so long, answer no more per second than that."""
    wait, shape = wait_s(record), record.spec.shape
    if not wait or record.measured_ns <= 0:
        return None
    most = shape.connections if isinstance(shape, ClosedShape) else max(record.series.connections, default=0)
    at_once = min(most, workers) if workers else most
    if not at_once:
        return None
    seconds = record.measured_ns / 1e9
    # Those that waited before the window began may all end in it: once in a single run, and in a record of
    # several slices once in each, which takes over a request of each connection.
    windows = max(1.0, record.histograms.taken_over.count / most)
    ceiling = at_once / wait + at_once * windows / seconds
    per_s = record.outcomes.ok / seconds
    if per_s <= ceiling * (1 + TOLERANCE):
        return None
    whose = f"{at_once:,} workers" if workers and workers <= most else f"{at_once:,} connections"
    return (
        f"{per_s:,.0f} answers per second, but {whose} that wait {wait * 1e3:g} ms for each can give "
        f"{at_once / wait:,.0f} at most: the server does not wait as it was asked, or has more workers"
    )


def _cpu_time(record: TrialRecord, server_cores: Collection[int]) -> str | None:
    for whose, probe, cores in (
        ("server", record.probes.server, len(set(server_cores))),
        ("engine", record.probes.engine, len(record.spec.cores)),
    ):
        window = probe.window if probe else None
        if window is None or not cores:
            continue
        spent, there = window.cpu_ns, cores * record.measured_ns
        # The window ends at the next sample after the clock stops.
        if spent > there * (1 + TOLERANCE) + record.spec.probe.interval_ms * 1e6 * cores:
            return (
                f"the {whose} used {spent / 1e9:.3g} s of CPU time, more than its {cores} "
                f"core{'s' if cores > 1 else ''} had in {record.measured_ns / 1e9:.3g} s"
            )
    return None


def _received(record: TrialRecord) -> str | None:
    """Answers of one known length cannot come to many more bytes than their number, and a head for each.

    That they do not come to fewer is validity's to see, for lengths of every kind.
    """
    bodies = {_body_bytes(request.method, request.expect) for request in record.spec.requests}
    (body,) = bodies if len(bodies) == 1 else (None,)
    outcomes = record.outcomes
    # Failed answers may be of any length.
    if body is None or outcomes.failed or not outcomes.ok:
        return None
    # Some of those unfinished had begun, and requests of the warm-up were answered in the window.
    others = outcomes.unfinished + record.warm_up.outcomes.unfinished + record.histograms.carried_over.count
    most = (outcomes.ok + others) * (body + HEAD_MAX)
    if record.received_bytes <= most:
        return None
    return (
        f"{record.received_bytes:,} bytes received for {outcomes.ok:,} answers of {body:,}, and {others:,} "
        f"that the window cut off: with their heads that makes {most:,} at most"
    )


def _body_bytes(method: str, expect: Expect) -> int | None:
    return 0 if method == "HEAD" else expect.body_bytes


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


LITTLES_LAW_TOLERANCE = 0.02
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
        f"of {round(there, 1):,.10g} connections (limit {LITTLES_LAW_TOLERANCE:.0%} off); "
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
    both = there * LITTLES_LAW_TOLERANCE + cut_off * min(1.0, pause_ns / record.measured_ns)
    if shape.pause == "exponential":
        both += DEVIATIONS * pause_ns * math.sqrt(record.outcomes.ok) / record.measured_ns
    # Who was never set to work is in no time.
    missing = both + unused(record)
    if isinstance(record.spec.stop, AfterRequests):
        # When no request is left to send, connections idle until the last answer is there.
        longest_ns = record.histograms.response_time.max_ns or 0
        missing += there * min(1.0, longest_ns / record.measured_ns)
    return both, missing
