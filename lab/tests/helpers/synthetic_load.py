"""Made-up loads for tests of summary, page and exports; deterministic, all figures are invented."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import documents
import numpy as np
from crumple import contract
from crumple.drawing import report_page, report_text
from crumple.load.report import load_making, load_report
from crumple.load.report.load_document import LoadDocument
from crumple.load.report.load_making import KnownBeside
from crumple.record import validity
from crumple.record.validity import Validity
from hdrh.histogram import HdrHistogram
from scipy.special import ndtri

URL = "http://127.0.0.1:8080/hello"
VALID = Validity(word="valid", problems=(), warnings=())
ANY = contract.ExpectSpec(status=None, body_bytes=None, body_sha256=None, hash_one_in=0)
WARM_UP_S = 2
INTERVAL_NS = 100_000_000
MIB = 2**20
NOTHING = HdrHistogram(1, 300_000_000_000, 3).encode().decode()


def load(record: contract.TrialRecord, validity: Validity = VALID, **changes: Any) -> LoadDocument:
    """The load that `crumple load` reports for a record."""
    return load_making.make(record, validity, **{"url": URL, "command": f"crumple load {URL}", **changes})


def remade(load: LoadDocument, **changes: Any) -> LoadDocument:
    """The document of the same load with other things known of it."""
    known = (
        "record",
        "validity",
        "url",
        "command",
        "lost",
        "ended_early",
        "tags",
        *KnownBeside.__annotations__,
    )
    return load_making.make(
        **{**{name: getattr(load, name) for name in known}, "findings": load.findings, **changes}
    )


def screen(load: LoadDocument, width: int | None = None, styled: bool | None = None) -> str:
    """The summary of a load as a terminal shows it."""
    return report_text.text(load_report.report(load), width, styled)


def page(load: LoadDocument) -> str:
    """The page of a load."""
    return report_page.html(load_report.report(load), printed(load))


def printed(load: LoadDocument) -> dict[str, Any]:
    """The document of a load as JSON."""
    return load.model_dump(mode="json")


def constant(**changes: Any) -> LoadDocument:
    """20,000 requests a second, Poisson arrivals; a few time out, and one is sent again."""
    rate = contract.RateSpec(from_per_s=20_000, to_per_s=20_000, duration_s=10)
    asked = spec(contract.OpenShapeSpec(connections=64, rates=(rate,)))
    return load(record(asked, [20_000] * 10, median_ns=150_000.0, timeouts=20), **changes)


def stepped(**changes: Any) -> LoadDocument:
    """Three steps of rising rate; in the last the server answers 4,000 of 5,000 requests a second."""
    written = ((1_000, 3), (3_000, 3), (5_000, 4))
    rates = tuple(
        contract.RateSpec(from_per_s=rate, to_per_s=rate, duration_s=span) for rate, span in written
    )
    asked = spec(contract.OpenShapeSpec(connections=32, arrivals="even", rates=rates))
    answered = [1_000] * 3 + [3_000] * 3 + [4_000] * 4
    problem = "4,000 of 32,012 requests that came due were not sent"
    warning = "an engine thread waited 6 % of the time for its core"
    doubted = Validity("schedule-missed", (problem,), (warning,))
    return load(record(asked, answered, median_ns=400_000.0, not_sent=4_000), doubted, **changes)


def closed(**changes: Any) -> LoadDocument:
    """32 connections at 10,000 answers a second; the server's processes were not sampled."""
    asked = spec(contract.ClosedShapeSpec(connections=32), cores=(), threads=2)
    asked = asked.model_copy(update={"probe": contract.ProbeSpec(interval_ms=100, server_pid=None)})
    return load(record(asked, [10_000] * 10, median_ns=3_100_000.0), **changes)


def failing(**changes: Any) -> LoadDocument:
    """32 connections; one answer in twenty is a 500, and a few connections are reset."""
    asked = spec(contract.ClosedShapeSpec(connections=32))
    ended = documents.outcomes(ok=95_000, wrong_status=5_000, reset=9, unfinished=32)
    fault = documents.example(
        "wrong-status", 500, body='{"error":"pool \x1b[31mexhausted"}', head="Content-Type: application/json"
    )
    examples = (fault, documents.example("reset", None))
    plain = record(asked, [9_500] * 10, median_ns=3_100_000.0, outcomes=ended, examples=examples)
    return load(plain, **changes)


