"""Searches the breaking point of a server: runs level after level until the search or its time is over.

`next_level` chooses the load, `level` says whether it held, and `breaking_point` computes the result. The
caller provides how the server is started, the engine called and a record judged.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from crumple import contract
from crumple.contract import ProgressLine, TrialRecord, TrialSpec
from crumple.engine import EndEarly
from crumple.errors import Interrupted
from crumple.find import breaking_point, limited, next_level, watch
from crumple.find import level as levels
from crumple.find.level import Level
from crumple.find.next_level import Aim, NextLevel, Stop, Tried
from crumple.find.search import By, Ending, Guess, SearchQuestion, SearchResult, SearchWatcher
from crumple.find.seen import EVERY_S, Base
from crumple.find.watch import Watch
from crumple.load import engine_spec, load_options, lost
from crumple.load.load_shape import ArrivalKind
from crumple.load.lost import CRAWLS_TIMES
from crumple.load.site import NothingAnswered, RunningServer, Site
from crumple.machine import facts
from crumple.record import histogram, outage
from crumple.record.loss import Lost
from crumple.words import lost_sentences

# The time a level takes besides measuring: the engine's start, its record, the server's recovery. BESIDE_S is
# assumed at first; later it is the longest of the last BESIDE_OF levels.
BESIDE_S, BESIDE_OF = 0.3, 3
# The first guess of a rate is made with GUESS_CONNECTIONS connections in GUESS_S seconds: it is the number of
# answers per second that they get. The search begins at GUESS_SHARE of it.
GUESS_CONNECTIONS, GUESS_S, GUESS_SHARE = 64, 1.0, 0.75
# By which factor the guess takes longer if a slow server has answered nothing, and the largest share of the
# budget that it may take.
GUESS_LONGER, GUESS_BUDGET_SHARE = 4.0, 0.25
# The number of connections at which the search begins if it goes by connections.
FIRST_CONNECTIONS = 8
# By which factor the load rises from level to level while all held. A rate begins near a guess, so its steps
# are smaller.
STEP_UP: dict[By, float] = {"rate": 1.6, "connections": 4.0}
# The lowest rate that is tried, per second: one request in ten seconds.
LOWEST_PER_S = 0.1
# The variance of the gaps between requests over the square of their mean.
VARIATION: dict[ArrivalKind, float] = {"poisson": 1.0, "even": 0.0}
# How long the search waits for a server that answers, in seconds, until it answers one request about as fast
# as without a load.
RECOVERY_S_MAX = 5.0
# For how many times the time of its backlog the search waits in addition for a server that does not answer;
# after that the server is lost.
BACKLOGS = 2.0
# A server has recovered if it answers one request within CALM_FACTOR times the least median of levels that
# held and of requests sent one by one, or within CALM_NS_MIN, in ns, if that is longer.
CALM_NS_MIN, CALM_FACTOR = 10e6, 2.0
# Once in a search, requests are sent one by one: at most CALM_REQUESTS within CALM_S seconds. A median takes
# CALM_REQUESTS_MIN of them.
CALM_REQUESTS, CALM_REQUESTS_MIN, CALM_S = 20, 3, 0.7
# How long that may take with a slow server: the time of CALM_ANSWERS answers, within CALM_BUDGET_SHARE of the
# budget.
CALM_ANSWERS, CALM_BUDGET_SHARE = 6.0, 0.08
# After how many response times the number of requests in flight is steady.
SETTLE_ANSWERS = 4.0


# The last argument may be called while the load runs, to end it.
Run = Callable[[TrialSpec, Callable[[ProgressLine], None], EndEarly], TrialRecord]


def find(
    question: SearchQuestion,
    site: Site,
    run: Run,
    clock: Callable[[], float],
    watcher: SearchWatcher,
    began_s: float | None = None,
) -> SearchResult:
    """Run the search and return its result. `clock`: seconds; the budget counts from `began_s`, or this call.

    If interrupted, it returns the levels that were over. Raises Unanswered, and what `site` and `run` raise.
    """
    course = _SearchCourse(question, site, run, clock, watcher, clock() if began_s is None else began_s)
    try:
        while course.ending is None:
            course.begin_start()
            with site.opened() as place:
                course.use(place)
    except Interrupted:
        course.ending = "interrupted"
    return course.found()


@dataclass
class _SearchCourse:
    """The state of a search."""

    _question: SearchQuestion
    _site: Site
    _run: Run
    _clock: Callable[[], float]
    _watcher: SearchWatcher
    _began_s: float

    def __post_init__(self) -> None:
        self._start_began_s = self._began_s
        self._durations = next_level.durations(self._question.objective, self._question.budget_s)
        self._beside_s = [BESIDE_S]
        self._opening_s = 0.0
        self._guess: Guess | None = None
        self._calm: Base | None = None
        # The response time of the last request that was sent alone.
        self._alone_s = 0.0
        self._is_planned = False
        self._levels: list[Level] = []
        self._pending: NextLevel | None = None
        self._loads_put_on = 0
        self._start = -1
        # The last load that is judged: the guess, or a level.
        self._judged: TrialRecord | None = None
        self._lost: Lost | None = None
        self._lost_at: float | None = None
        self.ending: Ending | None = None

    def begin_start(self) -> None:
        """Note that the server is about to be started."""
        self._start += 1
        self._start_began_s = self._clock()
        self._watcher.starting(self._start)

    def use(self, place: RunningServer) -> None:
        """Run levels on a start until the search needs another start, or is over."""
        self._opening_s = max(self._opening_s, self._clock() - self._start_began_s)
        settle_s = self._question.warm_up_s
        if self._question.by == "rate" and self._guess is None:
            self._guess = self._guessed(place)
            if self._guess is None or not self._recovers(place):
                self._guess = None
                return
            self._calm = self._with_pace(self._looks_at(place))
            settle_s = self._settle_s
        if not self._is_planned:
            self._is_planned = True
            load = self._first() if self._guess else None
            self._watcher.planned(
                next_level.outlook(
                    self._question.objective, self._durations, load, self._left_s(), self._besides_s
                )
            )
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
            self._beside_s.append(self._clock() - began_s - settle_s - self._levels[-1].measured_s)
            settle_s = self._settle_s
            if not goes_on:
                return

    def found(self) -> SearchResult:
        """Return the result of the search, which must be over."""
        assert self.ending is not None
        server = next_level.of_server(self._tried())
        both = {each.leans_against for each in server} == {True, False}
        stated = both and self.ending in ("found", "gone", "interrupted")
        breaks = breaking_point.binding(server, self._arrivals, self._calm) if stated else None
        point = None
        if breaks is not None:
            point = breaking_point.on_a_calm_machine(breaks, server, self._arrivals, self._calm)
        if self._question.by == "rate":
            point = limited.point(point, self._levels, self._question.objective.terms)
        return SearchResult(
            ending="disturbed" if breaks and not point and self.ending == "found" else self.ending,
            levels=tuple(self._levels),
            point=point,
            breaks_by=breaks.name if breaks else None,
            queue=breaks.queue if breaks else False,
            guess=self._guess,
            calm=self._calm,
            took_s=self._clock() - self._began_s,
            lost=self._lost,
            lost_at=self._lost_at,
        )

    @property
    def _arrivals(self) -> float | None:
        return VARIATION[self._question.arrivals] if self._question.by == "rate" else None

    def _next_step(self) -> NextLevel | None:
        step = next_level.next_step(self._tried(), self._left_s(), self._aim())
        if isinstance(step, Stop):
            self.ending = step.ending
            return None
        # A start without a level is fresh already.
        here = any(each.start == self._start for each in self._levels)
        return step if here else replace(step, afresh=False)

    def _left_s(self) -> float:
        return self._question.budget_s - (self._clock() - self._began_s)

    def _tried(self) -> list[Tried]:
        return [Tried(each.judged, each.purpose, each.throughput_per_s) for each in self._levels]

    def _aim(self) -> Aim:
        question = self._question
        lowest, highest = LOWEST_PER_S, float("inf")
        if question.by == "connections":
            lowest, highest = 1.0, float(question.connections_most)
        # The first level of a start has a longer warm-up, and ending the server takes time.
        start_s = self._opening_s + question.warm_up_s + self._besides_s
        return Aim(
            first=self._first(),
            lowest=lowest,
            highest=highest,
            step_up=STEP_UP[question.by],
            whole=question.by == "connections",
            answers_needed=next_level.answers_needed(question.objective),
            level_s=self._durations.level_s,
            level_most_s=self._durations.longest_s,
            around_s=self._settle_s + self._besides_s,
            start_s=start_s if self._site.afresh else None,
            arrivals=self._arrivals,
            calm=self._calm,
            limit_s=next_level.longest_limit_s(question.objective),
            seed=question.seed,
        )

    def _first(self) -> float:
        if self._guess is not None:
            return max(LOWEST_PER_S, GUESS_SHARE * self._guess.per_s)
        return min(float(FIRST_CONNECTIONS), float(self._question.connections_most))

    @property
    def _settle_s(self) -> float:
        """How long a load runs before it is measured: until the number in flight is steady."""
        alone_s = self._calm.median_s if self._calm else self._alone_s
        return max(self._durations.settle_s, min(SETTLE_ANSWERS * alone_s, self._durations.longest_s))

    @property
    def _besides_s(self) -> float:
        return max(self._beside_s[-BESIDE_OF:])

    def _guessed(self, place: RunningServer) -> Guess | None:
        """Make the first guess; None: the server was lost. Raises Unanswered."""
        connections = min(GUESS_CONNECTIONS, self._question.connections_most)
        self._watcher.guessing(connections)
        guess_s = GUESS_S
        warm_up_s: float | None = self._question.warm_up_s
        while True:
            stop = contract.DurationStopSpec(duration_s=guess_s)
            record = self._judged = self._put_on(place, self._closed(connections), stop, warm_up_s)
            if record.outcomes.ok:
                break
            if record.warm_up.outcomes.ok and not self._recovers(place):
                return None
            guess_s, warm_up_s = guess_s * GUESS_LONGER, None
            if not record.outcomes.unfinished or guess_s > GUESS_BUDGET_SHARE * self._question.budget_s:
                self._never_answers(place, record)
                return None
        median_ns = histogram.decoded(record.histograms.response_time).quantile_ns(0.5)
        return Guess(record.outcomes.ok, record.measured_ns / 1e9, connections, median_ns)

    def _never_answers(self, place: RunningServer, record: TrialRecord) -> None:
        """End the search, as nothing was ever answered. Raises Unanswered, unless the process says why."""
        if place.process.ended() is None and not place.process.is_stopped():
            raise NothingAnswered(record)
        self._lose(place, None, 0.0)

    def _try(self, step: NextLevel, place: RunningServer, settle_s: float) -> None:
        self._watcher.trying(step)
        stop = contract.DurationStopSpec(duration_s=step.measure_s)
        end_early = EndEarly()
        watched = Watch(self._question.objective, step, self._answers_expected(step), end_early)
        record = self._judged = self._put_on(place, self._shape(step), stop, settle_s, watched, end_early)
        is_first = not self._levels and self._guess is None
        if is_first and not record.outcomes.ok + record.warm_up.outcomes.ok:
            self._never_answers(place, record)
        judged = self._site.assess(record)
        seen = levels.level(step, self._start, record, self._question.objective, watched, judged)
        cores = self._site.server_cores or tuple(facts.usable_cores())
        elsewhere = place.options.machine.apart(record.spec.cores, cores)
        self._levels.append(levels.watched(seen, record, len(cores), elsewhere, place.rest))
        self._watcher.tried(self._levels[-1], self._left_s())

    def _answers_expected(self, step: NextLevel) -> float:
        """The most answers that a level can have."""
        if self._question.by == "rate":
            return step.load * step.measure_s
        per_s = max((each.throughput_per_s for each in self._levels), default=float("inf"))
        return per_s * step.measure_s

    def _goes_on(self, place: RunningServer) -> bool:
        """Whether this start can run another level, now or after some time."""
        assert self._judged is not None
        level = self._levels[-1]
        if place.process.ended() is None and (found := lost.find_restart(self._judged)) is not None:
            self._end_lost(found)
            return False
        doubtful = level.judged.leans_against or level.outcome == "limited" or outage.of(self._judged)
        if not doubtful and place.process.ended() is None:
            return True
        return self._recovers(place)

    def _recovers(self, place: RunningServer) -> bool:
        """Wait until a request is answered about as fast as without a load; False: the server is lost."""
        began_s = self._clock()
        # A server that answers nothing is waited for even when the budget is over: else it would not be known
        # what it is.
        silent_s = min(RECOVERY_S_MAX + BACKLOGS * self._backlog_s(), max(self._left_s(), RECOVERY_S_MAX))
        answered, last = False, None
        while place.process.ended() is None:
            left_s = (RECOVERY_S_MAX if answered else silent_s) - (self._clock() - began_s)
            if left_s <= 0:
                break
            stop = contract.RequestsStopSpec(requests=1, within_s=max(1.0, left_s))
            # It may take longer than -t: a server that answers late is not lost.
            patient = replace(place.options, request_s=max(place.options.request_s, left_s))
            last = self._put_on(replace(place, options=patient), self._closed(1), stop, None)
            answered = answered or last.outcomes.ok > 0
            if last.outcomes.ok:
                took_ns = last.histograms.response_time.max_ns or math.inf
                self._alone_s = took_ns / 1e9
                if took_ns <= self._calm_ns():
                    return True
        if answered and place.process.ended() is None and not self._crawls():
            return True
        self._lose(place, last, None if answered else self._clock() - began_s)
        return False

    def _crawls(self) -> bool:
        """Whether a request alone takes far longer than before, after a load in which answers ceased."""
        assert self._judged is not None
        ceased = not self._judged.outcomes.ok or outage.of(self._judged) is not None
        return ceased and 1e9 * self._alone_s > CRAWLS_TIMES * self._calm_ns()

    def _lose(self, place: RunningServer, last: TrialRecord | None, silent_s: float | None) -> None:
        """End the search, as the server is lost. `last`: the last request that was sent alone.

        `silent_s`: how long nothing was answered as expected; None: it crawls.
        """
        assert self._judged is not None
        seen, end = outage.of(self._judged), place.process.ended()
        came = lost.instead(last) if last is not None and silent_s is not None else {}
        found = lost.lost_server(
            self._judged,
            seen,
            end=end,
            answers_again=end is not None and self._answers_again(place),
            is_stopped=place.process.is_stopped(),
            **came,
            silent_s=silent_s,
            alone_s=self._alone_s if silent_s is None else None,
        )
        self._end_lost(found)

    def _answers_again(self, place: RunningServer) -> bool:
        """Whether something has started the server again, whose process has ended."""
        within_s = lost.RESTARTS_S if place.process.may_return else 0.0
        if not lost.listens_again(place.target, within_s):
            return False
        stop = contract.RequestsStopSpec(requests=1, within_s=lost.ASKED_S)
        return self._put_on(place, self._closed(1), stop, None).outcomes.ok > 0

    def _end_lost(self, found: Lost) -> None:
        """End the search, as the server was lost so."""
        self._lost, self.ending = found, "gone"
        # A level that held before the server was lost, between two loads, stays what it is.
        if self._levels and (found.outage is not None or found.gaps or self._levels[-1].outcome != "held"):
            self._lost_at = self._levels[-1].load
            self._levels[-1] = self._levels[-1].lost(lost_sentences.sentence(self._lost))

    def _backlog_s(self) -> float:
        """About how long the server needs for the requests that are still waiting."""
        if self._levels:
            last = self._levels[-1]
            waiting, per_s = last.connections_most, last.throughput_per_s
        elif self._guess:
            waiting, per_s = self._guess.connections, self._guess.per_s
        else:
            return 0.0
        return min(waiting / per_s, self._durations.longest_s) if per_s else self._durations.longest_s

    def _looks_at(self, place: RunningServer) -> Base | None:
        """Measure the response times of requests sent one by one."""
        within_s = min(CALM_ANSWERS * self._alone_s, CALM_BUDGET_SHARE * self._question.budget_s)
        stop = contract.RequestsStopSpec(requests=CALM_REQUESTS, within_s=max(CALM_S, within_s))
        return levels.base(self._put_on(place, self._closed(1), stop, None), CALM_REQUESTS_MIN)

    def _with_pace(self, calm: Base | None) -> Base | None:
        """Add the guess as the server's pace, if it was the limit: connections waited for each other."""
        if calm is None or self._guess is None or not self._guess.is_flat_out(calm):
            return calm
        return replace(calm, pace=(self._guess.answers, self._guess.seconds))

    def _calm_ns(self) -> float:
        medians = [each.p50_ns for each in self._levels if each.outcome == "held" and each.p50_ns is not None]
        if self._calm is not None:
            medians.append(self._calm.median_s * 1e9)
        return max(CALM_NS_MIN, CALM_FACTOR * min(medians)) if medians else float("inf")

    def _shape(self, step: NextLevel) -> contract.ShapeSpec:
        if self._question.by == "connections":
            return self._closed(round(step.load))
        rate = contract.RateSpec(from_per_s=step.load, to_per_s=step.load, duration_s=step.measure_s)
        return contract.OpenShapeSpec(
            connections=self._question.connections_most, arrivals=self._question.arrivals, rates=(rate,)
        )

    def _closed(self, connections: int) -> contract.ClosedShapeSpec:
        return contract.ClosedShapeSpec(
            connections=connections, pause_ms=self._question.pause_ms, pause=self._question.pause
        )

    def _put_on(
        self,
        place: RunningServer,
        shape: contract.ShapeSpec,
        stop: contract.StopSpec,
        warm_up_s: float | None,
        watched: Watch | None = None,
        end_early: EndEarly | None = None,
    ) -> TrialRecord:
        self._loads_put_on += 1
        drawn = random.Random(f"{self._question.seed}/{self._loads_put_on}")
        options = replace(place.options, seed=drawn.getrandbits(load_options.SEED_BITS))
        if watched is None:
            options = replace(options, stages=False, tasks=False, dependencies=False)
        spec = engine_spec.spec(
            label=f"{self._site.label}/{self._loads_put_on}",
            target=place.target,
            requests=place.requests,
            shape=shape,
            stop=stop,
            options=options,
            # The number of threads is at most half of the usable cores.
            threads_most=self._site.threads_most,
            warm_up_s=warm_up_s,
        )

        def told(progress: ProgressLine) -> None:
            self._watcher.progress(progress)
            if watched is not None:
                watched(progress)

        lines = contract.ProgressSpec(
            every_ms=round(1e3 * EVERY_S), slower_than_ns=watch.slower_than_ns(self._question.objective)
        )
        return self._run(spec.model_copy(update={"progress": lines}), told, end_early or EndEarly())
