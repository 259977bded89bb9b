"""Records that cannot be true, each found by the invariant it violates; and records that can be true."""

from typing import Any

import documents
import pytest
from crumple.contract import TrialRecord
from crumple.record import invariants, validity


def waiting(path: str, per_s: int, connections: int = 100) -> TrialRecord:
    """A record of two seconds with `per_s` answers per second."""
    shape = documents.spec().shape.model_copy(update={"connections": connections})
    spec = documents.spec(requests=(documents.request(path=path),), shape=shape)
    ok = documents.outcomes(ok=2 * per_s)
    return documents.record(spec=spec, outcomes=ok, scheduled=2 * per_s, received_bytes=2 * per_s * 150)


def test_an_ordinary_record_violates_no_invariant() -> None:
    assert invariants.impossible(documents.record(), server_cores=(0,)) == ()


@pytest.mark.parametrize(
    ("path", "wait_s"),
    [
        ("/hello", 0),
        ("/hello?delay_ms=100", 0.1),
        ("/mix?wait_ms=45&spin_us=5000", 0.045),
        ("/x?delay_ms=x", 0),
    ],
)
def test_how_long_a_request_asks_to_wait(path: str, wait_s: float) -> None:
    assert invariants.wait_s(waiting(path, 10)) == wait_s


@pytest.mark.parametrize(
    ("per_s", "workers", "broken"),
    [(1_000, None, False), (1_100, None, True), (160, 16, False), (250, 16, True), (1_000, 200, False)],
)
def test_answers_are_limited_by_connections_workers_and_time(
    per_s: int, workers: int | None, broken: bool
) -> None:
    found = invariants.impossible(waiting("/hello?delay_ms=100", per_s), workers=workers)
    assert bool(found) is broken
    if broken:
        whose = "16 workers" if workers else "100 connections"
        assert f"but {whose} that wait 100 ms for each" in found[0]


@pytest.mark.parametrize(
    ("per_s", "workers", "broken"),
    [(1_390, None, False), (1_450, None, True), (220, 16, False), (240, 16, True)],
)
def test_requests_may_wait_before_each_of_eight_slices(per_s: int, workers: int | None, broken: bool) -> None:
    taken_over = documents.histogram({50_000_000: 8 * 100})
    plain = waiting("/hello?delay_ms=100", per_s)
    histograms = plain.histograms.model_copy(update={"taken_over": taken_over})
    sliced = plain.model_copy(update={"histograms": histograms})
    found = invariants.impossible(sliced, workers=workers)
    assert bool(found) is broken
    # A single run takes over one request for each connection, which changes nothing.
    assert invariants.impossible(plain, workers=workers)


@pytest.mark.parametrize(
    ("model", "settings", "workers"),
    [
        ("process-pool", {"workers": 16}, 16),
        ("process-pool", {"workers": 4, "threads": 8}, 32),
        ("thread-pool", {"workers": 200}, 200),
        ("process-per-connection", {"workers": 150}, 150),
        ("event-loop-per-core", {"workers": 4}, None),
        ("thread-pool", {"workers": 0}, None),
        ("thread-pool", {}, None),
    ],
)
def test_which_servers_are_limited_by_their_workers(
    model: str, settings: dict[str, Any], workers: int | None
) -> None:
    assert invariants.workers(model, settings) == workers


def busy(cores: float) -> TrialRecord:
    record = documents.record()
    probes = record.probes.model_copy(update={"server": documents.probe(cpu_share=cores)})
    return record.model_copy(update={"probes": probes})


@pytest.mark.parametrize(("cores", "given", "broken"), [
    (1.0, (0,), False), (1.3, (0,), True), (1.9, (0, 1), False), (1.3, (), False),
])  # fmt: skip
def test_cpu_time_is_limited_by_the_cores(cores: float, given: tuple[int, ...], broken: bool) -> None:
    found = invariants.impossible(busy(cores), server_cores=given)
    assert bool(found) is broken
    if broken:
        assert found[0] == "the server used 2.6 s of CPU time, more than its 1 core had in 2 s"


def test_bytes_are_limited_by_the_answers() -> None:
    assert invariants.impossible(documents.record(received_bytes=20_000 * (13 + 4_000))) == ()
    (found,) = invariants.impossible(documents.record(received_bytes=20_000 * (13 + 5_000)))
    assert found.startswith("100,260,000 bytes received for 20,000 answers of 13, and ")


def test_answers_to_warm_up_requests_may_arrive_in_the_window() -> None:
    late = documents.histogram({1_000_000: 200})
    histograms = documents.record().histograms.model_copy(update={"carried_over": late})
    received = 20_000 * (13 + 4_096) + 200 * (13 + 4_000)
    assert invariants.impossible(documents.record(received_bytes=received, histograms=histograms)) == ()
    assert invariants.impossible(documents.record(received_bytes=received)) != ()


def test_with_failed_requests_the_bytes_are_not_checked() -> None:
    failing = documents.outcomes(ok=19_999, wrong_body=1, unfinished=32)
    assert invariants.impossible(documents.record(outcomes=failing, received_bytes=10**9)) == ()


def test_a_violated_invariant_makes_a_record_not_valid_and_is_named() -> None:
    record = waiting("/hello?delay_ms=100", 1_100)
    judged = validity.assess(record, server_cores=(0,))
    assert any("can give 1,000 at most" in problem for problem in judged.problems)
    assert judged.word != "valid"
