"""What the starts of an experiment say of a bound, a span or another server: an answer, with its reason.

One model of noise for each experiment and metric: all servers' starts tell how much starts differ, the twin's
too; `stats.moderated` holds the arithmetic. A claim of several comparisons is contradicted by any of them, so
what speaks against it is held to a wider interval: that of Holm's first step, with the error shared out over
all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from crumple.stats import moderated, proportion
from crumple.stats.looks import Look
from crumple.stats.moderated import BLOCKS_MOST, NO_PRIOR, Estimate, Prior
from crumple.stats.stats import SLACK, Interval
from crumple.verdict.effect import Answer, Limit, Opinion
from crumple.verdict.evidence import Evidence, Paired
from crumple.verdict.verdict_sentences import number


@dataclass(frozen=True)
class Twins:
    """A server against itself by the rules that servers are compared by."""

    experiment: str
    server: str
    metric: str
    ratio: Interval

    @property
    def called_different(self) -> bool:
        """Whether the interval excludes 1, as it does by chance of a share of `1 - ratio.confidence`."""
        return self.ratio.low > 1 + SLACK or self.ratio.high < 1 - SLACK


@dataclass(frozen=True)
class Noise:
    """Of an experiment in a metric. `spread`: how much starts differ, blocks taken out, as a ratio above 1.

    `visible`: the ratio of two servers that a run of so many `blocks` sees in four cases of five. None where
    it is not known, and then `why`. `twins`: None where no server ran twice in two blocks.
    """

    spread: float | None
    visible: float | None
    blocks: int
    twins: Twins | None
    why: str = ""


def ratio(evidence: Evidence, of: str, to: str, paired: Paired) -> Estimate:
    """That of two servers, from the logarithms of their ratios within blocks.

    Pairing costs half of the degrees of freedom and takes out what a block's trials have in common, of which
    there is more on a small machine than of anything else; what is borrowed makes up for the former.
    """
    logs = [math.log(a / b) for a, b in zip(paired.of_values, paired.to_values, strict=True)]
    one, other = (evidence.place(name).experiment for name in (of, to))
    known = {place: moderated.prior([*evidence.rows(place).values()]) for place in {one, other}}
    return moderated.estimated(logs, moderated.of_two(known[one], known[other]))


def value(values: Sequence[float]) -> Estimate:
    """The geometric mean of one server's values, from these alone.

    Blocks are part of what it scatters by, and the same for all servers: that the others scatter alike is no
    further evidence of how much.
    """
    return plain([math.log(each) for each in values], logarithmic=True)


def plain(values: Sequence[float], *, logarithmic: bool) -> Estimate:
    """The mean of what has no like among other servers; logarithms where `logarithmic`."""
    return moderated.estimated(values, NO_PRIOR, logarithmic=logarithmic, follow_skew=True)


def noise(evidence: Evidence, name: str, confidence: float) -> Noise:
    """What is known of the noise of the evidence's experiment; `name`: of its metric."""
    rows = evidence.rows(evidence.experiment)
    known = moderated.prior([*rows.values()])
    blocks = max((len(row) for row in rows.values()), default=0)
    twins = _twins(evidence, name, rows, known, confidence)
    if known.variance <= 0:
        return Noise(None, None, blocks, twins, "it takes two servers, or one and its twin, in two blocks")
    seen = moderated.visible(moderated.of_two(known, known), blocks, confidence)
    return Noise(math.exp(math.sqrt(known.variance)), seen, blocks, twins)


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


# A published 1.10 states a gain, however wide the tolerance; what is nearer to 1 states that two are alike.
ALIKE_WITHIN = 1.05
# From few blocks an estimate may lie near a bound by chance: so likely the truth lies nearer than is hoped.
# By simulation it costs no power of five blocks at most, and 2 % of twelve.
HOPED = 0.9


@dataclass(frozen=True)
class Shared:
    """Over how many comparisons the error of a claim is shared out: of what is for it, and against it."""

    support: int = 1
    contradiction: int = 1


ONE = Shared()


