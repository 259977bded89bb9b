"""Rules for claims about what happens as the load rises: flatness, knee and growth.

For flatness the ramp is cut into stretches, and each stretch is compared with every other one: a straight
line through all of them would miss a steep rise at the end of a fall.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise
from statistics import median

import numpy as np

from crumple.record import undisturbed
from crumple.record.curve import LASTING_BINS, covers, sound, timed
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS, derived
from crumple.stats.decision import Extent
from crumple.stats.interval import Interval
from crumple.stats.knee import SIDE_MIN, Knee, over_starts
from crumple.stats.question import Family, LookQuestion
from crumple.study.claim import FlatnessClaim, GrowthClaim, KneeClaim
from crumple.verdict import opinions
from crumple.verdict.case import ClaimCase, Judged, effect_of_server, untestable
from crumple.verdict.effect import Effect, Opinion, VerdictWord
from crumple.verdict.evidence import Evidence, OneServer, block_of
from crumple.verdict.verdict_sentences import amount, number, times

# Into how many stretches a ramp is cut: few enough that each has several points, and enough to show a rise at
# one end.
STRETCHES = 5
NOT_ALL = "it was not read from the first to the last of these users, or from too few requests"


def flatness(claim: FlatnessClaim, case: ClaimCase) -> Iterator[Judged]:
    """Yield for each server by what factor the metric changes between two stretches of the ramp."""
    metric = METRICS[claim.metric]
    over = f"from {claim.users[0]} to {claim.users[1]} users" if claim.users else "over the ramp"
    of = partial(_largest_change, claim=claim, case=case)
    change = replace(
        metric, title=f"Largest change of the {metric.phrase} {over}", unit="times", of=of, absent=NOT_ALL
    )
    evidence = case.evidence(claim.experiment, change)
    span = Extent.around(1.0, 1.0, claim.tolerance)
    most = f"{number(span.high)} times"
    bound = f"at most {most}" if claim.may_fall else times(span)
    for server in claim.servers:
        alone = evidence.alone(server, above_0=True)
        if alone.untestable:
            yield untestable(evidence.phrase, server, alone.untestable, bound, alone)
            continue
        worst, opinion = _worst(claim, case, alone, span, len(claim.servers))
        opinion = _with_knees(opinion, claim, case, alone)
        yield effect_of_server(case, evidence, server, alone, worst.printed, opinion, bound)


def _worst(
    claim: FlatnessClaim, case: ClaimCase, alone: OneServer, span: Extent, servers: int
) -> tuple[LookQuestion, Opinion]:
    """Return the largest change among those with the worst answer: contradicted, undecided, supported."""
    starts = [_stretches(trial, claim, case) or [] for trial in alone.figures]
    pairs = [*combinations(range(STRETCHES), 2)]
    # Flatness is supported only by all pairs together; any one pair may contradict it.
    shared = Family(no=len(pairs) * servers)
    judged: list[tuple[LookQuestion, Opinion]] = []
    for earlier, later in pairs:
        logs = [stretches[later] - stretches[earlier] for stretches in starts]
        factors = [undisturbed.ratio(each, each) for each in alone.factors]
        hosts = opinions.if_apart(logs, alone.hosts)
        estimate = opinions.plain(logs, logarithmic=True, factors=factors, hosts=hosts)
        seen = LookQuestion(estimate, case.look, shared)
        if claim.may_fall:
            worded = f"{number(span.high)} times, what counts as flat"
            judged.append((seen, opinions.judge_bound(seen, span.high, worded, above=False)))
        else:
            opinion = opinions.judge_likeness(seen, 1.0, claim.tolerance)
            judged.append((seen, replace(opinion, reason=opinion.reason.replace("alike", "flat"))))
    for answer in (VerdictWord.CONTRADICTED, VerdictWord.UNDECIDED, VerdictWord.SUPPORTED):
        found = [each for each in judged if each[1].answer is answer]
        if found:
            return max(found, key=partial(_size, may_fall=claim.may_fall))
    raise AssertionError("a pair of stretches has an opinion")


def _size(judged: tuple[LookQuestion, Opinion], may_fall: bool) -> float:
    centre = judged[0].estimate.centre
    return centre if may_fall else abs(centre)


def _with_knees(opinion: Opinion, claim: FlatnessClaim, case: ClaimCase, alone: OneServer) -> Opinion:
    """Return the opinion with knees considered: a response time that leaves its plateau is not flat.

    Times of answers may not show the knee, because a request that gets no answer has no time. So the opinion
    rests on how much longer the users' rounds get, which include the waits that end without an answer.
    """
    if not claim.metric.startswith("response_") or opinion.answer is VerdictWord.CONTRADICTED:
        return opinion
    low, high = claim.users or (0, math.inf)
    knees = [trial.knee.at for trial in alone.figures if trial.knee and low <= trial.knee.at <= high]
    if 2 * len(knees) <= len(alone.figures):
        return opinion
    of = f"{len(knees)} of {len(alone.figures)} blocks"
    leaves = f"in {of} the time of a round leaves its plateau, at about {number(median(knees))} users"
    rises = [_rise(trial, low, high) for trial in alone.figures]
    known = [math.log(rise) for rise in rises if rise is not None]
    if len(known) < len(rises):
        against = opinions.judge_count(case.look, len(claim.servers), len(knees), len(rises), leaves)
        return replace(against, bounds=opinion.bounds)
    shared = Family(no=len(claim.servers))
    factors = [undisturbed.either(trial.slowdown) for trial in alone.figures]
    hosts = opinions.if_apart(known, alone.hosts)
    estimate = opinions.plain(known, logarithmic=True, factors=factors, hosts=hosts)
    seen = LookQuestion(estimate, case.look, shared)
    most = 1 + claim.tolerance
    of_rounds = opinions.judge_bound(seen, most, f"{number(most)} times, as long as it was", above=False)
    if of_rounds.answer is VerdictWord.SUPPORTED:
        return opinion
    reason = f"{leaves}, and ends {number(math.exp(seen.estimate.centre))} times as long"
    # The effect shows the change of the metric, not of the rounds, so it does not get the rounds' margin.
    return replace(of_rounds, reason=reason, bounds=opinion.bounds, margin=None)


def _rise(trial: Figures, low: float, high: float) -> float | None:
    """Return by what factor a round takes longer at the end than at the beginning.

    None if requests are lost at the end, or if rounds are known at too few points.
    """
    inside = tuple(point for point in trial.curve if low <= point.connections <= high)
    rounds = [round_s for _, round_s in timed(inside)]
    if len(sound(inside)) < len(inside) or len(rounds) < 2 * SIDE_MIN:
        return None
    return median(rounds[-SIDE_MIN:]) / median(rounds[: max(SIDE_MIN, len(rounds) // STRETCHES)])


def _largest_change(trial: Figures, claim: FlatnessClaim, case: ClaimCase) -> float | None:
    """Return the largest change between two stretches of the trial; None if too little was read."""
    stretches = _stretches(trial, claim, case)
    return math.exp(max(stretches) - min(stretches)) if stretches else None


def _stretches(trial: Figures, claim: FlatnessClaim, case: ClaimCase) -> Sequence[float] | None:
    """Return what `_read` returns, computed once for all looks."""
    if trial.trial_id not in case.memory:
        case.memory[trial.trial_id] = _read(trial, claim)
    effect_of_server: Sequence[float] | None = case.memory[trial.trial_id]
    return effect_of_server


def _read(trial: Figures, claim: FlatnessClaim) -> Sequence[float] | None:
    """Return the mean logarithm of the metric in each fifth of the points that were read; None if too few."""
    along = METRICS[claim.metric].along
    low, high = claim.users or (0, math.inf)
    if along is None or (claim.users and not covers(trial.curve, low, high)):
        return None
    seen = [(p.connections, along(p)) for p in trial.curve if low <= p.connections <= high]
    known = [(at, math.log(value)) for at, value in seen if value is not None and value > 0]
    # With few users there may be too few answers, so missing points there are skipped. A ramp without values
    # at its end is not called flat.
    if len(known) < STRETCHES or known[-1][0] not in [at for at, _ in seen[-LASTING_BINS:]]:
        return None
    if known[0][0] == known[-1][0]:
        return None
    cuts = [round(len(known) * part / STRETCHES) for part in range(STRETCHES + 1)]
    parts = [[value for _, value in known[begin:end]] for begin, end in pairwise(cuts)]
    return [sum(part) / len(part) for part in parts]


NO_SPAN = "it was not read at different numbers of connections"


def knee(claim: KneeClaim, case: ClaimCase) -> Iterator[Judged]:
    """Yield the comparison of each server's knee, in users, with the published number."""
    evidence = case.evidence(claim.experiment, METRICS["knee"])
    span = Extent.around(claim.published, claim.published, claim.tolerance)
    bound = amount(claim.published, "users")
    shared = Family(no=len(claim.servers))
    worded = f"what counts as the published figure ({number(span.low)} to {number(span.high)} users)"
    for server in claim.servers:
        alone = evidence.alone(server)
        if alone.untestable:
            failing = evidence.failing(server)
            none = None if failing else _no_knee(case, evidence, server, span, bound, shared.no)
            yield none or untestable(evidence.phrase, server, alone.untestable, bound, alone)
            continue
        knees = tuple(trial.knee for trial in alone.figures if trial.knee)
        logs = [math.log(each.at) for each in knees]
        estimate = opinions.plain(logs, logarithmic=True, factors=alone.factors, hosts=alone.hosts)
        seen = _SeenKnees(estimate, case.look, shared, knees=knees, hosts=alone.hosts)
        yield effect_of_server(
            case, evidence, server, alone, seen.printed, opinions.judge_span(seen, span, worded), bound
        )


