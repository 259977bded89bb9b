"""What no record can say unless it is wrong: more answers than there was time for, more CPU than there was.

Pure: record → what is amiss, a sentence for each. Little's law has a module of its own; what to do with a
record that breaks one is validity.py's to say.
"""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from crumple.contract import ClosedShape, Expect, TrialRecord

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
