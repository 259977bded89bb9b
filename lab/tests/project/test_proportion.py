"""The test of a share against its limit: how many answers it takes, and how often it is wrong."""

import numpy as np
import pytest
from crumple.stats.decision import Answer
from crumple.stats.shares import (
    ERROR,
    AnswerCount,
    answers_needed,
    answers_to_break,
    evidence,
    stays_below,
)

LIMIT = 0.01


def half_or_twice(limit: float, factor: float) -> float:
    """The share whose odds are `factor` times those of the limit."""
    odds = factor * limit / (1 - limit)
    return odds / (1 + odds)


def ended(share: float, noise: np.random.Generator) -> tuple[Answer, int]:
    """The answer of independent answers, tested one by one, and how many it took."""
    against = np.cumsum(noise.uniform(size=20_000) < share)
    for known in range(1, len(against) + 1):
        slow = int(against[known - 1])
        said = stays_below(LIMIT, AnswerCount(known, slow, slow))
        if said != "open":
            return said, known
    return "open", len(against)


def test_without_a_slow_answer_it_holds_after_308_answers() -> None:
    assert stays_below(LIMIT, AnswerCount(307, 0, 0)) == "open"
    assert stays_below(LIMIT, AnswerCount(308, 0, 0)) == "yes"


@pytest.mark.parametrize(("limit", "answers"), [(0.5, 7), (0.1, 32), (0.01, 308), (0.001, 3_065)])
def test_the_stated_number_of_answers_is_needed_and_enough(limit: float, answers: int) -> None:
    assert answers_needed(limit) == answers
    assert stays_below(limit, AnswerCount(answers, 0, 0)) == "yes"
    assert stays_below(limit, AnswerCount(answers - 1, 0, 0)) == "open"


@pytest.mark.long
@pytest.mark.parametrize(("factor", "wrong"), [(0.5, "no"), (2.0, "yes")])
def test_it_errs_in_one_of_a_hundred_cases_at_half_and_twice_the_limit(factor: float, wrong: Answer) -> None:
    noise, trials = np.random.default_rng(1), 500
    said = [ended(half_or_twice(LIMIT, factor), noise)[0] for _ in range(trials)]
    assert said.count("open") == 0
    # Allows for three standard deviations over the trials at an error of 1 %.
    assert said.count(wrong) / trials < ERROR + 3 * (ERROR * (1 - ERROR) / trials) ** 0.5
    assert said.count("no") > 0 or factor < 1


@pytest.mark.long
def test_a_share_at_the_limit_takes_longest() -> None:
    noise = np.random.default_rng(2)
    took = {
        share: float(np.median([ended(share, noise)[1] for _ in range(100)])) for share in (0.002, 0.01, 0.2)
    }
    assert took[0.01] > 1.5 * took[0.002] > 1.5 * took[0.2]


def test_on_average_it_breaks_after_the_stated_number_of_answers() -> None:
    noise = np.random.default_rng(3)
    for share in (0.05, 0.5):
        took = [ended(share, noise)[1] for _ in range(200)]
        # The test ends with a slow answer, which may exceed the bound by up to the weight of one answer.
        expected = answers_to_break(LIMIT, share)
        assert 0.9 * expected < np.mean(took) < 1.4 * expected


def test_a_share_within_the_limit_never_breaks_it() -> None:
    assert answers_to_break(LIMIT, half_or_twice(LIMIT, 0.5)) > 1e8


def test_slow_answers_of_one_occasion_count_as_one() -> None:
    # Twenty slow answers at once among four hundred count as one among twenty.
    assert stays_below(LIMIT, AnswerCount(400, 20, 20)) == "no"
    assert stays_below(LIMIT, AnswerCount(400, 20, 1)) == "open"
    assert evidence(LIMIT, AnswerCount(400, 20, 1)) == pytest.approx(evidence(LIMIT, AnswerCount(20, 1, 1)))


def test_the_evidence_has_the_sign_of_the_share() -> None:
    assert evidence(LIMIT, AnswerCount(1_000, 20, 20)) > 0 > evidence(LIMIT, AnswerCount(1_000, 5, 5))
    assert evidence(LIMIT, AnswerCount(0, 0, 0)) == 0