def growth(claim: GrowthClaim, case: ClaimCase) -> Iterator[Judged]:
    """Yield for each server the slope of the metric per connection; with `up_to`, up to it and beyond it."""
    experiments = claim.experiments or (claim.experiment or "",)
    unit = METRICS[claim.metric].unit
    threshold, per = claim.threshold, "per connection"
    worded = f"{amount(threshold, unit)} {per}"
    parts: list[tuple[str, float, float, bool]] = [("", 0.0, math.inf, claim.grows)]
    if claim.users is not None:
        fewest, most = claim.users
        parts = [(f" from {fewest} to at most {most} connections", fewest, most, claim.grows)]
    if claim.up_to is not None:
        parts = [(f" up to {claim.up_to} connections", 0.0, claim.up_to, True),
                 (f" beyond {claim.up_to} connections", claim.up_to, math.inf, False)]  # fmt: skip
    shared = Family(no=len(parts) * len(claim.servers))
    for where, low, high, grows in parts:
        points = partial(_points, case, experiments, claim.metric, low, high)
        slope = derived(f"Growth of the {claim.metric} {per}{where}", unit, partial(_slope, points), NO_SPAN)
        evidence = case.evidence(experiments[0], slope)
        bound = f"{'at least' if grows else 'below'} {worded}"
        for server in claim.servers:
            alone = _of_begun(case, evidence, experiments, server)
            if alone.untestable:
                yield untestable(evidence.phrase, server, alone.untestable, bound, alone)
                continue
            estimate = opinions.plain(
                alone.values, logarithmic=False, factors=alone.factors, hosts=alone.hosts
            )
            seen = LookQuestion(estimate, case.look, shared)
            opinion = opinions.judge_bound(seen, threshold, worded, above=grows)
            yield effect_of_server(case, evidence, server, alone, seen.printed, opinion, bound)


