"""What happens as the load rises: claims of knee and growth."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from crumple.record.curve import timed
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.stats.knee import Knee, over_starts
from crumple.stats.stats import Interval
from crumple.study.claim import GrowthClaim, KneeClaim
from crumple.verdict import noise, opinions
from crumple.verdict.case import Case, Judged, told, untestable
from crumple.verdict.effect import Effect
from crumple.verdict.evidence import Alone, Evidence, block_of, derived
from crumple.verdict.opinions import Seen, Shared, Span
from crumple.verdict.sentences import amount, number

NO_SPAN = "it was not read at different numbers of connections"


def knee(claim: KneeClaim, case: Case) -> Iterator[Judged]:
    """At how many users the response time leaves its plateau, against the published number."""
    evidence = case.evidence(claim.experiment, METRICS["knee"])
    span = Span.around(claim.published, claim.published, claim.tolerance)
    bound = amount(claim.published, "users")
    shared = Shared(contradiction=len(claim.servers))
    worded = f"what counts as the published figure ({number(span.low)} to {number(span.high)} users)"
    for server in claim.servers:
        alone = evidence.alone(server)
        if alone.untestable:
            failing = evidence.failing(server)
            none = None if failing else _no_knee(case, evidence, server, span, bound, shared.contradiction)
            yield none or untestable(evidence.phrase, server, alone.untestable, bound, alone)
            continue
        knees = tuple(trial.knee for trial in alone.figures if trial.knee)
        estimate = noise.plain([math.log(each.at) for each in knees], logarithmic=True)
        seen = _SeenKnees(estimate, case.look, shared, knees=knees)
        yield told(case, evidence, server, alone, seen.shown, opinions.within(seen, span, worded), bound)


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
    shared = Shared(contradiction=len(parts) * len(claim.servers))
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
            seen = Seen(noise.plain(alone.values, logarithmic=False), case.look, shared)
            opinion = opinions.beyond(seen, threshold, worded, above=grows)
            yield told(case, evidence, server, alone, seen.shown, opinion, bound)


@dataclass(frozen=True)
class _SeenKnees(Seen):
    """Where starts have their knees: known no better than from one point of the load to the next."""

    knees: tuple[Knee, ...] = ()

    def _limited(self, interval: Interval) -> Interval:
        known = over_starts(self.knees, interval.confidence)
        return Interval(interval.estimate, known.low, known.high, interval.confidence, interval.n)


def _no_knee(
    case: Case, evidence: Evidence, server: str, span: Span, bound: str, comparisons: int
) -> Judged | None:
    """Every block went beyond where the knee should be and found none: enough of them are an answer, too.

    A ramp may miss a knee that is there; that half of all ramps do is the least that is called having none.
    """
    place = evidence.place(server)
    seen = [
        trial for trial in evidence.trials
        if (trial.experiment, trial.server, trial.twin) == (place.experiment, place.server, False)
        and trial.valid and trial.curve
    ]  # fmt: skip
    reached = min((max(timed(trial.curve), default=(0.0,))[0] for trial in seen), default=0.0)
    if len(seen) < 2 or any(trial.knee for trial in seen) or reached < span.high:
        return None
    reason = f"in none of {len(seen)} blocks it leaves its plateau, up to {number(reached)} users"
    opinion = opinions.refuted(case.look, comparisons, len(seen), len(seen), reason)
    needed = opinion.blocks_needed
    # Nothing is measured that would tell how many blocks did not count.
    needed = needed and needed + max(0, case.look.blocks - len(seen))
    effect = Effect(
        label=server, of=server, to="", published=None, ratio=None, answer=opinion.answer,
        reason=case.reason(opinion, evidence, [server], len(seen)), blocks_needed=needed,
        bound=bound, what=evidence.phrase, blocks_hoped=needed,
    )  # fmt: skip
    return effect, tuple(trial.trial_id for trial in seen)


def _of_begun(case: Case, evidence: Evidence, experiments: Sequence[str], server: str) -> Alone:
    """Its values in the blocks that it began in all of the experiments; where others are missing, why."""
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
