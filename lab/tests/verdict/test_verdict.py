"""Verdicts: each answer from hand-made figures, the rules on which trials count, and the wording."""

import itertools
from dataclasses import replace

import pytest
from crumple.record.figures import Figures
from crumple.verdict.case import RunFacts
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import judge
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_answers import (
    CONTRADICTED,
    OPEN,
    REFUTED,
    SIZE_OPEN,
    SUPPORTED,
    UNTESTABLE,
    answered,
    order,
    ratio,
    run,
)
from made_figures import server, trial, twins


@pytest.mark.parametrize(
    ("of", "to", "published", "answer"),
    [
        ("express", "node", 0.51, SUPPORTED),
        ("go", "express", 5.4, SUPPORTED),
        ("express", "node", 0.30, REFUTED),  # wholly above
        ("go", "express", 9.0, REFUTED),  # wholly below
        ("go", "express", 6.65, SIZE_OPEN),  # around the lower bound, 5.32; the estimate is inside
        ("express", "node", 1.5, CONTRADICTED),
        # A size is refuted in the same way whether it is too small or too large, and by however much.
        ("node", "express", 4.5, REFUTED),
        ("node", "express", 3.5, REFUTED),
        ("node", "express", 1.1, REFUTED),
        ("express", "node", 0.2, REFUTED),
        ("node", "express", 0.9, CONTRADICTED),
        ("close", "node", 1.3, OPEN),
        ("close", "node", 0.7, CONTRADICTED),
        ("node", "php", 2.0, UNTESTABLE),
    ],
)
def test_a_ratio(of: str, to: str, published: float, answer: tuple[VerdictWord, bool]) -> None:
    assert answered(judge(ratio((of, to, published)), run())) == answer


@pytest.mark.parametrize(
    ("measured", "published", "tolerance", "answer"),
    [
        # A published 1 states likeness, and so does 1.03; 1.10 does not, however wide its tolerance.
        (1.00, 1.0, 0.25, SUPPORTED),
        (1.10, 1.0, 0.25, SUPPORTED),
        (1.50, 1.0, 0.25, CONTRADICTED),
        (0.60, 1.03, 0.25, CONTRADICTED),
        (1.25, 1.0, 0.25, OPEN),
        (1.00, 1.03, 0.25, SUPPORTED),
        (1.00, 1.10, 0.25, OPEN),
        (0.90, 1.10, 0.25, CONTRADICTED),
        (1.12, 1.10, 0.25, SUPPORTED),
        (0.90, 0.91, 0.25, SUPPORTED),
        # With a tolerance this narrow even 1.03 states a gain.
        (1.00, 1.03, 0.01, CONTRADICTED),
        (1.10, 1.03, 0.02, REFUTED),
    ],
)
def test_published_ratios_near_1(
    measured: float, published: float, tolerance: float, answer: tuple[VerdictWord, bool]
) -> None:
    figures = [*twins(), *server("x", 10_000 * measured, shift=2), *server("y", 10_000)]
    assert answered(judge(ratio(("x", "y", published), tolerance=tolerance), figures)) == answer


def test_differing_twins_of_another_server_decide_nothing() -> None:
    """A disturbed pair of twins must not hide the differences in its experiment."""
    claim = ratio(("express", "node", 0.51))
    for apart in (1.2, 1.9, 10.0):
        assert answered(judge(claim, run(apart=apart))) == SUPPORTED
    assert answered(judge(claim, [trial for trial in run() if not trial.twin])) == SUPPORTED


def test_a_noisy_server_widens_mainly_its_own_intervals() -> None:
    wild = (0.3, 3.0, 0.5, 2.0, 1.0)
    restless = [*run(), *server("wild", 10_000, wild)]
    of_others = [judge(ratio(("express", "node", 0.51)), seen).effects[0].ratio for seen in (run(), restless)]
    assert of_others[0] is not None and of_others[1] is not None
    assert of_others[1].high / of_others[1].low < 1.2
    assert answered(judge(order(["wild"], ["express"]), restless)) == OPEN


def test_few_blocks_borrow_variance_from_the_other_servers() -> None:
    two = [seen for seen in run() if seen.block <= 2]
    alone = [seen for seen in two if seen.server in ("x", "java", "express")]
    wide, narrow = (judge(order(["java"], ["express"]), seen).effects[0].ratio for seen in (alone, two))
    assert wide is not None and narrow is not None
    assert narrow.high / narrow.low < wide.high / wide.low


