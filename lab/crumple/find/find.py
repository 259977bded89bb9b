"""The breaking point of a server: level after level is put on until the search is over, or its time.

Which load comes next is `search`, whether it held is `level`, what they come to is `breaking_point`; how the
server is started, the engine called and a record judged comes from the caller.
"""

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from crumple import contract
from crumple.contract import Progress, TrialRecord, TrialSpec
from crumple.find import breaking_point, search
from crumple.find import level as levels
from crumple.find.level import Level
from crumple.find.search import ANSWERS_SPARE, Aim, Step, Stop, Tried
from crumple.load import load
from crumple.load.load import Options
from crumple.load.objective import Objective
from crumple.load.shape import ArrivalKind
from crumple.record.validity import Validity
from crumple.stats.stats import Interval

By = Literal["rate", "connections"]
# "gone": the server answered no more.
Ending = Literal[search.Ending, "gone"]

# A level is measured for this part of the budget: some twenty of them, with what is around them, fill it.
LEVELS_IN_BUDGET = 36
LEVEL_S_MIN, LEVEL_S_MAX = 1.0, 30.0
SETTLE_SHARE, SETTLE_S_MIN = 0.2, 0.5
# What a level takes besides, until it is known: the engine's start, its record, the server's recovery. Of the
# last few levels it is the longest.
BESIDE_S, BESIDE_OF = 0.3, 3
# The first guess of a rate: what so many connections get out of the server. It begins at this share of it.
GUESS_CONNECTIONS, GUESS_S, GUESS_SHARE = 64, 1.0, 0.5
FIRST_CONNECTIONS = 8
STEP_UP: dict[By, float] = {"rate": 1.6, "connections": 4.0}
# The lowest rate tried is one whose answers are enough within this share of the budget.
LOWEST_SHARE = 0.15
# A server has recovered when it answers one request about as fast as it did unloaded.
RECOVERY_S_MAX = 5.0
CALM_NS_MIN, CALM_FACTOR = 10e6, 2.0
_SEED_BITS = 48


@dataclass(frozen=True)
class Question:
    """What is asked. `connections_most`: the limit of an open shape, or the highest load by connections.

    `warm_up_s`: before the first level of each start.
    """

    objective: Objective
    by: By
    budget_s: float
    warm_up_s: float
    connections_most: int
    arrivals: ArrivalKind
    pause_ms: float
    pause: contract.PauseKind
    seed: int


@dataclass(frozen=True)
class Place:
    """A server that runs. `options`: the pid to watch and the engine's cores are among them."""

    target: contract.Target
    requests: tuple[contract.Request, ...]
    options: Options
    alive: Callable[[], bool]


@dataclass(frozen=True)
class Site:
    """How the server comes about: `opened` gives a start of it; `afresh`: each time another one.

    `threads_most`: that the engine may have. `server_cores`: that the server may use; empty: not known.
    """

    label: str
    opened: Callable[[], AbstractContextManager[Place]]
    afresh: bool
    threads_most: int
    server_cores: tuple[int, ...]
    assess: Callable[[TrialRecord], Validity]


class Watcher(Protocol):
    """Who is told how it goes on."""

    def starting(self, start: int) -> None:
        """A start begins; they count from 0."""

    def guessing(self, connections: int) -> None:
        """The first guess of a rate is made."""

    def trying(self, step: Step) -> None:
        """A level begins."""

    def progress(self, progress: Progress) -> None:
        """The engine's line of the last second."""

    def tried(self, level: Level, left_s: float) -> None:
        """A level is over, and so much of the budget is left."""


class Unanswered(Exception):  # noqa: N818 - it reads as what happened
    """Not one request of the first load was answered as expected. `record`: of that load."""

    def __init__(self, record: TrialRecord) -> None:
        self.record = record
        super().__init__("nothing was answered")