def several(**changes: Any) -> LoadDocument:
    """Three requests by weight: one is sometimes answered 415 for its content type, one with a redirect."""
    asked = spec(contract.ClosedShapeSpec(connections=32)).model_copy(
        update={
            "requests": (
                documents.request(name="list", weight=6),
                documents.request(method="POST", path="/orders", weight=3, expect=ANY),
                documents.request(path="/account?of=one-with-a-long-name&and=more", weight=1),
            )
        }
    )
    ended = documents.outcomes(ok=87_000, wrong_status=12_500, reset=500, unfinished=32)
    plain = record(asked, [8_700] * 10, median_ns=3_100_000.0, outcomes=ended)
    return load(plain.model_copy(update={"requests": _of_several(plain.spec.requests)}), **changes)


def _of_several(asked: Sequence[contract.RequestSpec]) -> tuple[contract.RequestRecord, ...]:
    refused = documents.example(
        "wrong-status", 415, request="POST /orders HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n\r\n"
    )
    moved = documents.example("wrong-status", 302, head="Location: /login")
    return (
        documents.request_record(
            name="list",
            scheduled=60_020,
            outcomes=documents.outcomes(ok=60_000, unfinished=20),
            statuses={200: 60_000},
            response_time=documents.histogram(times(60_000, 2.9e6, 0.3)),
        ),
        documents.request_record(
            name="POST /orders",
            scheduled=30_010,
            outcomes=documents.outcomes(ok=27_000, wrong_status=2_500, reset=500, unfinished=10),
            statuses={201: 27_000, 415: 2_500},
            response_time=documents.histogram(times(27_000, 4.1e6, 0.3)),
            examples=(refused, documents.example("reset", None)),
        ),
        documents.request_record(
            name=f"GET {asked[2].path}",
            scheduled=10_002,
            outcomes=documents.outcomes(wrong_status=10_000, unfinished=2),
            statuses={302: 10_000},
            response_time=documents.histogram({}),
            examples=(moved,),
        ),
    )


def starved(**changes: Any) -> LoadDocument:
    """64 connections on a server of eight workers, each bound to one: 56 get no answer in three seconds."""
    asked = spec(contract.ClosedShapeSpec(connections=64))
    ages = documents.histogram({3_500_000_000: 30, 3_900_000_000: 26, 20_000_000: 8})
    ended = documents.outcomes(ok=480, unfinished=64)
    plain = record(
        asked, [160] * 3, median_ns=50_000_000.0, outcomes=ended, users=64, users_unanswered=56, spread=0.01
    )
    times_of = plain.histograms.model_copy(update={"unfinished_age": ages})
    stamped = contract.ArrivalRecord(clock="kernel", unstamped=0, held_ns=0)
    seen = {"histograms": times_of, "arrivals": stamped, "connections_opened": 64}
    plain = plain.model_copy(update=seen)
    return load(plain, validity.assess(plain), **changes)


def closing(**changes: Any) -> LoadDocument:
    """A server of HTTP/1.0 with a backlog of five: it closes each connection, and some SYNs go out again."""
    asked = spec(contract.ClosedShapeSpec(connections=50))
    plain = record(asked, [400] * 10, median_ns=50_000_000.0)
    connects = documents.histogram({90_000: 3_900, 1_020_000_000: 80, 3_050_000_000: 20})
    times_of = plain.histograms.model_copy(update={"connect_time": connects})
    changed = {"connections_opened": 4_000, "connections_closed_by_server": 4_000, "histograms": times_of}
    return load(plain.model_copy(update=changed), **changes)


def frozen(**changes: Any) -> LoadDocument:
    """Ten connections whose server answers nothing in the fifth and sixth second."""
    asked = spec(contract.ClosedShapeSpec(connections=10))
    return load(record(asked, [1_000] * 4 + [0] * 2 + [1_000] * 4, median_ns=2_000_000.0), **changes)


def silent(**changes: Any) -> LoadDocument:
    """A server that refused every connection."""
    asked = spec(contract.ClosedShapeSpec(connections=10))
    ended = {"scheduled": 120, "outcomes": documents.outcomes(refused=120)}
    problem = "no answer was ok; 120 of 120 ended as refused"
    doubted = Validity("not-valid", (problem,), ())
    return load(record(asked, [0] * 10, median_ns=1e6, **ended), doubted, **changes)


