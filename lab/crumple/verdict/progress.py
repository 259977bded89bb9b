"""How far a run has come with its claims: which are decided, and how many blocks the others would take. Pure.

run/session.py chooses the next block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crumple.record.figures import Figures
from crumple.stats.looks import ONCE, Looks
from crumple.study.claim import ScaleName
from crumple.study.study import Scale, Study
from crumple.verdict import rests_on, verdict
from crumple.verdict.case import Facts
from crumple.verdict.effect import Answer, Effect
from crumple.verdict.evidence import placed
from crumple.verdict.verdict import DECIDED, Verdict


@dataclass(frozen=True)
class Standing:
    """How far a claim has come. `experiments`: those it rests on; a cost of the machine rests on none.

    `over`: the claim is `decided`, or further blocks of these would not help. `blocks_needed`: how many
    blocks each of them would have in all when the claim is probably decided, at 80 % power. None if it is
    decided, if the number is not known, or if it is more than the scale has even with the truth at the far
    end of an 80 % interval. `why`: a clause.
    """

    claim_id: str
    experiments: tuple[str, ...]
    over: bool
    blocks_needed: int | None
    why: str
    decided: bool = False


def standing(
    study: Study, scale: ScaleName, figures: Sequence[Figures], failed: Mapping[str, str], facts: Facts
) -> list[Standing]:
    """Return the standing of every claim that the scale asks; `failed`: trial id → why."""
    looks = rests_on.looks_of(study, scale)
    found = []
    for claim in study.claims:
        known = rests_on.blocks_of(claim, figures, failed, looks)
        if scale not in claim.scales or not all(name in looks for name in known.experiments):
            continue
        every = [looks[name] for name in known.experiments]
        first = _first(every) if known.looks == ONCE else known.looks.least
        if known.done < first:
            # Before the first look the figures are not judged.
            why = f"it is judged from {first} blocks on, and there are {known.done}"
            found.append(Standing(claim.id, known.experiments, False, first, why))
            continue
        said = verdict.judge(claim, figures, failed, facts=facts, looks=looks)
        scales = {name: study.experiments[name].scales[scale] for name in known.experiments}
        over, needed, why = outlook(said, known.done, scales)
        found.append(Standing(claim.id, known.experiments, over, needed, why, said.answer in DECIDED))
    return found


def _first(looks: Sequence[Looks]) -> int:
    """Return after how many blocks a claim over experiments with these looks is first judged."""
    most = min((each.most for each in looks), default=0)
    several = [each.least for each in looks if not each.once]
    return min(most, max(several, default=most))


def outlook(said: Verdict, done: int, scales: Mapping[str, Scale]) -> tuple[bool, int | None, str]:
    """Return whether the claim is over, how many blocks it would take, and why. `scales`: by experiment."""
    if said.answer in DECIDED:
        return True, None, f"{said.answer} by {said.blocks} blocks"
    open_ones = [effect for effect in said.effects if effect.answer is said.answer]
    why = open_ones[0].reason
    if said.answer is Answer.NOT_TESTABLE:
        more = all(effect.more_may_help and done < _most(effect, scales) for effect in open_ones)
        return not more, done + 1 if more else None, why
    needed = [_needed(effect, done, _most(effect, scales)) for effect in open_ones]
    known = [each for each in needed if each is not None]
    over = all(done >= _most(effect, scales) for effect in open_ones)
    # If one comparison cannot be decided, another may still contradict the claim, so the fewest blocks count.
    last = max if len(known) == len(needed) else min
    return over, last(known, default=None), why


def _needed(effect: Effect, done: int, most: int) -> int | None:
    """Return how many blocks in all the effect needs, including those that do not count.

    Return `most` if that is enough only with the truth at the far end of its 80 % interval; None if `most` is
    not enough, or the number is not known.
    """
    lost = max(0, done - effect.measured.n) if effect.measured else 0
    needed, hoped = (each and each + lost for each in (effect.blocks_needed, effect.blocks_hoped))
    if needed and needed <= most:
        return needed
    return most if hoped and done < most and hoped <= most else None


def _most(effect: Effect, scales: Mapping[str, Scale]) -> int:
    """Return in how many blocks all of the effect's servers take part."""
    places = [placed(name, "") for name in (effect.of, effect.to) if name]
    return min(
        scale.blocks_for(place.server)
        for place in places
        for name, scale in scales.items()
        if not place.experiment or place.experiment == name
    )