@pytest.mark.parametrize(
    ("tiers", "answer"),
    [
        ([["go"], ["java"], ["node", "close"], ["express"]], SUPPORTED),
        ([["go"], ["java"], ["express"], ["node"]], CONTRADICTED),
        ([["go"], ["node"], ["close"]], OPEN),
        ([["go"], ["php"], ["express"]], UNTESTABLE),
        # A contradicted comparison outweighs one that cannot be made, which outweighs an undecided one.
        ([["php"], ["express"], ["go"]], CONTRADICTED),
        ([["php"], ["node"], ["close"]], UNTESTABLE),
        ([["java"], ["go"], ["node"], ["close"]], CONTRADICTED),
    ],
)
def test_an_order(tiers: list[list[str]], answer: tuple[VerdictWord, bool]) -> None:
    assert answered(judge(order(*tiers), run())) == answer


def test_an_order_that_holds_names_neighbours_only() -> None:
    verdict = judge(order(["go"], ["java", "node"], ["express"]), run())
    compared = [(effect.of, effect.to) for effect in verdict.effects]
    assert compared == [("go", "java"), ("go", "node"), ("java", "express"), ("node", "express")]


def test_an_order_compares_its_first_and_last_too() -> None:
    """Neighbours are too close to tell apart, and yet the last is ahead of the first."""
    noisy = (1.0, 1.05, 0.95, 1.025, 0.975)
    figures = [
        *server("go", 10_000, noisy), *server("java", 10_600, noisy, shift=1),
        *server("node", 11_200, noisy, shift=3),
    ]  # fmt: skip
    verdict = judge(order(["go"], ["java"], ["node"]), figures)
    assert answered(verdict) == CONTRADICTED
    assert [(effect.of, effect.to, effect.answer) for effect in verdict.effects][-2:] == [
        ("go", "node", VerdictWord.CONTRADICTED), ("java", "node", VerdictWord.UNDECIDED),
    ]  # fmt: skip


def test_if_less_is_better_the_first_has_less() -> None:
    assert answered(judge(order(["go"], ["java"], metric="response_mean"), run())) == SUPPORTED
    assert answered(judge(order(["java"], ["go"], metric="response_mean"), run())) == CONTRADICTED


@pytest.mark.parametrize(
    ("pairs", "answer"),
    [
        ([("express", "node", 0.51), ("go", "java", 1.5)], SUPPORTED),
        ([("express", "node", 0.51), ("go", "java", 2.0)], REFUTED),
        ([("go", "java", 2.0), ("close", "node", 1.3)], CONTRADICTED),
        ([("close", "node", 1.3), ("php", "node", 1.3)], UNTESTABLE),
        ([("php", "node", 1.3), ("java", "go", 1.3)], CONTRADICTED),
    ],
)
def test_several_ratios_together(
    pairs: list[tuple[str, str, float]], answer: tuple[VerdictWord, bool]
) -> None:
    for arranged in itertools.permutations(pairs):
        assert answered(judge(ratio(*arranged), run())) == answer


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(st.floats(0.2, 5), st.floats(0.2, 5))
@example(1.0, 1.05)
def test_swapping_of_and_to_inverts_the_ratio_and_keeps_the_answer(measured: float, published: float) -> None:
    figures = [*twins(), *server("x", 10_000 * measured, shift=2), *server("y", 10_000)]
    there = judge(ratio(("x", "y", published)), figures)
    back = judge(ratio(("y", "x", 1 / published)), figures)
    assert answered(there) == answered(back)
    one, other = there.effects[0].ratio, back.effects[0].ratio
    assert one is not None and other is not None
    assert one.low * other.high == pytest.approx(1)


@pytest.mark.parametrize(
    ("measured", "published", "tolerance", "wanted"),
    [
        (1.0, 1.05, 0.25, SUPPORTED),
        (1.0, 1.05, 0.05, SUPPORTED),
        (2.5, 2.0, 0.25, SUPPORTED),
        (1.6, 2.0, 0.25, SUPPORTED),
        (1.3, 1.3 * 1.1, 0.1, SUPPORTED),
        (1.25, 1.0, 0.25, SUPPORTED),
        (2.6, 2.0, 0.25, REFUTED),
    ],
)
def test_a_bound_that_is_reached_is_met_in_both_directions(
    measured: float, published: float, tolerance: float, wanted: tuple[VerdictWord, bool]
) -> None:
    # Without noise the interval is only the estimate, so rounding alone could decide.
    even = [trial(name, block, speed) for block in range(1, 6)
            for name, speed in (("x", 10_000 * measured), ("y", 10_000.0))]  # fmt: skip
    there = judge(ratio(("x", "y", published), tolerance=tolerance), even)
    back = judge(ratio(("y", "x", 1 / published), tolerance=tolerance), even)
    assert answered(there) == answered(back) == wanted


