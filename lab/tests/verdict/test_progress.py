"""Judging after every block: which look decides, and how far each claim of a run has come."""

import math
from dataclasses import replace
from typing import Any

import pytest
from crumple.record.figures import Figures
from crumple.stats.sequential import Looks
from crumple.study.claim import Claim
from crumple.study.study import Study
from crumple.verdict.case import RunFacts, blocks_of, experiments_of, looks_of
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import Standing, Verdict, judge, noise_of, standing
from made_figures import server, trial
from pydantic import TypeAdapter

SUPPORTED, CONTRADICTED = VerdictWord.SUPPORTED, VerdictWord.CONTRADICTED
OPEN, UNTESTABLE = VerdictWord.UNDECIDED, VerdictWord.NOT_TESTABLE
CLAIM: TypeAdapter[Claim] = TypeAdapter(Claim)
STEADY = (1.0, 1.01, 0.99, 1.005, 0.995, 1.0)
DISTURBED = {"valid": False, "problems": ("other programs used 30 % of the CPU",)}


def faster(experiment: str = "shared", tiers: list[list[str]] | None = None, **written: Any) -> Claim:
    kind = {"kind": "order", "metric": "throughput", "tiers": tiers or [["go"], ["node"]]}
    return CLAIM.validate_python({"id": "C", "text": "T", "experiment": experiment, **kind, **written})


def pair(ratios: list[float], experiment: str = "shared") -> list[Figures]:
    """Return figures of go, with these ratios to node, and of node, its twin and java, which are alike."""
    blocks = len(ratios)
    seen = [
        trial("go", block, 10_000 * ratio, experiment=experiment) for block, ratio in enumerate(ratios, 1)
    ]
    for shift, name in enumerate(("node", "java")):
        seen += server(name, 10_000, STEADY[:blocks], shift, experiment=experiment)
    return seen + server("node", 10_000, STEADY[:blocks], 2, experiment=experiment, twin=True)


def judged(figures: list[Figures], looks: Looks, claim: Claim | None = None, **known: Any) -> Verdict:
    return judge(claim or faster(), figures, looks={"shared": looks, "other": looks}, **known)


CLEAR, BLURRED = [1.5, 1.5, 1.5], [0.4, 2.0]


def test_the_last_look_that_decides_gives_the_verdict() -> None:
    clear = judged(pair([*CLEAR, 1.5, 1.52]), Looks(2, 6))
    assert (clear.answer, clear.blocks) == (SUPPORTED, 5)
    # Two blocks that show nothing do not reverse what the three before them showed.
    later = judged(pair([*CLEAR, *BLURRED]), Looks(2, 6))
    assert (later.answer, later.blocks) == (SUPPORTED, 3)
    assert all("b04" not in name and "b05" not in name for name in later.trials)
    ratio = later.effects[0].ratio
    assert ratio is not None and (ratio.n, ratio.confidence) == (3, 0.95)
    # A fixed design looks once, at all blocks.
    fixed = judge(faster(), pair([*CLEAR, *BLURRED]))
    assert (fixed.answer, fixed.blocks) == (OPEN, 5)


def test_blocks_without_its_servers_are_none_of_a_claim() -> None:
    """Further blocks have only the servers of undecided claims."""
    looks = {"shared": Looks(2, 6)}
    both = [*pair(CLEAR), *(trial("java", block, 5_000) for block in (4, 5))]
    assert blocks_of(faster(), both, {}, looks).done == 3
    alone = [*pair(CLEAR), *(trial("go", block, 5_000) for block in (4, 5))]
    assert blocks_of(faster(), alone, {}, looks).done == 3
    failed = {f"shared/b{block:02}/node": "it did not start" for block in (4, 5)}
    assert blocks_of(faster(), alone, failed, looks).done == 5
    seen = judged(alone, Looks(2, 6))
    assert (seen.answer, seen.blocks) == (SUPPORTED, 3) and "not measured" not in seen.sentence


