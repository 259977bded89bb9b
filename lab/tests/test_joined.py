"""Slices of one start, by the real engine, as one record: sums, merged times, continuous columns."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import documents
import pytest
from crumple import contract, engine
from crumple.contract import TrialRecord
from crumple.record import failures, figures, growth, histogram, validity
from crumple.record.joined import COUNTS, PAGES_SHARED, joined
from crumple.record.metrics import METRICS, SLICED

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

ROOT = Path(__file__).resolve().parents[2]
LONG_S, SHORT_S, WINDOW_S = 0.4, 0.1, 0.25
SLICES = 4
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
def started(*command: str) -> Iterator[tuple[str, int]]:
    """Start a server that prints its port; yield its address and pid."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout
        yield f"127.0.0.1:{json.loads(process.stdout.readline())['port']}", process.pid
    finally:
        process.kill()
        process.communicate()


def spec_of(address: str, pid: int | None, warm_up_s: float) -> contract.TrialSpec:
    return documents.spec(
        target=contract.Target(address=address, host=address),
        requests=(
            contract.Request(
                method="GET",
                path="/",
                expect=contract.Expect(status=200, body_bytes=13, body_sha256=None, hash_one_in=4),
            ),
        ),
        shape=contract.ClosedShape(connections=8),
        warm_up=contract.WarmUp(
            connections=None, pauses=True, stop=contract.AfterDuration(duration_s=warm_up_s)
        ),
        stop=contract.AfterDuration(duration_s=WINDOW_S),
        cores=(),
        probe=contract.Probe(interval_ms=100, server_pid=pid),
    )


def measured(address: str, pid: int | None, warm_up_s: float) -> TrialRecord:
    return engine.run(engine.load(ROOT), spec_of(address, pid, warm_up_s), lambda _: None)


def asked(address: str, path: str) -> None:
    connection = http.client.HTTPConnection(address, timeout=5)
    connection.request("GET", path)
    connection.getresponse().read()
    connection.close()


@pytest.fixture(scope="module")
def real() -> tuple[tuple[TrialRecord, ...], TrialRecord]:
    """The slices of a server that is stopped between them, and one more in which it fails."""
    slices = []
    with started(sys.executable, "-c", PROGRAM) as (address, pid):
        for number in range(SLICES):
            slices.append(measured(address, pid, SHORT_S if number else LONG_S))
            os.kill(pid, signal.SIGSTOP)
            os.kill(pid, signal.SIGCONT)
        asked(address, "/break")
        failing = measured(address, pid, SHORT_S)
    return tuple(slices), failing


@pytest.fixture
def slices(real: tuple[tuple[TrialRecord, ...], TrialRecord]) -> tuple[TrialRecord, ...]:
    return real[0]


@pytest.fixture
def failing(real: tuple[tuple[TrialRecord, ...], TrialRecord]) -> TrialRecord:
    return real[1]


@pytest.fixture(scope="module")
def fast() -> tuple[TrialRecord, ...]:
    """Slices of the engine's null server."""
    path = str(engine.find(ROOT))
    with started(path, "null-server", "--cores", "0", "--threads", "1", "--body-bytes", "13") as (address, _):
        return tuple(measured(address, None, SHORT_S) for _ in range(2))


def test_counts_are_the_sums_of_the_slices(slices: Sequence[TrialRecord], failing: TrialRecord) -> None:
    parts = [*slices, failing]
    whole = joined(parts)
    for name in COUNTS:
        assert getattr(whole, name) == sum(getattr(each, name) for each in parts), name
    for name in contract.Outcomes.model_fields:
        assert getattr(whole.outcomes, name) == sum(getattr(each.outcomes, name) for each in parts)
        there = sum(getattr(each.warm_up.outcomes, name) for each in parts)
        assert getattr(whole.warm_up.outcomes, name) == there
    assert whole.scheduled == whole.outcomes.total > 0
    assert whole.warm_up.scheduled == sum(each.warm_up.scheduled for each in parts)
    assert whole.arrivals.held_ns == sum(each.arrivals.held_ns for each in parts)
    assert whole.connections_opened == 8 * len(parts)
    assert whole.outcomes.unfinished == sum(each.outcomes.unfinished for each in parts) > 8


