"""How long levels last, and what a budget can reach."""

import pytest
from crumple.find.next_level import (
    LEVEL_S_MAX,
    Durations,
    answers_needed,
    durations,
    longest_limit_s,
    outlook,
)
from crumple.find.seen import LEAST_S
from crumple.load import objective

PLANNED = Durations(level_s=2.5, longest_s=9.0, settle_s=1.0)


def asked(budget_s: float, written: str = "p99<250ms") -> Durations:
    """How long the levels of a search for that objective are."""
    return durations(objective.parse(written), budget_s)


def levels(written: str, load: float | None, left_s: float = 84.0) -> int:
    """How many levels fit into `left_s`; each takes 0.2 s besides measuring."""
    return outlook(objective.parse(written), PLANNED, load, left_s, 0.2).levels


def test_a_level_takes_its_share_of_the_budget() -> None:
    assert asked(90.0) == Durations(level_s=2.5, longest_s=9.0, settle_s=1.0)
    assert asked(180.0).level_s == pytest.approx(5.0)


def test_with_a_short_budget_a_level_lasts_the_minimum() -> None:
    assert asked(20.0, "p99<20ms").level_s == LEAST_S


def test_with_a_long_budget_a_level_lasts_no_longer_than_useful() -> None:
    assert asked(3_600.0) == Durations(LEVEL_S_MAX, LEVEL_S_MAX, 1.0)


def test_a_level_lasts_a_multiple_of_the_limit_within_a_fifth_of_the_budget() -> None:
    # Long enough for four occasions, at most eight times the limit; but never more than a fifth of 90 s.
    assert asked(90.0, "p99<2s") == Durations(level_s=8.5, longest_s=16.0, settle_s=1.0)
    assert asked(90.0, "p99<3s") == Durations(level_s=12.5, longest_s=18.0, settle_s=1.0)
    assert asked(20.0, "p99<3s") == Durations(level_s=4.0, longest_s=4.0, settle_s=1.0)


@pytest.mark.parametrize(
    ("written", "settle_s"),
    [
        ("p99<10ms", 0.5),
        ("p99<200ms", 0.8),
        ("p99<2s", 1.0),
        ("failed<1%", 0.5),
        ("p99<10ms, mean<200ms", 0.8),
    ],
)
def test_a_level_warms_up_for_four_times_the_limit(written: str, settle_s: float) -> None:
    assert asked(90.0, written).settle_s == pytest.approx(settle_s)


def test_only_limits_on_times_count_as_the_longest_limit() -> None:
    assert longest_limit_s(objective.parse("p50<100ms, p99<2s, failed<1%")) == 2.0
    assert longest_limit_s(objective.parse("failed<1%, throughput>1000")) == 0.0


def test_the_answers_needed_are_those_of_the_term_that_needs_most() -> None:
    assert answers_needed(objective.parse("p99<250ms")) == 308
    assert answers_needed(objective.parse("p99<250ms, failed<0.1%")) == 3_065
    assert answers_needed(objective.parse("mean<250ms")) == 10


def test_a_budget_has_as_many_levels_as_fit_into_it() -> None:
    # A level that holds takes the least time, and levels take four fifths of that on average: 84 / (0.8 +
    # 1.2).
    assert levels("p99<250ms", 1_000.0) == 42
    assert levels("p99<250ms", 1_000.0, left_s=42.0) == 21
    assert levels("p99<250ms", 1_000.0, left_s=0.1) == 1


def test_with_few_answers_levels_are_longer_and_fewer() -> None:
    assert levels("p99<250ms", 77.0) == int(84 / (0.8 * 4 + 1.2))
    # A level never exceeds the longest duration, also where the number of answers is not known.
    assert levels("p99<250ms", 1.0) == levels("p99<250ms", None) == int(84 / (0.8 * 9 + 1.2))


def test_a_level_waits_for_a_share_that_it_can_decide() -> None:
    # 0.1 % needs 3,065 answers: 6.13 s at this load.
    assert levels("p99<250ms, failed<0.1%", 500.0) == int(84 / (0.8 * 6.13 + 1.2))
    # At this load that takes longer than the longest level, so the search does not wait for it.
    assert levels("p99<250ms, failed<0.1%", 308.0) == levels("p99<250ms", 308.0)


def test_a_term_without_a_share_needs_the_whole_level() -> None:
    assert (
        levels("mean<250ms", 1_000.0)
        == levels("p99<250ms, mean<250ms", 1_000.0)
        == int(84 / (0.8 * 2.5 + 1.2))
    )


def test_the_duration_of_a_level_is_predicted() -> None:
    told = outlook(objective.parse("p99<250ms"), PLANNED, 100.0, 84.0, 0.2)
    assert (told.load, told.least_s, told.most_s) == (100.0, LEAST_S, 9.0)
