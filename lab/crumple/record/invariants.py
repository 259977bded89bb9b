"""Checks that every correct record passes: no more answers, and no more CPU time, than there was time for.

Pure: record → a sentence for each failed check. One of them is Little's law in its exact form: the times of a
closed shape's requests account for all its connections. It needs no model of the server, so a failed check is
a fault of the measurement. `validity` decides what follows.
"""

import math
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from crumple.contract import (
    ClosedShapeSpec,
    ExpectSpec,
    HistogramRecord,
    OpenShapeSpec,
    RampShapeSpec,
    RequestsStopSpec,
    TrialRecord,
)

# Allows for clocks, rounding, and requests that end just inside the window.
TOLERANCE = 0.02
# How long one reading of all processes of a tree may take, at one end of the window.
READING_NS_MAX = 100e6
BLOCKING = ("process-per-connection", "process-pool", "thread-pool")
# The longest head of an answer, with every header a server adds; the framing of chunks counts as head.
HEAD_MAX = 4_096
WAIT_PARAMETERS = ("delay_ms", "wait_ms")


def impossible(
    record: TrialRecord, *, workers: int | None = None, server_cores: Collection[int] = ()
) -> tuple[str, ...]:
    """Return why the record cannot be true, a sentence for each reason; empty if all checks pass.

    `workers`: how many requests can wait at once in a server that blocks; None: it does not block, or this is
    not known. `server_cores`: the cores it could use.
    """
    found = (_waited(record, workers), _cpu_time(record, server_cores), _received(record))
    return tuple(problem for problem in found if problem)


def workers(io_model: str, settings: Mapping[str, Any]) -> int | None:
    """Return how many requests a server so set works on at once; None: a waiting request holds no worker."""
    number, threads = settings.get("workers"), settings.get("threads", 1)
    if io_model not in BLOCKING or not isinstance(number, int) or number < 1:
        return None
    return number * (threads if isinstance(threads, int) and threads > 1 else 1)


def wait_s(record: TrialRecord) -> float:
    """Return how long each request asks the server to wait, in seconds; of several requests, the shortest."""
    return min((asked_wait_s(request.path) for request in record.spec.requests), default=0.0)


def asked_wait_s(path: str) -> float:
    """Return how long a request of that path asks the server to wait, in seconds."""
    asked = parse_qs(urlsplit(path).query)
    waits = (
        float(asked[name][0]) for name in WAIT_PARAMETERS if name in asked and _is_number(asked[name][0])
    )
    return sum(waits) / 1e3


def _waited(record: TrialRecord, workers: int | None) -> str | None:
    """Return a problem if more answers came than connections, or workers, can wait for.

    At most they are as many as wait at once, divided by the time that each of them waits.
    """
    wait, shape = wait_s(record), record.spec.shape
    if not wait or record.measured_ns <= 0:
        return None
    most = (
        shape.connections if isinstance(shape, ClosedShapeSpec) else max(record.series.connections, default=0)
    )
    at_once = min(most, workers) if workers else most
    if not at_once:
        return None
    seconds = record.measured_ns / 1e9
    # Requests that waited before the window began may all end in it. This happens once in a single run, and
    # once per slice in a record of several slices, each of which takes over one request of each connection.
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
    """Return a problem if server or engine used more CPU time than their cores had."""
    for whose, probe, cores in (
        ("server", record.probes.server, len(set(server_cores))),
        ("engine", record.probes.engine, engine_cores(record)),
    ):
        window = probe.window if probe else None
        if window is None or not cores:
            continue
        spent, there = window.cpu_ns, cores * window.span_ns
        # The processes of a tree are read one after the other.
        if spent > there * (1 + TOLERANCE) + READING_NS_MAX * cores:
            return (
                f"the {whose} used {spent / 1e9:.3g} s of CPU time, more than its {cores} "
                f"core{'s' if cores > 1 else ''} had in {window.span_ns / 1e9:.3g} s"
            )
    return None


def engine_cores(record: TrialRecord) -> int:
    """Return how many cores the engine was bound to, on all load hosts; 0: it was not bound."""
    return len(record.spec.cores) * max(1, len(record.load_hosts))


def _received(record: TrialRecord) -> str | None:
    """Return a problem if answers of one known length came to more bytes than a body and a head for each.

    `validity` checks that they came to no fewer, for bodies of any length.
    """
    bodies = {_body_bytes(request.method, request.expect) for request in record.spec.requests}
    (body,) = bodies if len(bodies) == 1 else (None,)
    outcomes = record.outcomes
    # Failed answers may be of any length.
    if body is None or outcomes.failed or not outcomes.ok:
        return None
    # Some unfinished answers had begun, and some requests of the warm-up were answered in the window.
    others = outcomes.unfinished + record.warm_up.outcomes.unfinished + record.histograms.carried_over.count
    most = (outcomes.ok + others) * (body + HEAD_MAX)
    if record.received_bytes <= most:
        return None
    return (
        f"{record.received_bytes:,} bytes received for {outcomes.ok:,} answers of {body:,}, and {others:,} "
        f"that the window cut off: with their heads that makes {most:,} at most"
    )


