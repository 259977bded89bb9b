"""A claim and the figures of a run → a verdict. Pure: reads no file, starts nothing.

Which trials may speak is evidence.py's, how it is said is sentences.py's. Here are the rules: one function
per kind of claim, found in KINDS.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from typing import TYPE_CHECKING

from crumple import sentences, stats
from crumple.effect import Answer, Effect
from crumple.evidence import Evidence, Floor
from crumple.metrics import METRICS, Figures
from crumple.stats import Interval

if TYPE_CHECKING:
    from crumple.study import Claim, OrderClaim, RatioClaim

__all__ = ["KINDS", "Answer", "Effect", "Verdict", "judge", "noise_floor"]

# A published 1.10 states a gain, however wide the tolerance; what is nearer to 1 states that two are alike.
ALIKE_WITHIN = 1.05


@dataclass(frozen=True)
class Verdict:
    """What a run says about a claim. `trials`: ids of those the answer rests on, the floor's included."""

    claim_id: str
    text: str
    kind: str
    answer: Answer
    direction_only: bool
    effects: tuple[Effect, ...]
    sentence: str
    trials: tuple[str, ...]


def judge(
    claim: "Claim",
    figures: Sequence[Figures],
    failed: Mapping[str, str] | None = None,
    scale: str | None = None,
) -> Verdict:
    """The verdict on `claim` from the figures of all measured trials of a run.

    `scale`: of the run; a claim that this scale cannot answer is not testable, however clear the figures.
    `failed`: trial id → why, of those that failed; they are only named as reasons. Raises KeyError for a
    metric or kind that does not exist; studies are checked for both when read.
    """
    evidence = Evidence.of(claim.experiment, claim.metric, figures, failed or {})
    floor = evidence.floor()
    judged = [*KINDS[claim.kind](claim, evidence, floor)]
    if scale is not None and scale not in claim.scales:
        return _unasked(claim, scale, tuple(effect for effect, _ in judged))
    effects = tuple(effect for effect, _ in judged)
    answer = _together([effect.answer for effect in effects])
    direction_only = answer is Answer.SUPPORTED and any(effect.direction_only for effect in effects)
    used = {trial for _, trials in judged for trial in trials}
    return Verdict(
        claim_id=claim.id,
        text=claim.text,
        kind=claim.kind,
        answer=answer,
        direction_only=direction_only,
        effects=effects,
        sentence=sentences.verdict(claim.kind, claim.metric, answer, direction_only, effects, floor),
        trials=tuple(sorted(used | set(floor.trials))) if used else (),
    )


def _unasked(claim: "Claim", scale: str, effects: tuple[Effect, ...]) -> Verdict:
    """The study says that this scale cannot answer; then no figure of it stands for an answer."""
    reason = sentences.unasked(scale, claim.scales)
    untested = partial(
        replace, ratio=None, noise_floor=None, answer=Answer.NOT_TESTABLE, direction_only=False, reason=reason
    )
    return Verdict(
        claim_id=claim.id,
        text=claim.text,
        kind=claim.kind,
        answer=Answer.NOT_TESTABLE,
        direction_only=False,
        effects=tuple(untested(effect) for effect in effects),
        sentence=f"Not testable here. {sentences.capital(reason)}.",
        trials=(),
    )


def noise_floor(figures: Sequence[Figures], experiment: str, metric: str) -> Floor:
    """What the twins of `experiment` differ by in `metric`, or why that is not known."""
    return Evidence.of(experiment, metric, figures, {}).floor()


Judged = tuple[Effect, tuple[str, ...]]


def _order(claim: "OrderClaim", evidence: Evidence, floor: Floor) -> Iterator[Judged]:
    """Every server of a tier against every one of the next; tiers further apart follow from those between."""
    rule = partial(_ranked, floor=floor, higher_is_better=METRICS[claim.metric].better == "higher")
    for tier, following in pairwise(claim.tiers):
        for of, to in product(tier, following):
            yield _compare(evidence, floor, of, to, None, rule)


def _ratio(claim: "RatioClaim", evidence: Evidence, floor: Floor) -> Iterator[Judged]:
    """Each pair against what was published for it."""
    for pair in claim.pairs:
        published, tolerance = pair.published, claim.tolerance
        alike = abs(math.log(published)) <= math.log(min(1 + tolerance, ALIKE_WITHIN))
        rule = partial(_alike if alike else _sized, floor=floor, published=published, tolerance=tolerance)
        yield _compare(evidence, floor, pair.of, pair.to, published, rule)


KINDS: dict[str, Callable[..., Iterator[Judged]]] = {"order": _order, "ratio": _ratio}


