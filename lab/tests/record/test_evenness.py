"""Whether a throughput was even: rises, falls and jumps are told from chance."""

from collections.abc import Sequence

import documents
import numpy as np
import pytest
from crumple import contract
from crumple.record.evenness import is_even

STEP_NS = 100_000_000


def record(answers: Sequence[float], warming: int = 10) -> contract.TrialRecord:
    """Return a record with those answers in each tenth of a second, behind a warm-up of other ones."""
    steps = warming + len(answers)
    series = documents.record().series.model_copy(
        update={
            "at_ns": tuple(STEP_NS * step for step in range(steps)),
            "duration_ns": (STEP_NS,) * steps,
            "phase": ("warm-up",) * warming + ("measured",) * len(answers),
            "ok": (1,) * warming + tuple(round(each) for each in answers),
        }
    )
    return documents.record(series=series, warm_up_ns=warming * STEP_NS)


@pytest.mark.parametrize(
    "answers",
    [
        np.linspace(4_700, 2_600, 20),
        np.linspace(2_600, 4_700, 20),
        [0, 340, 60, 400] * 5,
        [1_000] * 15 + [500] * 5,
        [1_000] * 19 + [0],
    ],
    ids=["falls", "rises", "jumps", "drops", "stands still"],
)
def test_what_rises_falls_or_jumps_is_not_even(answers: Sequence[float]) -> None:
    assert is_even(record(answers)) is False


@pytest.mark.parametrize("answers", [[1_000] * 20, np.linspace(1_000, 1_150, 40), [1_000, 1_300] * 20])
def test_what_stays_within_a_fifth_is_even(answers: Sequence[float]) -> None:
    assert is_even(record(answers)) is True


@pytest.mark.parametrize("answers", [[3] * 20, [1_000] * 9, []])
def test_few_answers_or_intervals_are_not_judged(answers: Sequence[float]) -> None:
    assert is_even(record(answers)) is None


@pytest.mark.long
@pytest.mark.parametrize("each", [0.6, 5, 50, 500])
def test_chance_makes_less_than_three_in_a_hundred_uneven(each: float) -> None:
    random = np.random.default_rng(round(10 * each))
    assert sum(is_even(record(random.poisson(each, 40))) is False for _ in range(500)) < 15
