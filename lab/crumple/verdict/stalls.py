"""Whether a light request waits for a heavy one to end: claims of stall.

One that always finds a heavy one in service waits for half of it on average, so half is what tells a stall;
what waits for less than a tenth does not wait for any to end. Between the two, neither is so.
"""

import math
from collections.abc import Iterator

from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.study.claim import StallClaim, quantity
from crumple.verdict import noise, opinions
from crumple.verdict.case import Case, Judged, told, untestable
from crumple.verdict.evidence import Alone
from crumple.verdict.opinions import Seen, Shared
from crumple.verdict.sentences import amount

STALLS_FROM, STALLS_NOT_BELOW = 0.5, 0.1
QUANTILES = {"canary_p50": 0.5, "canary_p90": 0.9, "canary_p99": 0.99}


def stall(claim: StallClaim, case: Case) -> Iterator[Judged]:
    """How long the light request took, against the bound, or its own time and a part of a heavy one's."""
    evidence = case.evidence(claim.experiment, METRICS[claim.metric])
    bound = quantity(claim.bound)[0] if claim.bound is not None else None
    asked = amount(bound, "ns") if bound else _asked(claim)
    side = f"{'above' if claim.stalls else 'below'} {asked}"
    shared = Shared(contradiction=len(claim.servers))
    for server in claim.servers:
        alone = evidence.alone(server, above_0=True)
        limits = _limits(claim, case, evidence.place(server).server, alone, bound)
        if alone.untestable or not limits:
            why = alone.untestable or _unknown(claim)
            yield untestable(evidence.phrase, server, why, side, alone)
            continue
        logs = [math.log(value / limit) for value, limit in zip(alone.values, limits, strict=True)]
        seen = Seen(noise.plain(logs, logarithmic=True), case.look, shared)
        typical = math.exp(sum(map(math.log, limits)) / len(limits))
        worded = asked if bound else f"{asked} ({amount(typical, 'ns')})"
        opinion = opinions.beyond(seen, 1.0, worded, above=claim.stalls)
        shown = Seen(noise.value(alone.values), case.look).shown
        yield told(case, evidence, server, alone, shown, opinion, side)


def _asked(claim: StallClaim) -> str:
    part = "half" if claim.stalls else "a tenth"
    heavy = f"{part} of the CPU time of one heavy request"
    return f"its own time without load and {heavy}" if claim.alone else heavy


def _unknown(claim: StallClaim) -> str:
    if claim.alone is None:
        return "the CPU time of a request is not known; give the claim a bound"
    return (
        "the CPU time of a heavy request, or the light request's own time in the same block of "
        f"{claim.alone}, is not known"
    )


def _limits(claim: StallClaim, case: Case, server: str, alone: Alone, bound: float | None) -> list[float]:
    """What each block's time is held against, in ns; empty where that is not known."""
    if bound is not None:
        return [bound] * len(alone.values)
    part = STALLS_FROM if claim.stalls else STALLS_NOT_BELOW
    found = []
    for trial in alone.figures:
        own_ns = 0.0 if claim.alone is None else _own_ns(claim, case, server, trial)
        if own_ns is None or not trial.cpu_per_request_us:
            return []
        found.append(own_ns + part * trial.cpu_per_request_us * 1e3)
    return found


def _own_ns(claim: StallClaim, case: Case, server: str, trial: Figures) -> float | None:
    """What the light request takes where it is the only load, in the same block."""
    for other in case.figures:
        same = (other.experiment, other.server, other.block) == (claim.alone, server, trial.block)
        if same and other.valid and not other.twin:
            return other.response_ns.get(QUANTILES[claim.metric])
    return None
