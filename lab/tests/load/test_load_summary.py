"""The summary in the terminal: golden files, one screen long, and what it must never leave out."""

from typing import Any

import documents
import pytest
import synthetic_load
from crumple import contract
from crumple.gate.condition import Outcome
from crumple.load.report import load_sentences as say
from crumple.record import failures, validity
from crumple.record.validity import Validity
from golden_file import as_golden
from made_loads import LOADS
from synthetic_load import screen as text


@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("width", [80, 100])
def test_the_text_equals_the_golden_file(name: str, width: int) -> None:
    said = text(LOADS[name](), width=width, styled=False)
    assert said == as_golden(f"load-{name}-{width}.txt", said)
    assert max(len(line) for line in said.splitlines()) <= width


def test_an_ordinary_load_fits_one_screen() -> None:
    asked = synthetic_load.constant().record.spec
    load = synthetic_load.load(synthetic_load.record(asked, [20_000] * 10, median_ns=150_000.0))
    assert len(text(load, width=100, styled=False).splitlines()) <= 24


def test_styles_are_used_only_if_asked_for() -> None:
    assert "\x1b[" in text(synthetic_load.constant(), width=100, styled=True)
    assert "\x1b[" not in text(synthetic_load.constant(), width=100, styled=False)


@pytest.mark.parametrize("name", LOADS)
def test_every_request_and_every_warning_is_shown(name: str) -> None:
    load = LOADS[name]()
    said = text(load, width=200, styled=False)
    assert say.identity(load.record) in said
    for doubt in (load.validity.word, *load.validity.problems, *load.validity.warnings):
        assert doubt in said


def test_quantiles_without_samples_are_dashes_with_a_reason() -> None:
    said = text(synthetic_load.frozen(), width=100, styled=False)
    (row,) = (line for line in said.splitlines() if line.startswith("response time"))
    assert row.split()[10] == "–"
    assert say.TOO_FEW in said
    assert say.TOO_FEW not in text(synthetic_load.constant(), width=100, styled=False)


def test_conditions_of_failure_show_their_result() -> None:
    conditions = (
        Outcome("p99>250ms", "holds", ""),
        Outcome("failed>1%", "does not hold", ""),
        Outcome("p99.9>1s", "not known", "it takes 10,000 answers to know, and 500 came"),
    )
    said = text(synthetic_load.closed(fail_if=conditions), width=120, styled=False)
    assert "✗ fail if p99>250ms: holds, so it fails" in said
    assert "✓ fail if failed>1%: does not hold" in said
    assert "? fail if p99.9>1s: is not known: it takes 10,000 answers to know, and 500 came" in said


def test_a_valid_load_that_fails_is_not_just_called_valid() -> None:
    passes = Outcome("p99>1s", "does not hold", "")
    unknown = Outcome("p99.9>1s", "not known", "it takes 10,000 answers to know, and 500 came")
    fails = Outcome("p99>250ms", "holds", "")

    def lines(*conditions: Outcome) -> list[str]:
        load = synthetic_load.closed(fail_if=conditions)
        return text(load, width=120, styled=False).splitlines()

    for conditions in ((), (passes,), (passes, unknown)):
        verdict = lines(*conditions)[-1]
        assert verdict.startswith("valid: neither the engine")
    assert lines(passes, unknown, fails)[-1] == "valid measurement of a load that fails: p99>250ms holds"


def test_markup_in_an_address_stays_text() -> None:
    load = synthetic_load.closed()
    strange = synthetic_load.remade(load, url="http://127.0.0.1/[red]?a=[/]", command="crumple load")
    assert "http://127.0.0.1/[red]?a=[/]" in text(strange, width=100, styled=False)