@dataclass(frozen=True)
class _Opinion:
    answer: Answer
    reason: str
    direction_only: bool = False


def _compare(
    evidence: Evidence,
    floor: Floor,
    of: str,
    to: str,
    published: float | None,
    opinion_on: Callable[[Interval], _Opinion],
) -> Judged:
    paired = evidence.paired(of, to)
    if paired.untestable:
        opinion, ratio = _Opinion(Answer.NOT_TESTABLE, paired.untestable), None
    else:
        ratio = stats.paired_ratio(paired.of_values, paired.to_values)
        opinion = opinion_on(ratio)
    effect = Effect(
        label=f"{of} ÷ {to}",
        of=of,
        to=to,
        published=published,
        ratio=ratio,
        noise_floor=floor.ratio,
        answer=opinion.answer,
        direction_only=opinion.direction_only,
        reason=f"{opinion.reason}; left out: {paired.left_out}" if paired.left_out else opinion.reason,
    )
    return effect, paired.trials


def _ranked(ratio: Interval, floor: Floor, higher_is_better: bool) -> _Opinion:
    if not _differs(ratio, floor):
        return _indistinct(ratio)
    if (ratio.estimate > 1) == higher_is_better:
        return _Opinion(Answer.SUPPORTED, "that is better, by more than noise")
    return _Opinion(Answer.CONTRADICTED, "that is worse, by more than noise")


def _sized(ratio: Interval, floor: Floor, published: float, tolerance: float) -> _Opinion:
    """A published ratio away from 1: first its direction, then its size."""
    if not _differs(ratio, floor):
        return _indistinct(ratio)
    if (ratio.estimate > 1) != (published > 1):
        return _Opinion(Answer.CONTRADICTED, "that is the other way round, by more than noise")
    low, high = published / (1 + tolerance), published * (1 + tolerance)
    # Where the tolerance is wide enough to reach over 1, the wrong direction is still not the published size.
    low, high = (max(low, 1.0), high) if published > 1 else (low, min(high, 1.0))
    size = f"what counts as the published size ({sentences.number(low)} to {sentences.number(high)} times)"
    if low <= ratio.low and ratio.high <= high:
        return _Opinion(Answer.SUPPORTED, f"the whole interval lies in {size}")
    if ratio.high < low or high < ratio.low:
        side = "below" if ratio.high < low else "above"
        reason = f"the direction holds but not the size: the whole interval lies {side} {size}"
    else:
        reason = f"the direction holds but the size stays open: the interval lies only partly in {size}"
    return _Opinion(Answer.SUPPORTED, reason, direction_only=True)


def _alike(ratio: Interval, floor: Floor, published: float, tolerance: float) -> _Opinion:
    """A published ratio of about 1: alike when the interval leaves no room for more than the tolerance."""
    low, high = published / (1 + tolerance), published * (1 + tolerance)
    alike = f"what counts as alike ({sentences.number(low)} to {sentences.number(high)} times)"
    if low <= ratio.low and ratio.high <= high:
        if floor.ratio is not None and floor.ratio > 1 + tolerance:
            reason = f"a server differs from itself by more than {alike}, so likeness cannot be shown"
            return _Opinion(Answer.NOT_DISTINGUISHABLE, reason)
        return _Opinion(Answer.SUPPORTED, f"the whole interval lies in {alike}")
    if (ratio.high < low or high < ratio.low) and _differs(ratio, floor):
        return _Opinion(Answer.CONTRADICTED, f"the whole interval lies outside {alike}, by more than noise")
    return _Opinion(
        Answer.NOT_DISTINGUISHABLE, f"the interval lies neither wholly in nor clearly outside {alike}"
    )


def _differs(ratio: Interval, floor: Floor) -> bool:
    # Without a floor the interval decides alone, and the sentence says so.
    return stats.distinguishable(ratio, 1.0 if floor.ratio is None else floor.ratio)


def _indistinct(ratio: Interval) -> _Opinion:
    if ratio.low <= 1 <= ratio.high:
        return _Opinion(Answer.NOT_DISTINGUISHABLE, "the interval includes 1, so either may be the higher")
    return _Opinion(Answer.NOT_DISTINGUISHABLE, "a server differs from itself by as much or more")


def _together(answers: Sequence[Answer]) -> Answer:
    """One comparison against a claim outweighs all for it; one that is open keeps it open."""
    order = (Answer.CONTRADICTED, Answer.NOT_TESTABLE, Answer.NOT_DISTINGUISHABLE)
    return next((answer for answer in order if answer in answers), Answer.SUPPORTED)
