"""One server against a bound or a published figure: claims of share and figure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from crumple.stats import counts
from crumple.stats.moderated import BLOCKS_MOST
from crumple.stats.stats import Interval
from crumple.study.claim import FigureClaim, ShareClaim
from crumple.verdict import noise, opinions
from crumple.verdict.case import Case, Judged, told, untestable
from crumple.verdict.effect import Answer, Effect, Opinion
from crumple.verdict.evidence import Alone, seen_in
from crumple.verdict.opinions import Seen, Shared, Span
from crumple.verdict.sentences import amount, amounts

READINGS_MIN = 3
# Shares of the requests that ended; other shares have no requests behind them.
COUNTED = ("failed_share", "timed_out_share")


def share(claim: ShareClaim, case: Case) -> Iterator[Judged]:
    """The metric of each server against the bound. A mean, not a geometric one: a share may be 0."""
    evidence = case.evidence(claim.experiment, seen_in(claim.metric, claim.users), claim.against)
    above = claim.above is not None
    worded = amount(claim.bound, "times" if claim.against else evidence.metric.unit)
    bound = f"{'above' if above else 'below'} {worded}"
    # Enough of several: either answer may then rest on any of so many.
    enough, several = claim.at_least or len(claim.servers), len(claim.servers)
    shared = Shared(support=several - enough + 1, contradiction=enough)
    for server in claim.servers:
        alone = evidence.alone(server)
        if alone.untestable:
            yield untestable(evidence.phrase, server, alone.untestable, bound, alone)
            continue
        seen: Seen = Seen(noise.plain(alone.values, logarithmic=False), case.look, shared, alone.limit)
        if claim.metric in COUNTED and claim.against is None:
            seen = _Counted(seen.estimate, seen.look, shared, requests=_asked(alone, claim.users))
        elif evidence.metric.unit == "share":
            seen = _Share(seen.estimate, seen.look, shared)
        opinion = opinions.beyond(seen, claim.bound, worded, above)
        if isinstance(seen, _Counted) and opinion.answer is Answer.UNDECIDED:
            opinion = seen.with_requests(opinion, claim.bound)
        shown = seen.shown if evidence.metric.unit == "share" else _from_0(seen.shown)
        yield told(case, evidence, server, alone, shown, opinion, bound)


@dataclass(frozen=True)
class _Share(Seen):
    """A share: none is below 0, and none above 1."""

    def _limited(self, interval: Interval) -> Interval:
        return replace(interval, low=max(0.0, interval.low), high=min(1.0, interval.high))


@dataclass(frozen=True)
class _Counted(_Share):
    """A share of so many `requests`. Its interval is no narrower than these allow."""

    requests: int = 0

    def _limited(self, interval: Interval) -> Interval:
        return super()._limited(counts.widened(interval, self.requests))

    def with_requests(self, opinion: Opinion, bound: float) -> Opinion:
        """Where nothing happened, blocks say less than requests do."""
        if self.estimate.centre > 0 or bound <= 0:
            return opinion
        enough = counts.requests_needed(bound, self.look.level(self.shared.support))
        reason = (
            f"not one of {self.requests:,} requests, but it takes {enough:,} without one to exclude "
            f"{amount(bound, 'share')}"
        )
        blocks = max(math.ceil(self.estimate.n * enough / max(1, self.requests)), self.estimate.n + 1)
        # A later look may ask for fewer requests than this one.
        later = range(self.estimate.n + 1, min(blocks, BLOCKS_MOST))
        needed = next((n for n in later if self._enough(n, bound)), blocks)
        return replace(opinion, reason=reason, blocks_needed=needed)

    def _enough(self, blocks: int, bound: float) -> bool:
        asked = self.requests / self.estimate.n * blocks
        return asked >= counts.requests_needed(bound, self._later(blocks))


def _asked(alone: Alone, users: tuple[int, int] | None) -> int:
    """How many requests ended in all trials."""
    if users is None:
        return sum(trial.ended for trial in alone.figures)
    low, high = users
    inside = [point for trial in alone.figures for point in trial.curve if low <= point.connections <= high]
    return sum(point.ok + point.failed for point in inside)


def figure(claim: FigureClaim, case: Case) -> Iterator[Judged]:
    """A metric of each server, or a cost of the machine, against what was published."""
    low, high = claim.size
    span = Span.around(low, high, claim.tolerance)
    whose = "" if claim.expected is None else "expected "
    if claim.cost is not None:
        yield _cost(claim, case, span, whose + amounts(low, high, "ns"))
        return
    assert claim.experiment is not None and claim.metric is not None and claim.servers is not None
    evidence = case.evidence(claim.experiment, seen_in(claim.metric, claim.users))
    unit = evidence.metric.unit
    worded, published = _counts_as(span, unit), whose + amounts(low, high, unit)
    shared = Shared(contradiction=len(claim.servers))
    for server in claim.servers:
        alone = evidence.alone(server, above_0=True)
        if alone.untestable:
            yield untestable(evidence.phrase, server, alone.untestable, published, alone)
            continue
        seen = Seen(noise.value(alone.values), case.look, shared, alone.limit)
        opinion = opinions.within(seen, span, worded)
        yield told(case, evidence, server, alone, seen.shown, opinion, published)


def _cost(claim: FigureClaim, case: Case, span: Span, published: str) -> Judged:
    assert claim.cost is not None
    what, readings = f"cost of a {claim.cost.replace('_', ' ')}", case.facts.costs.get(claim.cost, ())
    if len(readings) < READINGS_MIN:
        return untestable(what, "this machine", "it was not measured with this run", published)
    seen = Seen(noise.plain([math.log(each) for each in readings], logarithmic=True), case.look)
    opinion = opinions.within(seen, span, _counts_as(span, "ns"))
    effect = Effect(
        label=claim.cost.replace("_", " "), of="this machine", to="", published=None, ratio=None,
        answer=opinion.answer, reason=opinion.reason, value=seen.shown, unit="ns", bound=published, what=what,
        repeated="readings", bounds=opinion.bounds,
    )  # fmt: skip
    return effect, ()


def _counts_as(span: Span, unit: str) -> str:
    return f"what counts as that figure ({amounts(span.low, span.high, unit)})"


def _from_0(value: Interval) -> Interval:
    return replace(value, low=max(0.0, value.low))