@dataclass(frozen=True)
class _SeenKnees(LookQuestion):
    """The knees of several starts; the interval is no narrower than the gap between points of the load."""

    knees: tuple[Knee, ...] = ()
    hosts: tuple[str, ...] = ()

    def _known(self, interval: Interval) -> Interval:
        known = over_starts(self.knees, self.hosts, interval.confidence)
        low, high = (
            end * math.exp(off) for end, off in zip((known.low, known.high), self.estimate.off, strict=True)
        )
        return replace(interval, low=low, high=high)


def _no_knee(
    case: ClaimCase, evidence: Evidence, server: str, span: Extent, bound: str, comparisons: int
) -> Judged | None:
    """Judge a server whose ramps all went beyond the published knee and show none; None for other servers.

    A ramp may miss a knee that exists. So the claim is contradicted only if more ramps show none than chance
    explains when half of all ramps miss it.
    """
    place = evidence.place(server)
    seen = [
        trial for trial in evidence.trials
        if (trial.experiment, trial.server, trial.twin) == (place.experiment, place.server, False)
        and trial.valid and trial.curve and trial.shows_knee and not evidence.metric.is_disturbed(trial)
    ]  # fmt: skip
    reached = min((max(timed(trial.curve), default=(0.0,))[0] for trial in seen), default=0.0)
    if len(seen) < 2 or any(trial.knee for trial in seen) or reached < span.high:
        return None
    reason = f"in none of {len(seen)} blocks it leaves its plateau, up to {number(reached)} users"
    opinion = opinions.judge_count(case.look, comparisons, len(seen), len(seen), reason)
    needed = opinion.blocks_needed
    # The effect has no interval that says how many blocks count, so add those that do not count here.
    needed = needed and needed + max(0, case.look.blocks - len(seen))
    effect = Effect(
        label=server, of=server, answer=opinion.answer, what=evidence.phrase, bound=bound,
        reason=case.reason(opinion, evidence, [server], len(seen)), blocks_needed=needed, blocks_hoped=needed,
    )  # fmt: skip
    return effect, tuple(trial.trial_id for trial in seen)