@pytest.mark.long
@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(st.floats(0.2, 5), st.sampled_from([0.05, 0.1, 0.25]), st.sampled_from([-1, 0, 1]))
def test_at_the_very_edge_swapping_keeps_the_answer(published: float, tolerance: float, edge: int) -> None:
    measured = published * (1 + tolerance) ** edge
    even = [trial(name, block, speed) for block in range(1, 6)
            for name, speed in (("x", 10_000 * measured), ("y", 10_000.0))]  # fmt: skip
    there = judge(ratio(("x", "y", published), tolerance=tolerance), even)
    back = judge(ratio(("y", "x", 1 / published), tolerance=tolerance), even)
    assert answered(there) == answered(back)


@pytest.mark.long
@pytest.mark.long
@settings(max_examples=20, deadline=None)
@given(st.floats(1e-3, 1e3))
def test_a_faster_machine_changes_no_answer(factor: float) -> None:
    def faster(figures: Figures) -> Figures:
        changes = {"twin": figures.twin, "throughput_per_s": figures.throughput_per_s * factor}
        return trial(figures.server, figures.block, figures.throughput_per_s, **changes)

    for claim in (ratio(("express", "node", 0.51)), order(["go"], ["node"], ["close"])):
        assert answered(judge(claim, [faster(seen) for seen in run()])) == answered(judge(claim, run()))


def test_trials_are_paired_within_their_block() -> None:
    # The machine slows down tenfold from block to block; the ratio within a block stays the same.
    drift = [10.0**-block for block in range(5)]
    figures = [
        *[trial("x", block, 2_000 * slow) for block, slow in enumerate(drift, 1)],
        *[trial("y", block, 1_000 * slow) for block, slow in enumerate(reversed(drift), 1)][::-1],
    ]
    same = [trial("y", seen.block, drift[seen.block - 1] * 1_000) for seen in figures if seen.server == "y"]
    found = judge(ratio(("x", "y", 2.0)), [*figures[:5], *reversed(same)]).effects[0].ratio
    assert found is not None
    assert (found.low, found.high) == pytest.approx((2, 2))


def test_only_the_claims_experiment_counts() -> None:
    elsewhere = [trial("php", block, 1.0, experiment="separate") for block in range(1, 6)]
    assert answered(judge(ratio(("node", "php", 2.0)), [*run(), *elsewhere])) == UNTESTABLE


def test_a_twin_does_not_count_as_its_server() -> None:
    effect = judge(ratio(("go", "java", 1.5)), run(apart=0.5)).effects[0]
    assert effect.ratio is not None
    assert effect.ratio.estimate == pytest.approx(1.5, rel=0.02)


def test_blocks_with_a_trial_that_is_not_valid_are_left_out() -> None:
    bad = [
        trial("node", seen.block, 1.0, valid=False, problems=("the engine was late",))
        if (seen.server, seen.block) in (("node", 2), ("node", 3))
        else seen
        for seen in run()
    ]
    verdict = judge(ratio(("express", "node", 0.51)), bad)
    assert verdict.effects[0].ratio is not None
    assert verdict.effects[0].ratio.n == 3
    assert "left out: node was not valid in blocks 2 and 3 (the engine was late)" in verdict.sentence
    assert "shared/b02/node" not in verdict.trials
    assert "shared/b02/express" not in verdict.trials


def test_at_least_two_blocks_are_needed() -> None:
    claim = ratio(("express", "node", 0.51))
    assert judge(claim, [seen for seen in run() if seen.block <= 2]).effects[0].ratio is not None
    one = judge(claim, [seen for seen in run() if seen.block <= 1])
    assert answered(one) == UNTESTABLE
    assert one.effects[0].ratio is None
    assert one.trials == ()


def test_failed_trials_are_named_with_their_reason() -> None:
    failed = {f"shared/b{block:02}/php": "build: no php-cgi" for block in range(1, 6)}
    sentence = judge(ratio(("node", "php", 2.0)), run(), failed).sentence
    assert sentence == (
        "Not testable here. The throughput of node cannot be compared with that of php: it takes 2 blocks in "
        "which both have a valid trial, and there is none: php failed in all 5 blocks (build: no php-cgi)."
    )


