"""What a server answers by operational laws, at a point where it was not measured.

Users who ask again at once go through the server in a circle. They get no more answers per second than their
number allows (users ÷ the time that a request takes alone), than its workers allow (workers ÷ that time), and
than the cores allow (cores ÷ the CPU time of a request). Denning and Buzen, *Computing Surveys* 10, 1978.
Where every request waits and computes for the same time, the least of these is nearly reached.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from crumple.model_map.map_data import MapServer, MapTrial
from crumple.study.map_points import MapPoint

# What limits the answers: that users ask no more, its workers, the one core that it computes on, or all.
Limit = Literal["users", "workers", "one-core", "cores"]
# It is called one core up to one and a half: between one and two, as a loop with helpers uses 1.1.
ONE_CORE_MAX = 1.5
# A request's own cost beside what it was asked to compute is read where it is at least a third of its CPU
# time: elsewhere it is a small difference of two large numbers.
OWN_SHARE_MIN = 1 / 3
# How many users or workers there are is known exactly, and how long they wait, too: where they are the limit,
# a law is off by a tenth of what is usual, or by the part of a request's time that it computes. Where two
# limits meet it is off by twice what is usual: neither is quite reached there. What a request costs beside
# what it was asked to compute changes with the load: where that is all of it, by three times what is usual.
DOUBT_MIN, DOUBT_AT_BEND, DOUBT_OF_OWN = 0.1, 2.0, 3.0


@dataclass(frozen=True)
class Costs:
    """What a server costs and has on one machine."""

    own_s: float
    """CPU time of a request beside what it was asked to compute."""
    load_s: float
    """CPU time of the load for a request, on the same cores."""
    computes_on: float
    """On how many cores it computes at once."""
    cores: int
    """How many there are."""
    places: float
    """How many requests it works on at once; infinite: as many as come."""
    keeps_places: bool


@dataclass(frozen=True)
class Lawful:
    """What the laws say of a point."""

    per_s: float
    limit: Limit
    bend: float
    """How near the second limit is: 1, where it is the same. There the surface bends."""
    doubt: float
    """By how much it may be off, as a multiple of what is usual."""
    response_s: float
    """The mean response time of the users that are answered; infinite: some of them are not."""


def costs(server: MapServer, trials: Sequence[MapTrial], cores: int) -> Costs | None:
    """Return what its trials show of a server; None: they do not show it."""
    read = [(each, each.cpu_us / 1e6) for each in trials if each.cpu_us is not None]
    if not read:
        return None
    own = [
        spent_s - asked_s(each)
        for each, spent_s in read
        if spent_s - asked_s(each) >= OWN_SHARE_MIN * spent_s
    ]
    # Where none shows it, it is at most what the least one spent.
    own_s = median(own) if own else min(spent_s for _, spent_s in read) * OWN_SHARE_MIN
    busiest = max(each.per_s * (asked_s(each) + own_s) for each, _ in read)
    of_load = [each.engine_cpu_us / 1e6 for each, _ in read if each.engine_cpu_us is not None]
    return Costs(
        own_s=own_s,
        load_s=median(of_load) if of_load else 0.0,
        computes_on=min(float(cores), busiest),
        cores=cores,
        places=math.inf if server.places is None else float(server.places),
        keeps_places=server.keeps_places,
    )


def asked_s(each: MapTrial) -> float:
    """Return how long a request of a trial was asked to compute, in seconds."""
    return each.point.compute_us / 1e6


def at(found: Costs, point: MapPoint) -> Lawful:
    """Return what a server of these costs would answer at a point."""
    computes_s = point.compute_us / 1e6 + found.own_s
    alone_s = point.wait_ms / 1e3 + computes_s
    # The load needs the cores, too.
    most = min(found.computes_on / computes_s, found.cores / (computes_s + found.load_s))
    limits: dict[Limit, float] = {
        "users": point.users / alone_s,
        "workers": found.places / alone_s,
        "one-core" if found.computes_on <= ONE_CORE_MAX else "cores": most,
    }
    first, second, *_ = sorted(limits, key=lambda limit: limits[limit])
    per_s = limits[first]
    bend = per_s / limits[second]
    is_left_out = found.keeps_places and point.users > found.places
    return Lawful(
        per_s=per_s,
        limit=first,
        bend=bend,
        doubt=_doubt(first, bend, computes_s / alone_s, found.own_s / computes_s),
        response_s=math.inf if is_left_out else point.users / per_s,
    )


def _doubt(limit: Limit, bend: float, computing: float, own: float) -> float:
    """Return by how much a law may be off.

    `computing`: the part of a request's time that it computes; `own`: what of that nobody asked for.
    """
    of_cpu_time = 1.0 + (DOUBT_OF_OWN - 1.0) * own
    if limit in ("users", "workers"):
        return max(DOUBT_MIN, computing * of_cpu_time, DOUBT_AT_BEND * bend**2)
    return of_cpu_time + (DOUBT_AT_BEND - 1.0) * bend**2
