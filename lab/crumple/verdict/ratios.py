"""Two servers against each other: claims of order and of ratio."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations, product

from crumple.study.claim import OrderClaim, RatioClaim
from crumple.verdict import noise, opinions
from crumple.verdict.case import Case, Judged
from crumple.verdict.effect import Answer, Effect, Opinion
from crumple.verdict.evidence import Evidence, seen_in
from crumple.verdict.opinions import Seen, Shared

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
    """Each pair against what was published for it."""
    evidence = case.evidence(claim.experiment, seen_in(claim.metric, claim.users), claim.against)
    shared = Shared(contradiction=len(claim.pairs))
    for pair in claim.pairs:
        alike = opinions.states_likeness(pair.published, claim.tolerance)
        opinion_on = opinions.alike if alike else opinions.sized
        rule = partial(opinion_on, published=pair.published, tolerance=claim.tolerance)
        yield _compare(case, evidence, pair.of, pair.to, pair.published, rule, shared)


def _compare(
    case: Case, evidence: Evidence, of: str, to: str, published: float | None, opinion_on: Rule,
    shared: Shared,
) -> Judged:  # fmt: skip
    paired = evidence.paired(of, to)
    if paired.untestable:
        opinion, measured, reason = Opinion(Answer.NOT_TESTABLE, paired.untestable), None, paired.untestable
    else:
        seen = Seen(noise.ratio(evidence, of, to, paired), evidence.confidence, shared, paired.limit)
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
    )
    return effect, paired.trials