def test_its_duration_is_the_first_warm_up_and_all_windows(slices: Sequence[TrialRecord]) -> None:
    whole, first = joined(slices), slices[0]
    assert whole.warm_up_ns == first.warm_up_ns == round(LONG_S * 1e9)
    assert whole.measured_ns == sum(each.measured_ns for each in slices) == round(SLICES * WINDOW_S * 1e9)
    assert whole.spec == first.spec.model_copy(update={"stop": contract.AfterDuration(duration_s=1.0)})
    assert whole.began_unix_ns == first.began_unix_ns


def test_the_requests_of_a_warm_up_in_parts_count_as_the_warm_ups(slices: Sequence[TrialRecord]) -> None:
    part, *rest = slices
    part = part.model_copy(update={"retried": 3})
    whole, without = joined(rest, [part]), joined(rest)
    assert whole.warm_up.scheduled == without.warm_up.scheduled + part.scheduled
    assert whole.warm_up.outcomes.ok == without.warm_up.outcomes.ok + part.outcomes.ok
    assert whole.retried == without.retried + 3
    assert whole.scheduled == without.scheduled and whole.measured_ns == without.measured_ns
    assert whole.spec.warm_up is not None and rest[0].spec.warm_up is not None
    assert whole.spec.warm_up.stop == contract.AfterDuration(duration_s=SHORT_S + WINDOW_S)
    assert joined(rest[:1], [part]).warm_up.scheduled == rest[0].warm_up.scheduled + part.scheduled


def test_figures_are_computed_from_the_sums(slices: Sequence[TrialRecord]) -> None:
    seen = figures.figures(documents.stored(record=joined(slices)))
    assert seen is not None
    ok = sum(each.outcomes.ok for each in slices)
    seconds = sum(each.measured_ns for each in slices) / 1e9
    assert seen.throughput_per_s == pytest.approx(ok / seconds)
    windows = [each.probes.server.window for each in slices if each.probes.server]
    cpu_ns = sum(each.cpu_user_ns + each.cpu_kernel_ns for each in windows if each)
    cores = cpu_ns / sum(each.span_ns for each in windows if each)
    assert seen.cores_busy == pytest.approx(cores)
    assert seen.cpu_per_request_us == pytest.approx(cores * seconds * 1e6 / ok)
    spent_ns = sum(each.histograms.response_time.mean_ns * each.outcomes.ok for each in slices)
    assert seen.response_mean_ns == pytest.approx(spent_ns / ok)
    assert seen.connections == pytest.approx(8)
    times = histogram.merge([histogram.decode(each.histograms.response_time.encoded) for each in slices])
    assert seen.response_ns and all(times.quantile_ns(q) == ns for q, ns in seen.response_ns.items())


def test_memory_is_unknown_because_it_depends_on_other_resident_servers(
    slices: Sequence[TrialRecord],
) -> None:
    probe = joined(slices).probes.server
    assert probe is not None and probe.window is not None
    assert PAGES_SHARED in probe.unread and [each.field for each in probe.unread].count("pss_bytes") == 1
    assert probe.window.pss_max_bytes is None and set(probe.samples.pss_bytes) == {None}
    assert probe.window.rss_max_bytes > 0
    # Resident sizes were read, but other trials show proportional ones, so there is no figure.
    seen = figures.figures(documents.stored(record=joined(slices)))
    assert seen is not None and (seen.memory_peak_bytes, seen.memory_per_connection_bytes) == (None, None)
    assert METRICS["memory"].reason(seen) == METRICS["memory_per_connection"].reason(seen) == SLICED
    alone = figures.figures(documents.stored(record=joined(slices[:1])))
    assert alone is not None and alone.memory_peak_bytes and not METRICS["memory"].why(alone)


