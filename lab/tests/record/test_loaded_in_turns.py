"""A server that is loaded in turns, and suspended between them, by the real engine: what its record says."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import documents
import pytest
from crumple import contract, engine
from crumple.contract import TrialRecord
from crumple.record import failures, figures, growth, histogram, validity
from crumple.record.metrics import METRICS, SLICED

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

ROOT = Path(__file__).resolve().parents[3]
PART_S, REWARM_S, WINDOW_S = 0.2, 0.1, 0.25
PARTS, SLICES = 2, 4
CONNECTIONS = 8
# One process with one thread. /break and /mend switch how it answers from then on.
PROGRAM = """
import asyncio

class Connection(asyncio.Protocol):
    broken = False
    def connection_made(self, transport):
        self.transport = transport
    def data_received(self, data):
        path = data.split(b" ", 2)[1]
        if path in (b"/break", b"/mend"):
            Connection.broken = path == b"/break"
        status = b"503 Broken" if Connection.broken else b"200 OK"
        self.transport.write(b"HTTP/1.1 " + status + b"\\r\\nContent-Length: 13\\r\\n\\r\\nHello, World!")

async def serve():
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    print(f'{{"port": {server.sockets[0].getsockname()[1]}}}', flush=True)
    await server.serve_forever()

asyncio.run(serve())
"""


@contextmanager
def started() -> Iterator[tuple[str, int]]:
    """Start the server; yield its address and pid."""
    command = [sys.executable, "-c", PROGRAM]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout
        yield f"127.0.0.1:{json.loads(process.stdout.readline())['port']}", process.pid
    finally:
        process.kill()
        process.communicate()


def asked(address: str, path: str) -> None:
    connection = http.client.HTTPConnection(address, timeout=5)
    connection.request("GET", path)
    connection.getresponse().read()
    connection.close()


def spec_of(address: str, pid: int) -> contract.TrialSpec:
    parts = (contract.TurnSpec(warm_up_s=PART_S, measured_s=0.0),) * PARTS
    slices = (contract.TurnSpec(warm_up_s=REWARM_S, measured_s=WINDOW_S),) * SLICES
    expect = contract.ExpectSpec(status=200, body_bytes=13, body_sha256=None, hash_one_in=4)
    return documents.spec(
        target=contract.Target(address=address, host=address),
        requests=(contract.RequestSpec(method="GET", path="/", expect=expect),),
        shape=contract.ClosedShapeSpec(connections=CONNECTIONS),
        warm_up=None,
        stop=contract.DurationStopSpec(duration_s=SLICES * WINDOW_S),
        turns=(*parts, *slices),
        cores=(),
        probe=contract.ProbeSpec(interval_ms=100, server_pid=pid, stages=True, tasks=True, dependencies=True),
    )


def loaded(broken_in: int | None = None) -> TrialRecord:
    """Return the record of a server that is stopped between turns, and that fails in one slice."""
    with started() as (address, pid):
        spec = spec_of(address, pid)
        with engine.started(engine.load(ROOT), spec, lambda _: None) as loading:
            for number in range(len(spec.turns)):
                if broken_in is not None and number - PARTS in (broken_in, broken_in + 1):
                    asked(address, "/break" if number - PARTS == broken_in else "/mend")
                loading.turn()
                os.kill(pid, signal.SIGSTOP)
                os.kill(pid, signal.SIGCONT)
            return loading.record()


@pytest.fixture(scope="module")
def record() -> TrialRecord:
    return loaded()


def test_the_turns_are_one_load_with_one_warm_up(record: TrialRecord) -> None:
    assert record.warm_up_ns == round((PARTS * PART_S + REWARM_S) * 1e9)
    assert record.measured_ns == round(SLICES * WINDOW_S * 1e9)
    assert record.scheduled == record.outcomes.total > 0
    assert record.warm_up.scheduled == record.warm_up.outcomes.total > 0
    # Each turn that measures has connections of its own, and cuts off what is in flight at its end.
    assert record.connections_opened == SLICES * CONNECTIONS
    assert record.outcomes.unfinished == SLICES * CONNECTIONS
    assert (record.users, record.users_unanswered) == (CONNECTIONS, 0)


def test_time_continues_without_a_gap(record: TrialRecord) -> None:
    series, log = record.series, record.log
    ends = [at + of for at, of in zip(series.at_ns, series.duration_ns, strict=True)]
    assert list(series.at_ns[1:]) == pytest.approx(ends[:-1], abs=30_000_000)
    assert ends[-1] == record.warm_up_ns + record.measured_ns
    assert list(series.phase) == sorted(series.phase, reverse=True)
    assert series.at_ns[series.phase.index("measured")] == record.warm_up_ns
    answered = [ok for ok, phase in zip(series.ok, series.phase, strict=True) if phase == "measured"]
    assert sum(answered) == record.outcomes.ok
    window_ns = round(WINDOW_S * 1e9)
    assert log.at_ns == tuple(number * window_ns for number in range(SLICES))
    assert log.duration_ns == (window_ns,) * SLICES
    assert sum(histogram.decode(text).count for text in log.response_time) == record.outcomes.ok


def _tables(record: TrialRecord) -> list[Any]:
    probes = record.probes
    assert probes.server
    return [record.series, probes.engine.samples, probes.server.samples, *probes.threads, probes.sockets]


def test_columns_have_one_length_and_what_is_cumulative_never_falls(record: TrialRecord) -> None:
    for table in _tables(record):
        columns = table.model_dump(exclude={"interval_ms", "window", "unread"})
        assert len({len(column) for column in columns.values()}) == 1
        assert list(table.at_ns) == sorted(table.at_ns)
        for name in ("voluntary_switches", "involuntary_switches", "cpu_ns", "run_queue_ns", "retransmitted"):
            column = [value for value in columns.get(name, ()) if value is not None]
            assert column == sorted(column), name


def test_the_cpu_time_of_a_window_is_what_its_columns_rose_by(record: TrialRecord) -> None:
    server = record.probes.server
    assert server is not None and server.window is not None
    samples = server.samples
    opened = next(row for row, at_ns in enumerate(samples.at_ns) if at_ns >= record.warm_up_ns)
    user, kernel = samples.cpu_user_ns, samples.cpu_kernel_ns
    assert user[-1] + kernel[-1] - user[opened] - kernel[opened] == server.window.cpu_ns


@pytest.mark.alone
def test_a_healthy_trial_in_slices_is_valid_and_steady(record: TrialRecord) -> None:
    # With cores of its own the result would depend on what else runs on this machine.
    judged = validity.assess(record, placement="shared", server_cores=(0, 1))
    assert (judged.word, judged.problems) == ("valid", ())
    rates = [histogram.decode(text).count for text in record.log.response_time]
    if max(rates) > 1.3 * min(rates):
        pytest.skip("the cores changed their speed between slices, so the throughput did rise or fall")
    assert growth.growth_sentence(record) == ""


def test_memory_is_unknown_because_it_depends_on_other_resident_servers(record: TrialRecord) -> None:
    probe = record.probes.server
    assert probe is not None and probe.window is not None
    assert probe.window.pss_max_bytes is None and set(probe.samples.pss_bytes) == {None}
    # Resident sizes were read, but other trials show proportional ones, so there is no figure.
    assert probe.window.rss_max_bytes > 0
    seen = figures.figures(documents.stored(record=record))
    assert seen is not None and (seen.memory_peak_bytes, seen.memory_per_connection_bytes) == (None, None)
    assert METRICS["memory"].reason(seen) == METRICS["memory_per_connection"].reason(seen) == SLICED
    assert seen.connections == pytest.approx(CONNECTIONS)


def test_a_slice_that_failed_is_visible_where_it_was() -> None:
    record = loaded(broken_in=2)
    wrong = record.outcomes.wrong_status
    assert wrong > 0 and record.requests[0].statuses == {200: record.outcomes.ok, 503: wrong}
    assert "503" in (failures.sentence(record) or "")
    (example,) = record.requests[0].examples
    # It failed in the warm-up of the turn, which is not on the time axis: it stands where the turn begins.
    begins = record.warm_up_ns + round(2 * WINDOW_S * 1e9)
    assert (example.status, example.at_ns) == (503, begins)
    failed_at = [at for at, failed in zip(record.series.at_ns, record.series.failed, strict=True) if failed]
    assert failed_at and all(begins <= at_ns < begins + WINDOW_S * 1e9 for at_ns in failed_at)


def test_an_engine_that_ends_while_its_load_is_held_is_a_failure() -> None:
    with started() as (address, pid):
        spec = spec_of(address, pid)
        with engine.started(engine.load(ROOT), spec, lambda _: None) as loading:
            loading.turn()
            loading.process.kill()
            with pytest.raises(engine.EngineFailed, match="was killed by signal 9"):
                loading.turn()
