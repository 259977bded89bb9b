"""Users who get no answer are distinguished from the last requests of a healthy load."""

import documents
import synthetic_load
from crumple import contract
from crumple.record import failures, validity

MS = 1_000_000


def record(
    users: int, without: int, answered: dict[int, int], ages: dict[int, int], **ends: int
) -> contract.TrialRecord:
    plain = synthetic_load.closed().record
    times = plain.histograms.model_copy(
        update={
            "response_time": documents.histogram(answered),
            "unfinished_age": documents.histogram(ages),
        }
    )
    ok, cut_off = sum(answered.values()), sum(ages.values())
    ended = documents.outcomes(ok=ok, unfinished=cut_off, **ends)
    return plain.model_copy(
        update={
            "histograms": times,
            "outcomes": ended,
            "scheduled": ended.total,
            "users": users,
            "users_unanswered": without,
            "connections_opened": users,
            "measured_ns": 3_000 * MS,
        }
    )


def test_a_user_who_waits_far_longer_than_usual_is_unanswered() -> None:
    starved = record(64, 56, {50 * MS: 437}, {3_500 * MS: 30, 3_900 * MS: 26, 20 * MS: 8})
    assert failures.silent_connections_sentence(starved) == (
        "56 of 64 connections got no answer in 3 s; the quantiles are of the other 8; requests in flight at "
        "the end had waited 3.5 s (median), the oldest 3.9 s"
    )
    assert failures.silent_connections_sentence(starved) in validity.assess(starved).warnings


def test_a_user_who_has_just_sent_a_request_is_not_unanswered() -> None:
    # A ramp: the last users came as the load ended.
    assert failures.silent_connections(record(500, 3, {50 * MS: 9_000}, {40 * MS: 497, 2 * MS: 3})) is None


def test_only_users_who_waited_long_count_as_unanswered() -> None:
    some = failures.silent_connections(record(500, 9, {50 * MS: 9_000}, {2_000 * MS: 4, 2 * MS: 5}))
    assert some is not None and (some.connections, some.of) == (4, 500)


def test_a_user_with_only_failures_is_unanswered() -> None:
    some = failures.silent_connections(record(10, 2, {MS: 100}, {}, timeout=2))
    assert some is not None and some.connections == 2 and some.oldest_ns is None
    assert "waited" not in failures.silent_connections_sentence(record(10, 2, {MS: 100}, {}, timeout=2))


def test_if_all_or_none_were_answered_nothing_is_reported() -> None:
    assert failures.silent_connections_sentence(record(64, 0, {50 * MS: 437}, {20 * MS: 64})) == ""
    # If no user got an answer, the validity states it.
    assert failures.silent_connections_sentence(record(64, 64, {}, {3_000 * MS: 64})) == ""


def test_connections_that_were_never_opened_are_told_apart() -> None:
    """By rate the limit of connections is not how many there were: here 641 of 1,000 were established."""
    late = record(1_000, 898, {MS: 5_000}, {3_000 * MS: 898}).model_copy(update={"connections_opened": 641})
    found = failures.silent_connections(late)
    assert found is not None and (found.connections, found.of, found.never_opened) == (898, 1_000, 359)
    assert failures.silent_connections_sentence(late).startswith(
        "898 of 1,000 connections got no answer in 3 s, at least 359 of them never opened;"
    )
    all_opened = late.model_copy(update={"connections_opened": 1_000})
    assert "never opened" not in failures.silent_connections_sentence(all_opened)
