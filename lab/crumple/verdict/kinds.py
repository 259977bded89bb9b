"""Rules for all kinds of claims but those along a ramp: order, ratio, share, figure, stall and model.

`stall`: a light request that always finds a heavy one in service waits for half of it on average. So a wait
of half a heavy request or more is a stall. A light request that waits for less than a tenth does not wait for
heavy ones to end. A wait in between shows neither.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from typing import cast

from crumple.record.figures import Figures
from crumple.record.metrics import METRICS, derived, seen_in
from crumple.stats import shares
from crumple.stats.decision import Extent
from crumple.stats.estimate import BLOCKS_MOST
from crumple.stats.interval import Interval
from crumple.stats.question import Family, LookQuestion
from crumple.study.claim import (
    FigureClaim,
    ModelClaim,
    OrderClaim,
    RatioClaim,
    RatioPair,
    ShareClaim,
    StallClaim,
    quantity,
)
from crumple.subject import effects
from crumple.subject.effects import TreeSeen
from crumple.subject.server_toml import IoModel
from crumple.verdict import opinions
from crumple.verdict.case import ClaimCase, Judged, effect_of_server, how_far, untestable
from crumple.verdict.effect import EXPECTED, Effect, Opinion, VerdictWord
from crumple.verdict.evidence import Evidence, OneServer
from crumple.verdict.verdict_sentences import amount, amounts, number

Rule = Callable[[LookQuestion], Opinion]


def order(claim: OrderClaim, case: ClaimCase) -> Iterator[Judged]:
    """Yield the comparison of every server of a tier with every server of a later tier.

    If neighbouring tiers are in order, tiers further apart are too, so these are not part of the verdict. But
    a pair of tiers further apart can contradict the claim alone, and then it is part of the verdict.
    """
    evidence = case.evidence(claim.experiment, seen_in(claim.metric, claim.users), claim.against)
    rule = partial(opinions.judge_order, higher_is_better=evidence.metric.better == "higher")
    pairs = [
        (of, to, upper + 1 == lower)
        for upper, lower in combinations(range(len(claim.tiers)), 2)
        for of, to in product(claim.tiers[upper], claim.tiers[lower])
    ]
    shared = Family(no=len(pairs))
    for of, to, neighbours in pairs:
        effect, trials = _compare(case, evidence, of, to, None, rule, shared)
        if neighbours or effect.answer is VerdictWord.CONTRADICTED:
            yield effect, trials


def ratio(claim: RatioClaim, case: ClaimCase) -> Iterator[Judged]:
    """Yield the comparison of each pair with its published or expected ratio, or with its least ratio."""
    evidence = case.evidence(claim.experiment, seen_in(claim.metric, claim.users), claim.against)
    shared = Family(no=len(claim.pairs))
    for pair in claim.pairs:
        rule = _rule(pair, claim)
        effect, trials = _compare(case, evidence, pair.of, pair.to, pair.published, rule, shared)
        if pair.at_least is not None:
            effect = replace(effect, bound=f"at least {number(pair.at_least)} times")
        yield replace(effect, expected=pair.expected), trials


def _rule(pair: RatioPair, claim: RatioClaim) -> Rule:
    if pair.at_least is not None:
        worded = f"{number(pair.at_least)} times"
        return partial(opinions.judge_bound, bound=pair.at_least, worded=worded, above=True)
    if opinions.states_likeness(pair.size, claim.tolerance):
        return partial(opinions.judge_likeness, published=pair.size, tolerance=claim.tolerance)
    whose = "expected" if pair.expected is not None else "published"
    return partial(opinions.judge_size, published=pair.size, tolerance=claim.tolerance, whose=whose)


def _compare(
    case: ClaimCase, evidence: Evidence, of: str, to: str, published: float | None, opinion_on: Rule,
    shared: Family,
) -> Judged:  # fmt: skip
    paired = evidence.paired(of, to)
    if paired.untestable:
        opinion, measured, reason = (
            Opinion(VerdictWord.NOT_TESTABLE, paired.untestable),
            None,
            paired.untestable,
        )
    else:
        seen = LookQuestion(
            opinions.ratio(evidence, of, to, paired), case.look, shared, opinions.SIDES[paired.limit]
        )
        opinion, measured = opinion_on(seen), seen.printed
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
        blocks_hoped=opinion.blocks_hoped,
        limit=paired.limit,
        refused=paired.refused,
        more_may_help=paired.more_may_help,
        margin=opinion.margin,
    )
    return effect, paired.trials


# The fewest readings of a cost of the machine that are compared with a figure.
READINGS_MIN = 3
# Shares of the requests that ended; other shares do not count requests.
COUNTED = ("failed_share", "timed_out_share")


def share(claim: ShareClaim, case: ClaimCase) -> Iterator[Judged]:
    """Yield the comparison of each server's metric with the bound.

    The mean is arithmetic, because a share may be 0.
    """
    evidence = case.evidence(claim.experiment, seen_in(claim.metric, claim.users), claim.against)
    above = claim.above is not None
    worded = amount(claim.bound, "times" if claim.against else evidence.metric.unit)
    bound = f"{'above' if above else 'below'} {worded}"
    # If the claim is false, at least several - enough + 1 servers do not meet the bound, and an error in any
    # one of them may support it. If it is true, an error in any one of `enough` servers may contradict it.
    enough, several = claim.at_least or len(claim.servers), len(claim.servers)
    shared = Family(yes=several - enough + 1, no=enough)
    for server in claim.servers:
        alone = evidence.alone(server)
        if alone.untestable:
            yield untestable(evidence.phrase, server, alone.untestable, bound, alone)
            continue
        hosts = opinions.if_apart(alone.values, alone.hosts) if claim.against else alone.hosts
        estimate = opinions.plain(alone.values, logarithmic=False, factors=alone.factors, hosts=hosts)
        seen: LookQuestion = LookQuestion(estimate, case.look, shared, opinions.SIDES[alone.limit])
        if claim.metric in COUNTED and claim.against is None:
            seen = _CountedShare(
                seen.estimate, seen.look, shared, requests=_requests_ended(alone, claim.users)
            )
        elif evidence.metric.unit == "share":
            seen = _Share(seen.estimate, seen.look, shared)
        opinion = opinions.judge_bound(seen, claim.bound, worded, above)
        if isinstance(seen, _CountedShare) and opinion.answer is VerdictWord.UNDECIDED:
            opinion = seen.with_requests(opinion, claim.bound)
        shown = seen.printed
        if evidence.metric.unit != "share":
            shown = replace(shown, low=max(0.0, shown.low))
        yield effect_of_server(case, evidence, server, alone, shown, opinion, bound)


@dataclass(frozen=True)
class _Share(LookQuestion):
    """A share; its interval reaches neither below 0 nor above 1."""

    def _known(self, interval: Interval) -> Interval:
        return replace(interval, low=max(0.0, interval.low), high=min(1.0, interval.high))


@dataclass(frozen=True)
class _CountedShare(_Share):
    """A share of a number of requests; its interval is no narrower than that number allows."""

    requests: int = 0

    def _known(self, interval: Interval) -> Interval:
        return super()._known(shares.widen(interval, self.requests))

    def with_requests(self, opinion: Opinion, bound: float) -> Opinion:
        """Return the opinion with the blocks needed for enough requests, if the share is 0.

        Blocks that are all 0 have no spread, so only the number of requests limits the share from above.
        """
        if self.estimate.centre > 0 or bound <= 0:
            return opinion
        enough = shares.requests_needed(bound, self.look.level(self.family.yes))
        reason = (
            f"not one of {self.requests:,} requests, but it takes {enough:,} without one to exclude "
            f"{amount(bound, 'share')}"
        )
        blocks = max(math.ceil(self.estimate.n * enough / max(1, self.requests)), self.estimate.n + 1)
        # A later look may need fewer requests than this one.
        later = range(self.estimate.n + 1, min(blocks, BLOCKS_MOST))
        needed = next((n for n in later if self._enough(n, bound)), blocks)
        return replace(opinion, reason=reason, blocks_needed=needed, blocks_hoped=needed)

    def _enough(self, blocks: int, bound: float) -> bool:
        asked = self.requests / self.estimate.n * blocks
        return asked >= shares.requests_needed(bound, self.later(blocks, self.family.yes))


def _requests_ended(alone: OneServer, users: tuple[int, int] | None) -> int:
    """Return how many requests ended in all trials; with `users`, while that number was connected."""
    if users is None:
        return sum(trial.ended for trial in alone.figures)
    low, high = users
    inside = [point for trial in alone.figures for point in trial.curve if low <= point.connections <= high]
    return sum(point.ok + point.failed for point in inside)


def figure(claim: FigureClaim, case: ClaimCase) -> Iterator[Judged]:
    """Yield the comparison of each server's metric, or of a cost of the machine, with the claimed figure."""
    low, high = claim.size
    span = Extent.around(low, high, claim.tolerance)
    whose = "" if claim.expected is None else EXPECTED
    if claim.cost is not None:
        yield _cost(claim, case, span, whose + amounts(low, high, "ns"))
        return
    assert claim.experiment is not None and claim.metric is not None and claim.servers is not None
    evidence = case.evidence(claim.experiment, seen_in(claim.metric, claim.users))
    unit = evidence.metric.unit
    worded, published = _counts_as(span, unit), whose + amounts(low, high, unit)
    shared = Family(no=len(claim.servers))
    for server in claim.servers:
        alone = evidence.alone(server, above_0=True)
        if alone.untestable:
            yield untestable(evidence.phrase, server, alone.untestable, published, alone)
            continue
        seen = LookQuestion(
            opinions.value(alone.values, alone.factors, alone.hosts),
            case.look,
            shared,
            opinions.SIDES[alone.limit],
        )
        opinion = opinions.judge_span(seen, span, worded)
        yield effect_of_server(case, evidence, server, alone, seen.printed, opinion, published)