def spec(shape: contract.ShapeSpec, **changes: Any) -> contract.TrialSpec:
    """GET /hello on loopback, ten seconds after two of warm-up."""
    return documents.spec(
        label="load",
        target=contract.Target(address="127.0.0.1:8080", host="127.0.0.1:8080"),
        shape=shape,
        warm_up=contract.WarmUpSpec(
            connections=None, pauses=True, stop=contract.DurationStopSpec(duration_s=WARM_UP_S)
        ),
        stop=contract.DurationStopSpec(duration_s=10),
        **changes,
    )


def record(
    asked: contract.TrialSpec,
    answered: Sequence[int],
    median_ns: float,
    timeouts: int = 0,
    not_sent: int = 0,
    spread: float = 0.35,
    examples: Sequence[contract.Example] = (),
    **changes: Any,
) -> contract.TrialRecord:
    """A record with `answered` answers in each second; response times rise with their number."""
    is_open = asked.shape.kind == "open"
    seconds = [times(count, median_ns * (1 + count / 20_000), spread) for count in answered]
    ok = sum(answered)
    opened = (64 if is_open else 32) if ok else 0
    ended = documents.outcomes(ok=ok, timeout=timeouts, not_sent=not_sent, unfinished=12)
    ended = changes.pop("outcomes", ended)
    response_times = documents.histogram(sum(seconds, Counter()))
    statuses = {200: ok, 500: ended.wrong_status}
    plain = documents.record(
        spec=asked,
        warm_up_ns=WARM_UP_S * 10**9,
        measured_ns=len(answered) * 10**9,
        scheduled=ended.total,
        outcomes=ended,
        not_sent=documents.not_sent(too_late=not_sent),
        retried=1 if is_open else 0,
        received_bytes=ok * 150,
        sent_bytes=ok * 80,
        connections_opened=opened,
        connections_closed_by_server=0,
        users=opened,
        users_unanswered=0,
        users_waited_ns=0,
        requests_waited_ns=0,
        requests=(
            documents.request_record(
                scheduled=ended.total - ended.not_sent,
                outcomes=ended.model_copy(update={"not_sent": 0}),
                statuses={status: count for status, count in statuses.items() if count},
                response_time=response_times,
                examples=tuple(examples),
            ),
        ),
        arrivals=contract.ArrivalRecord(
            clock="kernel" if is_open else "engine", unstamped=0, held_ns=ok * 3_100 if is_open else 0
        ),
        histograms=contract.Histograms(
            response_time=response_times,
            service_time=documents.histogram(times(ok, median_ns * 0.97, 0.33)) if is_open else None,
            time_to_first_byte=documents.histogram(times(ok, median_ns * 0.9, 0.33)),
            lateness=documents.histogram(times(ok, 9_000, 0.5)) if is_open else None,
            engine_lateness=documents.histogram(times(ok, 4_000, 0.5) if is_open else {}),
            connect_time=documents.histogram(times(opened, 90_000, 0.3)),
            failed=documents.histogram({}),
            timed_out=documents.histogram({20_000_000_000: timeouts}),
            unfinished_age=documents.histogram(times(12, median_ns / 2, 0.4)),
            carried_over=documents.histogram({}),
            taken_over=documents.histogram({}),
        ),
        series=_series(asked, answered, median_ns, timeouts),
        log=contract.Log(
            interval_ms=1_000,
            at_ns=[second * 10**9 for second in range(len(seconds))],
            duration_ns=[10**9] * len(seconds),
            response_time=[documents.histogram(each).encoded or NOTHING for each in seconds],
        ),
        probes=_probes(asked, ok, len(answered)),
    )
    return plain.model_copy(update=changes)


def times(count: int, median_ns: float, sigma: float) -> Counter[int]:
    """`count` times, log-normal around `median_ns`, with a tail twice as long as a log-normal one."""
    return Counter(_times(count, median_ns, sigma)) if count else Counter()