@pytest.mark.parametrize(
    ("shape", "changes", "said"),
    [
        (contract.ClosedShapeSpec(connections=1), {}, "closed: 1 connection"),
        (
            contract.ClosedShapeSpec(connections=32, pause_ms=100),
            {"connection": "per-request"},
            "closed: 32 connections at a time, a new one per request, pausing 100 ms",
        ),
        (
            contract.RampShapeSpec(
                from_connections=0, to_connections=500, over_s=300, pause_ms=1500, pause="exponential"
            ),
            {},
            "ramp: 0 to 500 connections over 5 min, pausing 1.50 s on average, exponential",
        ),
        (
            contract.OpenShapeSpec(
                connections=64, rates=(contract.RateSpec(from_per_s=0.5, to_per_s=0.5, duration_s=1),)
            ),
            {},
            "open: 0.5 /s, Poisson, on up to 64 connections",
        ),
        (
            contract.OpenShapeSpec(
                connections=64,
                arrivals="even",
                rates=(contract.RateSpec(from_per_s=100, to_per_s=12_345, duration_s=90),),
            ),
            {},
            "open: 100 to 12,345 /s over 1 min 30 s, even, on up to 64 connections",
        ),
    ],
)
def test_shapes_in_words(shape: contract.ShapeSpec, changes: dict[str, str], said: str) -> None:
    spec = documents.spec(shape=shape, **changes)
    assert say.shape(spec).replace("\u202f", " ") == said


def test_several_requests_are_named_together() -> None:
    requests = (documents.request(weight=3), documents.request(method="POST", path="/todos", weight=1))
    assert say.asked(documents.spec(requests=requests), "http://a/") == "2 requests by weight to http://a/"


def test_each_of_several_requests_has_a_row() -> None:
    said = text(synthetic_load.several(), width=140, styled=False)
    (row,) = (line for line in said.splitlines() if line.startswith("POST /orders "))
    assert "30 %  27,000" in row and row.endswith("3,000 (415 × 2,500, reset × 500)")
    assert "request  share" not in text(synthetic_load.failing(), width=140, styled=False)


def test_the_first_line_says_what_failed() -> None:
    lines = text(synthetic_load.failing(), width=100, styled=False).splitlines()
    verdict = lines.index("✓ valid, 5.0 % failed")
    assert lines[verdict + 1 : verdict + 3] == [
        '  5,000 × 500 Internal Server Error; first: `{"error":"pool \\x1b[31mexhausted"}`',
        "  9 × reset",
    ]
    assert "\x1b" not in "".join(lines)


def test_the_last_requests_of_a_healthy_load_are_not_users_without_an_answer() -> None:
    healthy = text(synthetic_load.closed(), width=120, styled=False)
    assert "12 unfinished (in flight, oldest 3.40 ms)" in healthy and "got no answer" not in healthy
    starved = text(synthetic_load.starved(), width=120, styled=False)
    assert "✓ valid, 56 of 64 connections unanswered" in starved
    assert "! 56 of 64 connections got no answer in 3 s; the quantiles are of the other 8" in starved


def test_a_server_that_closes_every_connection_is_named() -> None:
    said = " ".join(text(synthetic_load.closing(), width=100, styled=False).split())
    assert "50 connections at a time, which the server closed after each answer" in said
    assert "kept alive" not in said
    assert "the server closed every connection after one answer (HTTP/1.0 or Connection: close)" in said
    assert "100 connects took 1 s or more: the server's backlog was full and the kernel sent the SYN" in said


def test_a_server_that_closes_some_connections_is_not_said_to_close_all() -> None:
    record = synthetic_load.closing().record
    some = record.model_copy(update={"connections_closed_by_server": 40, "connections_opened": 90})
    load = synthetic_load.load(some)
    assert say.connections(load).endswith("; the server closed 40")
    assert say.shape(some.spec, load) == "closed: 50 connections kept alive"
    per_request = some.model_copy(update={"spec": some.spec.model_copy(update={"connection": "per-request"})})
    assert "the server closed" not in say.connections(synthetic_load.load(per_request))


@pytest.mark.parametrize(
    ("address", "tls", "said"),
    [
        ("127.0.0.1:80", False, "the server's backlog was full and the kernel sent the SYN again; the tail"),
        (
            "10.0.0.1:80",
            False,
            "full, or the network lost a packet, and the kernel sent the SYN again; the tail",
        ),
        ("127.0.0.1:80", True, "sent the SYN again, or the TLS handshake was slow; the tail"),
    ],
)
def test_what_a_slow_connect_means(address: str, tls: bool, said: str) -> None:
    record = synthetic_load.closing().record
    target = contract.Target(
        address=address, host="a", tls=contract.TlsSpec(server_name="a") if tls else None
    )
    spec = record.spec.model_copy(update={"target": target})
    assert said in say.slow_connects(synthetic_load.load(record.model_copy(update={"spec": spec})))