def _cost(claim: FigureClaim, case: ClaimCase, span: Extent, published: str) -> Judged:
    assert claim.cost is not None
    what, readings = f"cost of a {claim.cost.replace('_', ' ')}", case.facts.costs.get(claim.cost, ())
    if len(readings) < READINGS_MIN:
        return untestable(what, "this machine", "it was not measured with this run", published, OneServer())
    hosts = case.facts.cost_hosts.get(claim.cost, ())
    seen = LookQuestion(opinions.value(readings, hosts=hosts), case.look)
    opinion = opinions.judge_span(seen, span, _counts_as(span, "ns"))
    effect = Effect(
        label=claim.cost.replace("_", " "), of="this machine", answer=opinion.answer,
        reason=f"{opinion.reason}{how_far(opinion)}", what=what, value=seen.printed, unit="ns",
        bound=published, repeated="readings", bounds=opinion.bounds, margin=opinion.margin,
    )  # fmt: skip
    return effect, ()


def _counts_as(span: Extent, unit: str) -> str:
    return f"what counts as that figure ({amounts(span.low, span.high, unit)})"


# The parts of a heavy request from which on a light one waits for it, and below which it does not.
STALLS_FROM, STALLS_NOT_BELOW = 0.5, 0.1
QUANTILES = {"canary_p50": 0.5, "canary_p90": 0.9, "canary_p99": 0.99}


