"""Claims with few blocks: knees that ramps do not show, and blocks that not all experiments have."""

from typing import Any

import pytest
from crumple.record.figures import Figures
from crumple.stats import shares
from crumple.stats.sequential import Look, Looks
from crumple.study.claim import Claim
from crumple.verdict import opinions
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import judge
from made_figures import curve, kneed, noisy, trial
from pydantic import TypeAdapter

CONTRADICTED, OPEN, UNTESTABLE = VerdictWord.CONTRADICTED, VerdictWord.UNDECIDED, VerdictWord.NOT_TESTABLE


def claim(kind: str, **written: Any) -> Claim:
    known: dict[str, Any] = {"id": "C", "text": "A claim.", "kind": kind}
    return TypeAdapter(Claim).validate_python(known | written)


def ramps(*knees: float | None, **along: Any) -> list[Figures]:
    """Return a start for each knee; None: a plateau to the end."""
    return [
        trial("php", block, 1_000, experiment="ramp",
              curve=curve(noisy(kneed(at) if at else lambda users: 1e6, block), **along))
        for block, at in enumerate(knees, 1)
    ]  # fmt: skip


def test_the_chance_that_a_number_of_starts_all_miss() -> None:
    assert shares.chance_at_half(5, 5) == pytest.approx(1 / 32)
    assert shares.chance_at_half(4, 5) == pytest.approx(6 / 32)
    assert shares.chance_at_half(0, 5) == 1


KNEE = claim("knee", experiment="ramp", servers=["php"], published=340)


@pytest.mark.parametrize(("blocks", "wanted"), [(2, OPEN), (3, OPEN), (4, OPEN), (5, CONTRADICTED)])
def test_five_ramps_without_a_knee_contradict_one(blocks: int, wanted: VerdictWord) -> None:
    verdict = judge(KNEE, ramps(*[None] * blocks))
    assert verdict.answer is wanted
    assert f"in none of {blocks} blocks it leaves its plateau, up to 500 users" in verdict.sentence
    effect = verdict.effects[0]
    assert effect.blocks_needed == (5 if wanted is OPEN else None)
    assert ("it would take about 5 blocks" in verdict.sentence) == (wanted is OPEN)


def test_an_early_look_does_not_contradict_a_knee_that_later_ramps_show() -> None:
    seen = ramps(None, None, None, 335, 500, 345, 340)
    looks = {"ramp": Looks(3, 8)}
    assert [judge(KNEE, [each for each in seen if each.block <= blocks], looks=looks).answer
            for blocks in (3, 4, 5, 6)] == [OPEN, UNTESTABLE, UNTESTABLE, UNTESTABLE]  # fmt: skip
    assert judge(KNEE, seen, looks=looks).answer is not CONTRADICTED


def test_ramps_without_a_knee_spend_the_error_of_the_look() -> None:
    looks = {"ramp": Looks(3, 6)}
    early, last = (judge(KNEE, ramps(*[None] * blocks), looks=looks) for blocks in (5, 6))
    assert (early.answer, last.answer) == (OPEN, CONTRADICTED)
    assert early.effects[0].blocks_needed == 6


def test_several_servers_share_the_error_for_missing_knees() -> None:
    both = claim("knee", experiment="ramp", servers=["php", "java"], published=340)
    seen = ramps(*[None] * 5)
    seen += [trial("java", each.block, 1_000, experiment="ramp", curve=each.curve) for each in seen]
    assert judge(KNEE, seen).answer is CONTRADICTED
    assert judge(both, seen).answer is OPEN


def test_blocks_that_did_not_count_are_added_to_those_needed() -> None:
    seen = ramps(*[None] * 4)
    lost = trial("php", 4, 1_000, experiment="ramp", valid=False, problems=("disturbed",))
    effect = judge(KNEE, [*seen[:3], lost], looks={"ramp": Looks(3, 60)}).effects[0]
    all_count = judge(KNEE, seen, looks={"ramp": Looks(3, 60)}).effects[0]
    assert effect.blocks_needed is not None and all_count.blocks_needed is not None
    assert effect.blocks_needed == all_count.blocks_needed + 1


def test_rounds_that_do_not_end_contradict_flatness_after_five_blocks() -> None:
    flat = claim("flatness", experiment="ramp", metric="response_p50", servers=["php"])
    waiting = ramps(
        *[None] * 5,
        ok=lambda users: round(1e4 * min(users, 250)),
        failed=lambda users: 1e6 if users > 250 else 0,
    )
    assert all(each.knee for each in waiting)
    answers = [judge(flat, waiting[:blocks]).answer for blocks in (2, 3, 4, 5)]
    assert answers == [OPEN, OPEN, OPEN, CONTRADICTED]
    assert "of 3 blocks the time of a round leaves its plateau" in judge(flat, waiting[:3]).sentence


def test_a_knee_missing_in_some_blocks_needs_more_blocks() -> None:
    said = opinions.judge_count(Look(0.95, 5), 1, 4, 5, "so it is")
    assert said.answer is OPEN and said.blocks_needed is not None
    tells = [
        shares.chance_at_half(blocks * 4 // 5, blocks) <= 0.05 for blocks in range(6, said.blocks_needed + 1)
    ]
    assert tells == [False] * (len(tells) - 1) + [True]


GROWS = claim("growth", metric="processes", servers=["php", "go"], experiments=["few", "many"])


def alone(experiment: str, server: str, blocks: int, users: int) -> list[Figures]:
    return [
        trial(server, block, 1_000, experiment=experiment, connections=float(users), processes_max=users)
        for block in range(1, blocks + 1)
    ]


@pytest.mark.parametrize(("blocks", "wanted"), [(2, UNTESTABLE), (3, VerdictWord.SUPPORTED)])
def test_blocks_missing_in_one_experiment_do_not_count_for_growth(blocks: int, wanted: VerdictWord) -> None:
    seen = alone("few", "go", blocks, 8) + alone("many", "go", blocks, 64)
    seen += alone("few", "php", blocks, 8) + alone("many", "php", blocks - 1, 64)
    verdict = judge(GROWS, seen)
    assert verdict.answer is wanted
    assert f"php was not run in block {blocks} of many" in " ".join(each.reason for each in verdict.effects)
    assert "happened to have" not in verdict.sentence
