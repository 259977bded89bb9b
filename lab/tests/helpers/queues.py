"""Simulated queues, and searches on them without records or engine. Not a test itself.

When requests are due and end is computed, and is given to the code of `crumple find` tick by tick.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from crumple.find import next_level, seen
from crumple.find.breaking_point import Binding, binding
from crumple.find.next_level import Aim, NextLevel, Tried, next_step, of_server
from crumple.find.seen import Base, Judged, LevelOutcome, Tick
from crumple.load import objective
from crumple.stats import shares
from crumple.stats.decision import Answer
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# A load, and for how long → when its requests were due and when they ended, in seconds from its beginning.
Server = Callable[[float, float, np.random.Generator], tuple[Floats, Floats]]

TICK_S = 0.1
OUTCOMES: dict[Answer, LevelOutcome] = {"yes": "held", "no": "broke", "open": "undecided"}
BESIDE_S, SETTLE_S = 0.3, 1.0


def due(load: float, for_s: float, noise: np.random.Generator) -> Floats:
    """When requests of independent users are due."""
    return np.sort(noise.uniform(0, for_s, noise.poisson(load * for_s)))


def even(workers: int, takes_s: float) -> Server:
    """Several workers, each of which takes the same time for every request (M/D/c)."""

    def put_on(load: float, for_s: float, noise: np.random.Generator) -> tuple[Floats, Floats]:
        due_s = due(load, for_s, noise)
        ended_s = np.empty(len(due_s))
        # Workers take requests in turn, so a request waits for the one `workers` places before it.
        for first in range(min(workers, len(due_s))):
            own_s = due_s[first::workers]
            count = np.arange(len(own_s))
            ended_s[first::workers] = takes_s * (count + 1) + np.maximum.accumulate(own_s - takes_s * count)
        return due_s, ended_s

    return put_on


def single(capacity: float) -> Server:
    """One worker, which takes a random (exponential) time for each (M/M/1)."""

    def put_on(load: float, for_s: float, noise: np.random.Generator) -> tuple[Floats, Floats]:
        due_s = due(load, for_s, noise)
        served_s = np.cumsum(noise.exponential(1 / capacity, len(due_s)))
        return due_s, served_s + np.maximum.accumulate(due_s - np.concatenate([[0.0], served_s[:-1]]))

    return put_on


def at_times(share: Callable[[float], float], takes_s: float = 0.6) -> Server:
    """A server without a queue: the share of slow requests depends on the load."""

    def put_on(load: float, for_s: float, noise: np.random.Generator) -> tuple[Floats, Floats]:
        due_s = due(load, for_s, noise)
        return due_s, due_s + np.where(noise.uniform(size=len(due_s)) < share(load), takes_s, 0.02)

    return put_on


def unsteady(server: Server, spread: float) -> Server:
    """The server on a machine that is faster in some levels than in others."""

    def put_on(load: float, for_s: float, noise: np.random.Generator) -> tuple[Floats, Floats]:
        slower = math.exp(noise.normal(0, spread))
        due_s, ended_s = server(load * slower, for_s / slower, noise)
        return due_s * slower, ended_s * slower

    return put_on


def share_beyond(
    server: Server, load: float, limit_s: float, noise: np.random.Generator, requests: int
) -> float:
    """The share of requests that take longer than `limit_s` in the long run."""
    due_s, ended_s = server(load, requests / load, noise)
    late = due_s > 0.05 * due_s[-1]
    return float((ended_s - due_s > limit_s)[late].mean())


def ticks(due_s: Floats, ended_s: Floats, measured_s: float, limit_s: float) -> list[Tick]:
    """What a level sees each tenth of a second; times count from when measuring began."""
    measured = due_s >= 0
    due_s, ended_s = due_s[measured], ended_s[measured]
    slow = ended_s - due_s > limit_s
    known_s = due_s + limit_s
    edges = np.arange(0, measured_s + 1e-9, TICK_S)
    columns = [np.histogram(times, edges)[0] for times in (ended_s, known_s, known_s[slow])]
    return [
        Tick(float(end), int(ended), int(known), int(late), int(late))
        for end, ended, known, late in zip(edges[1:], *columns, strict=True)
    ]


@dataclass
class Search:
    """A search by rate for p99 < `limit_s` that knows beforehand only the rate `guess`."""

    server: Server
    guess: float
    limit_s: float
    seed: int
    budget_s: float = 60.0
    share: float = 0.01
    spent_s: float = 4.0
    starts: tuple[float, ...] = ()
    calm: Base | None = None
    tried: list[Tried] = field(default_factory=list)
    ending: str = ""

    def run(self) -> Binding | None:
        """Run the search; return what breaks first. `starts`: factors of the capacity, one for each start."""
        noise = np.random.default_rng(self.seed)
        left_s, start, aim = self.budget_s - self.spent_s, 0, self._aim()
        while isinstance(step := next_step(self.tried, left_s, aim), NextLevel):
            if step.afresh:
                start += 1
                left_s -= aim.start_s or 0.0
            over_s, drains_s, judged = self._level(step, start, noise)
            left_s -= SETTLE_S + BESIDE_S + over_s
            # The search cannot plan how long the server then needs for its backlog.
            assert left_s > -SETTLE_S, "it planned beyond its time"
            left_s -= drains_s
            self.tried.append(Tried(judged, step.purpose, step.load))
        self.ending = step.ending
        return binding(of_server(self.tried), aim.arrivals, self.calm)

    def _level(self, step: NextLevel, start: int, noise: np.random.Generator) -> tuple[float, float, Judged]:
        """When the level was over, how long the server then needed for its backlog, and the result."""
        factor = self.starts[start] if self.starts else 1.0
        due_s, ended_s = self.server(step.load / factor, (SETTLE_S + step.measure_s) * factor, noise)
        due_s, ended_s = due_s / factor - SETTLE_S, ended_s / factor - SETTLE_S
        whole = ticks(due_s, ended_s, step.measure_s, self.limit_s)
        seen_so_far = whole
        for number in range(round(1 / TICK_S), len(whole) + 1):
            seen_so_far = whole[:number]
            said = shares.stays_below(self.share, seen.counted(seen_so_far, 2 * self.limit_s))
            if said == "no" or (said == "yes" and seen_so_far[-1].end_s >= step.least_s - 1e-9):
                break
        said = shares.stays_below(self.share, seen.counted(seen_so_far, 2 * self.limit_s))
        over_s = seen_so_far[-1].end_s
        took = (ended_s - due_s)[(ended_s <= over_s) & (due_s >= 0)]
        evidence = seen.evidence("p99", self.share, seen_so_far, limit_s=self.limit_s, settled_s=SETTLE_S)
        base = Base(float(np.median(took)), float(took.var() / took.mean() ** 2)) if len(took) >= 20 else None
        drains_s = (
            max(0.0, float(ended_s[due_s <= over_s].max(initial=0.0)) - over_s) if said == "no" else 0.0
        )
        return over_s, drains_s, Judged(step.load, start, OUTCOMES[said], (evidence,), base)

    def _aim(self) -> Aim:
        asked = objective.parse(f"p{100 * (1 - self.share):g}<{self.limit_s:g}s")
        planned = next_level.durations(asked, self.budget_s)
        aim = Aim(
            first=0.75 * self.guess, lowest=0.1, highest=math.inf, step_up=1.6, whole=False,
            answers_needed=shares.answers_needed(self.share), level_s=planned.level_s,
            level_most_s=planned.longest_s, around_s=planned.settle_s + BESIDE_S, start_s=None, arrivals=1.0,
            calm=self.calm, limit_s=self.limit_s, seed=self.seed,
        )  # fmt: skip
        return replace(aim, start_s=3.5) if self.starts else aim