def test_skipped_trials_do_not_count_as_failed() -> None:
    skipped = {f"shared/b{block:02}/php": "php is not installed" for block in range(1, 6)}
    sentence = judge(ratio(("node", "php", 2.0)), run(), skipped, facts=RunFacts(skipped={*skipped})).sentence
    assert sentence.endswith("and there is none: php was skipped in all 5 blocks (php is not installed).")


def test_a_server_that_was_skipped_at_first_is_ranked_by_its_blocks() -> None:
    claim = ratio(("express", "node", 0.51))
    known = [seen for seen in run() if seen.server != "node" or seen.block > 3]
    missed = {f"shared/b{block:02}/node": "node is not installed" for block in (1, 2, 3)}
    failed = judge(claim, known, missed)
    assert failed.effects[0].ratio is None and "is not ranked by its speed" in failed.sentence
    skipped = judge(claim, known, missed, facts=RunFacts(skipped={*missed}))
    assert skipped.effects[0].ratio is not None and skipped.effects[0].ratio.n == 2
    assert "left out: node was skipped in blocks 1, 2 and 3 (node is not installed)" in skipped.sentence


def test_failures_in_other_experiments_are_not_named() -> None:
    failed = {"separate/b01/php": "elsewhere", "shared/b01/php~twin": "a twin", "shared/b01/ph": "another"}
    sentence = judge(ratio(("node", "php", 2.0)), run(), failed).sentence
    assert sentence.endswith("and there is none: php was not measured.")


def test_a_long_list_of_reasons_is_shortened() -> None:
    failed = {f"shared/b{block:02}/php": f"reason {block}" for block in range(1, 6)}
    sentence = judge(ratio(("node", "php", 2.0)), run(), failed).sentence
    assert "(reason 3)" in sentence and "(reason 4)" not in sentence
    assert "php likewise in blocks 4 and 5" in sentence


def test_a_server_that_fails_is_not_ranked_by_speed() -> None:
    def losing(share: float) -> list[Figures]:
        return [
            trial("node", seen.block, 11_000, failed_share=share)
            if seen.trial_id == "shared/b03/node"
            else seen
            for seen in run()
        ]

    claim = ratio(("express", "node", 0.51))
    assert answered(judge(claim, losing(0.01))) == SUPPORTED
    lossy = judge(claim, losing(0.043))
    assert answered(lossy) == UNTESTABLE
    assert "node failed more than 1 % of its requests in block 3 (up to 4.3 %)" in lossy.sentence


def test_failures_may_be_compared_as_failures() -> None:
    lossy = [
        *server("x", 100, failed_share=0.2),
        *server("y", 100, failed_share=0.1),
        *server("z", 100),
    ]
    assert answered(judge(order(["y"], ["x"], metric="failed_share"), lossy)) == SUPPORTED
    none = judge(order(["z"], ["x"], metric="failed_share"), lossy)
    assert answered(none) == UNTESTABLE
    assert "z had a share of failed requests of 0 in all 5 blocks (zero has no ratio)" in none.sentence


@pytest.mark.parametrize(("missing", "testable"), [(1, True), (2, False), (5, False)])
@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("late", "the engine was late, and it is not the server's alone"),
        ("unreached", "it lies among requests that had no answer when the load ended"),
    ],
)
def test_a_quantile_that_is_missing_because_of_its_size_would_select_by_result(
    why: str, said: str, missing: int, testable: bool
) -> None:
    trials = [
        replace(seen, response_ns={}, **{why: (0.99,)})  # type: ignore[arg-type]
        if seen.server == "go" and seen.block <= missing
        else replace(
            seen, response_ns={0.99: (1 if seen.server == "go" else 2) * 1e6 * (1 + seen.block / 100)}
        )
        for seen in run()
    ]
    verdict = judge(order(["go"], ["java"], metric="response_p99"), trials)
    assert (answered(verdict) != UNTESTABLE) is testable
    if not testable:
        assert f"({said})" in verdict.sentence


def test_less_than_half_of_the_values_may_be_missing() -> None:
    trials = [
        replace(seen, response_ns={0.99: 1e6 if seen.server == "go" else 2e6})
        if seen.server != "go" or seen.block > 2
        else replace(seen, response_ns={})
        for seen in run()
    ]
    assert answered(judge(order(["go"], ["java"], metric="response_p99"), trials)) != UNTESTABLE


def test_a_metric_that_was_not_read_is_not_testable() -> None:
    sentence = judge(order(["go"], ["java"], metric="memory"), run()).sentence
    assert "go has no figure for the peak memory in all 5 blocks" in sentence
