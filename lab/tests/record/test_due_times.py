"""Quantiles on a schedule are of all requests that were due: a request without an answer is a slow one."""

from collections.abc import Mapping

import documents
import pytest
from crumple import contract
from crumple.record import due_times
from crumple.record.figures import figures
from crumple.record.metrics import METRICS, UNREACHED

MS = 1_000_000
OPEN = contract.OpenShapeSpec(
    connections=32, rates=(contract.RateSpec(from_per_s=10_000, to_per_s=10_000, duration_s=2),)
)
CLOSED = contract.ClosedShapeSpec(connections=32)
QUICK = {1 * MS: 1_000, 5 * MS: 960}


def record(
    left: Mapping[int, int],
    shape: contract.ShapeSpec = OPEN,
    *,
    answered: Mapping[int, int] = QUICK,
    timed_out: Mapping[int, int] | None = None,
    not_sent: int = 0,
) -> contract.TrialRecord:
    """A record with these answers, and these ages of the requests that were unfinished, in ns → how often."""
    times = {"response_time": answered, "unfinished_age": left, "timed_out": timed_out or {}}
    histograms = documents.record().histograms.model_copy(
        update={name: documents.histogram(each) for name, each in times.items()}
    )
    outcomes = documents.outcomes(
        ok=sum(answered.values()),
        unfinished=sum(left.values()),
        timeout=sum((timed_out or {}).values()),
        not_sent=not_sent,
    )
    return documents.record(spec=documents.spec(shape=shape), histograms=histograms, outcomes=outcomes)


def quantile_ms(seen: contract.TrialRecord, q: float) -> tuple[float, bool] | None:
    """The quantile in whole ms, and whether it is at least that."""
    found = due_times.quantile(seen, q)
    return found and (round(found.ns / MS), found.is_least)


def test_a_quantile_that_lies_among_the_unfinished_is_at_least_as_long_as_they_had_waited() -> None:
    stuck = record({500 * MS: 40})
    assert [quantile_ms(stuck, q) for q in (0.5, 0.9, 0.99)] == [(1, False), (5, False), (500, True)]


@pytest.mark.parametrize(
    ("answers", "ages_ms", "never", "least_ms"),
    [
        # The 4,950th of 5,000: 45 of the unfinished had waited longer than 5 ms and up to this.
        (4_900, [*range(1, 101)], 0, 50),
        # One request that hung for three seconds is no bound of what 50 others exceed.
        (4_940, [*range(1, 60), 3_000], 0, 10),
        (4_900, [*range(1, 61)], 40, 50),
        # The rank lies beyond all that waited.
        (4_900, [*range(1, 41)], 60, 40),
    ],
)
def test_a_bound_is_the_wait_at_the_rank_of_the_quantile_not_the_longest_one(
    answers: int, ages_ms: list[int], never: int, least_ms: int
) -> None:
    seen = record({age * MS: 1 for age in ages_ms}, answered={5 * MS: answers}, not_sent=never)
    assert quantile_ms(seen, 0.99) == (least_ms, True)


def test_requests_that_had_only_just_begun_change_nothing() -> None:
    assert quantile_ms(record({MS // 10: 40}), 0.99) == (5, False)


def test_requests_that_were_never_sent_are_slower_than_all_others() -> None:
    assert quantile_ms(record({}, not_sent=40), 0.99) == (5, True)
    assert quantile_ms(record({}, not_sent=2_000), 0.5) == (5, True)
    # Within a millisecond 1,000 had an answer: more than half of 1,960 answers, but not of 2,100 requests.
    assert quantile_ms(record({}, not_sent=140), 0.5) == (5, False)


def test_a_request_that_timed_out_had_waited_so_long() -> None:
    assert quantile_ms(record({}, timed_out={100 * MS: 40}), 0.99) == (100, True)


def test_in_a_closed_shape_a_quantile_is_that_of_the_answers() -> None:
    assert quantile_ms(record({500 * MS: 40}, CLOSED, not_sent=40), 0.99) == (5, False)
    few = record({500 * MS: 400}, CLOSED, answered={MS: 900})
    assert quantile_ms(few, 0.99) is None


def test_where_most_are_without_an_answer_what_the_few_took_is_no_quantile() -> None:
    assert quantile_ms(record({500 * MS: 900}, answered={MS: 100}), 0.5) == (500, True)
    assert quantile_ms(record({}, answered={}, not_sent=1_000), 0.5) is None


@pytest.mark.parametrize(("shape", "is_missing"), [(OPEN, True), (CLOSED, False)])
def test_a_figure_of_a_trial_that_lies_among_the_unfinished_is_missing_and_says_why(
    shape: contract.ShapeSpec, is_missing: bool
) -> None:
    seen = figures(documents.stored(record=record({500 * MS: 40}, shape)))
    assert seen is not None
    p99 = METRICS["response_p99"]
    assert (p99.of(seen) is None, p99.reason(seen) == UNREACHED) == (is_missing, is_missing)
    assert seen.response_ns[0.5] == pytest.approx(MS, rel=1e-3)
