"""The result of each claim in a sentence, told from the larger side of its ratio.

A sentence is built from a claim's kind and metric and from the effect's figures, not from the study's words,
and has no full stop. Plain text: the formats place it. `study_answer` makes the answer of a study of them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from crumple.drawing import numerals
from crumple.record.metrics import METRICS
from crumple.run.report import server_names
from crumple.run.report.view import RunView
from crumple.stats.interval import Interval
from crumple.study.claim import Claim
from crumple.verdict import opinions
from crumple.verdict.effect import EXPECTED, Effect, VerdictWord
from crumple.verdict.verdict import Verdict
from crumple.verdict.verdict_sentences import capital, ends, value_ends

# How far a measured 0 lies from what was claimed, as a logarithm: as far as a factor of a thousand, which is
# farther than any ratio that was measured.
FARTHEST = math.log(1_000)
# Printed instead of an interval that shows nothing.
TWO_BLOCKS = "two blocks"
# A sentence repeats two names if they have at most 32 characters together; with longer ones it would take
# more than a line to say what is claimed.
NAMED_MAX = 32
# A claimed ratio is shown as it is printed if that takes at most five characters: "13.7", "1.456".
PRINTED_MAX = 5
# The tier of a claim that nothing is known about: behind the four tiers of surprises, 0 to 3.
_LAST = 4
_RATIOS = {
    "throughput": "{of} is {times} as fast as {to}",
    "successes": "{of} answers {times} as many requests as {to}",
    "response_mean": "{of} takes {times} as long as {to} to answer",
    "response_p50": "{of} takes {times} as long as {to} to answer, in the median",
    "memory": "{of} takes {times} the memory of {to}",
    "memory_per_connection": "{of} takes {times} the memory of {to} for each connection",
    "cpu_per_request": "{of} takes {times} the CPU time of {to} for each request",
    "switches": "{of} makes {times} as many context switches as {to} for each request",
}
_ANY_RATIO = "the {what} of {of} is {times} that of {to}"
_OF_CANARY = {
    "canary_p50": "in {of} a light request beside heavy ones takes {value} in the median",
    "canary_p90": "in {of} one light request of ten beside heavy ones takes more than {value}",
    "canary_p99": "in {of} one light request of 100 beside heavy ones takes more than {value}",
}


@dataclass(frozen=True)
class ClaimResult:
    """The result of one claim."""

    verdict: Verdict
    claim: Claim
    lead: Effect | None
    """The comparison that the sentence is about; None: nothing is known."""
    sentence: str
    tier: int
    """How great a surprise the result is; lower tiers come first."""
    distance: float
    """How far what was measured lies from what was claimed; the greatest of a tier comes first."""

    @property
    def own(self) -> bool:
        """Whether the claim is compared with a figure that the study expects and no article prints."""
        lead = self.lead
        return lead is not None and (lead.expected is not None or lead.bound.startswith(EXPECTED))

    @property
    def rank(self) -> tuple[int, bool, float]:
        """The sort key of surprises; what an article prints comes before what a study expects."""
        return self.tier, self.own, -self.distance


def findings(view: RunView) -> list[ClaimResult]:
    """Return a finding for each claim that the run asks, in the study's order."""
    claims = {claim.id: claim for claim in view.run.study.claims}
    return [_finding(view, verdict, claims[verdict.claim_id]) for verdict in view.asked]


def why_untestable(verdict: Verdict) -> str:
    """Return briefly why a claim could not be tested: "node-http was not valid in block 1"."""
    reason = next((effect.reason for effect in verdict.effects if effect.reason), "")
    gist = reason.partition("; ")[0].partition(" (")[0]
    return gist.rpartition("there is none: ")[2]


def _finding(view: RunView, verdict: Verdict, claim: Claim) -> ClaimResult:
    lead = lead_of(verdict)
    if lead is None:
        return ClaimResult(verdict, claim, None, "", _LAST, 0.0)
    labels = [label for effect in verdict.effects for label in (effect.of, effect.to) if label]
    said = _clause(view, claim, lead, server_names.plain(view, labels))
    return ClaimResult(verdict, claim, lead, capital(said), _tier(claim, lead), distance(claim, lead))


def lead_of(verdict: Verdict) -> Effect | None:
    """Return the comparison to report: the farthest from a contradicted claim, the closest of an order.

    Of other claims it is the first one with the verdict's answer; None if the claim is not testable.
    """
    if verdict.answer is VerdictWord.NOT_TESTABLE:
        return None
    alike = [effect for effect in verdict.effects if effect.answer is verdict.answer]
    if verdict.answer is VerdictWord.CONTRADICTED:
        # A verdict in size only is reported by a refuted size, any other by an effect not in size only.
        refuted = [effect for effect in alike if effect.in_size_only == verdict.in_size_only]
        return max(refuted or alike, key=_distance_from_claimed, default=None)
    if verdict.kind == "order":
        return min(alike, key=_distance_from_claimed, default=None)
    return next(iter(alike), None)