def test_histograms_merge_without_loss(slices: Sequence[TrialRecord], fast: Sequence[TrialRecord]) -> None:
    for parts in (slices, fast):
        whole = joined(parts)
        for name in contract.Histograms.model_fields:
            stored = [getattr(each.histograms, name) for each in parts]
            merged(getattr(whole.histograms, name), stored)
        merged(whole.requests[0].response_time, [each.requests[0].response_time for each in parts])


def merged(whole: contract.Histogram | None, parts: Sequence[contract.Histogram | None]) -> None:
    """Assert that `whole` holds all samples of `parts`."""
    known = [part for part in parts if part is not None]
    if whole is None:
        assert not known
        return
    filled = [part for part in known if part.count]
    times = histogram.merge([histogram.decode(part.encoded) for part in filled])
    read = histogram.decode(whole.encoded)
    assert (read.values_ns, read.counts) == (times.values_ns, times.counts)
    assert whole.count == sum(part.count for part in known)
    assert whole.min_ns == min((part.min_ns for part in filled if part.min_ns is not None), default=None)
    assert whole.max_ns == max((part.max_ns for part in filled if part.max_ns is not None), default=None)
    if filled:
        mean_ns = sum(part.count * part.mean_ns for part in filled if part.mean_ns) / whole.count
        assert whole.mean_ns == pytest.approx(mean_ns, rel=1e-12)


@pytest.mark.alone
def test_a_healthy_trial_in_slices_is_valid(slices: Sequence[TrialRecord]) -> None:
    for each in (*slices, joined(slices)):
        # With cores of its own the result would depend on what else runs on this machine.
        judged = validity.assess(each, placement="shared", server_cores=(0, 1))
        assert (judged.word, judged.problems) == ("valid", ())
    rates = [each.outcomes.ok / each.measured_ns for each in slices]
    if max(rates) > 1.3 * min(rates):
        pytest.skip("the cores changed their speed between slices, so the throughput did rise or fall")
    assert growth.growth_sentence(joined(slices)) == ""


def test_a_joined_record_round_trips_as_json(slices: Sequence[TrialRecord], failing: TrialRecord) -> None:
    whole = joined([*slices, failing])
    assert TrialRecord.model_validate_json(whole.model_dump_json(by_alias=True)) == whole


def test_time_continues_without_a_gap(slices: Sequence[TrialRecord]) -> None:
    whole = joined(slices)
    series, log = whole.series, whole.log
    ends = [at + of for at, of in zip(series.at_ns, series.duration_ns, strict=True)]
    assert ends[:-1] == list(series.at_ns[1:])
    assert ends[-1] == whole.warm_up_ns + whole.measured_ns
    assert list(series.phase) == sorted(series.phase, reverse=True)
    assert series.phase.index("measured") == series.at_ns.index(whole.warm_up_ns)
    answered = [ok for ok, phase in zip(series.ok, series.phase, strict=True) if phase == "measured"]
    assert sum(answered) == whole.outcomes.ok
    window_ns = round(WINDOW_S * 1e9)
    assert log.at_ns == tuple(number * window_ns for number in range(SLICES))
    assert log.duration_ns == (window_ns,) * SLICES
    kept = [histogram.decode(encoded).count for encoded in log.response_time]
    assert kept == [each.outcomes.ok for each in slices]


def tables(record: TrialRecord) -> list[Any]:
    probes = record.probes
    assert probes.server
    return [record.series, probes.engine.samples, probes.server.samples, *probes.threads, probes.sockets]


def test_columns_have_one_length_and_never_decrease(slices: Sequence[TrialRecord]) -> None:
    whole = joined(slices)
    for table in (*tables(whole), whole.log):
        columns = table.model_dump(exclude={"interval_ms", "window", "unread"})
        assert len({len(column) for column in columns.values()}) == 1
        assert len(table.at_ns) > SLICES - 1
        assert list(table.at_ns) == sorted(table.at_ns)
    for own, table in zip(tables(slices[0]), tables(whole), strict=True):
        head = [at_ns for at_ns in own.at_ns if at_ns <= whole.warm_up_ns + slices[0].measured_ns]
        assert list(table.at_ns[: len(head)]) == head


