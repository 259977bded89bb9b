"""Two servers against each other: claims of order and of ratio."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

from crumple.stats import stats
from crumple.stats.stats import Interval
from crumple.study.claim import OrderClaim, RatioClaim, RatioPair
from crumple.verdict import opinions
from crumple.verdict.case import Case, Judged
from crumple.verdict.effect import Answer, Effect, Opinion
from crumple.verdict.evidence import Evidence, Floor, seen_in
from crumple.verdict.sentences import number

Rule = Callable[[Interval, Floor], Opinion]


def order(claim: OrderClaim, case: Case) -> Iterator[Judged]:
    """Every server of a tier against every one of the next; tiers further apart follow from those between."""
    evidence = case.evidence(claim.experiment, seen_in(claim.metric, claim.users), claim.against)
    rule = partial(opinions.ranked, higher_is_better=evidence.metric.better == "higher")
    for tier, following in pairwise(claim.tiers):
        for of, to in product(tier, following):
            yield _compare(evidence, of, to, None, rule)


def ratio(claim: RatioClaim, case: Case) -> Iterator[Judged]:
    """Each pair against what was published for it, or is expected, or against the least that is much."""
    evidence = case.evidence(claim.experiment, seen_in(claim.metric, claim.users), claim.against)
    for pair in claim.pairs:
        effect, trials, floor = _compare(evidence, pair.of, pair.to, pair.published, _rule(pair, claim))
        if pair.at_least is not None:
            effect = replace(effect, bound=f"at least {number(pair.at_least)} times")
        if pair.expected is not None:
            reason = effect.reason.replace("the published size", "the expected size")
            effect = replace(effect, expected=pair.expected, reason=reason)
        yield effect, trials, floor


def _rule(pair: RatioPair, claim: RatioClaim) -> Rule:
    if pair.at_least is not None:
        worded = f"{number(pair.at_least)} times"
        return partial(opinions.beyond, bound=pair.at_least, worded=worded, above=True)
    alike = opinions.states_likeness(pair.size, claim.tolerance)
    opinion_on = opinions.alike if alike else opinions.sized
    return partial(opinion_on, published=pair.size, tolerance=claim.tolerance)


def _compare(evidence: Evidence, of: str, to: str, published: float | None, opinion_on: Rule) -> Judged:
    floor, paired = evidence.floor_of(of, to), evidence.paired(of, to)
    if paired.untestable:
        opinion, measured = Opinion(Answer.NOT_TESTABLE, paired.untestable), None
    else:
        measured = stats.paired_ratio(paired.of_values, paired.to_values, evidence.confidence)
        opinion = opinion_on(measured, floor)
    effect = Effect(
        label=f"{of} ÷ {to}",
        of=of,
        to=to,
        published=published,
        ratio=measured,
        noise_floor=floor.ratio,
        answer=opinion.answer,
        direction_only=opinion.direction_only,
        reason=f"{opinion.reason}; left out: {paired.left_out}" if paired.left_out else opinion.reason,
        what=evidence.phrase,
    )
    return effect, paired.trials, floor