def test_a_server_that_fails_in_blocks_of_another_claim_is_not_ranked_by_its_speed() -> None:
    seen = [*pair(CLEAR), *(trial("go", block, 15_000, failed_share=0.05) for block in (4, 5))]
    said = judged(seen, Looks(2, 6))
    assert said.answer is UNTESTABLE and "go failed more than 1 % of its requests in" in said.sentence


def test_a_standing_names_the_servers_whose_trials_it_uses() -> None:
    claims = (
        faster(),
        CLAIM.validate_python(
            {"id": "D", "text": "T", "experiment": "shared", "kind": "share", "metric": "failed_share"}
            | {"servers": ["java"], "below": 0.01}
        ),
    )
    found = standing(study(*claims), "quick", pair(CLEAR), {}, RunFacts())
    assert [each.servers for each in found] == [{"shared": {"go", "node"}}, {"shared": {"java"}}]


def test_an_early_look_needs_a_clearer_difference_than_a_fixed_design() -> None:
    seen = pair([1.03, 1.035])
    assert judge(faster(), seen).answer is SUPPORTED
    early, fixed = judged(seen, Looks(2, 6)), judge(faster(), seen)
    assert early.answer is OPEN
    one, other = early.effects[0].ratio, fixed.effects[0].ratio
    assert one is not None and other is not None
    assert (one.confidence, one.n) == (other.confidence, other.n)
    assert one.high / one.low > (other.high / other.low) ** 2


def test_before_the_first_look_nothing_is_decided() -> None:
    early = judged(pair(CLEAR), Looks(4, 6))
    assert early.answer is OPEN
    assert "there are 3 blocks, and this scale judges from 4 on" in early.sentence
    assert judged(pair([*CLEAR, 1.5]), Looks(4, 6)).answer is SUPPORTED


def test_a_claim_over_two_experiments_is_judged_on_their_common_blocks() -> None:
    both = faster(tiers=[["shared:go"], ["other:node"]])
    seen = pair([*CLEAR, *BLURRED]) + pair(CLEAR, "other")
    found = judged(seen, Looks(2, 6), both)
    assert (found.answer, found.blocks) == (SUPPORTED, 3)
    assert {name.split("/")[1] for name in found.trials} == {"b01", "b02", "b03"}
    # While one experiment has not begun, the claim is not decided, however many blocks the other one has.
    assert judged(pair([*CLEAR, *BLURRED]), Looks(2, 6), both).answer is UNTESTABLE


def test_if_a_server_fails_later_no_earlier_look_counts() -> None:
    seen = [replace(each, failed_share=0.2) if (each.server, each.block) == ("go", 4) else each
            for each in pair([*CLEAR, 1.5])]  # fmt: skip
    assert judged([each for each in seen if each.block < 4], Looks(2, 6)).answer is SUPPORTED
    assert judged(seen, Looks(2, 6)).answer is UNTESTABLE


def test_blocks_needed_are_at_a_later_look() -> None:
    seen = pair([1.02, 1.0, 1.03])
    sentence = judged(seen, Looks(2, 4)).sentence
    needed = judged(seen, Looks(2, 4)).effects[0].blocks_needed
    assert needed is not None and needed > 4
    assert f"it would take about {needed} blocks, and this scale has 4 at most" in sentence
    within = judged(seen, Looks(2, 60)).effects[0].blocks_needed
    fixed = judge(faster(), seen).effects[0].blocks_needed
    assert fixed is not None and within is not None and fixed < within
    assert "more" in judged(seen, Looks(2, 60)).sentence


def test_of_the_blocks_to_come_as_many_are_expected_not_to_count() -> None:
    seen = pair([1.02, 1.0, 1.03, 1.02])
    lost = [replace(each, **DISTURBED) if each.block == 2 else each for each in seen]
    found = of(standing(study(faster()), "quick", lost, {}, RunFacts()))
    effect = judged(lost, Looks(2, 40)).effects[0]
    assert effect.blocks_needed is not None and effect.ratio is not None and effect.ratio.n == 3
    # Three of four counted, so four of five are expected to.
    assert found.blocks_needed == 4 + math.ceil((effect.blocks_needed - 3) / (4 / 5))


