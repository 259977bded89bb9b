"""Compare the starts of an experiment with a bound, a span or another server: an answer, with its reason.

Each experiment and metric has one model of noise: the starts of all servers, the twin's included, show how
much starts differ; `stats.moderated` does the arithmetic. Any one comparison may contradict a claim of
several, so a contradiction needs a wider interval: that of Holm's first step, with the error shared out over
all comparisons.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean

from crumple.record import undisturbed
from crumple.record.undisturbed import Factors
from crumple.stats import estimate, moderated, of_hosts, shares
from crumple.stats.decision import SLACK, Answer, Extent, differs, exceeds
from crumple.stats.estimate import BLOCKS_MOST, Estimate, Prior
from crumple.stats.interval import SEVERAL, Interval
from crumple.stats.question import BOTH, LookQuestion, Sides
from crumple.stats.sequential import Look
from crumple.verdict.effect import WORDS, Limit, Opinion, VerdictWord
from crumple.verdict.evidence import Evidence, ServerPair
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
    """The noise of an experiment in one metric."""

    spread: float | None
    """How much starts differ, as a ratio above 1.

    What the starts of a block have in common is not part of it.
    """
    visible: float | None
    """The ratio of two servers that `blocks` blocks with both see in four cases of five.

    No two servers have more in common, and with `some_have_fewer` others have fewer. `spread` and
    `visible` are None if not known.
    """
    blocks: int
    twins: Twins | None
    """None if no server ran twice in at least two blocks."""
    why: str = ""
    """The reason."""
    some_have_fewer: bool = False


def ratio(evidence: Evidence, of: str, to: str, paired: ServerPair) -> Estimate:
    """Return the estimate of the ratio of two servers, from the logarithms of their ratios within blocks.

    Pairing costs half of the degrees of freedom, and removes what a block's trials have in common, which is
    the largest part of the noise on a small machine, and what a host does to both. The degrees of freedom
    borrowed from other servers make up for the cost.
    """
    logs = [math.log(a / b) for a, b in zip(paired.of_values, paired.to_values, strict=True)]
    one, other = (evidence.place(name).experiment for name in (of, to))
    several = len({*paired.hosts}) > 1
    rows = _complete(evidence, one, paired) if several and one == other else []
    if of_hosts.differ(rows if len(rows) > 1 else [logs], paired.hosts):
        known = moderated.prior([dict(enumerate(of_hosts.means(row, paired.hosts))) for row in rows])
        found = of_hosts.of_values(logs, paired.hosts, moderated.of_two(known, known))
        return replace(found, off=_off(logs, paired.factors, paired.hosts, logarithmic=True))
    priors = {place: moderated.prior([*evidence.rows(place).values()]) for place in {one, other}}
    found = estimate.of_values(logs, moderated.of_two(priors[one], priors[other]))
    return replace(found, off=undisturbed.logarithms(paired.factors))


def _complete(evidence: Evidence, experiment: str, paired: ServerPair) -> list[list[float]]:
    """Return the logarithms of each server, and twin, that has all blocks of a pair, in their order."""
    rows = evidence.rows(experiment).values()
    return [[row[block] for block in paired.blocks] for row in rows if row.keys() >= {*paired.blocks}]


def if_apart(ratios: Sequence[float], hosts: Sequence[str]) -> Sequence[str]:
    """Return the hosts of ratios that differ between hosts beyond chance; else none, as if all were one.

    `ratios`: of two figures of one host each, as logarithms or not.
    """
    return hosts if of_hosts.differ([ratios], hosts) else ()


def value(values: Sequence[float], factors: Sequence[Factors] = (), hosts: Sequence[str] = ()) -> Estimate:
    """Return the estimate of the geometric mean of one server's values, from these values alone.

    The values scatter by block too, and a block affects all servers alike. So the scatter of other servers is
    no further evidence.
    """
    return plain([math.log(each) for each in values], logarithmic=True, factors=factors, hosts=hosts)


def plain(
    values: Sequence[float],
    *,
    logarithmic: bool,
    factors: Sequence[Factors] = (),
    hosts: Sequence[str] = (),
) -> Estimate:
    """Return the estimate of the mean of `values` from these alone; `logarithmic`: they are logarithms.

    `factors`: how far those of a calm machine may lie from them, without the logarithm. `hosts`: the host of
    each value; none: all are of one.
    """
    if len({*hosts}) < 2:
        hosts, found = (), estimate.of_values(values, logarithmic=logarithmic, follow_skew=True)
    else:
        found = of_hosts.of_values(values, hosts, logarithmic=logarithmic, follow_skew=True)
    return replace(found, off=_off(values, factors, hosts, logarithmic=logarithmic))


def _off(
    values: Sequence[float], factors: Sequence[Factors], hosts: Sequence[str], *, logarithmic: bool
) -> tuple[float, float]:
    """Return how far below, and above, the mean that of a calm machine may lie; each host counts once."""
    if not factors:
        return 0.0, 0.0
    ends = [
        undisturbed.logarithms(taken) if logarithmic else undisturbed.plain(own, taken)
        for own, taken in zip(of_hosts.parts(values, hosts), of_hosts.parts(factors, hosts), strict=True)
    ]
    return fmean(below for below, _ in ends), fmean(above for _, above in ends)


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
    if blocks < SEVERAL:
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
            found = estimate.of_values(logs, moderated.of_two(known, known))
            return Twins(evidence.experiment, server, metric, found.interval(confidence))
    return None


# A published ratio of 1.10 states a gain, however wide the tolerance; one within 5 % of 1 states likeness.
ALIKE_WITHIN = 1.05
# Whether a figure is only a bound → on which sides of another figure the truth can be shown to lie.
SIDES: Mapping[Limit, Sides] = {"": BOTH, "at least": (1,), "at most": (-1,)}


def states_likeness(published: float, tolerance: float) -> bool:
    """Whether a published ratio says that two are alike, and not that one is ahead."""
    return abs(math.log(published)) <= math.log(min(1 + tolerance, ALIKE_WITHIN)) + SLACK


def judge_order(asked: LookQuestion, higher_is_better: bool) -> Opinion:
    """Judge whether the first of two servers is better."""
    decision = asked.exceeds(1.0, above=higher_is_better)
    reasons: Mapping[Answer, str] = {
        "yes": "that is better, beyond chance",
        "no": "that is worse, beyond chance",
        "open": _either(asked),
    }
    return Opinion.of(decision, reasons[decision.answer])


def judge_size(asked: LookQuestion, published: float, tolerance: float, whose: str = "published") -> Opinion:
    """Judge a published ratio away from 1; its direction and its size are separate findings."""
    span = Extent.around(published, published, tolerance)
    # Even if the tolerance is wide enough to reach beyond 1, the wrong direction is not the published size.
    span = Extent(max(span.low, 1.0), span.high) if published > 1 else Extent(span.low, min(span.high, 1.0))
    size = f"what counts as the {whose} size ({times(span)})"
    ahead, decision = asked.exceeds(1.0, above=published > 1), asked.lies_in(span)
    if ahead.answer == "no":
        reason = "that is the other way round, beyond chance"
        return Opinion.of(ahead, reason, direction=VerdictWord.CONTRADICTED)
    direction, bounds = WORDS[ahead.answer], (1.0, *span.ends)
    if decision.answer == "yes":
        return Opinion.of(decision, f"the whole interval lies in {size}", *bounds, direction=direction)
    if decision.answer == "no":
        holds = "the direction holds but not the size" if ahead.answer == "yes" else "neither is ahead"
        reason = f"{holds}: the whole interval lies {span.side(asked.for_no)} {size}"
        return Opinion.of(decision, reason, *bounds, direction=direction)
    if ahead.answer == "yes":
        reason = f"the direction holds but the size is open: the interval lies only partly in {size}"
        return Opinion.of(decision, reason, *span.ends, direction=direction)
    return Opinion.of(decision, _either(asked), *bounds, direction=direction)


def judge_likeness(asked: LookQuestion, published: float, tolerance: float) -> Opinion:
    """Judge a published ratio of about 1: alike if the whole interval lies within the tolerance."""
    span = Extent.around(published, published, tolerance)
    return judge_span(asked, span, f"what counts as alike ({times(span)})")


def judge_bound(asked: LookQuestion, bound: float, worded: str, above: bool) -> Opinion:
    """Judge whether a value lies above a bound, or below it. A value equal to the bound meets it."""
    decision = asked.exceeds(bound, above=above, reached=True)
    if decision.answer == "open":
        return Opinion.of(decision, f"the interval lies on both sides of {worded}")
    is_yes = decision.answer == "yes"
    side, interval = "above" if is_yes == above else "below", asked.for_yes if is_yes else asked.for_no
    at = "at or " if exceeds(interval, bound) == "open" else ""
    return Opinion.of(decision, f"the whole interval lies {at}{side} {worded}")


def judge_span(asked: LookQuestion, span: Extent, worded: str) -> Opinion:
    """Judge whether a figure is the published one; `worded`: the span that counts as that, in words."""
    decision = asked.lies_in(span)
    if decision.answer == "open":
        return Opinion.of(decision, f"the interval lies only partly in {worded}")
    where = "in" if decision.answer == "yes" else span.side(asked.for_no)
    return Opinion.of(decision, f"the whole interval lies {where} {worded}")


def judge_count(look: Look, comparisons: int, times: int, of: int, reason: str) -> Opinion:
    """Judge a claim by a count instead of an interval: `times` of `of` blocks speak against it.

    Suppose that half of all starts do so. The claim is contradicted if chance then gives as many blocks no
    more often than the error of the look allows (exact, Clopper and Pearson). Else it is undecided, with the
    blocks needed if the same share of later blocks speaks against it.
    """

    def contradicts(blocks: int) -> bool:
        chance = shares.chance_at_half(blocks * times // of, blocks)
        return chance <= 1 - look.at(look.blocks + blocks - of).level(comparisons)

    if contradicts(of):
        return Opinion(VerdictWord.CONTRADICTED, reason)
    chance = shares.chance_at_half(times, of)
    by_chance = f"{reason}; by chance that may come out in {number(100 * chance)} % of runs"
    later = () if look.past else range(of + 1, BLOCKS_MOST + 1)
    needed = next((blocks for blocks in later if contradicts(blocks)), None)
    return Opinion(VerdictWord.UNDECIDED, by_chance, blocks_needed=needed, blocks_hoped=needed)


def _either(asked: LookQuestion) -> str:
    if differs(asked.printed):
        return "one of several comparisons by chance alone may lie so far from 1"
    return "the interval includes 1, so either may be the higher"
