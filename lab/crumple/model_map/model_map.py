"""The map: what each server answers at any point, as an interval, and which of them serve most there.

The laws give each server's answers and times; a surface over the points gives how far they are off, and how
far that is known. `map_data` has what was measured, `next_points` chooses what is measured next.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from crumple.model_map import map_laws
from crumple.model_map.map_data import MapData, MapServer, MapTrial
from crumple.model_map.map_laws import Costs, Lawful
from crumple.stats import kriging
from crumple.stats.decision import Answer
from crumple.stats.interval import CONFIDENCE, Interval
from crumple.stats.kriging import Manner, Places, Readings, Surface, Z
from crumple.study.map_points import MapPoint

# Two servers are alike if one answers at least nine tenths of what the other does: less than other things of
# a service change it by.
ALIKE_WITHIN = 0.1
# By how much the laws are off as a rule: throughput by a tenth, response times by three tenths (Lazowska,
# Zahorjan, Graham and Sevcik, *Quantitative System Performance*, 1984, chapter 2).
THROUGHPUT_OFF, RESPONSE_OFF = 0.1, 0.3
# The laws give a mean; how far p99 lies from it is nowhere exact.
QUANTILE_DOUBT = 1.0
# By chance one reading in 400 lies more than three errors from what the laws say. If one lies further off,
# for instance five errors, the laws lack something of its server, and count as five times as doubtful for it.
STRANGE = 3.0
# Users were left without an answer at a point so near, as a part of the cube's side: it is open whether some
# are here, too.
NEAR = 0.25
# A p99 of a second: a wait that a person notices as one.
P99_MAX_MS = 1_000.0
# Below 2 ms a wait, and below 0.1 ms of CPU time, differences are of little use: above, axes are logarithmic.
WAIT_FROM_MS, COMPUTE_FROM_US = 2.0, 100.0
# The axes from which the sides of the cube are counted: up to half a second, 50 ms, and 2,000 users.
_WAIT_SIDE = math.log1p(500 / WAIT_FROM_MS)
_COMPUTE_SIDE = math.log1p(50_000 / COMPUTE_FROM_US)
_USERS_SIDE = math.log(2_000 / 8)

# How a server stands to the best one at a point: it is the best, alike, behind, or that is not known.
Rank = Literal["best", "alike", "behind", "open"]


@dataclass(frozen=True)
class Standing:
    """One server at a point."""

    server: MapServer
    per_s: Interval
    """Right answers per second."""
    ratio: Interval
    """To those of the best one."""
    rank: Rank
    limit: map_laws.Limit | None
    """What limits it; None: not known, as it answers well below what each limit allows."""
    p99_ms: Interval | None
    """None: users get no answer, or nothing is known of it."""
    is_kept: Answer
    """Whether its p99 stays below a second, and all users get answers."""
    measured: int
    """How many of its trials are of this point; 0: it is predicted."""


@dataclass(frozen=True)
class Spot:
    """All servers at a point, the one that serves most first."""

    point: MapPoint
    servers: tuple[Standing, ...]

    @property
    def front(self) -> tuple[Standing, ...]:
        """The best one, those alike, and those of which that is not known."""
        return tuple(each for each in self.servers if each.rank != "behind")

    @property
    def is_decided(self) -> bool:
        """Whether it is known of each server whether it is behind."""
        return all(each.rank != "open" for each in self.servers)

    @property
    def winner(self) -> MapServer | None:
        """The server that serves more than all others; None: several are alike, or it is not known."""
        return self.front[0].server if len(self.front) == 1 else None


def place(point: MapPoint) -> tuple[float, float, float]:
    """Return where a point lies in the cube."""
    return (
        math.log1p(point.wait_ms / WAIT_FROM_MS) / _WAIT_SIDE,
        math.log1p(point.compute_us / COMPUTE_FROM_US) / _COMPUTE_SIDE,
        math.log(point.users / 8) / _USERS_SIDE,
    )


@dataclass(frozen=True)
class Belief:
    """What is known of one server: its costs, and how far the laws are off."""

    server: MapServer
    costs: Costs
    throughput: Surface
    response: Surface
    usual_p99: float
    """The logarithm of how many times as long as the mean p99 is, where nothing else is known."""
    trials: tuple[MapTrial, ...]

    def lawful(self, points: Sequence[MapPoint]) -> list[Lawful]:
        """Return what the laws say of points."""
        return [map_laws.at(self.costs, each) for each in points]

    def leaves_users(self, point: MapPoint) -> Answer:
        """Return whether more than 1 % of the users get no answer within a second: by the nearest trial."""
        apart = [(math.dist(place(point), place(each.point)), each.leaves_users) for each in self.trials]
        nearest, left = min(apart)
        if nearest == 0:
            return "yes" if any(each for far, each in apart if far == 0) else "no"
        return "open" if left and nearest < NEAR else "no"


def places_of(points: Sequence[MapPoint], said: Sequence[Lawful]) -> Places:
    """Return points as places in the cube."""
    return Places.of([place(each) for each in points], [each.doubt for each in said])


class ModelMap:
    """The map that data show."""

    def __init__(self, data: MapData) -> None:
        self.data = data

    @cached_property
    def beliefs(self) -> tuple[Belief, ...]:
        """What is known of each server of which something was measured."""
        known: list[_Costing] = []
        for server in self.data.servers:
            own = tuple(each for each in self.data.trials if each.server == server.label)
            if (found := map_laws.costs(server, own, self.data.cores)) is not None:
                known.append((server, found, own))
        known, answers, of_answers = max(
            (_doubted(known, doubt) for doubt in map_laws.DOUBTS_OF_OWN),
            key=lambda found: sum(Surface(each, found[2]).log_likelihood for each in found[1]),
        )
        responses = [_responses(found, own) for _, found, own in known]
        read = np.concatenate([each.values for each in responses]) if responses else np.zeros(0)
        usual_p99 = float(np.median(read)) if len(read) else 0.0
        responses = [replace(each, values=each.values - usual_p99) for each in responses]
        factors = [_strangeness(each, of_answers) for each in answers]
        usual = [each for each, factor in zip(answers, factors, strict=True) if factor == 1]
        if len(usual) < len(answers):
            of_answers = kriging.likeliest(usual, THROUGHPUT_OFF)
        of_responses = kriging.likeliest(responses, RESPONSE_OFF)
        return tuple(
            Belief(
                server,
                found,
                Surface(many, replace(of_answers, amplitude=of_answers.amplitude * factor)),
                Surface(long, of_responses),
                usual_p99,
                own,
            )
            for (server, found, own), many, factor, long in zip(
                known, answers, factors, responses, strict=True
            )
        )

    @cached_property
    def cells(self) -> tuple[MapPoint, ...]:
        """The middles of its cells: by users, then computing, then waiting."""
        data = self.data
        return tuple(
            MapPoint(wait_ms=wait_ms, compute_us=compute_us, users=users)
            for users in data.users
            for compute_us in data.compute_us
            for wait_ms in data.wait_ms
        )

    @cached_property
    def spots(self) -> tuple[Spot, ...]:
        """All servers in each cell."""
        return self.at(self.cells)

    @property
    def decided(self) -> int:
        """In how many cells it is known of each server whether it is behind."""
        return sum(spot.is_decided for spot in self.spots)

    def at(self, points: Sequence[MapPoint]) -> tuple[Spot, ...]:
        """Return all servers at points."""
        columns = [_column(belief, points) for belief in self.beliefs]
        return tuple(
            _spot(point, [column[at] for column in columns]) for at, point in enumerate(points) if columns
        )

    @cached_property
    def left_out(self) -> tuple[kriging.LeftOut, ...]:
        """What is said of each measured throughput by all other trials of its server.

        The costs by which the laws speak are those of all its trials, this one among them.
        """
        return tuple(
            replace(each, error=each.error * belief.throughput.widening)
            for belief in self.beliefs
            for each in belief.throughput.left_out
        )


# A server, what it costs, and its trials.
_Costing = tuple[MapServer, Costs, tuple[MapTrial, ...]]


@dataclass(frozen=True)
class _Known:
    """What is known of a server at a point: logarithms with their standard deviations."""

    belief: Belief
    said: Lawful
    per_s: float
    per_s_error: float
    p99_ms: float
    p99_error: float


def _answers(found: Costs, trials: Sequence[MapTrial]) -> Readings:
    """Return how far the laws are off in throughput, as logarithms of factors."""
    said = [map_laws.at(found, each.point) for each in trials]
    # On a calm machine it would answer between what it did and the slowdown times that.
    values = [
        math.log(each.per_s / law.per_s) + math.log(each.slowdown) / 2
        for each, law in zip(trials, said, strict=True)
    ]
    errors = [math.hypot(each.off, math.log(each.slowdown) / 2) for each in trials]
    return Readings(places_of([each.point for each in trials], said), np.array(values), np.array(errors))


def _responses(found: Costs, trials: Sequence[MapTrial]) -> Readings:
    """Return how far p99 lies from the mean response time that the laws give, as logarithms of factors."""
    pairs = [(each, map_laws.at(found, each.point)) for each in trials if each.p99_ms is not None]
    kept = [(each, law) for each, law in pairs if math.isfinite(law.response_s)]
    values = [math.log((each.p99_ms or 1.0) / (1e3 * law.response_s)) for each, law in kept]
    places = places_of([each.point for each, _ in kept], [law for _, law in kept]).doubted(QUANTILE_DOUBT)
    errors = [math.log(each.slowdown) / 2 for each, _ in kept]
    return Readings(places, np.array(values) - errors, np.array(errors))


def _doubted(known: Sequence[_Costing], own_doubt: float) -> tuple[list[_Costing], list[Readings], Manner]:
    """Return the servers with this doubt of their laws, their readings by it, and how these vary."""
    costing = [(server, replace(found, own_doubt=own_doubt), own) for server, found, own in known]
    read = [_answers(found, own) for _, found, own in costing]
    return costing, read, kriging.likeliest(read, THROUGHPUT_OFF)


def _strangeness(read: Readings, manner: Manner) -> float:
    """Return by how many times the laws are more doubtful for a server; 1: no reading is strange."""
    errors = np.hypot(np.hypot(manner.amplitude * read.places.doubts, manner.noise), read.errors)
    most = float(max(np.abs(read.values) / errors, default=0.0))
    return most if most > STRANGE else 1.0


def _column(belief: Belief, points: Sequence[MapPoint]) -> list[_Known]:
    said = belief.lawful(points)
    places = places_of(points, said)
    off, error = belief.throughput.mean(places), belief.throughput.error(places)
    of_quantiles = places.doubted(QUANTILE_DOUBT)
    late = np.maximum(0.0, belief.usual_p99 + belief.response.mean(of_quantiles))
    late_error = belief.response.error(of_quantiles)
    return [
        _Known(
            belief,
            law,
            min(math.log(law.bounds.exact), math.log(law.per_s) + float(off[at])),
            float(error[at]),
            math.log(1e3 * law.response_s) + float(late[at]) if math.isfinite(law.response_s) else math.inf,
            float(late_error[at]),
        )
        for at, law in enumerate(said)
    ]


def _spot(point: MapPoint, known: Sequence[_Known]) -> Spot:
    ordered = sorted(known, key=lambda each: each.per_s, reverse=True)
    return Spot(point, tuple(_standing(point, each, ordered[0]) for each in ordered))


def _standing(point: MapPoint, each: _Known, best: _Known) -> Standing:
    error = 0.0 if each is best else math.hypot(each.per_s_error, best.per_s_error)
    ratio = _interval(each.per_s - best.per_s, error)
    if each is best:
        rank: Rank = "best"
    elif ratio.low >= 1 - ALIKE_WITHIN:
        rank = "alike"
    else:
        rank = "behind" if ratio.high < 1 else "open"
    per_s, exact = _interval(each.per_s, each.per_s_error), each.said.bounds.exact
    own = [trial for trial in each.belief.trials if trial.point == point]
    leaves_users = each.belief.leaves_users(point)
    has_p99 = math.isfinite(each.p99_ms) and leaves_users != "yes"
    p99_ms = _interval(each.p99_ms, each.p99_error) if has_p99 else None
    return Standing(
        server=each.belief.server,
        per_s=replace(per_s, high=min(per_s.high, exact)),
        ratio=ratio,
        rank=rank,
        limit=each.said.bounds.limit(math.exp(each.per_s)),
        p99_ms=p99_ms,
        is_kept=_is_kept(p99_ms, leaves_users),
        measured=len(own),
    )


def _is_kept(p99_ms: Interval | None, leaves_users: Answer) -> Answer:
    if p99_ms is None or p99_ms.low >= P99_MAX_MS:
        return "no"
    return "yes" if p99_ms.high < P99_MAX_MS and leaves_users == "no" else "open"


def _interval(middle: float, error: float) -> Interval:
    return Interval(
        math.exp(middle), math.exp(middle - Z * error), math.exp(middle + Z * error), CONFIDENCE, 1
    )
