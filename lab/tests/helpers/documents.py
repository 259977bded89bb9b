"""Documents for tests: a spec, a valid record, a stored trial, a study, a stand-in engine."""

import http.client
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from crumple import contract, parsing, release
from crumple.run.store import StoredServer, StoredTrial, TrialIdentity
from crumple.study.study import Study
from hdrh.histogram import HdrHistogram

KNOWN_SERVERS = ("go-nethttp", "node-http", "node-express")

WORKLOAD_TOML = """\
title = "Hello"
about = "Thirteen bytes."
[request]
path = "/hello?delay_ms={delay_ms}"
[parameters.delay_ms]
default = 0
meaning = "milliseconds to wait"
[answer]
content_type = "text/plain"
body = "Hello, World!"
"""

STUDY: dict[str, Any] = {
    "title": "A study",
    "question": "Which one?",
    "experiments": {
        "shared": {
            "title": "Both on the same cores",
            "servers": list(KNOWN_SERVERS),
            "twin": "go-nethttp",
            "workload": "hello",
            "placement": "shared",
            "shape": {"kind": "closed", "connections": 32},
            "scales": {"quick": {"blocks": 3, "warm_up": {"duration_s": 1}, "stop": {"duration_s": 1}}},
        },
        "separate": {
            "title": "Each on its own",
            "servers": list(KNOWN_SERVERS),
            "twin": "node-http",
            "workload": "hello",
            "shape": {"kind": "closed", "connections": 8},
            "scales": {"quick": {"blocks": 2, "stop": {"requests": 1000, "within_s": 5}}},
        },
    },
    "claims": [
        {
            "id": "X-1",
            "text": "Go is fastest.",
            "kind": "order",
            "experiment": "shared",
            "metric": "throughput",
            "tiers": [["go-nethttp"], ["node-http", "node-express"]],
        },
        {
            "id": "X-2",
            "text": "Express is half of plain http.",
            "kind": "ratio",
            "experiment": "shared",
            "metric": "throughput",
            "pairs": [{"of": "node-express", "to": "node-http", "published": 0.51}],
        },
    ],
}


def study() -> Study:
    """Two experiments of three servers: 3 and 2 blocks of four trials at `quick`."""
    meant, problems = parsing.meant(Study, {**STUDY, "name": "demo"}, Path("demo.toml"))
    assert meant is not None, problems
    return meant


def request(body_bytes: int | None = 13, **changes: Any) -> contract.RequestSpec:
    """A request of the workload above; `body_bytes`: the length of its answer."""
    plain = contract.RequestSpec(
        method="GET",
        path="/hello",
        headers=(("Accept", "text/plain"),),
        expect=contract.ExpectSpec(status=200, body_bytes=body_bytes, body_sha256=None, hash_one_in=64),
    )
    return plain.model_copy(update=changes)


def spec(**changes: Any) -> contract.TrialSpec:
    """A spec of 32 connections for two seconds on core 1."""
    plain = contract.TrialSpec(
        label="shared/b01/go-nethttp",
        target=contract.Target(address="127.0.0.1:40001", host="127.0.0.1:40001"),
        requests=(request(),),
        shape=contract.ClosedShapeSpec(connections=32, pause_ms=0),
        connection="keep-alive",
        warm_up=contract.WarmUpSpec(
            connections=None, pauses=True, stop=contract.DurationStopSpec(duration_s=1.0)
        ),
        stop=contract.DurationStopSpec(duration_s=2.0),
        timeouts=contract.TimeoutSpec(connect_s=5, request_s=20),
        threads=1,
        cores=(1,),
        probe=contract.ProbeSpec(interval_ms=100, server_pid=4711),
        seed=42,
    )
    return plain.model_copy(update=changes)


def outcomes(**counts: int) -> contract.Outcomes:
    """These outcomes, and 0 of all others."""
    return contract.Outcomes.model_validate(
        dict.fromkeys(contract.OUTCOMES, 0) | {k.replace("_", "-"): n for k, n in counts.items()}
    )


def histogram(counts: Mapping[int, int]) -> contract.HistogramRecord:
    """A histogram of times in ns → how often each occurs."""
    return _histogram(tuple((value_ns, count) for value_ns, count in counts.items() if count))


@lru_cache(maxsize=1_000)
def _histogram(pairs: tuple[tuple[int, int], ...]) -> contract.HistogramRecord:
    counts = dict(pairs)
    if not counts:
        return contract.HistogramRecord(count=0, min_ns=None, mean_ns=None, max_ns=None, encoded="")
    recorded = HdrHistogram(1, 300_000_000_000, 3)
    for value_ns, count in counts.items():
        recorded.record_value(value_ns, count)
    number = sum(counts.values())
    return contract.HistogramRecord(
        count=number,
        min_ns=min(counts),
        mean_ns=sum(value_ns * count for value_ns, count in counts.items()) / number,
        max_ns=max(counts),
        encoded=recorded.encode().decode(),
    )