def _body_bytes(method: str, expect: ExpectSpec) -> int | None:
    return 0 if method == "HEAD" else expect.body_bytes


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


# The sum of the times may be 2 % off the connections: clocks, rounding, and what the window's ends cut off.
LITTLES_LAW_TOLERANCE = 0.02
# If the engine waited for a core for more than 5 % of the time, the program that it waited for is the more
# likely cause.
WAITED_SHARE_MAX = 0.05
# With a larger share of failures the law is not checked, as each is counted with the shortest backoff only.
# Above which share a trial is marked is another question (failures.py).
FAILED_MAX = 0.01
# With fewer than 1,000 answers the window's ends are a larger part of the sum.
REQUESTS_MIN = 1_000
# How many standard errors a sum of random pauses may be off its mean.
DEVIATIONS = 4
# The engine's shortest backoff after a connection failed or could not be opened.
BACKOFF_NS = 10_000_000


def problem(record: TrialRecord, waited_share: float = 0.0) -> str | None:
    """Return a problem if Little's law does not hold.

    None, too, with an open shape, few requests or many failures. The law: the time that requests
    spent in the window, including parts of requests cut off by its ends, answers that lay unread, and pauses,
    equals the number of connections times the length of the window. `waited_share`: the share of the measured
    time that the engine had no core (0..1).
    """
    shape, outcomes = record.spec.shape, record.outcomes
    if isinstance(shape, OpenShapeSpec) or outcomes.ok < REQUESTS_MIN or record.measured_ns <= 0:
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
    """Return how many connections of a closed shape without pauses opened too late to have a request."""
    shape = record.spec.shape
    if not isinstance(shape, ClosedShapeSpec) or shape.pause_ms or not record.users:
        return 0
    return max(0, shape.connections - record.users)


def connections(shape: ClosedShapeSpec | RampShapeSpec, measured_ns: int) -> float:
    """Return how many connections the shape holds over the window, on average."""
    if isinstance(shape, ClosedShapeSpec):
        return shape.connections
    rise = shape.to_connections - shape.from_connections
    if not rise:
        return shape.to_connections
    # Each connection joins when the rising line reaches its number, and stays until the end.
    apart = shape.over_s * 1e9 / rise / measured_ns
    joined = min(rise, int(1 / apart))
    return shape.from_connections + joined - apart * joined * (joined + 1) / 2


def spent_ns(record: TrialRecord) -> float:
    """Return how long, in ns, connections had a request in flight or waited for the engine in the window."""
    times = record.histograms
    parts = (times.response_time, times.failed, times.timed_out, times.unfinished_age, times.carried_over)
    # Subtract the time that requests taken over from the warm-up spent before the window.
    return sum(map(_sum_ns, parts)) - _sum_ns(times.taken_over) + unattended_ns(record)


def unattended_ns(record: TrialRecord) -> int:
    """Return how long, in ns, answers lay unread and users with nothing in flight waited for the engine."""
    return record.arrivals.held_ns + record.users_waited_ns


def _sum_ns(times: HistogramRecord) -> float:
    return times.count * (times.mean_ns or 0)


def _paused_ns(record: TrialRecord, shape: ClosedShapeSpec | RampShapeSpec) -> float:
    """Return the sum of the pauses, by their number and mean length: the record does not hold each."""
    outcomes, pause_ns = record.outcomes, shape.pause_ms * 1e6
    broken = outcomes.refused + outcomes.connect_timeout + outcomes.reset
    broken += outcomes.closed_early + outcomes.malformed
    whole = outcomes.ok + outcomes.failed - broken
    # A request that was too late for a connection cost none of them time; others not sent count as refused.
    broken += outcomes.not_sent - record.not_sent.too_late
    return whole * pause_ns + broken * max(pause_ns, BACKOFF_NS)


def _slack(record: TrialRecord, shape: ClosedShapeSpec | RampShapeSpec, there: float) -> tuple[float, float]:
    """Return by how many connections the account may exceed, and fall short of, the connections open."""
    pause_ns = shape.pause_ms * 1e6
    # A pause that an end of the window cuts off counts as whole or not at all. There is one for each
    # connection open at that end, which in a ramp are all.
    cut_off = shape.connections if isinstance(shape, ClosedShapeSpec) else shape.to_connections
    both = there * LITTLES_LAW_TOLERANCE + cut_off * min(1.0, pause_ns / record.measured_ns)
    if shape.pause == "exponential":
        both += DEVIATIONS * pause_ns * math.sqrt(record.outcomes.ok) / record.measured_ns
    # Connections that never had a request are in none of the times.
    missing = both + unused(record)
    if isinstance(record.spec.stop, RequestsStopSpec):
        # When no request is left to send, connections idle until the last answer is there.
        longest_ns = record.histograms.response_time.max_ns or 0
        missing += there * min(1.0, longest_ns / record.measured_ns)
    return both, missing