def test_retransmitted_segments_are_reported_once() -> None:
    record = synthetic_load.closing().record
    probes = record.probes.model_copy(update={"sockets": documents.sockets((100,) * 5 + (412,))})
    record = record.model_copy(update={"probes": probes})
    judged = Validity("valid", (), (failures.sent_again_sentence(record),))
    (said,) = say.warnings(synthetic_load.load(record, judged))
    assert said.startswith("100 connects took 1 s or more") and said.count("SYN") == 1
    again = "; 312 TCP segments were sent again on this machine, by whichever program (limit 1 for"
    assert again in said
    both = {"server_sockets": documents.sockets((100,) * 5 + (101,))}
    far = {"probes": record.probes.model_copy(update=both), "load_host": "loader"}
    apart = failures.describe_segments(record.model_copy(update=far))
    assert apart.startswith("313 TCP segments were sent again here and on loader, by whichever program")
    quick = record.model_copy(update={"histograms": synthetic_load.closed().record.histograms})
    judged = Validity("valid", (), (failures.sent_again_sentence(quick),))
    (said,) = say.warnings(synthetic_load.load(quick, judged))
    assert said.startswith("312 TCP segments") and "packets were lost or a backlog was full" in said


def test_quick_connects_are_not_mentioned() -> None:
    assert say.slow_connects(synthetic_load.constant()) == ""


def test_the_failed_share_is_of_the_requests_that_ended() -> None:
    ended = documents.outcomes(ok=50, reset=50, not_sent=100, unfinished=300)
    record = documents.record(outcomes=ended, scheduled=ended.total)
    losses = say.losses(synthetic_load.load(record)).replace("\u202f", " ")
    assert losses == "50 % failed, 20 % not sent"


def test_the_reason_why_requests_were_not_sent_is_shown() -> None:
    record = synthetic_load.stepped().record
    both = record.model_copy(update={"not_sent": documents.not_sent(too_late=3_900, ports=100)})
    assert say.losses(synthetic_load.load(both)).endswith("not sent")
    said = say.requests(both)
    assert said.endswith("not sent: 3,900 no connection was free in time, 100 no port was left")


def _ended(stop: contract.StopSpec, shape: contract.ShapeSpec, measured_s: float) -> contract.TrialRecord:
    record = synthetic_load.closed().record
    spec = record.spec.model_copy(update={"stop": stop, "shape": shape})
    return record.model_copy(
        update={
            "spec": spec, "measured_ns": round(measured_s * 1e9),
            "scheduled": 1_000, "not_sent": documents.not_sent(too_late=900),
            "outcomes": documents.outcomes(ok=98, not_sent=900, unfinished=2),
        }
    )  # fmt: skip


def test_a_load_by_number_ended_by_its_time_limit_says_so() -> None:
    closed, stop = (
        contract.ClosedShapeSpec(connections=2),
        contract.RequestsStopSpec(requests=1_000, within_s=10),
    )
    over = say.requests(_ended(stop, closed, 10.0)).replace("\u202f", " ")
    assert over.endswith("not sent: the time, 10 s, was over before all 1,000 were sent")
    assert say.circumstances(_ended(stop, closed, 10.0))[0].startswith("100 of 1,000 requests in 10")
    ended = say.requests(_ended(stop, closed, 4.0))
    assert ended.endswith("not sent: the load was ended before all 1,000 were sent")
    rate = contract.RateSpec(from_per_s=100, to_per_s=100, duration_s=10)
    scheduled = contract.OpenShapeSpec(connections=2, rates=(rate,))
    both = say.requests(_ended(stop, scheduled, 10.0))
    assert both.endswith("was over before all 1,000 were sent, or no connection was free in time")
    assert " due" not in say.throughput(synthetic_load.load(_ended(stop, scheduled, 10.0)))
    by_time = say.requests(_ended(contract.DurationStopSpec(duration_s=10), scheduled, 10.0))
    assert by_time.endswith("not sent: no connection was free in time")