def stall(claim: StallClaim, case: ClaimCase) -> Iterator[Judged]:
    """Yield for each server how long the light request took, compared with a limit.

    The limit is the claim's bound. Without one it is a part of a heavy request's CPU time, plus the light
    request's own time if the claim has `alone`.
    """
    evidence = case.evidence(claim.experiment, METRICS[claim.metric])
    bound = quantity(claim.bound)[0] if claim.bound is not None else None
    asked = amount(bound, "ns") if bound else _asked_of_canary(claim)
    side = f"{'above' if claim.stalls else 'below'} {asked}"
    shared = Family(no=len(claim.servers))
    for server in claim.servers:
        alone = evidence.alone(server, above_0=True)
        limits = _limits(claim, case, evidence.place(server).server, alone, bound)
        if alone.untestable or not limits:
            why = alone.untestable or _unknown(claim)
            yield untestable(evidence.phrase, server, why, side, alone)
            continue
        logs = [math.log(value / limit) for value, limit in zip(alone.values, limits, strict=True)]
        # A limit that follows the host's speed cancels what the host does to the time.
        hosts = alone.hosts if bound else opinions.if_apart(logs, alone.hosts)
        estimate = opinions.plain(logs, logarithmic=True, factors=alone.factors, hosts=hosts)
        seen = LookQuestion(estimate, case.look, shared)
        typical = math.exp(sum(map(math.log, limits)) / len(limits))
        worded = asked if bound else f"{asked} ({amount(typical, 'ns')})"
        opinion = opinions.judge_bound(seen, 1.0, worded, above=claim.stalls)
        # Each trial is compared with its own limit, as both follow the machine's speed. The report shows the
        # geometric means of times and limits, and how far the one is off the other.
        shown = _times(seen.printed, typical)
        opinion = replace(opinion, bounds=(typical,))
        yield effect_of_server(case, evidence, server, alone, shown, opinion, side)


