"""What a server answers by operational laws, at a point where it was not measured.

Users who ask again at once go through the server in a circle. They get no more answers per second than their
number allows (users ÷ the time that a request takes alone), than its workers allow (workers ÷ that time), and
than the cores allow (cores ÷ the CPU time of a request). They get no fewer than if each request queued for
the cores behind all others (users ÷ the time that it then takes). Lazowska, Zahorjan, Graham and Sevcik,
*Quantitative System Performance*, 1984, chapter 5. Where a server lies between these bounds depends on how it
takes turns: a loop that handles all timers that are due before it reads the next requests keeps its users in
step, so that all wait at once, and then all compute.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Literal

from crumple.model_map.map_data import MapServer, MapTrial
from crumple.study.map_points import MapPoint

# What limits the answers: that users ask no more, its workers, the one core that it computes on, or all.
Limit = Literal["users", "workers", "one-core", "cores"]
# It is called one core up to one and a half: between one and two, as a loop with helpers uses 1.1.
ONE_CORE_MAX = 1.5
# A request's own cost beside what it was asked to compute is read where it is at least a tenth of its CPU
# time, and a window cuts off no more than that: elsewhere it is a small difference of two large numbers.
OWN_SHARE_MIN = 0.1
# It is read where cores are at least eight tenths as busy as they ever were: a server that waits often spends
# more on a request, as it is woken for each. What it costs counts where the cores limit.
BUSY_MIN = 0.8
# Where a server lies between the bounds is read where they are a tenth apart or more; half way counts as one
# reading, so that a single one does not decide.
APART_MIN, HALF_WAY = 0.1, 0.5
# By how much a law is off, as multiples of what is usual. Where only the number of users or workers counts,
# and how long they wait, by three tenths. Where requests compute what they were asked to, by a half. Where
# the bounds are apart, by as much as is usual if their ratio is e to the power of six tenths, 1.8. Of the
# numbers that were tried, these made the trials of eight servers on two cores the likeliest.
DOUBT_MIN, DOUBT_OF_ASKED, AS_USUAL = 0.3, 0.5, 0.6
# What requests cost beside what they were asked to compute changes with the load, and where a compiler has
# not yet seen enough of them it doubles. Where that is all, laws are off by the likeliest of these.
DOUBTS_OF_OWN = (3.0, 4.5, 6.75)
# A limit is reached where nine tenths of it are answered.
REACHED = 0.9


@dataclass(frozen=True)
class Costs:
    """What a server costs and has on one machine."""

    own_s: float
    """CPU time of a request that is asked to compute nothing."""
    own_computing_s: float
    """That of one that computes, beside what it was asked to: more, as it shares less with others."""
    load_s: float
    """CPU time of the load for a request, on the same cores."""
    computes_on: float
    """On how many cores it computes at once."""
    cores: int
    """How many there are."""
    places: float
    """How many requests it works on at once; infinite: as many as come."""
    keeps_places: bool
    own_doubt: float = DOUBTS_OF_OWN[0]
    """By how much laws are off where a request computes nothing that it was asked to."""
    in_step: float = HALF_WAY
    """Where it lies between the bounds: 0, at the upper one; 1, at the lower, where users keep in step."""

    def own_of(self, point: MapPoint) -> float:
        """Return the CPU time of a request there beside what it was asked to compute."""
        return self.own_computing_s if point.compute_us else self.own_s


@dataclass(frozen=True)
class Lawful:
    """What the laws say of a point."""

    per_s: float
    bounds: "Bounds"
    doubt: float
    """By how much it may be off, as a multiple of what is usual."""
    response_s: float
    """The mean response time of the users that are answered; infinite: some of them are not."""


@dataclass(frozen=True)
class Bounds:
    """Between which numbers per second the answers lie at a point."""

    limits: dict[Limit, float]
    exact: float
    """What no server exceeds, whatever it costs: by users, workers and cores, and what requests ask for."""
    least: float
    computing: float
    """The part of a round of all users that is not waiting, where they keep in step."""

    @property
    def most(self) -> float:
        """The upper bound."""
        return min(self.limits.values())

    def limit(self, per_s: float) -> Limit | None:
        """Return what limits so many answers per second; None: they are well below what each limit allows."""
        first = min(self.limits, key=lambda limit: self.limits[limit])
        return first if per_s >= REACHED * self.limits[first] else None

    @property
    def apart(self) -> float:
        """The logarithm of the upper bound divided by the lower one."""
        return math.log(self.most / self.least)


def costs(server: MapServer, trials: Sequence[MapTrial], cores: int) -> Costs | None:
    """Return what its trials show of a server; None: they do not show it."""
    read = [(each, each.cpu_us / 1e6) for each in trials if each.cpu_us is not None]
    if not read:
        return None
    plain = _own_s([pair for pair in read if not pair[0].point.compute_us])
    computing = _own_s([pair for pair in read if pair[0].point.compute_us])
    # Where none shows it, it is at most what the least one spent.
    least_s = min(spent_s for _, spent_s in read) * OWN_SHARE_MIN
    own_s, own_computing_s = plain or computing or least_s, computing or plain or least_s
    busiest = max(each.per_s * spent_s for each, spent_s in read)
    found = Costs(
        own_s=own_s,
        own_computing_s=own_computing_s,
        load_s=_load_s(read),
        computes_on=min(float(cores), busiest),
        cores=cores,
        places=math.inf if server.places is None else float(server.places),
        keeps_places=server.keeps_places,
    )
    return replace(found, in_step=_in_step(found, trials))


def _own_s(read: Sequence[tuple[MapTrial, float]]) -> float | None:
    """Return what a request costs beside what it was asked to compute; None: no trial shows it.

    `read`: trials with the server's CPU time of a request, in seconds.
    """
    shows = [
        (each, spent_s - each.point.computes_s)
        for each, spent_s in read
        if spent_s - each.point.computes_s >= max(OWN_SHARE_MIN, each.off) * spent_s
    ]
    busy = _busiest(shows)
    return median(own_s for _, own_s in busy) if busy else None


def _load_s(read: Sequence[tuple[MapTrial, float]]) -> float:
    """Return what a request costs the load, where requests compute nothing, or least."""
    least = min(each.point.compute_us for each, _ in read)
    of_load = [
        each.engine_cpu_us / 1e6
        for each, _ in _busiest([pair for pair in read if pair[0].point.compute_us == least])
        if each.engine_cpu_us is not None
    ]
    return median(of_load) if of_load else 0.0


def _busiest(read: Sequence[tuple[MapTrial, float]]) -> list[tuple[MapTrial, float]]:
    """Return those in which the cores were about as busy as they ever were."""
    cores = [each.per_s * ((each.cpu_us or 0.0) + (each.engine_cpu_us or 0.0)) for each, _ in read]
    most = max(cores, default=0.0)
    return [pair for pair, busy in zip(read, cores, strict=True) if busy >= BUSY_MIN * most]


def _in_step(found: Costs, trials: Sequence[MapTrial]) -> float:
    """Return where a server lies between the bounds, by its trials."""
    pairs = [(each, bounds(found, each.point)) for each in trials]
    parts = [
        min(1.0, max(0.0, math.log(both.most / each.per_s) / both.apart))
        for each, both in pairs
        if both.apart >= APART_MIN
    ]
    return fmean([*parts, HALF_WAY])


def bounds(found: Costs, point: MapPoint) -> Bounds:
    """Return between which numbers the answers per second of a server of these costs lie at a point."""
    own_s = found.own_of(point)
    computes_s = point.computes_s + own_s
    alone_s = point.waits_s + computes_s
    is_one = found.computes_on <= ONE_CORE_MAX
    # On one core helpers of a loop do a part of what a request costs beside what it was asked to compute.
    one_s = point.computes_s + own_s / found.computes_on
    most = 1 / one_s if is_one else found.computes_on / computes_s
    # The load needs the cores, too.
    most = min(most, found.cores / (computes_s + found.load_s))
    limits: dict[Limit, float] = {
        "users": point.users / alone_s,
        "workers": found.places / alone_s,
        "one-core" if is_one else "cores": most,
    }
    inside = min(point.users, found.places)
    round_s = alone_s + (inside - 1) / most
    least = min(inside / round_s, *limits.values())
    return Bounds(limits, _exact(found, point, inside), least, 1 - point.waits_s / round_s)


def _exact(found: Costs, point: MapPoint, inside: float) -> float:
    asked_s = point.waits_s + point.computes_s
    by_cores = found.cores / point.computes_s if point.computes_s else math.inf
    return min(by_cores, inside / asked_s) if asked_s else math.inf


def at(found: Costs, point: MapPoint) -> Lawful:
    """Return what a server of these costs would answer at a point."""
    between = bounds(found, point)
    per_s = between.most * math.exp(-found.in_step * between.apart)
    own_s = found.own_of(point)
    own = own_s / (point.computes_s + own_s)
    of_cpu_time = between.computing * (DOUBT_OF_ASKED + (found.own_doubt - DOUBT_OF_ASKED) * own)
    is_left_out = found.keeps_places and point.users > found.places
    return Lawful(
        per_s=per_s,
        bounds=between,
        doubt=max(DOUBT_MIN, math.hypot(of_cpu_time, between.apart / AS_USUAL)),
        response_s=math.inf if is_left_out else point.users / per_s,
    )