@lru_cache(maxsize=10_000)
def _times(count: int, median_ns: float, sigma: float) -> Counter[int]:
    ends = np.concatenate([np.linspace(0, count, 400), count * (1 - np.geomspace(1, 1 / count, 200))])
    edges = np.unique(np.round(ends).astype(int))
    deviations = ndtri((edges[:-1] + edges[1:]) / 2 / count)
    values_ns = median_ns * np.exp(sigma * np.where(deviations > 1.5, 2 * deviations - 1.5, deviations))
    counted: Counter[int] = Counter()
    for value_ns, number in zip(values_ns, np.diff(edges), strict=True):
        counted[int(value_ns)] += int(number)
    return counted


def _series(
    asked: contract.TrialSpec, answered: Sequence[int], median_ns: float, timeouts: int
) -> contract.Series:
    ok = [count // 10 for count in [answered[0]] * WARM_UP_S + list(answered) for _ in range(10)]
    rows = len(ok)
    swing = [1 + 0.1 * ((7 * row) % 11) / 11 for row in range(rows)]
    pairs = zip(ok, swing, strict=True)
    slow_ns = [round(median_ns * (1 + n / 2_000) * each) if n else None for n, each in pairs]
    failed = [0] * rows
    failed[min(70, rows - 1)] = timeouts
    return contract.Series(
        interval_ms=100,
        at_ns=[row * INTERVAL_NS for row in range(rows)],
        duration_ns=[INTERVAL_NS] * rows,
        phase=["warm-up"] * (10 * WARM_UP_S) + ["measured"] * (rows - 10 * WARM_UP_S),
        ok=ok,
        failed=failed,
        p50_ns=slow_ns,
        p99_ns=[ns and round(2.2 * ns) for ns in slow_ns],
        max_ns=[ns and round(5 * ns * each) for ns, each in zip(slow_ns, reversed(swing), strict=True)],
        scheduled=[count // 10 for count in _due(asked, answered) for _ in range(10)],
        engine_late_p99_ns=[9_000 if asked.shape.kind == "open" else None] * rows,
        connections=[32] * rows,
    )


def _due(asked: contract.TrialSpec, answered: Sequence[int]) -> list[int]:
    shape = asked.shape
    due = list(answered)
    if shape.kind == "open":
        due = [round(rate.from_per_s) for rate in shape.rates for _ in range(round(rate.duration_s))]
    return [due[0]] * WARM_UP_S + due


def _probes(asked: contract.TrialSpec, ok: int, measured_s: int) -> contract.Probes:
    thread = documents.thread(cpu_share=0.05, measured_ns=measured_s * 10**9)
    return contract.Probes(
        engine=_tree(ok, 4.1, 6 * MIB, threads=2, measured_s=measured_s),
        server=_tree(ok, 31.0, 14 * MIB, threads=8, measured_s=measured_s)
        if asked.probe.server_pid
        else None,
        threads=(thread,) * asked.threads,
        sockets=documents.sockets(()),
        machine=contract.MachineRecord(window=None, unread=()),
    )


def _tree(ok: int, each_us: float, rss_bytes: int, threads: int, measured_s: int) -> contract.ProcessRecord:
    rows = 10 * (WARM_UP_S + 10) + 1
    spent_ns = round(ok * each_us * 1e3 / 2)
    grown_ns = [round(spent_ns * row / (rows - 1)) for row in range(rows)]
    return contract.ProcessRecord(
        samples=contract.SampleColumns(
            at_ns=[row * INTERVAL_NS for row in range(rows)],
            late_ns=[80_000] * rows,
            cpu_user_ns=grown_ns,
            cpu_kernel_ns=grown_ns,
            rss_bytes=[rss_bytes - 4096 * (rows - 1 - row) for row in range(rows)],
            pss_bytes=[None] * rows,
            processes=[1] * rows,
            threads=[threads] * rows,
            voluntary_switches=[None] * rows,
            involuntary_switches=[None] * rows,
        ),
        window=contract.ProcessWindow(
            span_ns=measured_s * 10**9,
            cpu_user_ns=spent_ns,
            cpu_kernel_ns=spent_ns,
            voluntary_switches=None,
            involuntary_switches=None,
            rss_max_bytes=rss_bytes,
            pss_max_bytes=None,
            processes_max=1,
            threads_max=threads,
        ),
        unread=(),
    )