@dataclass(frozen=True)
class Seen:
    """An estimate as a claim looks at it. `limit`: it is only a bound, and one end is not known."""

    estimate: Estimate
    look: Look
    shared: Shared = ONE
    limit: Limit = ""

    @property
    def shown(self) -> Interval:
        """That which is printed, with the confidence in which it holds together with those of all looks."""
        return replace(self._interval(1), confidence=self.look.confidence)

    @property
    def support(self) -> Interval:
        """That which has to speak for the claim."""
        return self._interval(self.shared.support)

    @property
    def contradiction(self) -> Interval:
        """That which has to speak against it."""
        return self._interval(self.shared.contradiction)

    def undecided(self, reason: str, *bounds: float, direction: Answer | None = None) -> Opinion:
        """Open, with what it would take to tell on which side of the nearest bound the truth lies."""
        needed = hoped = None
        if not self.limit and not self.look.past:
            nearest = min(bounds, key=self._distance)
            needed = self.estimate.blocks_needed(nearest, self._later)
            hoped = self.estimate.blocks_needed(nearest, self._later, HOPED)
        return Opinion(Answer.UNDECIDED, reason, direction, needed, bounds, hoped)

    def decided(
        self, answer: Answer, reason: str, *bounds: float, among: Sequence[float] = (),
        direction: Answer | None = None,
    ) -> Opinion:  # fmt: skip
        """Shown, and how far the interval that is printed lies from what would change that.

        `bounds`: what it was held against; `among`: all numbers from which digits have to tell it.
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
        """The confidence that so many blocks which count will be held to; those lost so far stay lost."""
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
    """The factor between its nearest end and the nearest bound; None where one of the two is not above 0."""
    ends = [end for end in (interval.low, interval.high) if 0 < end < math.inf]
    known = [bound for bound in bounds if 0 < bound < math.inf]
    return min((max(end / bound, bound / end) for end in ends for bound in known), default=None)


@dataclass(frozen=True)
class Span:
    """From `low` to `high`, both above 0 and both within it."""

    low: float
    high: float

    @classmethod
    def around(cls, low: float, high: float, tolerance: float) -> "Span":
        """As far again on either side, as a ratio."""
        return cls(low / (1 + tolerance), high * (1 + tolerance))

    def holds(self, interval: Interval) -> bool:
        """All of the interval."""
        return interval.low >= self.low * (1 - SLACK) and interval.high <= self.high * (1 + SLACK)

    def beside(self, interval: Interval) -> str:
        """ "below" or "above" where none of the interval is within; else empty."""
        if interval.high < self.low * (1 - SLACK):
            return "below"
        return "above" if interval.low > self.high * (1 + SLACK) else ""

    @property
    def ends(self) -> tuple[float, float]:
        """Both."""
        return self.low, self.high

    def __str__(self) -> str:
        return f"{number(self.low)} to {number(self.high)} times"


def states_likeness(published: float, tolerance: float) -> bool:
    """Whether a published ratio says that two are alike, and not that one is ahead."""
    return abs(math.log(published)) <= math.log(min(1 + tolerance, ALIKE_WITHIN)) + SLACK


def ranked(seen: Seen, higher_is_better: bool) -> Opinion:
    """Which of two is better."""
    if _side_of_1(seen.support) == (1 if higher_is_better else -1):
        return seen.decided(Answer.SUPPORTED, "that is better, beyond chance", 1.0)
    if _side_of_1(seen.contradiction) == (-1 if higher_is_better else 1):
        return seen.decided(Answer.CONTRADICTED, "that is worse, beyond chance", 1.0)
    return seen.undecided(_either(seen), 1.0)


def sized(seen: Seen, published: float, tolerance: float, whose: str = "published") -> Opinion:
    """A published ratio away from 1: its direction and its size, each a finding of its own."""
    span = Span.around(published, published, tolerance)
    # Where the tolerance is wide enough to reach over 1, the wrong direction is still not the published size.
    span = Span(max(span.low, 1.0), span.high) if published > 1 else Span(span.low, min(span.high, 1.0))
    size, side = f"what counts as the {whose} size ({span})", span.beside(seen.contradiction)
    meant = 1 if published > 1 else -1
    if _side_of_1(seen.contradiction) == -meant:
        reason = "that is the other way round, beyond chance"
        return seen.decided(Answer.CONTRADICTED, reason, 1.0, direction=Answer.CONTRADICTED)
    direction = Answer.SUPPORTED if _side_of_1(seen.support) == meant else Answer.UNDECIDED
    bounds = (1.0, *span.ends)
    if span.holds(seen.support):
        lies = f"the whole interval lies in {size}"
        return seen.decided(Answer.SUPPORTED, lies, *span.ends, among=bounds, direction=direction)
    if side:
        lies = f"the whole interval lies {side} {size}"
        holds = (
            "the direction holds but not the size" if direction is Answer.SUPPORTED else "neither is ahead"
        )
        reason = f"{holds}: {lies}"
        return seen.decided(Answer.CONTRADICTED, reason, *span.ends, among=bounds, direction=direction)
    if direction is Answer.SUPPORTED:
        reason = f"the direction holds but the size is open: the interval lies only partly in {size}"
        return seen.undecided(reason, *span.ends, direction=direction)
    return seen.undecided(_either(seen), 1.0, *span.ends, direction=direction)


def alike(seen: Seen, published: float, tolerance: float) -> Opinion:
    """A published ratio of about 1: alike when the interval leaves no room for more than the tolerance."""
    span = Span.around(published, published, tolerance)
    likeness = f"what counts as alike ({span})"
    if span.holds(seen.support):
        return seen.decided(Answer.SUPPORTED, f"the whole interval lies in {likeness}", *span.ends)
    if side := span.beside(seen.contradiction):
        return seen.decided(Answer.CONTRADICTED, f"the whole interval lies {side} {likeness}", *span.ends)
    return seen.undecided(f"the interval lies only partly in {likeness}", *span.ends)


def beyond(seen: Seen, bound: float, worded: str, above: bool) -> Opinion:
    """Whether a value lies above a bound, or below it."""
    # A bound that is reached is met, so the claim's own side is asked first.
    if side := beyond_bound(seen.support, bound, above):
        return seen.decided(Answer.SUPPORTED, f"the whole interval lies {side} {worded}", bound)
    if side := beyond_bound(seen.contradiction, bound, not above):
        return seen.decided(Answer.CONTRADICTED, f"the whole interval lies {side} {worded}", bound)
    return seen.undecided(f"the interval lies on both sides of {worded}", bound)


def beyond_bound(value: Interval, bound: float, above: bool) -> str:
    """How the whole interval lies on that side of the bound; empty where it does not."""
    distance = value.low - bound if above else bound - value.high
    side, slack = "above" if above else "below", abs(bound) * SLACK
    if distance > slack:
        return side
    # A share of 0 is not above 0.
    reached = distance >= -slack and not (above and bound == 0)
    return f"at or {side}" if reached else ""


def within(seen: Seen, span: Span, worded: str) -> Opinion:
    """Whether a figure is the published one, `worded` being what counts as that."""
    if span.holds(seen.support):
        return seen.decided(Answer.SUPPORTED, f"the whole interval lies in {worded}", *span.ends)
    if side := span.beside(seen.contradiction):
        return seen.decided(Answer.CONTRADICTED, f"the whole interval lies {side} {worded}", *span.ends)
    return seen.undecided(f"the interval lies only partly in {worded}", *span.ends)


def refuted(look: Look, comparisons: int, times: int, of: int, reason: str) -> Opinion:
    """What speaks against a claim without an interval: so many `of` blocks did what fewer than half should.

    Exact (Clopper and Pearson): were it half of all starts, so many would do it by chance no more often than
    the error of the look. Else open, with the blocks it takes if as large a share of them goes on to do it.
    """

    def tells(blocks: int) -> bool:
        chance = proportion.chance_at_half(blocks * times // of, blocks)
        return chance <= 1 - look.at(look.blocks + blocks - of).level(comparisons)

    if tells(of):
        return Opinion(Answer.CONTRADICTED, reason)
    chance = proportion.chance_at_half(times, of)
    by_chance = f"{reason}; by chance that may come out in {number(100 * chance)} % of runs"
    later = () if look.past else range(of + 1, BLOCKS_MOST + 1)
    needed = next((blocks for blocks in later if tells(blocks)), None)
    return Opinion(Answer.UNDECIDED, by_chance, blocks_needed=needed, blocks_hoped=needed)


def _side_of_1(ratio: Interval) -> int:
    """1 where all of it lies above 1, −1 below, 0 where it includes 1."""
    return (ratio.low > 1 + SLACK) - (ratio.high < 1 - SLACK)


def _either(seen: Seen) -> str:
    if _side_of_1(seen.shown):
        return "one of several comparisons by chance alone may lie so far from 1"
    return "the interval includes 1, so either may be the higher"