def distance(claim: Claim, effect: Effect) -> float:
    """Return the log distance between what was measured and claimed; 0 if either is not a number."""
    # A light request is compared with each trial's own limit, so there is no one number claimed.
    return 0.0 if claim.kind == "stall" else _distance_from_claimed(effect)


def _tier(claim: Claim, effect: Effect) -> int:
    """Return the tier: 0 for reversed directions, 1 for sizes, 2 for orders, 3 for costs of the machine."""
    if effect.direction is VerdictWord.CONTRADICTED:
        return 0
    if claim.kind == "order":
        return 2
    return 3 if claim.kind == "figure" and claim.cost is not None else 1


def _distance_from_claimed(effect: Effect) -> float:
    measured, claimed = effect.measured, _claimed(effect)
    if measured is None or claimed is None:
        return 0.0
    if measured.estimate > 0:
        return abs(math.log(measured.estimate / claimed))
    # A measured share of 0 still allows for a share as high as the interval's end.
    return abs(math.log(measured.high / claimed)) if measured.high > 0 else FARTHEST


def _claimed(effect: Effect) -> float | None:
    """Return the number that was claimed, in the unit of what was measured; None if there is none."""
    if size := effect.published or effect.expected:
        return size
    known = [bound for bound in effect.bounds if 0 < bound < math.inf]
    # The span that counts as a figure reaches as far on either side, so the figure is its geometric mean.
    return math.prod(known) ** (1 / len(known)) if known else None


def _clause(view: RunView, claim: Claim, effect: Effect, names: Mapping[str, str]) -> str:
    whose = "the article" if view.run.study.article else "the study"
    if effect.ratio is not None:
        return _ratio(claim, effect, names, whose)
    if effect.value is not None:
        return f"{_value(claim, effect, names)}; {_bound(claim, effect, whose)}"
    # The result is not a number.
    said = f"{names[effect.of]}: {effect.reason}"
    return f"{said}; {_bound(claim, effect, whose)}" if effect.bound else said


def larger_side(effect: Effect) -> Effect:
    """Return a comparison told from its larger side: 5.3 times as fast, and not 0.190 times."""
    ratio = effect.ratio
    return effect if ratio is None or effect.limit or ratio.estimate >= 1 else turned(effect)


def turned(effect: Effect) -> Effect:
    """Return a comparison of the second server with the first, without the bound in words."""
    assert effect.ratio is not None
    return replace(
        effect,
        of=effect.to,
        to=effect.of,
        ratio=_invert(effect.ratio),
        published=effect.published and 1 / effect.published,
        expected=effect.expected and 1 / effect.expected,
        bounds=tuple(1 / bound if bound else math.inf for bound in effect.bounds),
        bound="",
    )


def as_claimed(claim: Claim, effect: Effect) -> Effect:
    """Return a comparison told from the side that is larger in the claim, as tables of claims have it."""
    size = effect.published or effect.expected
    below = size < 1 if size else claim.kind == "order" and not claims_more(claim, effect)
    return turned(effect) if below and effect.ratio is not None and not effect.limit else effect


def claims_more(claim: Claim, effect: Effect) -> bool:
    """Return whether an order has the first server of a comparison above the second in the figure."""
    metric = METRICS.get(getattr(claim, "metric", ""))
    is_better_high = metric is None or metric.better == "higher"
    tiers: Sequence[Sequence[str]] = getattr(claim, "tiers", ())
    place = {name: at for at, tier in enumerate(tiers) for name in tier}
    return is_better_high == (place.get(effect.of, 0) < place.get(effect.to, len(tiers)))