def spent(record: TrialRecord, samples: contract.Samples, name: str) -> int:
    """The increase of a cumulative column from the reading that opens the measured phase."""
    opened = next(row for row, at_ns in enumerate(samples.at_ns) if at_ns >= record.warm_up_ns)
    column: tuple[int, ...] = getattr(samples, name)
    return column[-1] - column[opened]


def test_cpu_time_between_windows_is_not_in_the_columns(slices: Sequence[TrialRecord]) -> None:
    whole, last = joined(slices), slices[-1].probes.server
    assert whole.probes.server and last
    for name in ("cpu_user_ns", "cpu_kernel_ns"):
        engines = [spent(each, each.probes.engine.samples, name) for each in slices]
        assert spent(whole, whole.probes.engine.samples, name) == sum(engines), name
    # The engine's switches are not compared: some of its threads may end before theirs are read.
    for name in ("cpu_user_ns", "cpu_kernel_ns", "voluntary_switches", "involuntary_switches"):
        servers = [spent(each, each.probes.server.samples, name) for each in slices if each.probes.server]
        assert spent(whole, whole.probes.server.samples, name) == sum(servers), name
    # The server's own counters also increased during the re-warming.
    own_ns, ours_ns = (
        samples.cpu_user_ns[-1] + samples.cpu_kernel_ns[-1]
        for samples in (last.samples, whole.probes.server.samples)
    )
    assert own_ns > ours_ns


def test_segments_sent_again_between_windows_are_not_counted(slices: Sequence[TrialRecord]) -> None:
    counted = [retransmissions(each, more) for each, more in zip(slices, (1, 2, 4, 8), strict=True)]
    assert failures.segments(joined(counted)) == 15


def retransmissions(record: TrialRecord, measured: int) -> TrialRecord:
    """The record with a hundred segments sent again in the warm-up, and `measured` in the window."""
    sockets = record.probes.sockets
    column = [100 if at_ns >= record.warm_up_ns else 0 for at_ns in sockets.at_ns]
    # A record of a single run is counted from the last reading before the window.
    column = [100 if record.warm_up_ns == round(LONG_S * 1e9) else value for value in column]
    column[-1] = 100 + measured
    changed = sockets.model_copy(update={"retransmitted": tuple(column)})
    return record.model_copy(update={"probes": record.probes.model_copy(update={"sockets": changed})})


def test_cumulative_readings_continue_after_missing_ones(slices: Sequence[TrialRecord]) -> None:
    first, second = (
        switches(each, column) for each, column in zip(slices[:2], ((3, None), (50, 54)), strict=True)
    )
    server = joined([first, second]).probes.server
    assert server
    column = server.samples.voluntary_switches
    assert column[-1] == 7 and column[len(first.probes.engine.samples.at_ns) - 1] is None


def switches(record: TrialRecord, ends: tuple[int | None, int | None]) -> TrialRecord:
    """The record with the first of `ends` at all readings but the last, which has the second."""
    server = record.probes.server
    assert server
    column = (ends[0],) * (len(server.samples.at_ns) - 1) + (ends[1],)
    return with_server(
        record, samples=server.samples.model_copy(update={"voluntary_switches": column}), window=server.window
    )


def with_server(record: TrialRecord, **changes: Any) -> TrialRecord:
    server = record.probes.server
    assert server
    probes = record.probes.model_copy(update={"server": server.model_copy(update=changes)})
    return record.model_copy(update={"probes": probes})