def test_if_all_failed_the_times_of_the_failures_are_shown() -> None:
    record = synthetic_load.silent().record
    times = record.histograms.model_copy(
        update={"failed": documents.histogram({1_000_000: 120}), "timed_out": documents.histogram({})}
    )
    load = synthetic_load.load(record.model_copy(update={"histograms": times}))
    lines = text(load, width=100, styled=False).splitlines()
    (row,) = (line for line in lines if line.startswith("failed"))
    assert row.split()[1:3] == ["1.00", "ms"] and row.endswith("from due to the failure")
    assert not any(line.startswith("response time") for line in lines)
    some = synthetic_load.failing()
    assert not any(line.startswith("failed  ") for line in text(some, width=100, styled=False).splitlines())


@pytest.mark.parametrize(
    ("changes", "life"),
    [
        ({"connections_opened": 32}, " kept alive"),
        ({"connections_opened": 35}, " kept alive"),
        ({"connections_opened": 50_032}, " at a time, a new one after 50 % of the requests"),
        (
            {"outcomes": documents.outcomes(ok=60_000, reset=40_000)},
            " at a time, a new one after 40 % of",
        ),
        ({"requests": (documents.request_record(statuses={}),)}, ""),
    ],
)
def test_connections_that_were_closed_are_not_called_kept_alive(changes: dict[str, Any], life: str) -> None:
    record = synthetic_load.closed().record.model_copy(update=changes)
    said = say.shape(record.spec, synthetic_load.load(record)).replace("\u202f", " ")
    assert said.startswith(f"closed: 32 connections{life}") and ("kept" in said) is ("kept" in life)


def test_a_tls_failure_is_not_called_an_answer() -> None:
    record = synthetic_load.closed().record
    target = contract.Target(address="127.0.0.1:1", host="a", tls=contract.TlsSpec(server_name="a"))
    ended = documents.outcomes(malformed=4)
    failed = record.model_copy(
        update={
            "spec": record.spec.model_copy(update={"target": target}),
            "outcomes": ended, "scheduled": 4, "connections_opened": 0, "tls_fault": "certificate expired",
            "reasons": documents.reasons(("malformed", "certificate-expired", 4)),
            "requests": (documents.request_record(statuses={}, outcomes=ended),),
        }
    )  # fmt: skip
    assert say.identity(failed) == "4 scheduled = 0 ok + 4 malformed (TLS failed)"
    (problem,) = (each for each in validity.assess(failed).problems if "no answer" in each)
    assert problem == (
        "no answer was ok; 4 of 4 ended as malformed (the server's certificate has expired: "
        "certificate expired)"
    )


@pytest.mark.parametrize(
    ("clock", "unstamped", "said"),
    [
        ("kernel", 0, "timed by the kernel; read"),
        ("kernel", 9, "9 without a timestamp"),
        ("engine", 0, "its own delay"),
    ],
)
def test_the_clock_that_timed_the_answers_is_named(clock: str, unstamped: int, said: str) -> None:
    record = synthetic_load.constant().record
    arrivals = contract.ArrivalRecord(clock=clock, unstamped=unstamped, held_ns=10**9)
    assert said in say.arrivals(synthetic_load.load(record.model_copy(update={"arrivals": arrivals})))


def test_if_the_server_could_not_be_probed_the_reason_is_shown() -> None:
    record = synthetic_load.constant().record
    server = record.probes.server
    assert server is not None
    unread = contract.Unread(field="window", why="the process was gone")
    gone = server.model_copy(update={"window": None, "unread": (unread,)})
    probes = record.probes.model_copy(update={"server": gone})
    said = say.server(synthetic_load.load(record.model_copy(update={"probes": probes})))
    assert said == "could not be read (window: the process was gone)"


def test_a_record_that_does_not_add_up_is_visible() -> None:
    record = synthetic_load.closed().record.model_copy(update={"scheduled": 1})
    doubted = Validity("not-valid", ("the measured requests do not add up",), ())
    assert "1 scheduled ≠ 100,000 ok" in text(synthetic_load.load(record, doubted), width=100, styled=False)
