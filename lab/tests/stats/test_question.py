"""What is asked of an estimate: the side of a bound, a span, and how many blocks would tell."""

import math
from dataclasses import replace

import numpy as np
import pytest
from crumple.stats.decision import Extent
from crumple.stats.estimate import Estimate, of_two_samples, of_values
from crumple.stats.question import Family, LookQuestion, holm
from crumple.stats.sequential import Look, Looks

LOOK = Look(0.95, 5)
AROUND_2 = Extent.around(2.0, 2.0, 0.25)
ALIKE = Extent.around(1.0, 1.0, 0.05)


def question(ratio: float, spread: float = 0.1, n: int = 5, **changes: object) -> LookQuestion:
    return replace(LookQuestion(Estimate(math.log(ratio), spread, n, n - 1.0), LOOK), **changes)


def test_swapping_the_two_turns_the_answer_round() -> None:
    assert [question(ratio).exceeds().answer for ratio in (1.5, 1.0, 1 / 1.5)] == ["yes", "open", "no"]
    assert [question(ratio).exceeds(above=False).answer for ratio in (1.5, 1.0, 1 / 1.5)] == [
        "no", "open", "yes",
    ]  # fmt: skip


def test_a_bound_that_is_reached_is_exceeded_only_where_reaching_it_is_enough() -> None:
    at = question(2.0, spread=0.0)
    assert at.exceeds(2.0).answer == "open"
    assert at.exceeds(2.0, reached=True).answer == at.exceeds(2.0, above=False, reached=True).answer == "yes"


def test_only_ends_that_are_known_decide() -> None:
    above = question(1.5, sides=(1,))
    assert (above.exceeds(1.0).answer, above.exceeds(2.5).answer) == ("yes", "open")
    assert above.printed.high == math.inf
    assert question(1 / 1.5, sides=(1,)).exceeds().answer == "open"
    assert question(1.0, spread=0.01, sides=(1,)).differs(ALIKE).answer == "open"


def test_a_forecast_names_no_blocks_where_only_the_unknown_end_could_decide() -> None:
    # At most 1.2, of which the low end is not known: that it lies within 1.0 ± 0.3 can never be shown.
    at_most = question(1.2, spread=0.01, sides=(-1,))
    for span in (Extent.around(1.0, 1.0, 0.3), Extent.around(1.1, 1.1, 0.25)):
        decision = at_most.lies_in(span)
        assert (decision.answer, decision.blocks_needed, decision.blocks_hoped) == ("open", None, None)
        assert not decision.by_others
    # That it lies below 2.0 ± 0.25 can.
    below = question(1.5, spread=0.2, n=3, sides=(-1,)).lies_in(AROUND_2)
    assert below.answer == "open" and below.blocks_needed is not None


def test_versions_differ_are_alike_or_neither_is_shown() -> None:
    answers = [question(ratio, spread=spread).differs(ALIKE).answer for ratio, spread in
               ((1.2, 0.01), (1.0, 0.01), (1.02, 0.1), (1.02, 0.001))]  # fmt: skip
    # A small difference may be shown within what counts as alike.
    assert answers == ["yes", "no", "open", "yes"]


def test_several_comparisons_need_wider_intervals() -> None:
    alone = question(1.15)
    assert alone.exceeds().answer == "yes"
    assert replace(alone, family=Family(yes=8)).exceeds().answer == "open"
    below = question(1 / 1.15, family=Family(no=8))
    assert below.exceeds().answer == "open"
    needed, of_one = below.exceeds().blocks_needed, replace(below, family=Family(yes=8)).exceeds()
    assert needed is not None and of_one.answer == "no"


@pytest.mark.parametrize("ratio", [1.05, 1.2, 1.45, 1.9, 2.3, 3.0])
def test_the_blocks_needed_decide_a_span_in_four_of_five_studies(ratio: float) -> None:
    """Of a truth near 1 it is the end of the span that counts, not 1."""
    spread, random = 0.35, np.random.default_rng(round(ratio * 100))
    needed = question(ratio, spread).lies_in(AROUND_2).blocks_needed
    if needed is None:
        # Too near an end for a hundred blocks.
        assert min(abs(math.log(ratio / end)) for end in AROUND_2.ends) < spread * 3 / 10
        return
    look = Look(0.95, needed)
    samples = random.normal(math.log(ratio), spread, (600, needed))
    answers = [LookQuestion(of_values(list(row)), look).lies_in(AROUND_2).answer for row in samples]
    wanted = "yes" if AROUND_2.low < ratio < AROUND_2.high else "no"
    assert 0.74 <= answers.count(wanted) / 600 <= 0.995


def test_a_past_look_says_nothing_of_blocks_to_come() -> None:
    assert question(1.05, look=Look(0.95, 5, Looks(3, 12), past=True)).exceeds().blocks_needed is None


def test_the_smallest_chance_needs_the_most_and_the_first_that_fails_ends_it() -> None:
    assert holm([0.03, 0.001, 0.2], 0.04) == pytest.approx([0.02, 0.04 / 3, 0.02])
    assert holm([0.01, 0.001, 0.03], 0.04) == pytest.approx([0.02, 0.04 / 3, 0.04])
    assert holm([], 0.04) == []


def test_in_families_of_true_comparisons_holm_errs_as_often_as_one() -> None:
    chances = np.random.default_rng(4).uniform(size=(4_000, 6))
    wrong = [any(chance <= level for chance, level in zip(row, holm(list(row), 0.05), strict=True))
             for row in chances]  # fmt: skip
    assert 0.035 <= np.mean(wrong) <= 0.06


def test_equal_values_of_sets_of_two_sizes_are_no_difference() -> None:
    """The means of their logarithms may differ in the last digit."""
    found = of_two_samples([3.3] * 3, [3.3] * 7)
    assert found.chance_at(1.0) == 1.0
    assert LookQuestion(found, LOOK).exceeds().answer == "open"