def record(**changes: Any) -> contract.TrialRecord:
    """Two seconds of 10,000 answers per second at 3.2 ms: by Little's law exactly 32 connections."""
    none, long_ns = histogram({}), changes.get("measured_ns", 2_000_000_000)
    times = contract.HistogramRecord(
        count=20_000,
        min_ns=100_000,
        mean_ns=3_200_000,
        max_ns=9_000_000,
        encoded=histogram({3_200_000: 20_000}).encoded,
    )
    plain = contract.TrialRecord(
        version=5,
        engine_version="0.1.0",
        spec=spec(),
        began_unix_ns=1_795_242_612_000_000_000,
        warm_up_ns=1_000_000_000,
        measured_ns=2_000_000_000,
        scheduled=20_032,
        outcomes=outcomes(ok=20_000, unfinished=32),
        not_sent=not_sent(),
        retried=0,
        warm_up=contract.WarmUpRecord(scheduled=9_000, outcomes=outcomes(ok=9_000)),
        bodies_hashed=312,
        received_bytes=20_000 * 150,
        sent_bytes=20_032 * 80,
        connections_opened=32,
        connections_closed_by_server=0,
        users=32,
        users_unanswered=0,
        users_waited_ns=0,
        requests_waited_ns=0,
        requests=(request_record(),),
        arrivals=contract.ArrivalRecord(clock="kernel", unstamped=0, held_ns=0),
        histograms=contract.Histograms(
            response_time=times, service_time=None, time_to_first_byte=times, lateness=None,
            engine_lateness=none, connect_time=none, failed=none, timed_out=none, unfinished_age=none,
            carried_over=none,
            taken_over=none,
        ),
        series=contract.Series(
            interval_ms=100, at_ns=(), duration_ns=(), phase=(), ok=(), failed=(), p50_ns=(), p99_ns=(),
            max_ns=(), scheduled=(), engine_late_p99_ns=(), connections=(),
        ),
        log=contract.Log(interval_ms=1_000, at_ns=(), duration_ns=(), response_time=()),
        probes=contract.Probes(
            engine=probe(0.5, long_ns), server=probe(0.9, long_ns), sockets=sockets(()),
            threads=(thread(0.45, measured_ns=long_ns),),
            machine=contract.MachineRecord(window=None, unread=()),
        ),
    )  # fmt: skip
    return plain.model_copy(update=changes)


def request_record(**changes: Any) -> contract.RequestRecord:
    """The record of the only request: all were answered 200, except those in flight at the end."""
    plain = contract.RequestRecord(
        name="GET /hello",
        scheduled=20_032,
        outcomes=outcomes(ok=20_000, unfinished=32),
        statuses={200: 20_000},
        response_time=contract.HistogramRecord(
            count=20_000,
            min_ns=100_000,
            mean_ns=3_200_000,
            max_ns=9_000_000,
            encoded=histogram({3_200_000: 20_000}).encoded,
        ),
        bodies_hashed=312,
        examples=(),
    )
    return plain.model_copy(update=changes)


def example(
    outcome: str,
    status: int | None,
    *,
    request: str = "",
    head: str = "",
    body: str = "",
    at_ns: int = 10**9,
    phrase: str | None = None,
) -> contract.Example:
    """One exchange. `head`: with a status, the answer's headers; `phrase`: the server's own, if any."""
    if phrase is None:
        phrase = http.client.responses.get(status or 0, "")
    lines = [f"HTTP/1.1 {status} {phrase}", *([head] if head else []), "", ""] if status else [head]
    asked = request or "GET /hello HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"
    return contract.Example(
        outcome=outcome, status=status, at_ns=at_ns, request=asked, head="\r\n".join(lines), body=body
    )


def reasons(*rows: tuple[str, str, int], first_ns: int = 1_200_000_000) -> tuple[contract.ReasonRecord, ...]:
    """Why requests failed: outcome, reason and number of each."""
    named = ("outcome", "reason", "count", "first_ns")
    return tuple(contract.ReasonRecord(**dict(zip(named, (*row, first_ns), strict=True))) for row in rows)


def not_sent(**counts: int) -> contract.NotSent:
    """Requests not sent for these reasons, and 0 for all others."""
    return contract.NotSent(**(dict.fromkeys(contract.NotSent.model_fields, 0) | counts))


def progress(**measured: Any) -> contract.ProgressLine:
    """A line of progress while the engine measures."""
    now = contract.MeasuredSoFar(**measured)
    return contract.ProgressLine(
        at_s=now.seconds, phase="measured", ok=now.outcomes.ok, failed=now.outcomes.failed,
        throughput_per_s=0.0, p50_ns=None, p99_ns=None, max_ns=None, connections=1, left_s=9.0,
        statuses={}, measured=now,
    )  # fmt: skip


