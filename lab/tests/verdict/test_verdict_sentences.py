"""What a verdict says: its sentence, its intervals, its noise, and how many blocks it still needs."""

import pytest
from crumple.record.figures import Figures
from crumple.stats.interval import Interval
from crumple.study.claim import OrderClaim, RatioClaim
from crumple.verdict import verdict_sentences
from crumple.verdict.case import RunFacts
from crumple.verdict.effect import Effect
from crumple.verdict.verdict import judge, noise_of
from hypothesis import given, settings
from hypothesis import strategies as st
from made_answers import CONTRADICTED, OPEN, SIZE_OPEN, SUPPORTED, UNTESTABLE, answered, order, ratio, run
from made_figures import server, trial, twins


def test_a_verdict_names_the_trials_it_rests_on() -> None:
    trials = judge(ratio(("express", "node", 0.51)), run()).trials
    assert len(trials) == len(set(trials)) == 10
    assert {name.split("/")[2] for name in trials} == {"express", "node"}


def test_the_noise_and_why_it_is_not_known() -> None:
    known = noise_of(run(), "shared", "throughput")
    assert known.twins is not None and known.visible is not None
    assert (known.twins.server, known.twins.called_different, known.blocks) == ("go", False, 5)
    assert 1.0 < known.visible < 1.2
    apart = noise_of(run(apart=1.5), "shared", "throughput")
    assert apart.twins is not None and apart.twins.called_different
    nothing = noise_of([], "shared", "throughput")
    assert (nothing.visible, nothing.twins) == (None, None) and "it takes two servers" in nothing.why
    lossy = server("go", 1.0) + server("go", 1.0, twin=True, failed_share=0.5)
    assert noise_of(lossy, "shared", "throughput").twins is None


def test_the_sentence_of_a_ratio() -> None:
    assert judge(ratio(("express", "node", 0.51)), run()).sentence == (
        "Supported. The throughput of express was 0.509 times that of node (between 0.503 and 0.515 times, "
        "95 % interval, 5 blocks). The published ratio is 0.51; the whole interval lies in what counts as "
        "the published size (0.408 to 0.637 times); its nearest end is 23 % from the bound."
    )


def test_the_sentence_of_a_ratio_whose_size_is_refuted() -> None:
    sentence = judge(ratio(("go", "express", 9.0)), run()).sentence
    assert sentence.startswith(
        "Contradicted in size only. The throughput of go was 5.36 times that of express"
    )
    assert "the direction holds but not the size: the whole interval lies below" in sentence
    assert "(7.2 to 11.2 times)" in sentence


def test_the_sentence_of_an_order_names_the_closest_call() -> None:
    sentence = judge(order(["go"], ["java"], ["express"]), run()).sentence
    assert sentence.startswith(
        "Supported. In all 2 comparisons of a server with one of a later tier, the first did better, beyond "
        "chance. The closest: the throughput of go was 1.50 times that of java (between "
    )


def test_the_sentence_of_an_order_names_the_contradicting_pair() -> None:
    sentence = judge(order(["go"], ["express"], ["node"]), run()).sentence
    assert "In 1 of 2 comparisons of a server with one of a later tier, it is the other way round" in sentence
    assert "The throughput of express was 0.509 times that of node (between" in sentence
    assert "that of go" not in sentence


@pytest.mark.parametrize(
    ("interval", "shown"),
    [
        ((2.24, 2.1, 2.4), "(between 2.10 and 2.40 times, 95 % interval, 5 blocks)"),
        ((1.01, 1.0004, 1.02), "(between 1.0004 and 1.0200 times, 95 % interval, 5 blocks)"),
        ((0.99, 0.98, 0.9996), "(between 0.9800 and 0.9996 times, 95 % interval, 5 blocks)"),
        ((1.9, 0.012, 301.0), "(between 0.012 and 301 times, 95 % interval, 5 blocks)"),
        ((1.5, 1.5, 1.5), "(between 1.50 and 1.50 times, 95 % interval, 5 blocks)"),
    ],
)
def test_an_interval_shows_only_significant_digits(interval: tuple[float, float, float], shown: str) -> None:
    assert verdict_sentences.between(Interval(*interval, 0.95, 5)) == shown


def test_two_blocks_far_apart_have_no_interval_unless_it_decides() -> None:
    far = [*server("a", 10_000, (1.0, 5.0)), *server("b", 10_000, (5.0, 1.0))]
    verdict = judge(order(["a"], ["b"]), far)
    (effect,) = verdict.effects
    assert answered(verdict) == OPEN and effect.is_vague
    assert "1.0 times that of b (two blocks; their interval is too wide to be of use);" in verdict.sentence
    # It has an interval, so it may be said what that includes.
    assert "the interval includes 1" in verdict.sentence and "between" not in verdict.sentence
    clear = [*server("a", 10_000, (1.0, 1.3)), *server("b", 10, (1.3, 1.0))]
    decided = judge(order(["a"], ["b"]), clear)
    assert answered(decided) == SUPPORTED and decided.effects[0].ratio is not None
    assert decided.effects[0].ratio.is_vague and "(between " in decided.sentence


@pytest.mark.long
@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(st.floats(0.05, 20), st.floats(0.05, 20))
def test_every_ratio_is_shown_with_its_interval(measured: float, published: float) -> None:
    figures = [*twins(), *server("x", 10_000 * measured, shift=2), *server("y", 10_000)]
    for claim in (ratio(("x", "y", published)), order(["x"], ["y"])):
        sentence = judge(claim, figures).sentence
        assert sentence.count("times that of") == sentence.count("(between ") == 1
        assert sentence.count(". ") >= 1 and sentence.endswith(".")