def test_an_experiment_whose_starts_hardly_ever_counted_is_not_given_up() -> None:
    """What disturbed them may be over, so it gets its other blocks, after all claims that need fewer."""
    seen = pair([1.02, 1.0, 1.03, 1.02, 1.01, 1.02])
    lost = [replace(each, **DISTURBED) if each.block > 2 else each for each in seen]
    all_count = of(standing(study(faster(), blocks=14), "quick", seen, {}, RunFacts()))
    hardly = of(standing(study(faster(), blocks=14), "quick", lost, {}, RunFacts()))
    hoped = judged(lost, Looks(2, 14)).effects[0].blocks_hoped
    assert hoped is not None and hoped + 4 <= 14, "enough, if all blocks to come counted"
    assert all_count.blocks_needed is not None and hardly.blocks_needed == 14 and hardly.open
    few = of(standing(study(faster(), blocks=7), "quick", lost, {}, RunFacts()))
    assert not few.open and few.given_up == "how many blocks would decide it is not known, or more than 100"


def test_a_claim_that_gets_no_more_blocks_says_why() -> None:
    near = pair([1.001, 1.0, 0.995, 1.001, 0.999, 1.0])
    assert at(near, blocks=6).given_up == "it has had all 6 blocks of this scale"
    assert at(near, blocks=7).given_up.startswith("how many blocks would decide it is not known")
    blurred = at(pair([1.02, 1.0, 1.03]), blocks=4)
    assert blurred.given_up == "it would take more than the 4 blocks of this scale"
    assert at(pair(CLEAR)).given_up == at(pair([1.02, 1.0, 1.03])).given_up == ""
    gone = at([each for each in pair(CLEAR) if each.server != "go"]).given_up
    assert gone.startswith("more blocks would not help: ") and gone.endswith(": go was not measured")


def test_a_claim_is_not_open_for_blocks_by_which_it_is_never_judged() -> None:
    """One of its servers has two blocks, so all of its comparisons are judged by two."""
    three = faster(tiers=[["go", "node"], ["java"]])
    slower = [replace(each, throughput_per_s=9_800.0) if each.server == "java" else each
              for each in pair([1.0, 0.99]) if not each.twin]  # fmt: skip
    limited = study(three, blocks_of={"go": 2})
    found = of(standing(limited, "quick", slower, {}, RunFacts()))
    assert blocks_of(three, slower, {}, looks_of(limited, "quick")).looks.most == 2
    assert found.over and not found.open and found.given_up == "it has had all 2 blocks of this scale"


def test_a_server_that_no_open_claim_used_had_no_part_in_the_block() -> None:
    seen = [each for each in pair([1.02, 1.0, 1.03, 1.01]) if (each.server, each.block) != ("go", 3)]
    said = judge(faster(), seen, facts=RunFacts(unused={"shared/b03/go"}))
    assert "left out: go had no part in block 3 (no open claim used it)" in said.sentence
    assert "go was not measured in block 3" in judge(faster(), seen).sentence


@pytest.mark.usefixtures("real_limits")
def test_a_server_whose_trials_were_all_disturbed_is_named_with_the_remedy() -> None:
    asked = faster()
    seen = [replace(each, slowdown=5.0) if each.server == "go" else each for each in pair(CLEAR)]
    said = judge(asked, seen)
    assert said.answer is UNTESTABLE
    why = "all 3 trials of go were disturbed; run it again on a quieter machine: --resume with --retry-failed"
    assert why in said.sentence
    one = [each for each in seen if each.server != "go" or each.block == 1]
    assert "the only trial of go was disturbed" in judge(asked, one).sentence


def test_the_visible_difference_is_that_of_blocks_which_two_servers_have() -> None:
    ratios = [1.02, 1.0, 1.03, 1.02, 1.01, 1.02]
    seen = [each for each in pair(ratios) if each.block <= 3 or (each.server == "go" and not each.twin)]
    noise = noise_of(seen, "shared", "throughput")
    assert (noise.blocks, noise.some_have_fewer) == (3, False)
    two = [each for each in pair(ratios) if each.block <= 3 or each.server in ("go", "java")]
    wider = noise_of(two, "shared", "throughput")
    assert (wider.blocks, wider.some_have_fewer) == (6, True)