def thread(
    cpu_share: float, waited_share: float = 0.0, measured_ns: int = 2_000_000_000
) -> contract.ThreadRecord:
    """One of the engine's threads, with the shares of the window that it ran and waited to run."""
    window = contract.ThreadWindow(
        span_ns=measured_ns,
        cpu_ns=round(cpu_share * measured_ns),
        run_queue_ns=round(waited_share * measured_ns),
    )
    return contract.ThreadRecord(at_ns=(), cpu_ns=(), run_queue_ns=(), window=window)


def sockets(retransmitted: Sequence[int | None], interval_ns: int = 500_000_000) -> contract.SocketRecord:
    """Readings of the machine's sockets at even intervals from the first instant on."""
    none = (None,) * len(retransmitted)
    return contract.SocketRecord(
        at_ns=tuple(index * interval_ns for index in range(len(retransmitted))),
        retransmitted=tuple(retransmitted),
        in_use=none,
        time_wait=none,
        unread=(),
    )


def machine(
    busy_ns: int,
    steal_ns: int = 0,
    cores: int = 2,
    kernel_ns: int = 0,
    switches: int | None = None,
    programs: tuple[contract.OtherProgram, ...] = (),
    span_ns: int = 2_000_000_000,
) -> contract.MachineRecord:
    """A machine on which so much CPU time was used over the window, and taken."""
    window = contract.MachineWindow(
        span_ns=span_ns, busy_ns=busy_ns, steal_ns=steal_ns, cores=cores, switches=switches
    )
    everybody = contract.AllProcessesWindow(
        span_ns=span_ns, kernel_threads_ns=kernel_ns, programs=programs, cost_ns=1
    )
    return contract.MachineRecord(window=window, all_processes=everybody, unread=())


def probe(cpu_share: float, measured_ns: int = 2_000_000_000) -> contract.ProcessRecord:
    """A process that used that share of one core over the window."""
    window = contract.ProcessWindow(
        span_ns=measured_ns,
        cpu_user_ns=round(cpu_share * measured_ns / 2),
        cpu_kernel_ns=round(cpu_share * measured_ns / 2),
        voluntary_switches=10,
        involuntary_switches=None,
        threads_span_ns=measured_ns,
        rss_max_bytes=10_000_000,
        pss_max_bytes=None,
        processes_max=1,
        threads_max=2,
    )
    empty = contract.SampleColumns(**dict.fromkeys(contract.SampleColumns.model_fields, ()))
    unread = contract.Unread(field="pss_bytes", why="made up")
    return contract.ProcessRecord(samples=empty, window=window, unread=(unread,))


def stored(trial_id: str = "shared/b01/go-nethttp", **changes: Any) -> StoredTrial:
    """A measured, valid trial."""
    experiment, block, server = trial_id.split("/")
    identity = TrialIdentity(
        id=trial_id,
        experiment=experiment,
        block=int(block[1:]),
        position=1,
        server=server.removesuffix("~twin"),
        twin=server.endswith("~twin"),
        seed=7,
    )
    plain = StoredTrial(
        trial=identity,
        status="measured",
        failure=None,
        server=StoredServer(versions={"go": "1.26.8"}, start_s=0.1),
        host={"load_1m": 0.1, "problems": []},
        record=record(),
        problems=(),
        warnings=(),
        overhead_s=0.3,
    )
    return plain.model_copy(update=changes)


PROGRESS = {
    "at_s": 1.0, "phase": "measured", "ok": 10, "failed": 0, "throughput_per_s": 10.0, "p50_ns": 5,
    "p99_ns": None, "max_ns": 9, "connections": 32, "left_s": 1.0, "statuses": {"200": 10},
    "measured": {"seconds": 0.5, "scheduled": 10, "outcomes": outcomes(ok=10).as_dict(), "slower": []},
}  # fmt: skip


def fake_engine(folder: Path, body: str = "", version: str = release.VERSION) -> Path:
    """A stand-in for the engine, which answers any spec with a golden record of it.

    `body`: Python code that runs before the answer, with the dicts `spec` and `record`. As a null server it
    prints a port on which no server listens. `stand_ins.engine_in_process` calls its `answered`.
    """
    golden = folder / "golden.json"
    golden.write_text(record().model_dump_json(by_alias=True))
    path = folder / "crumple-engine"
    path.write_text(
        # -E: a test may change Python's own variables for the lab, but not for this program. -S: to start
        # sooner.
        f"#!{sys.executable} -ES\n"
        "import json, os, sys, time\n"
        "def answered(spec):\n"
        f"    record = json.load(open({str(golden)!r}))\n"
        "    record['spec'] = spec\n"
        f"{textwrap.indent(body, '    ')}\n"
        "    return record\n"
        "def main():\n"
        f"    if sys.argv[1:] == ['--version']:\n        print('crumple-engine {version}'); return\n"
        "    if sys.argv[1] == 'null-server':\n"
        "        print(json.dumps({'port': 1}), flush=True); sys.stdin.read(); return\n"
        "    spec = json.load(sys.stdin)\n"
        f"    print({json.dumps(PROGRESS)!r}, file=sys.stderr, flush=True)\n"
        "    json.dump(answered(spec), sys.stdout)\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    path.chmod(0o755)
    return path
