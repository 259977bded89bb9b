"""Two servers against each other: claims of order and of ratio."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations, product

from crumple.study.claim import OrderClaim, RatioClaim, RatioPair
from crumple.verdict import noise, opinions
from crumple.verdict.case import Case, Judged
from crumple.verdict.effect import Answer, Effect, Opinion
from crumple.verdict.evidence import Evidence, seen_in
from crumple.verdict.opinions import Seen, Shared
from crumple.verdict.sentences import number

Rule = Callable[[Seen], Opinion]


def order(claim: OrderClaim, case: Case) -> Iterator[Judged]:
    """Every server of a tier against every one of a later tier.

    That those of tiers further apart are in order follows from the tiers between; that they are not may be
    seen of them alone, and then they are part of the verdict.
    """
    evidence = case.evidence(claim.experiment, seen_in(claim.metric, claim.users), claim.against)
    rule = partial(opinions.ranked, higher_is_better=evidence.metric.better == "higher")
    pairs = [
        (of, to, upper + 1 == lower)
        for upper, lower in combinations(range(len(claim.tiers)), 2)
        for of, to in product(claim.tiers[upper], claim.tiers[lower])
    ]
    shared = Shared(contradiction=len(pairs))
    for of, to, neighbours in pairs:
        effect, trials = _compare(case, evidence, of, to, None, rule, shared)
        if neighbours or effect.answer is Answer.CONTRADICTED:
            yield effect, trials


def ratio(claim: RatioClaim, case: Case) -> Iterator[Judged]:
    """Each pair against what was published for it, or is expected, or against the least that is much."""
    evidence = case.evidence(claim.experiment, seen_in(claim.metric, claim.users), claim.against)
    shared = Shared(contradiction=len(claim.pairs))
    for pair in claim.pairs:
        rule = _rule(pair, claim)
        effect, trials = _compare(case, evidence, pair.of, pair.to, pair.published, rule, shared)
        if pair.at_least is not None:
            effect = replace(effect, bound=f"at least {number(pair.at_least)} times")
        yield replace(effect, expected=pair.expected), trials


def _rule(pair: RatioPair, claim: RatioClaim) -> Rule:
    if pair.at_least is not None:
        worded = f"{number(pair.at_least)} times"
        return partial(opinions.beyond, bound=pair.at_least, worded=worded, above=True)
    if opinions.states_likeness(pair.size, claim.tolerance):
        return partial(opinions.alike, published=pair.size, tolerance=claim.tolerance)
    whose = "expected" if pair.expected is not None else "published"
    return partial(opinions.sized, published=pair.size, tolerance=claim.tolerance, whose=whose)


def _compare(
    case: Case, evidence: Evidence, of: str, to: str, published: float | None, opinion_on: Rule,
    shared: Shared,
) -> Judged:  # fmt: skip
    paired = evidence.paired(of, to)
    if paired.untestable:
        opinion, measured, reason = Opinion(Answer.NOT_TESTABLE, paired.untestable), None, paired.untestable
    else:
        seen = Seen(noise.ratio(evidence, of, to, paired), case.look, shared, paired.limit)
        opinion, measured = opinion_on(seen), seen.shown
        reason = case.reason(opinion, evidence, [of, to], measured.n)
    effect = Effect(
        label=f"{of} ÷ {to}",
        of=of,
        to=to,
        published=published,
        ratio=measured,
        answer=opinion.answer,
        reason=f"{reason}; left out: {paired.left_out}" if paired.left_out else reason,
        what=evidence.phrase,
        direction=opinion.direction,
        blocks_needed=opinion.blocks_needed,
        bounds=opinion.bounds,
        limit=paired.limit,
        refused=paired.refused,
        more_may_help=paired.more_may_help,
    )
    return effect, paired.trials