def test_servers_with_one_block_in_common_each_show_no_difference() -> None:
    had = {"go": (1, 2), "node": (2, 3), "java": (1, 3)}
    seen = [each for each in pair([1.02, 1.0, 1.05]) if not each.twin and each.block in had[each.server]]
    noise = noise_of(seen, "shared", "throughput")
    assert noise.spread is not None and (noise.visible, noise.blocks) == (None, 1)
    assert noise.why == "no two servers have two blocks in common"


def test_noise_is_judged_at_the_last_look() -> None:
    seen = pair([1.0, 1.01, 0.99])
    early = noise_of(seen, "shared", "throughput", {"shared": Looks(2, 6)})
    fixed = noise_of(seen, "shared", "throughput")
    assert early.visible is not None and fixed.visible is not None
    assert early.visible > fixed.visible and early.spread == fixed.spread


def study(*claims: Claim, least: int | None = 2, **scale: Any) -> Study:
    meant = {"blocks": 40, "least_blocks": least, "stop": {"duration_s": 4}, **scale}
    experiment = {
        "title": "T", "servers": ["go", "node", "java"], "twin": "node", "workload": "todo",
        "shape": {"kind": "closed", "connections": 8}, "scales": {"quick": meant},
    }  # fmt: skip
    return Study.model_validate({
        "name": "s", "title": "T", "question": "Q", "claims": claims,
        "experiments": {"shared": experiment, "other": {**experiment, "scales": {"full": meant}}},
    })  # fmt: skip


def of(found: list[Standing]) -> Standing:
    (one,) = found
    return one


def at(figures: list[Figures], failed: dict[str, str] | None = None, **written: Any) -> Standing:
    return of(standing(study(faster(), **written), "quick", figures, failed or {}, RunFacts()))


def test_a_decided_claim_needs_no_more_blocks() -> None:
    found = at(pair(CLEAR))
    assert (found.over, found.blocks_needed, found.experiments) == (True, None, ("shared",))
    assert found.decided
    assert found.why == "supported by 3 blocks"
    assert at(pair([1 / each for each in CLEAR])).why == "contradicted by 3 blocks"


def test_an_open_claim_says_how_many_blocks_it_needs_if_there_are_so_many() -> None:
    seen = pair([1.02, 1.0, 1.03])
    found = at(seen)
    assert not found.over
    assert found.blocks_needed is not None and 3 < found.blocks_needed <= 40
    near = pair([1.001, 1.0, 0.995, 1.001, 0.999, 1.0])
    assert (at(near, blocks=7).over, at(near, blocks=7).blocks_needed) == (False, None)


def test_a_claim_near_its_bound_gets_all_blocks() -> None:
    """With few blocks an estimate may lie near a bound by chance, so the claim may use all blocks."""
    seen = pair([1.02, 1.0, 1.03])
    effect = judged(seen, Looks(2, 8)).effects[0]
    assert effect.blocks_needed is not None and effect.blocks_hoped is not None
    assert effect.blocks_hoped <= 8 < effect.blocks_needed
    assert at(seen, blocks=8).blocks_needed == 8


def test_before_the_first_look_the_blocks_of_that_look_are_needed() -> None:
    assert (at([]).over, at([]).blocks_needed) == (False, 2)
    assert at(pair([1.5])).blocks_needed == 2
    # A fixed design is judged when all of its blocks are done, however clear the figures are.
    fixed = at(pair(CLEAR), least=None, blocks=5)
    assert (fixed.over, fixed.blocks_needed) == (False, 5)
    assert at(pair(CLEAR), least=None, blocks=3).over


