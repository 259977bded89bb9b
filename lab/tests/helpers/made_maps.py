"""Made-up servers of eight I/O models, and what trials of them would show on two cores.

The truth is that of operational laws, with CPU times that change by some per cent from point to point, and so
does where a server lies between the bounds, as those of real servers do.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import documents
from crumple.model_map import map_laws
from crumple.model_map.map_data import MapData, MapServer, MapTrial
from crumple.model_map.map_laws import Costs
from crumple.model_map.model_map import ModelMap, place
from crumple.model_map.next_points import LoadS, choose
from crumple.study.map_points import MapPoint
from crumple.study.study import Study

WAIT_MS = (0, 5, 20, 80, 200, 500)
COMPUTE_US = (0, 300, 1_000, 3_000, 10_000, 50_000)
USERS = (8, 60, 500, 2_000)
FIRST = ((0, 0, 60), (0, 10_000, 60), (200, 0, 500), (80, 3_000, 500), (500, 300, 2_000))
CORES = 2
LOAD_S = 12e-6
# How long a trial takes beside its load, in seconds, and the load itself.
AROUND_S, LOADED_S = 1.3, 1.8


@dataclass(frozen=True)
class Nature:
    """What a made-up server is like."""

    io_model: str
    own_s: float
    """CPU time of a request beside what it was asked to compute."""
    computes_on: float
    places: int | None = None
    keeps_places: bool = False
    start_s: float = 0.1
    in_step: float = 0.3
    """Where it lies between the bounds of the laws: 0, at the upper one; 1, at the lower."""

    @property
    def server(self) -> MapServer:
        """The server of the map, named by its model."""
        return MapServer(
            label=self.io_model,
            title=f"made {self.io_model}",
            io_model=self.io_model,
            places=self.places,
            keeps_places=self.keeps_places,
        )


NATURES = (
    Nature("process-per-connection", 140e-6, 1.95, 150, keeps_places=True, start_s=0.4),
    Nature("process-pool", 210e-6, 1.9, 150, start_s=0.5),
    Nature("thread-per-connection", 900e-6, 1.02, start_s=0.6),
    Nature("thread-pool", 90e-6, 1.9, 200, start_s=1.9),
    Nature("event-loop", 55e-6, 1.02, in_step=0.9),
    Nature("event-loop-per-core", 62e-6, 1.92, in_step=0.6),
    Nature("hybrid", 110e-6, 1.9, start_s=1.9),
    Nature("green-threads", 40e-6, 1.95),
)


def truth(nature: Nature, point: MapPoint) -> float:
    """Return how many requests a second a server really answers at a point."""
    phase, across = len(nature.io_model), place(point)
    own_s = nature.own_s * math.exp(0.15 * math.sin(phase + 3 * across[0] + 2 * across[1] + 4 * across[2]))
    more = 0.04 * (1 + math.sin(2 * phase + 5 * across[2]))
    in_step = nature.in_step + 0.2 * math.sin(phase + 4 * across[0] + 3 * across[1])
    found = map_laws.bounds(
        Costs(
            own_s,
            own_s + more * point.compute_us / 1e6,
            LOAD_S,
            nature.computes_on,
            CORES,
            nature.places or math.inf,
            nature.keeps_places,
        ),
        point,
    )
    return found.most * math.exp(-min(1.0, max(0.0, in_step)) * found.apart)


def best(point: MapPoint) -> float:
    """Return the most that one of the servers answers."""
    return max(truth(nature, point) for nature in NATURES)


def trial(nature: Nature, point: MapPoint, rng: random.Random, noise: float = 0.02) -> MapTrial:
    """Return what a trial would show."""
    per_s = truth(nature, point) * math.exp(rng.gauss(0, noise))
    served = point.users
    if nature.keeps_places and nature.places is not None:
        served = min(served, nature.places)
    answered = per_s * LOADED_S > 2 * served
    return MapTrial(
        server=nature.server.label,
        point=point,
        per_s=per_s,
        off=0.0,
        p99_ms=1.2e3 * served / per_s if answered and served == point.users else None,
        cpu_us=(point.compute_us / 1e6 + nature.own_s) * math.exp(rng.gauss(0, noise)) * 1e6,
        engine_cpu_us=LOAD_S * 1e6,
        slowdown=1.0,
        leaves_users=served < point.users,
        took_s=AROUND_S + nature.start_s,
    )


def study() -> Study:
    """Return a study with a map of eight cells."""
    plain = documents.study().experiments["shared"]
    quick = plain.scales["quick"].model_validate({"blocks": 1, "twin": False, "stop": {"duration_s": 0.2}})
    template = plain.model_copy(update={"workload": "mix", "scales": {"quick": quick}})
    given = {
        "name": "map",
        "title": "A map",
        "question": "Which?",
        "experiments": {"point": template},
        "map": {
            "experiment": "point",
            "wait_ms": (0, 80),
            "compute_us": (0, 10_000),
            "users": (8, 500),
            "first": ((0, 0, 60), (0, 10_000, 60)),
        },
    }
    return Study.model_validate(given)


def point(wait_ms: int, compute_us: int, users: int) -> MapPoint:
    """Return a point."""
    return MapPoint(wait_ms=wait_ms, compute_us=compute_us, users=users)


def data(trials: Sequence[MapTrial], natures: Sequence[Nature] = NATURES) -> MapData:
    """Return what a map is made of."""
    return MapData(
        run="wait-or-compute-quick-20261130-000000",
        began="2026-11-30T00:00:00+00:00",
        machine={"cpu_model": "Made CPU", "cores": CORES, "kernel": "6.1.0"},
        cores=CORES,
        wait_ms=WAIT_MS,
        compute_us=COMPUTE_US,
        users=USERS,
        servers=tuple(nature.server for nature in natures),
        trials=tuple(trials),
        left_out=0,
    )


def first_trials(rng: random.Random) -> list[MapTrial]:
    """Return a trial of every server at each of the first points."""
    return [trial(nature, point(*where), rng) for where in FIRST for nature in NATURES]


def loaded_s(at: MapPoint, server: str) -> float:
    """Return how long a server is loaded at a point."""
    return LOADED_S + 6 * at.wait_ms / 1e3


LOADED: LoadS = loaded_s


def measured(seed: int, seconds: float) -> ModelMap:
    """Return the map that a run of so many seconds would make."""
    rng = random.Random(seed)
    natures = {nature.server.label: nature for nature in NATURES}
    trials = first_trials(rng)
    left_s = seconds - sum(each.took_s + loaded_s(each.point, each.server) for each in trials)
    while (chosen := choose(ModelMap(data(trials)), LOADED, left_s)) is not None:
        further = [trial(natures[server], chosen.point, rng) for server in chosen.servers]
        left_s -= sum(each.took_s + loaded_s(each.point, each.server) for each in further)
        trials += further
    return ModelMap(data(trials))


@cache
def begun() -> ModelMap:
    """Return the map of which only the first points are measured."""
    return ModelMap(data(first_trials(random.Random(1))))