def test_a_failed_slice_is_visible(slices: Sequence[TrialRecord], failing: TrialRecord) -> None:
    whole = joined([*slices[:2], failing, *slices[2:]])
    backwards = joined([failing, *slices]).requests[0].statuses
    wrong = failing.outcomes.wrong_status
    assert whole.outcomes.wrong_status == wrong > 0
    assert whole.requests[0].statuses == {200: sum(each.outcomes.ok for each in slices), 503: wrong}
    assert list(whole.requests[0].statuses) == list(backwards) == [200, 503]
    assert whole.histograms.failed == failing.histograms.failed
    assert "503" in (failures.sentence(whole) or "")
    (example,) = whole.requests[0].examples
    # It failed during the re-warming, which has no place on the time axis: it stands where its window begins.
    assert example.status == 503
    assert example.at_ns == slices[0].warm_up_ns + 2 * slices[0].measured_ns
    begin, end = example.at_ns, example.at_ns + failing.measured_ns
    failed_at = [at for at, failed in zip(whole.series.at_ns, whole.series.failed, strict=True) if failed]
    assert failed_at and all(begin <= at_ns < end for at_ns in failed_at)


def unread_server(record: TrialRecord) -> TrialRecord:
    return with_server(record, window=None)


def unread_switches(record: TrialRecord) -> TrialRecord:
    server = record.probes.server
    assert server and server.window
    return with_server(record, window=server.window.model_copy(update={"voluntary_switches": None}))


def unread_thread(record: TrialRecord) -> TrialRecord:
    threads = tuple(each.model_copy(update={"window": None}) for each in record.probes.threads)
    return record.model_copy(update={"probes": record.probes.model_copy(update={"threads": threads})})


def unread_machine(record: TrialRecord) -> TrialRecord:
    gone = contract.Unread(field="busy_ns", why="gone")
    machine = contract.MachineRecord(window=None, unread=(gone,))
    return record.model_copy(update={"probes": record.probes.model_copy(update={"machine": machine})})


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize(
    ("unread", "read"),
    [
        (unread_server, lambda probes: probes.server.window),
        (unread_switches, lambda probes: probes.server.window.voluntary_switches),
        (unread_thread, lambda probes: probes.threads[0].window),
        (unread_machine, lambda probes: probes.machine.window),
    ],
)
def test_a_reading_missing_in_one_window_is_unknown_for_all(
    slices: Sequence[TrialRecord],
    place: int,
    unread: Callable[[TrialRecord], TrialRecord],
    read: Callable[[contract.Probes], Any],
) -> None:
    parts = [unread(each) if number == place else each for number, each in enumerate(slices)]
    assert read(joined(slices).probes) is not None
    assert read(joined(parts).probes) is None


def test_windows_are_summed_and_sizes_are_maxima(slices: Sequence[TrialRecord]) -> None:
    probes, parts = joined(slices).probes, [each.probes for each in slices]
    windows = [each.server.window for each in parts if each.server]
    assert probes.server and probes.server.window and probes.machine.window and probes.threads[0].window
    for name in contract.ProbeWindow.model_fields:
        if name == "pss_max_bytes":
            continue
        kind = max if "max" in name else sum
        assert getattr(probes.server.window, name) == kind(getattr(each, name) for each in windows), name
    machine = [each.machine.window for each in parts]
    assert probes.machine.window.busy_ns == sum(each.busy_ns for each in machine if each)
    assert probes.machine.window.steal_ns == sum(each.steal_ns for each in machine if each)
    assert machine[0] and probes.machine.window.cores == machine[0].cores
    threads = [each.threads[0].window for each in parts]
    assert probes.threads[0].window.cpu_ns == sum(each.cpu_ns for each in threads if each)


def test_waiting_for_a_core_and_steal_are_summed(slices: Sequence[TrialRecord]) -> None:
    probes = joined([held_up(each, ns) for each, ns in zip(slices, (1, 2, 4, 8), strict=True)]).probes
    assert probes.machine.window and probes.machine.window.steal_ns == 15
    assert probes.threads[0].window and probes.threads[0].window.run_queue_ns == 15
    column = probes.threads[0].run_queue_ns
    # Each reading adds one, except for the first of each later window.
    assert column[-1] == len(column) - (SLICES - 1)