def test_a_scale_that_is_too_short_decides_nothing() -> None:
    claim = ratio(("express", "node", 0.51), scales=("full", "published"))
    assert answered(judge(claim, run(), scale="full")) == SUPPORTED
    short = judge(claim, run(), scale="quick")
    assert answered(short) == UNTESTABLE and not short.trials
    assert all(effect.ratio is None for effect in short.effects)
    assert "Scale quick is too short" in short.sentence and "--scale full" in short.sentence


def test_an_effect_is_shown_with_as_many_digits_as_decide_it() -> None:
    assert verdict_sentences.ends(Interval(2.2, 2.1, 2.2496, 0.95, 5), (2.25,))[2] == "2.2496"
    assert verdict_sentences.ends(Interval(1.15, 1.0996, 1.2, 0.95, 5), (1.1,))[0] == "1.0996"
    assert verdict_sentences.ends(Interval(1.15, 1.0996, 1.2, 0.95, 5), (1.0,))[0] == "1.10"


def test_a_decided_comparison_shows_its_margin() -> None:
    def only(claim: OrderClaim | RatioClaim) -> tuple[Effect, Interval, str]:
        verdict = judge(claim, run())
        (effect,) = verdict.effects
        assert effect.ratio is not None
        return effect, effect.ratio, verdict.sentence

    effect, seen, _ = only(ratio(("express", "node", 0.51)))
    assert effect.margin == pytest.approx(min(seen.low / (0.51 / 1.25), 0.51 * 1.25 / seen.high))
    effect, seen, said = only(ratio(("go", "express", 9.0)))
    assert effect.margin == pytest.approx(9.0 / 1.25 / seen.high)
    assert f"its nearest end is {(effect.margin - 1) * 100:.2g} % from the bound" in said
    effect, _, said = only(ratio(("go", "express", 20.0)))
    assert "; its nearest end is a factor of 2." in said
    # For an order and for a reversed direction the interval itself shows how far it is from 1.
    for claim in (order(["go"], ["java"]), ratio(("java", "go", 1.5))):
        effect, seen, said = only(claim)
        assert effect.margin == pytest.approx(max(seen.low, 1 / seen.high)) and "nearest end" not in said
    assert only(order(["node"], ["close"]))[0].margin is None


def test_an_undecided_claim_says_how_many_blocks_it_needs() -> None:
    verdict = judge(order(["node"], ["close"]), run())
    assert answered(verdict) == OPEN
    needed = verdict.effects[0].blocks_needed
    assert needed is None or f"it would take about {needed} blocks, {needed - 5} more" in verdict.sentence
    close = [*twins(), *server("x", 10_150, (1.0, 1.03, 0.98, 1.0, 0.99)), *server("y", 10_000, shift=3)]
    # A further block has only the servers of the claim.
    trial_s = {("shared", "x"): 40.0, ("shared", "y"): 20.0, ("shared", "go"): 500.0, ("other", "x"): 500.0}
    verdict = judge(order(["x"], ["y"]), close, facts=RunFacts(trial_s=trial_s))
    needed = verdict.effects[0].blocks_needed
    assert answered(verdict) == OPEN and needed is not None and needed > 5
    assert f"about {needed} blocks, {needed - 5} more ({needed - 5} minutes)" in verdict.sentence


LIMITED = "the engine used 91 % of its cores (more than 85 %): it measured itself"


def limited(name: str, *blocks: int, speed: float = 40_000) -> list[Figures]:
    """Return the run with the engine as the limit of that server's trials in these blocks."""
    return [
        trial(name, seen.block, speed, valid=False, problems=(LIMITED,))
        if seen.server == name and seen.block in blocks and not seen.twin
        else seen
        for seen in run()
    ]


def test_starts_near_the_engines_ceiling_are_kept_as_lower_bounds() -> None:
    verdict = judge(order(["go"], ["java"]), limited("go", 1, 2, 3))
    assert answered(verdict) == SUPPORTED
    measured = verdict.effects[0].ratio
    assert measured is not None and (measured.n, measured.high) == (5, float("inf"))
    assert "was at least" in verdict.sentence
    # It is not known how much faster the server would have been, nor whether two at the ceiling are alike.
    assert answered(judge(ratio(("go", "java", 1.5)), limited("go", 1, 2, 3))) == SIZE_OPEN
    assert answered(judge(order(["java"], ["go"]), limited("go", 1, 2, 3))) == CONTRADICTED
    assert answered(judge(order(["go"], ["java"]), limited("java", 1, 2, 3, speed=20_000))) == OPEN


def test_several_comparisons_share_the_error_for_a_contradiction() -> None:
    """A difference just beyond chance for a single comparison is within chance for one of six."""
    noisy = (1.0, 1.04, 0.96, 1.02, 0.98)
    pair = [*server("a", 10_000, noisy), *server("b", 10_750, noisy, shift=2)]
    others = [*server("c", 5_000, noisy, shift=1), *server("d", 2_000, noisy, shift=3)]
    assert answered(judge(order(["a"], ["b"]), [*pair, *others])) == CONTRADICTED
    assert answered(judge(order(["a"], ["b"], ["c"], ["d"]), [*pair, *others])) == OPEN
