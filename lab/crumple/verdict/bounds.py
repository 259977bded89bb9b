"""One server against a bound or a published figure: claims of share, figure and stall."""

from collections.abc import Iterator
from dataclasses import replace

from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.stats import stats
from crumple.stats.stats import Interval
from crumple.study.claim import FigureClaim, ShareClaim, StallClaim, quantity
from crumple.verdict import opinions
from crumple.verdict.case import Case, Judged, told, untestable
from crumple.verdict.effect import Effect
from crumple.verdict.evidence import NO_FLOOR, Alone, seen_in
from crumple.verdict.opinions import Span
from crumple.verdict.sentences import amount, amounts

READINGS_MIN = 3


def share(claim: ShareClaim, case: Case) -> Iterator[Judged]:
    """The metric of each server against the bound. A mean, not a geometric one: a share may be 0."""
    evidence = case.evidence(claim.experiment, seen_in(claim.metric, claim.users), claim.against)
    above = claim.above is not None
    worded = amount(claim.bound, "times" if claim.against else evidence.metric.unit)
    bound = f"{'above' if above else 'below'} {worded}"
    for server in claim.servers:
        alone = evidence.alone(server)
        if alone.untestable:
            yield untestable(evidence.phrase, server, alone.untestable, bound)
            continue
        value = stats.mean_interval(alone.values, claim.confidence)
        value = _a_share(value) if evidence.metric.unit == "share" else _from_0(value)
        # Shares of next to nothing have ratios that mean nothing.
        floor = NO_FLOOR if evidence.metric.unit == "share" else evidence.floor_of(server)
        yield told(evidence, server, alone, value, floor,
                   opinions.beyond(value, floor, claim.bound, worded, above), bound)  # fmt: skip


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
    for server in claim.servers:
        alone = evidence.alone(server, above_0=True)
        if alone.untestable:
            yield untestable(evidence.phrase, server, alone.untestable, published)
            continue
        value, floor = (
            stats.geometric_mean_interval(alone.values, claim.confidence),
            evidence.floor_of(server),
        )
        opinion = opinions.within(value, floor, span, worded, claim.tolerance)
        yield told(evidence, server, alone, value, floor, opinion, published)


def stall(claim: StallClaim, case: Case) -> Iterator[Judged]:
    """How long the light request took, against the bound or the CPU time of one heavy request."""
    evidence = case.evidence(claim.experiment, METRICS[claim.metric])
    bound = quantity(claim.bound)[0] if claim.bound is not None else None
    asked = amount(bound, "ns") if bound else "the CPU time of one heavy request"
    side = f"{'above' if claim.stalls else 'below'} {asked}"
    for server in claim.servers:
        alone = evidence.alone(server, above_0=True)
        waited = _in_bounds(alone, bound)
        if alone.untestable or not waited:
            why = alone.untestable or "the CPU time of a request is not known"
            yield untestable(evidence.phrase, server, why, side)
            continue
        times = stats.geometric_mean_interval(waited, claim.confidence)
        opinion = opinions.beyond(times, evidence.floor_of(server), 1.0, asked, above=claim.stalls)
        if bound is None:
            typical = stats.geometric_mean_interval(_heavy_ns(alone.figures)).estimate
            opinion = replace(opinion, reason=f"{opinion.reason} ({amount(typical, 'ns')})")
        value = stats.geometric_mean_interval(alone.values, claim.confidence)
        yield told(evidence, server, alone, value, evidence.floor_of(server), opinion, side)


def _in_bounds(alone: Alone, bound: float | None) -> list[float]:
    """Each block's time in units of what it is held against; empty where that is not known."""
    if bound is not None:
        return [value / bound for value in alone.values]
    heavy = _heavy_ns(alone.figures)
    if len(heavy) < len(alone.values):
        return []
    return [value / one for value, one in zip(alone.values, heavy, strict=True)]


def _heavy_ns(figures: tuple[Figures, ...]) -> list[float]:
    return [trial.cpu_per_request_us * 1e3 for trial in figures if trial.cpu_per_request_us]


def _cost(claim: FigureClaim, case: Case, span: Span, published: str) -> Judged:
    assert claim.cost is not None
    what, readings = f"cost of a {claim.cost.replace('_', ' ')}", case.facts.costs.get(claim.cost, ())
    if len(readings) < READINGS_MIN:
        return untestable(what, "this machine", "it was not measured with this run", published)
    value = stats.geometric_mean_interval(readings, claim.confidence)
    opinion = opinions.within(value, NO_FLOOR, span, _counts_as(span, "ns"), claim.tolerance)
    effect = Effect(
        label=claim.cost.replace("_", " "), of="this machine", to="", published=None, ratio=None,
        noise_floor=None, answer=opinion.answer, direction_only=False, reason=opinion.reason, value=value,
        unit="ns", bound=published, what=what, repeated="readings",
    )  # fmt: skip
    return effect, (), NO_FLOOR


def _counts_as(span: Span, unit: str) -> str:
    return f"what counts as that figure ({amounts(span.low, span.high, unit)})"


def _from_0(value: Interval) -> Interval:
    return replace(value, low=max(0.0, value.low))


def _a_share(value: Interval) -> Interval:
    # Student's t knows nothing of shares: none is below 0, and none above 1.
    return replace(_from_0(value), high=min(1.0, value.high))
