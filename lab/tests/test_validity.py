"""Validity: each rule on a record that breaks it alone, and on both sides of its limit."""

import documents
import pytest
from crumple import contract, validity
from hypothesis import given
from hypothesis import strategies as st


def _with_mean(mean_ns: float) -> contract.Histograms:
    histograms = documents.record().histograms
    return histograms.model_copy(
        update={"response_time": histograms.response_time.model_copy(update={"mean_ns": mean_ns})}
    )


def test_the_golden_record_is_valid() -> None:
    assert validity.problems(documents.record(), "separate", (0,)) == ()
    assert validity.problems(documents.record(), "shared", (0, 1)) == ()


def test_lost_requests_break_the_identity() -> None:
    (problem,) = validity.problems(documents.record(scheduled=20_033), "separate")
    assert "20033 scheduled, 20032 ended" in problem and "20000 ok" in problem


def test_lost_requests_of_the_warm_up_do_too() -> None:
    warm_up = documents.record().warm_up.model_copy(update={"scheduled": 1})
    (problem,) = validity.problems(documents.record(warm_up=warm_up), "separate")
    assert "warm-up" in problem


def test_every_answer_has_a_response_time() -> None:
    record = documents.record(scheduled=20_031, outcomes=documents.outcomes(ok=19_999, unfinished=32))
    assert "20000 response times" in validity.problems(record, "separate")[0]


@pytest.mark.parametrize(("share", "invalid"), [(0.84, False), (0.86, True)])
def test_an_engine_at_its_limit_measured_itself(share: float, invalid: bool) -> None:
    probes = documents.record().probes.model_copy(update={"engine": documents.probe(share)})
    found = validity.problems(documents.record(probes=probes), "separate")
    assert bool(found) is invalid
    assert not invalid or "86% of its cores" in found[0]
    assert validity.problems(documents.record(probes=probes), "shared") == ()
    assert validity.notes("shared") and not validity.notes("separate")


def test_one_thread_cannot_use_more_than_one_of_its_cores() -> None:
    probes = documents.record().probes.model_copy(update={"engine": documents.probe(0.95)})
    record = documents.record(probes=probes, spec=documents.spec(cores=(1, 2, 3), threads=1))
    assert validity.engine_share(record) == pytest.approx(0.95)


def test_an_engine_that_was_not_watched_is_not_trusted() -> None:
    engine = documents.probe(0.5).model_copy(update={"window": None})
    probes = documents.record().probes.model_copy(update={"engine": engine})
    assert "could not be read" in validity.problems(documents.record(probes=probes), "separate")[0]


def test_separate_on_one_core_is_not_separate() -> None:
    assert "shared core 1" in validity.problems(documents.record(), "separate", (0, 1))[0]


@given(st.floats(0.9, 1.1))
def test_littles_law_holds_within_two_per_cent(factor: float) -> None:
    found = validity.problems(documents.record(histograms=_with_mean(3_200_000 * factor)), "separate")
    if abs(factor - 1) < 0.0199:
        assert found == ()
    if abs(factor - 1) > 0.0201:
        assert len(found) == 1 and "Little" in found[0]


def test_littles_law_counts_what_either_end_of_the_window_cut_off() -> None:
    # 32 connections over 2 s are 64 s; the answers alone account for 60 of them.
    whole = _with_mean(3_000_000)
    (problem,) = validity.problems(documents.record(histograms=whole), "separate")
    assert "30.0 of 32" in problem
    ends = whole.response_time.model_copy(update={"count": 32, "mean_ns": 62_500_000})
    both = whole.model_copy(update={"unfinished_age": ends, "carried_over": ends})
    assert validity.problems(documents.record(histograms=both), "separate") == ()


def test_littles_law_counts_the_pause() -> None:
    shape = contract.ClosedShape(connections=32, pause_ms=2.2)
    record = documents.record(spec=documents.spec(shape=shape), histograms=_with_mean(1_000_000))
    assert validity.problems(record, "separate") == ()


def test_littles_law_is_not_asked_of_few_or_failing_requests() -> None:
    histograms = _with_mean(9_000_000)
    few = documents.record(
        scheduled=999,
        outcomes=documents.outcomes(ok=999),
        histograms=histograms.model_copy(
            update={"response_time": histograms.response_time.model_copy(update={"count": 999})}
        ),
    )
    failing = documents.record(
        scheduled=20_300, outcomes=documents.outcomes(ok=20_000, timeout=300), histograms=histograms
    )
    assert validity.problems(few, "separate") == validity.problems(failing, "separate") == ()


def test_a_warm_up_cut_short_is_no_warm_up() -> None:
    warm_up = contract.WarmUp(connections=1, stop=contract.AfterRequests(requests=9_000, within_s=10))
    spec = documents.spec(warm_up=warm_up)
    assert validity.problems(documents.record(spec=spec), "separate") == ()
    ended = documents.outcomes(ok=5_000, not_sent=4_000)
    cut = contract.WarmUpRecord(scheduled=9_000, outcomes=ended)
    (problem,) = validity.problems(documents.record(spec=spec, warm_up=cut), "separate")
    assert problem == "the warm-up was cut short: 5,000 of its 9,000 requests within 10 s"


def test_no_answer_is_no_measurement() -> None:
    histograms = documents.record().histograms
    record = documents.record(
        scheduled=500,
        outcomes=documents.outcomes(refused=500),
        histograms=histograms.model_copy(update={"response_time": histograms.connect_time}),
    )
    assert validity.problems(record, "separate") == ("no answer was ok; 500 of 500 ended as refused",)


def test_more_answers_than_bytes_cannot_be() -> None:
    assert (
        "fewer than the 260000" in validity.problems(documents.record(received_bytes=259_999), "separate")[0]
    )
    assert "no byte sent" in validity.problems(documents.record(sent_bytes=0), "separate")[0]
