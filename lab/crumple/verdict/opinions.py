"""Compare the starts of an experiment with a bound, a span or another server: an answer, with its reason.

Each experiment and metric has one model of noise: the starts of all servers, the twin's included, show how
much starts differ; `stats.moderated` does the arithmetic. Any one comparison may contradict a claim of
several, so a contradiction needs a wider interval: that of Holm's first step, with the error shared out over
all comparisons.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from crumple.record import undisturbed
from crumple.record.undisturbed import Factors
from crumple.stats import moderated, stats
from crumple.stats.decision import SLACK, Span, differs, exceeds
from crumple.stats.interval import Interval
from crumple.stats.moderated import BLOCKS_MOST, NO_PRIOR, Estimate, Prior
from crumple.stats.sequential import Look
from crumple.verdict.effect import Limit, Opinion, VerdictWord
from crumple.verdict.evidence import BLOCKS_MIN, Evidence, ServerPair
from crumple.verdict.verdict_sentences import number, times


@dataclass(frozen=True)
class Twins:
    """A server compared with its twin, by the rules that servers are compared by."""

    experiment: str
    server: str
    metric: str
    ratio: Interval

    @property
    def called_different(self) -> bool:
        """Whether the interval excludes 1; by chance it does in a share `1 - ratio.confidence` of cases."""
        return differs(self.ratio)


@dataclass(frozen=True)
class Noise:
    """The noise of an experiment in one metric. `spread`: how much starts differ, as a ratio above 1.

    What the starts of a block have in common is not part of it. `visible`: the ratio of two servers that
    `blocks` blocks with both see in four cases of five; no two servers have more in common, and with
    `some_have_fewer` others have fewer. `spread` and `visible` are None if not known; `why`: the reason.
    `twins`: None if no server ran twice in at least two blocks.
    """

    spread: float | None
    visible: float | None
    blocks: int
    twins: Twins | None
    why: str = ""
    some_have_fewer: bool = False


def ratio(evidence: Evidence, of: str, to: str, paired: ServerPair) -> Estimate:
    """Return the estimate of the ratio of two servers, from the logarithms of their ratios within blocks.

    Pairing costs half of the degrees of freedom, and removes what a block's trials have in common, which is
    the largest part of the noise on a small machine. The degrees of freedom borrowed from other servers make
    up for the cost.
    """
    logs = [math.log(a / b) for a, b in zip(paired.of_values, paired.to_values, strict=True)]
    one, other = (evidence.place(name).experiment for name in (of, to))
    known = {place: moderated.prior([*evidence.rows(place).values()]) for place in {one, other}}
    estimate = moderated.estimated(logs, moderated.of_two(known[one], known[other]))
    return replace(estimate, off=undisturbed.logarithms(paired.factors))


def value(values: Sequence[float], factors: Sequence[Factors] = ()) -> Estimate:
    """Return the estimate of the geometric mean of one server's values, from these values alone.

    The values scatter by block too, and a block affects all servers alike. So the scatter of other servers is
    no further evidence.
    """
    return plain([math.log(each) for each in values], logarithmic=True, factors=factors)


def plain(values: Sequence[float], *, logarithmic: bool, factors: Sequence[Factors] = ()) -> Estimate:
    """Return the estimate of the mean of `values` from these alone; `logarithmic`: they are logarithms.

    `factors`: how far those of a calm machine may lie from them, without the logarithm.
    """
    estimate = moderated.estimated(values, NO_PRIOR, logarithmic=logarithmic, follow_skew=True)
    off = undisturbed.logarithms(factors) if logarithmic else undisturbed.plain(values, factors)
    return replace(estimate, off=off)


def noise(evidence: Evidence, name: str, confidence: float) -> Noise:
    """Return what is known of the noise of the evidence's experiment; `name`: the metric's name."""
    rows = evidence.rows(evidence.experiment)
    known = moderated.prior([*rows.values()])
    common = [len(one.keys() & other.keys()) for one, other in combinations(rows.values(), 2)]
    blocks = max(common, default=max(map(len, rows.values()), default=0))
    twins = _twins(evidence, name, rows, known, confidence)
    if known.variance <= 0:
        return Noise(None, None, blocks, twins, "it takes two servers, or one and its twin, in two blocks")
    spread = math.exp(math.sqrt(known.variance))
    if blocks < BLOCKS_MIN:
        return Noise(spread, None, blocks, twins, "no two servers have two blocks in common")
    seen = moderated.visible(moderated.of_two(known, known), blocks, confidence)
    fewer = any(len(row) < blocks for (_, is_twin), row in rows.items() if not is_twin)
    return Noise(spread, seen, blocks, twins, some_have_fewer=fewer)


def _twins(
    evidence: Evidence, metric: str, rows: dict[tuple[str, bool], dict[int, float]], known: Prior,
    confidence: float,
) -> Twins | None:  # fmt: skip
    for (server, twin), second in rows.items():
        first = rows.get((server, False), {})
        common = [block for block in second if twin and block in first]
        if len(common) > 1:
            logs = [first[block] - second[block] for block in common]
            estimate = moderated.estimated(logs, moderated.of_two(known, known))
            return Twins(evidence.experiment, server, metric, estimate.interval(confidence))
    return None


# A published ratio of 1.10 states a gain, however wide the tolerance; one within 5 % of 1 states likeness.
ALIKE_WITHIN = 1.05
# With few blocks an estimate may lie near a bound by chance. So `blocks_hoped` is computed for a truth
# farther from the bound; with this probability the truth is nearer. By simulation, giving claims up by
# `blocks_hoped` costs no power with up to five blocks, and 2 % with twelve.
HOPED = 0.9


@dataclass(frozen=True)
class Shared:
    """Over how many comparisons the error of supporting a claim, and of contradicting it, is shared out."""

    support: int = 1
    contradiction: int = 1


ONE = Shared()


@dataclass(frozen=True)
class Seen:
    """An estimate at one look at a claim. `limit`: it is only a bound, so one end is not known."""

    estimate: Estimate
    look: Look
    shared: Shared = ONE
    limit: Limit = ""

    @property
    def shown(self) -> Interval:
        """The interval that reports print; its confidence is that of the intervals of all looks together."""
        return replace(self._interval(1), confidence=self.look.confidence)

    @property
    def support(self) -> Interval:
        """The interval that has to support the claim."""
        return self._interval(self.shared.support)

    @property
    def contradiction(self) -> Interval:
        """The interval that has to contradict the claim."""
        return self._interval(self.shared.contradiction)

    def undecided(self, reason: str, *bounds: float, direction: VerdictWord | None = None) -> Opinion:
        """Return an undecided opinion, with the blocks that would show the side of the nearest bound."""
        needed = hoped = None
        by_others = False
        if not self.limit and not self.look.past:
            nearest = min(bounds, key=self._distance)
            needed = self.estimate.blocks_needed(nearest, self._later)
            hoped = self.estimate.blocks_needed(nearest, self._later, HOPED)
            calm = replace(self.estimate, off=(0.0, 0.0))
            by_others = needed is None and calm.blocks_needed(nearest, self._later) is not None
        return Opinion(VerdictWord.UNDECIDED, reason, direction, needed, bounds, hoped, by_others=by_others)

    def decided(
        self, answer: VerdictWord, reason: str, *bounds: float, among: Sequence[float] = (),
        direction: VerdictWord | None = None,
    ) -> Opinion:  # fmt: skip
        """Return a decided opinion, with the margin between the interval that reports print and the bounds.

        `bounds`: the numbers that the interval was compared with; `among`: all numbers from which the digits
        shown have to tell it, `bounds` if empty.
        """
        margin = apart(self.shown, bounds)
        return Opinion(answer, reason, direction, bounds=tuple(among or bounds), margin=margin)

    def _interval(self, comparisons: int) -> Interval:
        if comparisons not in self._intervals:
            found = self._limited(self.estimate.interval(self.look.level(comparisons)))
            self._intervals[comparisons] = found
        return self._intervals[comparisons]

    @cached_property
    def _intervals(self) -> dict[int, Interval]:
        return {}

    def _later(self, blocks: int) -> float:
        """Return the confidence needed at `blocks` blocks that count; blocks lost so far stay lost."""
        lost = max(0, self.look.blocks - self.estimate.n)
        return self.look.at(blocks + lost).level(self.shared.support)

    def _distance(self, bound: float) -> float:
        if not self.estimate.logarithmic:
            return abs(self.estimate.centre - bound)
        return abs(self.estimate.centre - math.log(bound)) if bound > 0 else math.inf

    def _limited(self, interval: Interval) -> Interval:
        if not self.limit:
            return interval
        low = interval.low if self.limit == "at least" else (0.0 if self.estimate.logarithmic else -math.inf)
        high = interval.high if self.limit == "at most" else math.inf
        return Interval(interval.estimate, low, high, interval.confidence, interval.n)


def apart(interval: Interval, bounds: Sequence[float]) -> float | None:
    """Return the factor between the interval's nearest end and the nearest bound.

    None if no end, or no bound, is finite and above 0.
    """
    ends = [end for end in (interval.low, interval.high) if 0 < end < math.inf]
    known = [bound for bound in bounds if 0 < bound < math.inf]
    return min((max(end / bound, bound / end) for end in ends for bound in known), default=None)


def states_likeness(published: float, tolerance: float) -> bool:
    """Whether a published ratio says that two are alike, and not that one is ahead."""
    return abs(math.log(published)) <= math.log(min(1 + tolerance, ALIKE_WITHIN)) + SLACK


def ranked(seen: Seen, higher_is_better: bool) -> Opinion:
    """Judge whether the first of two servers is better."""
    better, worse = ("yes", "no") if higher_is_better else ("no", "yes")
    if exceeds(seen.support) == better:
        return seen.decided(VerdictWord.SUPPORTED, "that is better, beyond chance", 1.0)
    if exceeds(seen.contradiction) == worse:
        return seen.decided(VerdictWord.CONTRADICTED, "that is worse, beyond chance", 1.0)
    return seen.undecided(_either(seen), 1.0)


def sized(seen: Seen, published: float, tolerance: float, whose: str = "published") -> Opinion:
    """Judge a published ratio away from 1; its direction and its size are separate findings."""
    span = Span.around(published, published, tolerance)
    # Even if the tolerance is wide enough to reach beyond 1, the wrong direction is not the published size.
    span = Span(max(span.low, 1.0), span.high) if published > 1 else Span(span.low, min(span.high, 1.0))
    size, side = f"what counts as the {whose} size ({times(span)})", span.side(seen.contradiction)
    meant, opposite = ("yes", "no") if published > 1 else ("no", "yes")
    if exceeds(seen.contradiction) == opposite:
        reason = "that is the other way round, beyond chance"
        return seen.decided(VerdictWord.CONTRADICTED, reason, 1.0, direction=VerdictWord.CONTRADICTED)
    direction = VerdictWord.SUPPORTED if exceeds(seen.support) == meant else VerdictWord.UNDECIDED
    bounds = (1.0, *span.ends)
    if span.holds(seen.support) == "yes":
        lies = f"the whole interval lies in {size}"
        return seen.decided(VerdictWord.SUPPORTED, lies, *span.ends, among=bounds, direction=direction)
    if side:
        lies = f"the whole interval lies {side} {size}"
        holds = (
            "the direction holds but not the size"
            if direction is VerdictWord.SUPPORTED
            else "neither is ahead"
        )
        reason = f"{holds}: {lies}"
        return seen.decided(VerdictWord.CONTRADICTED, reason, *span.ends, among=bounds, direction=direction)
    if direction is VerdictWord.SUPPORTED:
        reason = f"the direction holds but the size is open: the interval lies only partly in {size}"
        return seen.undecided(reason, *span.ends, direction=direction)
    return seen.undecided(_either(seen), 1.0, *span.ends, direction=direction)


def alike(seen: Seen, published: float, tolerance: float) -> Opinion:
    """Judge a published ratio of about 1: alike if the whole interval lies within the tolerance."""
    span = Span.around(published, published, tolerance)
    return within(seen, span, f"what counts as alike ({times(span)})")


def beyond(seen: Seen, bound: float, worded: str, above: bool) -> Opinion:
    """Judge whether a value lies above a bound, or below it."""
    # A value equal to the bound meets it, so test the claimed side first.
    if side := beyond_bound(seen.support, bound, above):
        return seen.decided(VerdictWord.SUPPORTED, f"the whole interval lies {side} {worded}", bound)
    if side := beyond_bound(seen.contradiction, bound, not above):
        return seen.decided(VerdictWord.CONTRADICTED, f"the whole interval lies {side} {worded}", bound)
    return seen.undecided(f"the interval lies on both sides of {worded}", bound)


def beyond_bound(value: Interval, bound: float, above: bool) -> str:
    """Return how the whole interval lies on that side of the bound ("at or above"); empty if it does not."""
    distance = value.low - bound if above else bound - value.high
    side, slack = "above" if above else "below", abs(bound) * SLACK
    if distance > slack:
        return side
    # A share of 0 is not above 0.
    reached = distance >= -slack and not (above and bound == 0)
    return f"at or {side}" if reached else ""


def within(seen: Seen, span: Span, worded: str) -> Opinion:
    """Judge whether a figure is the published one; `worded`: the span that counts as that, in words."""
    if span.holds(seen.support) == "yes":
        return seen.decided(VerdictWord.SUPPORTED, f"the whole interval lies in {worded}", *span.ends)
    if side := span.side(seen.contradiction):
        return seen.decided(VerdictWord.CONTRADICTED, f"the whole interval lies {side} {worded}", *span.ends)
    return seen.undecided(f"the interval lies only partly in {worded}", *span.ends)


def refuted(look: Look, comparisons: int, times: int, of: int, reason: str) -> Opinion:
    """Judge a claim by a count instead of an interval: `times` of `of` blocks speak against it.

    Suppose that half of all starts do so. The claim is contradicted if chance then gives so many blocks no
    more often than the error of the look allows (exact, Clopper and Pearson). Else it is undecided, with the
    blocks needed if the same share of later blocks speaks against it.
    """

    def tells(blocks: int) -> bool:
        chance = stats.chance_at_half(blocks * times // of, blocks)
        return chance <= 1 - look.at(look.blocks + blocks - of).level(comparisons)

    if tells(of):
        return Opinion(VerdictWord.CONTRADICTED, reason)
    chance = stats.chance_at_half(times, of)
    by_chance = f"{reason}; by chance that may come out in {number(100 * chance)} % of runs"
    later = () if look.past else range(of + 1, BLOCKS_MOST + 1)
    needed = next((blocks for blocks in later if tells(blocks)), None)
    return Opinion(VerdictWord.UNDECIDED, by_chance, blocks_needed=needed, blocks_hoped=needed)


def _either(seen: Seen) -> str:
    if differs(seen.shown):
        return "one of several comparisons by chance alone may lie so far from 1"
    return "the interval includes 1, so either may be the higher"