def _of_begun(case: ClaimCase, evidence: Evidence, experiments: Sequence[str], server: str) -> OneServer:
    """Return the server's values in the blocks that it began in all experiments, and why others are out."""
    tried = {
        (each.experiment, each.block) for each in case.figures if (each.server, each.twin) == (server, False)
    }
    tried |= {(name, block_of(key)) for key in case.failed for name in experiments
              if key.startswith(f"{name}/") and key.endswith(f"/{server}")}  # fmt: skip
    own = sorted(block for name, block in tried if name == experiments[0])
    missing = {block: name for block in own for name in experiments[1:] if (name, block) not in tried}
    if not missing:
        return evidence.alone(server)
    begun = tuple(each for each in evidence.trials if each.server != server or each.block not in missing)
    kept = {key: why for key, why in evidence.failed.items() if block_of(key) not in missing}
    alone = replace(evidence, trials=begun, failed=kept).alone(server)
    why = "; ".join(f"{server} was not run in block {block} of {name}" for block, name in missing.items())
    if alone.untestable:
        return replace(alone, untestable=f"{alone.untestable}; {why}")
    return replace(alone, left_out="; ".join(filter(None, (alone.left_out, why))))


def _points(
    case: ClaimCase, experiments: Sequence[str], metric: str, low: float, high: float, trial: Figures
) -> list[tuple[float, float]]:
    """Return (connections, metric) along a trial's ramp, or over its server's trials of the same block."""
    found: list[tuple[float | None, float | None]] = []
    if len(experiments) == 1:
        along = METRICS[metric].along
        found = [(point.connections, along(point) if along else None) for point in trial.curve]
    else:
        found = [
            (other.connections, METRICS[metric].of(other)) for other in case.figures
            if (other.server, other.block, other.twin) == (trial.server, trial.block, trial.twin)
            and other.valid and other.experiment in experiments
        ]  # fmt: skip
    return [(x, y) for x, y in found if x is not None and y is not None and low <= x <= high]


def _slope(points: "partial[list[tuple[float, float]]]", trial: Figures) -> float | None:
    seen = points(trial)
    if len({x for x, _ in seen}) < 2:
        return None
    x, y = (np.array(column, dtype=float) for column in zip(*seen, strict=True))
    # For equal values polyfit returns a rounding error as the slope.
    return float(np.polyfit(x, y, 1)[0]) if np.ptp(y) else 0.0