def held_up(record: TrialRecord, ns: int) -> TrialRecord:
    """The record with `ns` of steal and of waiting for a core; the waiting grows by 1 at each reading."""
    machine, thread = record.probes.machine, record.probes.threads[0]
    assert machine.window and thread.window
    changes = {
        "machine": machine.model_copy(update={"window": machine.window.model_copy(update={"steal_ns": ns})}),
        "threads": (
            thread.model_copy(
                update={
                    "window": thread.window.model_copy(update={"run_queue_ns": ns}),
                    "run_queue_ns": tuple(range(1, len(thread.at_ns) + 1)),
                }
            ),
        ),
    }
    return record.model_copy(update={"probes": record.probes.model_copy(update=changes)})


def test_the_reason_for_a_missing_reading_is_given_once(slices: Sequence[TrialRecord]) -> None:
    unread = joined([unread_machine(each) for each in slices]).probes.machine.unread
    assert unread == (contract.Unread(field="busy_ns", why="gone"),)


def test_each_slice_has_the_same_users(slices: Sequence[TrialRecord]) -> None:
    seen = [(7, 1), (8, 3), (8, 2)]
    parts = [
        each.model_copy(update={"users": users, "users_unanswered": silent})
        for each, (users, silent) in zip(slices, seen, strict=False)
    ]
    whole = joined(parts)
    assert (whole.users, whole.users_unanswered) == (8, 1)


def test_the_first_fault_and_the_worse_clock_are_kept(slices: Sequence[TrialRecord]) -> None:
    said: list[dict[str, Any]] = [
        {},
        {
            "tls_fault": "one",
            "reasons": documents.reasons(("malformed", "chunk", 2), ("malformed", "excess", 1)),
        },
        {
            "tls_fault": "later",
            "reasons": documents.reasons(("malformed", "excess", 4), ("reset", "kept", 3)),
        },
    ]
    parts = [each.model_copy(update=fault) for each, fault in zip(slices, said, strict=False)]
    assert joined(parts).tls_fault == "one"
    found = joined(parts).reasons
    assert [(each.outcome, each.reason, each.count) for each in found] == [
        ("malformed", "chunk", 2),
        ("malformed", "excess", 5),
        ("reset", "kept", 3),
    ]
    # The second slice's window begins later on the time axis of the whole.
    assert found[0].first_ns == found[1].first_ns < found[2].first_ns
    assert joined(parts).arrivals.clock == slices[0].arrivals.clock
    slow = contract.ArrivalRecord(clock="engine", unstamped=0, held_ns=0)
    assert joined([*slices, slices[0].model_copy(update={"arrivals": slow})]).arrivals.clock == "engine"


