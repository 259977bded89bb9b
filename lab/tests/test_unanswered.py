"""Who was not served: connections without any answer are told apart from requests that were on their way."""

import documents
import pytest
from crumple import contract
from crumple.record import unanswered

MS = 1_000_000


def record(users: int, silent: int, ages_ns: dict[int, int], **failed: int) -> contract.TrialRecord:
    """500 answers in 50 to 60 ms; of the users so many got none. `ages_ns`: of what was in flight."""
    histograms = documents.record().histograms
    left = documents.histogram(ages_ns)
    update = {
        "response_time": documents.histogram({50 * MS: 490, 60 * MS: 10}),
        "unfinished_age": left,
    }
    outcomes = documents.outcomes(ok=500, unfinished=left.count, **failed)
    return documents.record(
        measured_ns=3_000 * MS,
        scheduled=outcomes.total,
        outcomes=outcomes,
        users=users,
        users_unanswered=silent,
        requests=(documents.request_record(statuses={200: 500}, outcomes=outcomes),),
        histograms=histograms.model_copy(update=update),
    )


def test_a_healthy_closed_load_ends_with_a_request_on_each_connection() -> None:
    assert unanswered.users(record(64, 0, {30 * MS: 64})) is None


def test_connections_that_a_pool_of_workers_never_came_to_are_counted() -> None:
    # Eight workers keep eight of 64 connections.
    said = unanswered.users(record(64, 56, {30 * MS: 8, 3_900 * MS: 56}))
    assert said == (
        "56 of 64 connections got no answer in the 3 s that were measured, so all times are of the others; "
        "the longest had waited 3.9 s when it ended: measure longer, or use no more connections than the "
        "server serves at once"
    )


def test_users_who_came_last_have_just_not_been_answered_yet() -> None:
    """A ramp ends with users whose first request is no older than others took."""
    assert unanswered.users(record(1_000, 40, {55 * MS: 1_000})) is None
    some = unanswered.users(record(1_000, 60, {55 * MS: 980, 2_000 * MS: 20}))
    assert some is not None and some.startswith("at least 20 of 1,000 connections")


def test_users_whose_requests_failed_got_no_answer_either() -> None:
    said = unanswered.users(record(64, 56, {30 * MS: 8}, refused=5_600))
    assert said is not None and said.startswith("at least 48 of 64 connections")


@pytest.mark.parametrize(("silent", "said"), [(10, False), (11, True)])
def test_one_in_a_hundred_is_not_said(silent: int, said: bool) -> None:
    assert bool(unanswered.users(record(1_000, silent, {30 * MS: 900, 2_000 * MS: silent}))) is said


def test_where_nobody_was_answered_the_trial_is_not_valid_anyway() -> None:
    none = record(64, 64, {2_000 * MS: 64})
    assert unanswered.users(none.model_copy(update={"outcomes": documents.outcomes(unfinished=64)})) is None


def failing(statuses: dict[int, int], expected: int | None = 200, **failed: int) -> contract.TrialRecord:
    outcomes = documents.outcomes(ok=500, **failed)
    request = documents.request()
    expect = request.expect.model_copy(update={"status": expected})
    spec = documents.spec(requests=(request.model_copy(update={"expect": expect}),))
    seen = documents.request_record(statuses=statuses, outcomes=outcomes)
    return documents.record(spec=spec, scheduled=outcomes.total, outcomes=outcomes, requests=(seen,))


def test_failures_are_named_by_kind_and_status() -> None:
    said = unanswered.failures(failing({200: 500, 500: 30, 502: 10}, wrong_status=40, timeout=60))
    assert said == (
        "17% of the requests failed (timeout 60, wrong-status 40 (500 × 30, 502 × 10)): "
        "all times are of the others"
    )


def test_of_many_statuses_the_most_frequent_are_named() -> None:
    assert unanswered.statuses(failing({200: 500, 500: 4, 501: 3, 502: 2, 503: 1})) == (
        "500 × 4, 501 × 3, 502 × 2, …"
    )


def test_where_any_success_is_expected_none_of_them_is_named() -> None:
    assert unanswered.statuses(failing({200: 400, 204: 100, 302: 7}, expected=None)) == "302 × 7"
    assert unanswered.statuses(failing({200: 400, 204: 100}, expected=204)) == "200 × 400"


@pytest.mark.parametrize(("failed", "said"), [(5, False), (6, True)])
def test_one_failure_in_a_hundred_is_not_said(failed: int, said: bool) -> None:
    # 5 of 505 are under 1 %, 6 of 506 above.
    assert bool(unanswered.failures(failing({200: 500}, reset=failed))) is said
