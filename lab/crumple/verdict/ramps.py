"""What happens as the load rises: claims of flatness, knee and growth."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from crumple.record.curve import LASTING_BINS, covers, timed
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.stats import stats
from crumple.stats.knee import over_starts
from crumple.study.claim import FlatnessClaim, GrowthClaim, KneeClaim
from crumple.verdict import opinions
from crumple.verdict.case import Case, Judged, told, untestable
from crumple.verdict.effect import Answer, Effect
from crumple.verdict.evidence import NO_FLOOR, Evidence, derived
from crumple.verdict.opinions import Span
from crumple.verdict.sentences import amount, number

POINTS_MIN = 5
NO_SPAN = "it was not read at different numbers of connections"
NOT_ALL = "it was not read from the first to the last of these users, or from too few requests"


def flatness(claim: FlatnessClaim, case: Case) -> Iterator[Judged]:
    """By what factor the metric changes from the first users to the last, along a straight line."""
    of = partial(_change, metric=claim.metric, users=claim.users)
    metric = METRICS[claim.metric]
    over = f"from {claim.users[0]} to {claim.users[1]} users" if claim.users else "over the ramp"
    change = replace(
        metric, title=f"Change of the {metric.phrase} {over}", unit="times", of=of, absent=NOT_ALL
    )
    evidence = case.evidence(claim.experiment, change)
    span = Span.around(1.0, 1.0, claim.tolerance)
    most = f"{number(span.high)} times"
    bound = f"at most {most}" if claim.may_fall else str(span)
    for server in claim.servers:
        alone = evidence.alone(server, above_0=True)
        if alone.untestable:
            yield untestable(evidence.phrase, server, alone.untestable, bound)
            continue
        value, floor = (
            stats.geometric_mean_interval(alone.values, claim.confidence),
            evidence.floor_of(server),
        )
        if claim.may_fall:
            opinion = opinions.beyond(value, floor, span.high, f"{most}, what counts as flat", above=False)
        else:
            opinion = opinions.alike(value, floor, 1.0, claim.tolerance)
            opinion = replace(opinion, reason=opinion.reason.replace("alike", "flat"))
        yield told(evidence, server, alone, value, floor, opinion, bound)


def knee(claim: KneeClaim, case: Case) -> Iterator[Judged]:
    """At how many users the response time leaves its plateau, against the published number."""
    evidence = case.evidence(claim.experiment, METRICS["knee"])
    span = Span.around(claim.published, claim.published, claim.tolerance)
    bound = amount(claim.published, "users")
    worded = f"what counts as the published figure ({number(span.low)} to {number(span.high)} users)"
    for server in claim.servers:
        alone = evidence.alone(server)
        if alone.untestable:
            none = None if evidence.failing(server) else _no_knee(evidence, server, span, bound)
            yield none or untestable(evidence.phrase, server, alone.untestable, bound)
            continue
        value = over_starts([trial.knee for trial in alone.figures if trial.knee], claim.confidence)
        floor = evidence.floor_of(server)
        yield told(evidence, server, alone, value, floor,
                   opinions.within(value, floor, span, worded, claim.tolerance), bound)  # fmt: skip


def growth(claim: GrowthClaim, case: Case) -> Iterator[Judged]:
    """Slope per connection, below `up_to` and beyond it."""
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
    for where, low, high, grows in parts:
        points = partial(_points, case, experiments, claim.metric, low, high)
        slope = derived(f"Growth of the {claim.metric} {per}{where}", unit, partial(_slope, points), NO_SPAN)
        evidence = case.evidence(experiments[0], slope)
        bound = f"{'at least' if grows else 'below'} {worded}"
        for server in claim.servers:
            alone = evidence.alone(server)
            if alone.untestable:
                yield untestable(evidence.phrase, server, alone.untestable, bound)
                continue
            value = stats.mean_interval(alone.values, claim.confidence)
            # Slopes of about 0 have ratios that mean nothing, and so have no noise floor.
            opinion = opinions.beyond(value, NO_FLOOR, threshold, worded, above=grows)
            yield told(evidence, server, alone, value, NO_FLOOR, opinion, bound)


def _change(trial: Figures, metric: str, users: tuple[int, int] | None) -> float | None:
    """The factor by which the line through the logarithms rises over the users there were."""
    along = METRICS[metric].along
    low, high = users or (0, math.inf)
    if along is None or (users and not covers(trial.curve, low, high)):
        return None
    seen = [(p.connections, along(p)) for p in trial.curve if low <= p.connections <= high]
    known = [(at, value) for at, value in seen if value is not None and value > 0]
    # Among few users there may be too few answers; where many have none, it is not flat.
    if len(known) < POINTS_MIN or known[-1] not in seen[-LASTING_BINS:]:
        return None
    x, y = (np.array(column, dtype=float) for column in zip(*known, strict=True))
    if np.ptp(x) == 0:
        return None
    return math.exp(float(np.polyfit(x, np.log(y), 1)[0]) * float(np.ptp(x)))


def _no_knee(evidence: Evidence, server: str, span: Span, bound: str) -> Judged | None:
    """Every block went beyond where the knee should be and found none: that, too, is an answer."""
    place = evidence.place(server)
    seen = [
        trial for trial in evidence.trials
        if (trial.experiment, trial.server, trial.twin) == (place.experiment, place.server, False)
        and trial.valid and trial.curve
    ]  # fmt: skip
    reached = min((max(timed(trial.curve), default=(0.0,))[0] for trial in seen), default=0.0)
    if len(seen) < 2 or any(trial.knee for trial in seen) or reached < span.high:
        return None
    effect = Effect(
        label=server, of=server, to="", published=None, ratio=None, noise_floor=None,
        answer=Answer.CONTRADICTED, direction_only=False,
        reason=f"in none of {len(seen)} blocks it leaves its plateau, up to {number(reached)} users",
        bound=bound, what=evidence.phrase,
    )  # fmt: skip
    return effect, tuple(trial.trial_id for trial in seen), evidence.floor_of(server)


def _points(
    case: Case, experiments: Sequence[str], metric: str, low: float, high: float, trial: Figures
) -> list[tuple[float, float]]:
    """Connections and the metric: along a trial's ramp, or over the same server's trials of the block."""
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
    # Of equal values rounding makes a slope of its own.
    return float(np.polyfit(x, y, 1)[0]) if np.ptp(y) else 0.0
