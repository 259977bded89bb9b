"""Whether a metric stays what it is along a ramp: claims of flatness.

The ramp is cut into stretches, and each is held against each other one: a straight line through all of them
cannot see a roof at the end of a fall.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise
from statistics import median

from crumple.record.curve import LASTING_BINS, covers, sound, timed
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.stats.knee import SIDE_MIN
from crumple.study.claim import FlatnessClaim
from crumple.verdict import noise, opinions
from crumple.verdict.case import Case, Judged, told, untestable
from crumple.verdict.effect import Answer, Opinion
from crumple.verdict.evidence import Alone
from crumple.verdict.opinions import Seen, Shared, Span
from crumple.verdict.sentences import number

STRETCHES = 5
POINTS_MIN = STRETCHES
NOT_ALL = "it was not read from the first to the last of these users, or from too few requests"


def flatness(claim: FlatnessClaim, case: Case) -> Iterator[Judged]:
    """By what factor the metric changes between the two stretches that are furthest apart."""
    metric = METRICS[claim.metric]
    over = f"from {claim.users[0]} to {claim.users[1]} users" if claim.users else "over the ramp"
    of = partial(_told, claim=claim, case=case)
    change = replace(
        metric, title=f"Largest change of the {metric.phrase} {over}", unit="times", of=of, absent=NOT_ALL
    )
    evidence = case.evidence(claim.experiment, change)
    span = Span.around(1.0, 1.0, claim.tolerance)
    most = f"{number(span.high)} times"
    bound = f"at most {most}" if claim.may_fall else str(span)
    for server in claim.servers:
        alone = evidence.alone(server, above_0=True)
        if alone.untestable:
            yield untestable(evidence.phrase, server, alone.untestable, bound, alone)
            continue
        worst, opinion = _worst(claim, case, alone, span, len(claim.servers))
        opinion = _with_knees(opinion, claim, case, alone)
        yield told(case, evidence, server, alone, worst.shown, opinion, bound)


def _worst(claim: FlatnessClaim, case: Case, alone: Alone, span: Span, servers: int) -> tuple[Seen, Opinion]:
    """The change that speaks most clearly against the claim, or else the largest, with the opinion on all."""
    starts = [_stretches(trial, claim, case) or [] for trial in alone.figures]
    pairs = [*combinations(range(STRETCHES), 2)]
    # For flatness all pairs have to speak, against it any one may.
    shared = Shared(contradiction=len(pairs) * servers)
    judged: list[tuple[Seen, Opinion]] = []
    for earlier, later in pairs:
        logs = [stretches[later] - stretches[earlier] for stretches in starts]
        seen = Seen(noise.plain(logs, logarithmic=True), case.look, shared)
        if claim.may_fall:
            worded = f"{number(span.high)} times, what counts as flat"
            judged.append((seen, opinions.beyond(seen, span.high, worded, above=False)))
        else:
            opinion = opinions.alike(seen, 1.0, claim.tolerance)
            judged.append((seen, replace(opinion, reason=opinion.reason.replace("alike", "flat"))))
    for answer in (Answer.CONTRADICTED, Answer.UNDECIDED, Answer.SUPPORTED):
        found = [each for each in judged if each[1].answer is answer]
        if found:
            return max(found, key=partial(_size, may_fall=claim.may_fall))
    raise AssertionError("a pair of stretches has an opinion")


def _size(judged: tuple[Seen, Opinion], may_fall: bool) -> float:
    centre = judged[0].estimate.centre
    return centre if may_fall else abs(centre)


def _with_knees(opinion: Opinion, claim: FlatnessClaim, case: Case, alone: Alone) -> Opinion:
    """A response time that leaves its plateau is not flat, though those who are answered do not see it.

    What counts is by how much the users' rounds get longer, those who wait in vain included.
    """
    if not claim.metric.startswith("response_") or opinion.answer is Answer.CONTRADICTED:
        return opinion
    low, high = claim.users or (0, math.inf)
    knees = [trial.knee.at for trial in alone.figures if trial.knee and low <= trial.knee.at <= high]
    if 2 * len(knees) <= len(alone.figures):
        return opinion
    of = f"{len(knees)} of {len(alone.figures)} blocks"
    said = f"in {of} the time of a round leaves its plateau, at about {number(median(knees))} users"
    rises = [_rise(trial, low, high) for trial in alone.figures]
    known = [math.log(rise) for rise in rises if rise is not None]
    if len(known) < len(rises):
        against = opinions.refuted(case.look, len(claim.servers), len(knees), len(rises), said)
        return replace(against, bounds=opinion.bounds)
    shared = Shared(contradiction=len(claim.servers))
    seen = Seen(noise.plain(known, logarithmic=True), case.look, shared)
    most = 1 + claim.tolerance
    of_rounds = opinions.beyond(seen, most, f"{number(most)} times, as long as it was", above=False)
    if of_rounds.answer is Answer.SUPPORTED:
        return opinion
    reason = f"{said}, and ends {number(math.exp(seen.estimate.centre))} times as long"
    return replace(of_rounds, reason=reason, bounds=opinion.bounds)


def _rise(trial: Figures, low: float, high: float) -> float | None:
    """How much longer a round takes at the end than at the beginning; None where it does not end."""
    inside = tuple(point for point in trial.curve if low <= point.connections <= high)
    rounds = [round_s for _, round_s in timed(inside)]
    if len(sound(inside)) < len(inside) or len(rounds) < 2 * SIDE_MIN:
        return None
    return median(rounds[-SIDE_MIN:]) / median(rounds[: max(SIDE_MIN, len(rounds) // STRETCHES)])


def _told(trial: Figures, claim: FlatnessClaim, case: Case) -> float | None:
    """Whether the trial can tell: its largest change, or None."""
    stretches = _stretches(trial, claim, case)
    return math.exp(max(stretches) - min(stretches)) if stretches else None


def _stretches(trial: Figures, claim: FlatnessClaim, case: Case) -> Sequence[float] | None:
    """As `_read`, once for all looks."""
    if trial.trial_id not in case.memory:
        case.memory[trial.trial_id] = _read(trial, claim)
    return case.memory[trial.trial_id]


def _read(trial: Figures, claim: FlatnessClaim) -> Sequence[float] | None:
    """The mean logarithm of the metric in each fifth of the points that were read."""
    along = METRICS[claim.metric].along
    low, high = claim.users or (0, math.inf)
    if along is None or (claim.users and not covers(trial.curve, low, high)):
        return None
    seen = [(p.connections, along(p)) for p in trial.curve if low <= p.connections <= high]
    known = [(at, math.log(value)) for at, value in seen if value is not None and value > 0]
    # Among few users there may be too few answers; where many have none, it is not flat.
    if len(known) < POINTS_MIN or known[-1][0] not in [at for at, _ in seen[-LASTING_BINS:]]:
        return None
    if known[0][0] == known[-1][0]:
        return None
    cuts = [round(len(known) * part / STRETCHES) for part in range(STRETCHES + 1)]
    parts = [[value for _, value in known[begin:end]] for begin, end in pairwise(cuts)]
    return [sum(part) / len(part) for part in parts]