@dataclass(frozen=True)
class Found:
    """What came of it. `point` None: the levels do not say where it breaks, and `ending` says why.

    `guess_per_s`: what GUESS_CONNECTIONS got out of the server; None by connections.
    """

    ending: Ending
    levels: tuple[Level, ...]
    point: Interval | None
    guess_per_s: float | None
    took_s: float

    @property
    def highest_held(self) -> float | None:
        """The highest load at which the objective held in a valid level; one level may be luck."""
        return max((each.load for each in self.levels if each.outcome == "held"), default=None)


Run = Callable[[TrialSpec, Callable[[Progress], None]], TrialRecord]


def find(
    question: Question,
    site: Site,
    run: Run,
    clock: Callable[[], float],
    watcher: Watcher,
    began_s: float | None = None,
) -> Found:
    """Search until it is over. `clock`: seconds; the budget counts from `began_s` of it, or from this call.

    Raises Unanswered, and what `site` and `run` raise.
    """
    course = _Course(question, site, run, clock, watcher, clock() if began_s is None else began_s)
    while course.ending is None:
        course.begin_start()
        with site.opened() as place:
            course.use(place)
    return course.found()


class _Course:
    """How far the search has come."""

    def __init__(
        self,
        question: Question,
        site: Site,
        run: Run,
        clock: Callable[[], float],
        watcher: Watcher,
        began_s: float,
    ) -> None:
        self._question = question
        self._site = site
        self._run = run
        self._clock = clock
        self._watcher = watcher
        self._began_s = self._start_began_s = began_s
        self._level_s = min(LEVEL_S_MAX, max(LEVEL_S_MIN, question.budget_s / LEVELS_IN_BUDGET))
        self._settle_s = max(SETTLE_S_MIN, SETTLE_SHARE * self._level_s)
        self._beside_s = [BESIDE_S]
        self._opening_s = 0.0
        self._guess_per_s: float | None = None
        self._levels: list[Level] = []
        self._pending: Step | None = None
        self._loads_put_on = 0
        self._start = -1
        self.ending: Ending | None = None

    def begin_start(self) -> None:
        """The server is about to be started."""
        self._start += 1
        self._start_began_s = self._clock()
        self._watcher.starting(self._start)

    def use(self, place: Place) -> None:
        """Put levels on a start until the search wants another start, or is over."""
        self._opening_s = max(self._opening_s, self._clock() - self._start_began_s)
        settle_s = self._question.warm_up_s
        if self._question.by == "rate" and self._guess_per_s is None:
            self._guess_per_s = self._guess(place)
            settle_s = self._settle_s
        while True:
            began_s = self._clock()
            step = self._pending or self._next_step()
            if step is None:
                return
            if step.afresh:
                self._pending = replace(step, afresh=False)
                return
            self._pending = None
            self._try(step, place, settle_s)
            goes_on = self._goes_on(place)
            self._beside_s.append(self._clock() - began_s - settle_s - step.measure_s)
            settle_s = self._settle_s
            if not goes_on:
                return

    def found(self) -> Found:
        """What it came to."""
        assert self.ending is not None
        judged = search.judged(self._tried())
        both = {each.held for each in judged} == {True, False}
        stated = both and self.ending in ("found", "gone")
        return Found(
            ending=self.ending,
            levels=tuple(self._levels),
            point=breaking_point.Posterior(judged).interval() if stated else None,
            guess_per_s=self._guess_per_s,
            took_s=self._clock() - self._began_s,
        )

    def _next_step(self) -> Step | None:
        step = search.next_step(self._tried(), self._left_s(), self._aim())
        if isinstance(step, Stop):
            self.ending = step.ending
            return None
        # A start that has no level yet is fresh already.
        here = any(each.start == self._start for each in self._levels)
        return step if here else replace(step, afresh=False)

    def _left_s(self) -> float:
        return self._question.budget_s - (self._clock() - self._began_s)

    def _tried(self) -> list[Tried]:
        return [
            Tried(each.load, each.start, each.purpose, each.outcome, each.throughput_per_s)
            for each in self._levels
        ]

    def _aim(self) -> Aim:
        question = self._question
        needed = question.objective.requests_needed
        if question.by == "rate":
            first = GUESS_SHARE * (self._guess_per_s or 1.0)
            lowest = min(first, ANSWERS_SPARE * needed / (LOWEST_SHARE * question.budget_s))
            highest = float("inf")
        else:
            lowest, highest = 1.0, float(question.connections_most)
            first = min(float(FIRST_CONNECTIONS), highest)
        beside_s = max(self._beside_s[-BESIDE_OF:])
        # The first level of a start takes its longer warm-up, and then the server has to end.
        start_s = self._opening_s + self._question.warm_up_s + beside_s
        return Aim(
            first=first,
            lowest=lowest,
            highest=highest,
            step_up=STEP_UP[question.by],
            whole=question.by == "connections",
            requests_needed=needed,
            level_s=self._level_s,
            around_s=self._settle_s + beside_s,
            start_s=start_s if self._site.afresh else None,
            seed=question.seed,
        )

    def _guess(self, place: Place) -> float:
        connections = min(GUESS_CONNECTIONS, self._question.connections_most)
        self._watcher.guessing(connections)
        stop = contract.AfterDuration(duration_s=GUESS_S)
        record = self._put_on(place, self._closed(connections), stop, self._question.warm_up_s)
        if not record.outcomes.ok:
            raise Unanswered(record)
        return record.outcomes.ok / record.measured_ns * 1e9

    def _try(self, step: Step, place: Place, settle_s: float) -> None:
        self._watcher.trying(step)
        stop = contract.AfterDuration(duration_s=step.measure_s)
        record = self._put_on(place, self._shape(step), stop, settle_s)
        if not self._levels and self._guess_per_s is None and not record.outcomes.ok:
            raise Unanswered(record)
        judged = self._site.assess(record)
        seen = levels.level(step, self._start, record, self._question.objective, judged)
        self._levels.append(seen if place.alive() else seen.died())
        self._watcher.tried(self._levels[-1], self._left_s())

    def _goes_on(self, place: Place) -> bool:
        """Whether this start can take another level; it is given time to get over one that did not hold."""
        if not place.alive():
            return False
        if self._levels[-1].outcome == "held":
            return True
        began_s = self._clock()
        answered = calm = False
        while not calm and self._clock() - began_s < RECOVERY_S_MAX:
            stop = contract.AfterRequests(requests=1, within_s=1.0)
            record = self._put_on(place, self._closed(1), stop, None)
            answered = record.outcomes.ok > 0
            calm = answered and (record.histograms.response_time.max_ns or 0) <= self._calm_ns()
        if not answered and not self._site.afresh:
            self.ending = "gone"
        return answered

    def _calm_ns(self) -> float:
        medians = [each.p50_ns for each in self._levels if each.outcome == "held" and each.p50_ns is not None]
        return max(CALM_NS_MIN, CALM_FACTOR * min(medians)) if medians else float("inf")

    def _shape(self, step: Step) -> contract.Shape:
        if self._question.by == "connections":
            return self._closed(round(step.load))
        rate = contract.Rate(from_per_s=step.load, to_per_s=step.load, duration_s=step.measure_s)
        return contract.OpenShape(
            connections=self._question.connections_most, arrivals=self._question.arrivals, rates=(rate,)
        )

    def _closed(self, connections: int) -> contract.ClosedShape:
        return contract.ClosedShape(
            connections=connections, pause_ms=self._question.pause_ms, pause=self._question.pause
        )

    def _put_on(
        self, place: Place, shape: contract.Shape, stop: contract.Stop, warm_up_s: float | None
    ) -> TrialRecord:
        self._loads_put_on += 1
        drawn = random.Random(f"{self._question.seed}/{self._loads_put_on}")
        spec = load.spec(
            label=f"{self._site.label}/{self._loads_put_on}",
            target=place.target,
            requests=place.requests,
            shape=shape,
            stop=stop,
            options=replace(place.options, seed=drawn.getrandbits(_SEED_BITS)),
            # As many threads as the shape asks for are at most half of these.
            usable_cores=2 * self._site.threads_most,
            warm_up_s=warm_up_s,
        )
        return self._run(spec, self._watcher.progress)