def _times(ratio: Interval, limit: float) -> Interval:
    """Return the interval of a value whose ratio to a limit is known."""
    low, estimate, high = (limit * each for each in (ratio.low, ratio.estimate, ratio.high))
    return replace(ratio, estimate=estimate, low=low, high=high)


def _asked_of_canary(claim: StallClaim) -> str:
    part = "half" if claim.stalls else "a tenth"
    heavy = f"{part} of the CPU time of one heavy request"
    return f"its own time without load and {heavy}" if claim.alone else heavy


def _unknown(claim: StallClaim) -> str:
    if claim.alone is None:
        return "the CPU time of a request is not known; give the claim a bound"
    return (
        "the CPU time of a heavy request, or the light request's own time in the same block of "
        f"{claim.alone}, is not known"
    )


def _limits(
    claim: StallClaim, case: ClaimCase, server: str, alone: OneServer, bound: float | None
) -> list[float]:
    """Return the limit for each block's time, in ns; empty if one of them is not known."""
    if bound is not None:
        return [bound] * len(alone.values)
    part = STALLS_FROM if claim.stalls else STALLS_NOT_BELOW
    found = []
    for trial in alone.figures:
        own_ns = 0.0 if claim.alone is None else _own_ns(claim, case, server, trial)
        if own_ns is None or not trial.cpu_per_request_us:
            return []
        found.append(own_ns + part * trial.cpu_per_request_us * 1e3)
    return found


def _own_ns(claim: StallClaim, case: ClaimCase, server: str, trial: Figures) -> float | None:
    """Return the light request's time in ns as the only load, in the same block; None if not known."""
    for other in case.figures:
        same = (other.experiment, other.server, other.block) == (claim.alone, server, trial.block)
        if same and other.valid and not other.twin:
            return other.response_ns.get(QUANTILES[claim.metric])
    return None


WHAT = "I/O model"
NO_WAIT = "the requests of this experiment do not wait, or nothing was read"


def model(claim: ModelClaim, case: ClaimCase) -> Iterator[Judged]:
    """Yield whether each server's processes and threads, while requests wait, fit the model it declares."""
    seen = derived(WHAT, "", lambda trial: 1.0 if trial.waiting else None, NO_WAIT)
    evidence = case.evidence(claim.experiment, seen)
    for server in claim.servers:
        declared = case.facts.models.get(evidence.place(server).server)
        alone = evidence.alone(server)
        if declared is None or alone.untestable:
            why = alone.untestable or "it declares none"
            yield untestable(WHAT, server, why, declared or "", alone)
            continue
        meant = cast(IoModel, declared)
        observed = [trial.waiting for trial in alone.figures if trial.waiting]
        found = [effects.contradiction(meant, each) for each in observed]
        against = Counter(why for why in found if why)
        if 2 * against.total() > len(found):
            answer, reason = VerdictWord.CONTRADICTED, against.most_common(1)[0][0]
        elif against:
            answer = VerdictWord.UNDECIDED
            reason = (
                f"{against.total()} of {len(found)} blocks speak against it: {against.most_common(1)[0][0]}"
            )
        else:
            answer, reason = VerdictWord.SUPPORTED, _as_declared(meant, observed[0])
        effect = Effect(label=server, of=server, answer=answer, reason=reason, what=WHAT, bound=declared)
        yield effect, alone.trials


def _as_declared(declared: IoModel, seen: TreeSeen) -> str:
    while_waiting = f"while {seen.at_once} requests wait"
    if seen.idle == seen.waiting:
        what = f"{seen.idle}, at rest and {while_waiting}"
    else:
        what = f"from {seen.idle} to {seen.waiting} {while_waiting}"
    others = ", ".join(name for name in effects.compatible(seen) if name != declared)
    return f"{what}, as {declared} has it" + (f" ({others} too)" if others else "")