def test_a_claim_waits_for_disturbed_trials_and_not_for_a_missing_server() -> None:
    lost = [replace(each, **DISTURBED) if (each.server, each.block) == ("go", 2) else each
            for each in pair([1.5, 1.5])]  # fmt: skip
    assert (at(lost).over, at(lost).blocks_needed) == (False, 3)
    missing = [each for each in pair(CLEAR) if each.server != "go"]
    assert (at(missing).over, at(missing).blocks_needed) == (True, None)
    assert not at(missing).decided, "nobody will ever know"
    assert "go was not measured" in at(missing).why
    failed = {f"shared/b{block:02}/go": "it ended" for block in (1, 2, 3)}
    assert at(missing, failed).over
    # Half of few starts may be chance.
    once = [each for each in pair([1.5, 1.5]) if (each.server, each.block) != ("go", 1)]
    assert at(once, {"shared/b01/go": "it ended"}).blocks_needed == 3
    never = [replace(each, **DISTURBED) if each.server == "go" else each for each in pair([1.5] * 5)]
    assert at(never).over
    assert not at([each for each in never if each.block < 4]).over


def test_a_claim_does_not_wait_for_a_server_that_has_had_its_blocks() -> None:
    seen = [each for each in pair([1.02, 1.0, 1.03]) if each.server != "go" or each.block < 3]
    assert not at(seen).over
    assert at(seen, blocks_of={"go": 2}).over


def test_a_claim_is_judged_after_the_blocks_of_its_servers() -> None:
    """A server that takes part in two of eight blocks is looked at once, after two."""
    limited = study(faster(), blocks=8, least=3, blocks_of={"go": 2})
    looks = looks_of(limited, "quick")
    known = blocks_of(faster(), pair(CLEAR), {}, looks)
    assert (known.done, known.looks, known.early) == (2, Looks(2, 2), False)
    seen = [each for each in pair([1.03, 1.035, 1.0]) if each.server != "go" or each.block < 3]
    verdict = judge(faster(), seen, looks=looks)
    assert (verdict.answer, verdict.blocks) == (SUPPORTED, 2)
    others = faster(tiers=[["node"], ["java"]])
    assert blocks_of(others, seen, {}, looks).looks == Looks(3, 8)
    # One block shows nothing, so a server with one block does not limit the others.
    once = looks_of(study(faster(), blocks=8, least=3, blocks_of={"go": 1}), "quick")
    three = faster(tiers=[["go", "node"], ["java"]])
    assert blocks_of(three, seen, {}, once).looks == Looks(3, 8)


def test_only_claims_of_the_scale_are_listed() -> None:
    claims = [
        faster(id="here"),
        faster(id="later", scales=["full"]),
        faster(id="elsewhere", experiment="other"),
        CLAIM.validate_python({"id": "cost", "text": "T", "kind": "figure", "cost": "syscall",
                               "published": "100 ns"}),
    ]  # fmt: skip
    found = standing(study(*claims), "quick", pair(CLEAR), {}, RunFacts())
    assert [each.claim_id for each in found] == ["here", "cost"]
    assert (found[1].experiments, found[1].over) == ((), True)


@pytest.mark.parametrize(
    ("written", "experiments"),
    [
        ({"kind": "ratio", "experiment": "a", "metric": "throughput", "against": "b",
          "pairs": [{"of": "x", "to": "c:y", "published": 2}]}, ("a", "b", "c")),
        ({"kind": "ratio", "experiment": "a", "metric": "throughput",
          "pairs": [{"of": "c:x", "to": "c:y[port=a:1]", "published": 2}]}, ("c",)),
        ({"kind": "growth", "experiments": ["a", "b"], "metric": "threads", "servers": ["x"]}, ("a", "b")),
        ({"kind": "stall", "experiment": "a", "alone": "b", "servers": ["x"]}, ("a", "b")),
        ({"kind": "model", "experiment": "a", "servers": ["x"]}, ("a",)),
        ({"kind": "figure", "cost": "syscall", "published": "100 ns"}, ()),
    ],
)  # fmt: skip
def test_which_experiments_a_claim_rests_on(written: dict[str, Any], experiments: tuple[str, ...]) -> None:
    assert experiments_of(CLAIM.validate_python({"id": "C", "text": "T", **written})) == experiments
