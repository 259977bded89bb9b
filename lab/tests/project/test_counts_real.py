"""What is due while a load is measured, counted by the real engine: at any rate and length, idle or busy."""

import json
import math
import subprocess
from collections.abc import Iterator

import documents
import dying_servers
import pytest
import real_engine
from crumple import contract, engine
from crumple.contract import OpenShapeSpec, RateSpec, TrialRecord, TrialSpec
from crumple.engine import Engine

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

ANY = contract.ExpectSpec(status=None, body_bytes=None, body_sha256=None, hash_one_in=0)


@pytest.fixture(scope="module")
def found() -> Engine:
    """The engine."""
    return real_engine.loaded()


@pytest.fixture(scope="module")
def address(found: Engine) -> Iterator[str]:
    """Where the null server listens."""
    with subprocess.Popen(
        [found.path, "null-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin and server.stdout
        yield f"127.0.0.1:{json.loads(server.stdout.readline())['port']}"
        server.stdin.close()


def loaded(
    found: Engine, address: str, shape: contract.ShapeSpec, stop: contract.StopSpec, warm_up_s: float = 0
) -> TrialRecord:
    """The record of a load."""
    warm_up = contract.WarmUpSpec(
        connections=None, pauses=True, stop=contract.DurationStopSpec(duration_s=warm_up_s)
    )
    spec: TrialSpec = documents.spec(
        target=contract.Target(address=address, host=address),
        requests=(documents.request(path="/", expect=ANY),),
        shape=shape,
        stop=stop,
        warm_up=warm_up if warm_up_s else None,
        cores=(),
        probe=contract.ProbeSpec(interval_ms=100, server_pid=None),
    )
    return engine.run(found, spec, lambda _: None)


def even(per_s: float, duration_s: float, connections: int = 16) -> OpenShapeSpec:
    """That many requests per second, at even distances."""
    rate = RateSpec(from_per_s=per_s, to_per_s=per_s, duration_s=duration_s)
    return OpenShapeSpec(connections=connections, arrivals="even", rates=(rate,))


def totals(record: TrialRecord) -> tuple[int, ...]:
    """Return how many requests were due, answered and failed, and how long was measured, by the totals."""
    ends = record.outcomes
    return record.scheduled, ends.total, ends.ok, ends.failed, record.measured_ns


def sums(record: TrialRecord) -> tuple[int, ...]:
    """Return the same by the intervals, and by the outcomes, each of which ends one request."""
    series = record.series
    rows = [row for row, phase in enumerate(series.phase) if phase == "measured"]
    ok, failed, measured_ns = (
        sum(column[row] for row in rows) for column in (series.ok, series.failed, series.duration_ns)
    )
    return record.outcomes.total, record.scheduled, ok, failed, measured_ns


@pytest.mark.parametrize("warm_up_s", [0, 0.5])
@pytest.mark.parametrize(
    ("per_s", "duration_s"),
    [
        (1, 1),
        (2, 0.5),
        (2, 1),
        (4, 1),
        (8, 1),
        (10, 0.3),
        (16, 1),
        (50, 0.7),
        (1_000, 1),
        (3_000, 0.5),
        (20_000, 0.4),
    ],
)
def test_as_many_requests_are_due_as_the_rate_times_the_length(
    found: Engine, address: str, per_s: float, duration_s: float, warm_up_s: float
) -> None:
    stop = contract.DurationStopSpec(duration_s=duration_s)
    record = loaded(found, address, even(per_s, duration_s), stop, warm_up_s)
    # The first is due at the first instant, and what is due at the end of a phase is of the next one.
    before, until = (math.ceil(round(per_s * each, 6)) for each in (warm_up_s, warm_up_s + duration_s))
    assert (record.warm_up.scheduled, record.scheduled) == (before, until - before)
    assert totals(record) == sums(record)


@pytest.mark.parametrize("connections", [1, 3])
def test_a_server_that_cannot_keep_up_loses_no_request(found: Engine, connections: int) -> None:
    with dying_servers.serving("lives", takes_ms=30) as served:
        at = served.url.removeprefix("http://").rstrip("/")
        shape, stop = even(200, 1, connections), contract.DurationStopSpec(duration_s=1)
        record = loaded(found, at, shape, stop)
    assert record.scheduled == 200
    assert totals(record) == sums(record)
    assert record.outcomes.ok and record.outcomes.not_sent + record.outcomes.unfinished > 100


@pytest.mark.parametrize(("requests", "connections"), [(1, 1), (7, 3), (100, 8), (401, 400), (1_000, 7)])
@pytest.mark.parametrize("per_s", [None, 5_000])
def test_a_number_of_requests_is_sent_exactly(
    found: Engine, address: str, requests: int, connections: int, per_s: float | None
) -> None:
    closed = contract.ClosedShapeSpec(connections=connections)
    shape = closed if per_s is None else even(per_s, 1, connections)
    record = loaded(found, address, shape, contract.RequestsStopSpec(requests=requests, within_s=20))
    assert (record.scheduled, record.outcomes.ok) == (requests, requests)
    assert totals(record) == sums(record)