def test_the_first_useful_example_per_outcome_and_status_is_kept(
    slices: Sequence[TrialRecord],
) -> None:
    first_ns = slices[0].warm_up_ns
    bare = documents.example("closed-early", 200, at_ns=5).model_copy(update={"head": ""})
    late_ns = slices[2].warm_up_ns + round(WINDOW_S * 1e9 / 2)
    kept = [
        [bare, documents.example("timeout", None, at_ns=first_ns + 7)],
        [documents.example("closed-early", 200, body="Hel", at_ns=slices[1].warm_up_ns + 9)],
        [
            documents.example("wrong-status", 503, at_ns=late_ns),
            documents.example("closed-early", 200, body="H", at_ns=1),
            documents.example("timeout", None, at_ns=1),
        ],
    ]
    parts = [
        each.model_copy(update={"requests": (each.requests[0].model_copy(update={"examples": tuple(some)}),)})
        for each, some in zip(slices, kept, strict=False)
    ]
    found = [(each.outcome, each.body, each.at_ns) for each in joined(parts).requests[0].examples]
    window_ns = round(WINDOW_S * 1e9)
    assert found == [
        ("wrong-status", "", first_ns + 2 * window_ns + window_ns // 2),
        ("closed-early", "Hel", first_ns + window_ns + 9),
        ("timeout", "", first_ns + 7),
    ]


def bracketed(parts: Sequence[TrialRecord]) -> Iterator[TrialRecord]:
    """Join the parts in pairs, in every possible order of joining."""
    if len(parts) == 1:
        yield parts[0]
    for split in range(1, len(parts)):
        for left in bracketed(parts[:split]):
            for right in bracketed(parts[split:]):
                yield joined([left, right])


def test_joining_is_associative(slices: Sequence[TrialRecord], failing: TrialRecord) -> None:
    parts = [slices[0], switches(slices[1], (None, 8)), failing, unread_machine(slices[2]), slices[3]]
    whole = joined(parts)
    ways = list(bracketed(parts))
    assert len(ways) == 14
    for way in ways:
        same(way.model_dump(), whole.model_dump())


def same(one: Any, other: Any) -> None:
    """Assert that both are equal, up to the rounding of means."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, tuple | list):
        assert len(one) == len(other)
        for mine, its in zip(one, other, strict=True):
            same(mine, its)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-12)
    else:
        assert one == other


def test_the_order_of_the_slices_is_that_of_time(slices: Sequence[TrialRecord]) -> None:
    oks = [each.outcomes.ok for each in slices]
    kept = [histogram.decode(text).count for text in joined(list(reversed(slices))).log.response_time]
    assert kept == oks[::-1]


def test_one_slice_is_its_record(slices: Sequence[TrialRecord]) -> None:
    assert joined(slices[:1]) == slices[0]


OTHER = contract.Target(address="127.0.0.1:1", host="127.0.0.1:1")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"label": "x/b01/y"}, "another label"),
        ({"target": OTHER}, "another target"),
        ({"threads": 2}, "another threads"),
        ({"stop": contract.AfterRequests(requests=9, within_s=1)}, "not end after a duration"),
    ],
)
def test_slices_of_different_starts_are_not_joined(
    slices: Sequence[TrialRecord], changes: dict[str, Any], said: str
) -> None:
    other = slices[1].model_copy(update={"spec": slices[1].spec.model_copy(update=changes)})
    with pytest.raises(ValueError, match=said):
        joined([slices[0], other])


@pytest.mark.parametrize(
    "shape",
    [
        contract.ClosedShape(connections=8, pause_ms=1),
        contract.RampShape(from_connections=1, to_connections=8, over_s=1),
        contract.OpenShape(connections=8, rates=(contract.Rate(from_per_s=1, to_per_s=1, duration_s=1),)),
    ],
)
def test_only_a_closed_shape_without_pause_is_joined(
    slices: Sequence[TrialRecord], shape: contract.Shape
) -> None:
    parts = [
        each.model_copy(update={"spec": each.spec.model_copy(update={"shape": shape})}) for each in slices
    ]
    with pytest.raises(ValueError, match="closed shape without pause"):
        joined(parts)


def test_joining_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no slices"):
        joined([])


def test_what_other_programs_used_adds_up(slices: Sequence[TrialRecord]) -> None:
    used = [{7: 30, 8: 20}, {8: 40}, {9: 50, 7: 5}, {}]

    def beside(record: TrialRecord, programs: dict[int, int]) -> TrialRecord:
        others = tuple(contract.OtherProgram(pid=pid, name="cc1", cpu_ns=ns) for pid, ns in programs.items())
        everybody = contract.AllProcessesWindow(span_ns=9, kernel_threads_ns=2, programs=others, cost_ns=3)
        machine = record.probes.machine.model_copy(update={"all_processes": everybody})
        return record.model_copy(update={"probes": record.probes.model_copy(update={"machine": machine})})

    parts = [beside(each, programs) for each, programs in zip(slices, used, strict=False)]
    found = joined(parts).probes.machine.all_processes
    assert found is not None
    assert [(each.pid, each.cpu_ns) for each in found.programs] == [(8, 60), (9, 50), (7, 35)]
    assert (found.span_ns, found.kernel_threads_ns) == (9 * len(parts), 2 * len(parts))