def _ratio(claim: Claim, effect: Effect, names: Mapping[str, str], whose: str) -> str:
    shown = larger_side(effect)
    said = _ratio_clause(claim, shown, names[shown.of], names[shown.to])
    if effect.bound:
        # A bound is told as it was claimed: from its larger side, whatever was measured.
        whose_bound = "" if shown is effect else f"{names[effect.of]} "
        return f"{said}; claimed: {whose_bound}{effect.bound}"
    size = shown.published or shown.expected
    if size is None:
        holds = effect.answer is VerdictWord.SUPPORTED
        return said if holds else f"{said}; {whose} has {names[effect.of]} ahead"
    has = f"{whose} has" if effect.published else "the study expects"
    if opinions.states_likeness(size, getattr(claim, "tolerance", 0.0)):
        return f"{said}; {has} them alike ({times_of(max(size, 1 / size))})"
    if size > 1:
        return f"{said}; {has} {times_of(size)}"
    first, second = names[shown.of], names[shown.to]
    other, than = (second, f" {first}") if len(first + second) <= NAMED_MAX else ("the other", "")
    times = f"{times_of(1 / size)} times"
    # Who has the larger figure is ahead only where more is better.
    metric = METRICS.get(getattr(claim, "metric", ""))
    if metric is None or metric.better == "higher":
        return f"{said}; {has} {other} ahead, {times}"
    return f"{said}; {has} {other} at {times}{than}"


def times_of(size: float) -> str:
    """Return what was claimed of a ratio; one that was turned round gets two digits, as the articles have."""
    printed = numerals.published(size)
    return printed if len(printed) <= PRINTED_MAX else numerals.significant(size, 2)


def _ratio_clause(claim: Claim, effect: Effect, of: str, to: str) -> str:
    assert effect.ratio is not None
    low, middle, high = ends(effect.ratio, effect.bounds)
    times = f"{middle} times ({TWO_BLOCKS if effect.is_vague else f'{low} to {high}'})"
    if effect.limit:
        times = f"{effect.limit} {low if effect.limit == 'at least' else high} times"
    plainly = getattr(claim, "against", None) is None and getattr(claim, "users", None) is None
    pattern = _RATIOS.get(getattr(claim, "metric", ""), _ANY_RATIO) if plainly else _ANY_RATIO
    return pattern.format(of=of, to=to, times=times, what=effect.what)


def _invert(ratio: Interval) -> Interval:
    def one_over(end: float) -> float:
        return 1 / end if end else math.inf

    return Interval(
        one_over(ratio.estimate), one_over(ratio.high), one_over(ratio.low), ratio.confidence, ratio.n
    )


def _value(claim: Claim, effect: Effect, names: Mapping[str, str]) -> str:
    name, value = names[effect.of], _with_ends(effect)
    if claim.kind == "figure" and claim.cost is not None:
        return f"on this machine the {effect.what.replace('non blocking', 'non-blocking')} is {value}"
    if claim.kind == "stall":
        return _OF_CANARY[claim.metric].format(of=name, value=value)
    if claim.kind == "growth":
        _, _, where = effect.what.partition("per connection")
        return f"{name} adds {value} for each connection{where}"
    if claim.kind == "knee":
        return f"{name} leaves its plateau at {value}"
    return f"the {effect.what.replace(' of the server', '')} of {name} is {value}"


def _with_ends(effect: Effect) -> str:
    figure, low, high, unit = _figure(effect)
    if not low:
        return f"{figure}{unit}{f' ({TWO_BLOCKS})' if effect.is_vague else ''}"
    if effect.unit == "times":
        return f"a factor of {figure} ({low} to {high})"
    return f"{figure}{unit} ({low} to {high}{unit})"


def figure_and_interval(effect: Effect) -> tuple[str, str]:
    """Return the figure with its unit, and its interval or empty: "23.1 ms" and "22.5–23.7"."""
    figure, low, high, unit = _figure(effect)
    # A dash before a minus would read as a second minus.
    interval = f"{low}{' to ' if '−' in low + high else '–'}{high}" if low else ""
    interval = TWO_BLOCKS if effect.is_vague else interval
    return f"{figure}{'' if effect.unit == 'times' else unit}", interval


def _figure(effect: Effect) -> tuple[str, str, str, str]:
    """Return the figure, both ends of its interval, empty if it has none, and its unit."""
    if effect.value is not None:
        low, figure, high, unit = value_ends(effect)
        nothing = effect.value.low == effect.value.high
    else:
        assert effect.ratio is not None
        (low, figure, high), unit, nothing = ends(effect.ratio, effect.bounds), "", False
    if effect.limit:
        return f"{effect.limit} {low if effect.limit == 'at least' else high}", "", "", unit
    if effect.is_vague:
        return figure, "", "", unit
    return (figure if float(figure) else "0", "", "", unit) if nothing else (figure, low, high, unit)


def _bound(claim: Claim, effect: Effect, whose: str) -> str:
    if claim.kind == "stall":
        return f"{whose} has it {'wait for them' if claim.stalls else 'not wait for them'}"
    if claim.kind in ("figure", "knee"):
        expects = effect.bound.removeprefix(EXPECTED)
        return f"the study expects {expects}" if expects != effect.bound else f"{whose} has {effect.bound}"
    return f"claimed: {effect.bound}"
