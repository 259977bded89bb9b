"""How far a run has come with its claims: which are decided, and how many blocks the others would take. Pure.

Which block comes next is the run's to choose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crumple.record.figures import Figures
from crumple.stats.looks import Looks
from crumple.study.claim import Claim, ScaleName
from crumple.study.study import Study
from crumple.verdict import blocks, verdict
from crumple.verdict.blocks import Blocks
from crumple.verdict.case import Facts
from crumple.verdict.effect import Answer, Effect
from crumple.verdict.verdict import DECIDED, Verdict


@dataclass(frozen=True)
class Standing:
    """Where a claim stands. `experiments`: those it rests on; of a cost of the machine none.

    `decided`: further blocks of these cannot change or improve it, or would not help. `blocks_needed`: how
    many each of them would have in all once it is decided; None where it is, or that is not known, or more
    than the scale has. `why`: a clause.
    """

    claim_id: str
    experiments: tuple[str, ...]
    decided: bool
    blocks_needed: int | None
    why: str


def standing(
    study: Study, scale: ScaleName, figures: Sequence[Figures], failed: Mapping[str, str], facts: Facts
) -> list[Standing]:
    """Of every claim that the scale asks; `failed`: trial id → why."""
    looks = blocks.looks_of(study, scale)
    found = []
    for claim in study.claims:
        known = blocks.blocks_of(claim, figures, failed, looks)
        if scale in claim.scales and all(name in looks for name in known.experiments):
            found.append(_of(claim, known, looks, figures, failed, facts))
    return found


def _of(
    claim: Claim, known: Blocks, looks: Mapping[str, Looks], figures: Sequence[Figures],
    failed: Mapping[str, str], facts: Facts,
) -> Standing:  # fmt: skip
    """Before the first look nobody asks what the figures say."""
    of = [looks[name] for name in known.experiments]
    most = min((each.most for each in of), default=0)
    first = most if all(each.once for each in of) else min(most, max(x.least for x in of if not x.once))
    if known.done < first:
        why = f"it is judged from {first} blocks on, and there are {known.done}"
        return Standing(claim.id, known.experiments, False, first, why)
    said = verdict.judge(claim, figures, failed, facts=facts, looks=looks)
    decided, needed, why = _read(said, known.done)
    beyond = needed is not None and needed > most
    return Standing(claim.id, known.experiments, decided, None if beyond else needed, why)


def _read(said: Verdict, done: int) -> tuple[bool, int | None, str]:
    """Whether it is decided, with how many blocks it would be, and why."""
    if said.answer in DECIDED:
        return True, None, f"{said.answer} by {said.blocks} blocks"
    open_ones = [effect for effect in said.effects if effect.answer is said.answer]
    why = open_ones[0].reason
    if said.answer is Answer.NOT_TESTABLE:
        more = all(effect.more_may_help for effect in open_ones)
        return not more, done + 1 if more else None, why
    needed = [_needed(effect, done) for effect in open_ones]
    known = [each for each in needed if each is not None]
    return False, max(known) if len(known) == len(needed) else None, why


def _needed(effect: Effect, done: int) -> int | None:
    """Of blocks in all: those that do not count come on top of those it takes."""
    if effect.blocks_needed is None:
        return None
    counted = effect.measured.n if effect.measured else done
    return effect.blocks_needed + max(0, done - counted)
