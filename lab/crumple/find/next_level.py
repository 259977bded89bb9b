"""Which load is tried next and for how long: levels tried, time left → a level, or why the search is over.

Pure: the same levels, time and seed give the same answer. First come loads in growing steps, until they
bracket the breaking point. Then loads are drawn from where it may still lie, and where levels say most of it.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from crumple.find import laws, outgrown
from crumple.find.breaking_point import Binding, binding, narrowed
from crumple.find.seen import LEAST_S, Base, Judged, crowd_told_s
from crumple.load.objective import Objective
from crumple.stats import shares

# The number of levels that fill the budget if answers are many, and the least number of levels if they are
# few. A level is planned by them.
LEVELS_IN_BUDGET, LONGEST_IN_BUDGET = 36, 10
# The longest level, in seconds, however large the budget is.
LEVEL_S_MAX = 30.0
# A level may last LIMITS_IN_LONGEST times the limit of a response time, but at most LEVEL_SHARE_MAX of the
# budget. It lasts long enough to break if every answer is too slow.
LIMITS_IN_LONGEST, LEVEL_SHARE_MAX = 8.0, 0.2
# How long a load runs before it is measured: a multiple of the limit, and the shortest and longest time in
# seconds.
SETTLE_LIMITS, SETTLE_S_MIN, SETTLE_S_MAX = 4.0, 0.5, 1.0
# The average length of levels, as a share of the length of one that holds.
HELD_SHARE = 0.8


@dataclass(frozen=True)
class Durations:
    """How long a level is with many answers and with few, and how long a load runs before it is measured."""

    level_s: float
    longest_s: float
    settle_s: float


@dataclass(frozen=True)
class SearchOutlook:
    """What the budget can reach: about `levels` levels of `least_s` to `most_s` each, at that load.

    `load` None: it is not known yet how many answers a level has.
    """

    levels: int
    load: float | None
    least_s: float
    most_s: float


def durations(objective: Objective, budget_s: float) -> Durations:
    """Return how long the levels of a search are."""
    limit_s, most_s = longest_limit_s(objective), LEVEL_SHARE_MAX * budget_s
    level_s = max(LEAST_S, budget_s / LEVELS_IN_BUDGET, _broken_s(objective))
    longest_s = max(level_s, budget_s / LONGEST_IN_BUDGET, LIMITS_IN_LONGEST * limit_s)
    return Durations(
        level_s=min(level_s, most_s, LEVEL_S_MAX),
        longest_s=min(longest_s, most_s, LEVEL_S_MAX),
        settle_s=min(SETTLE_S_MAX, max(SETTLE_S_MIN, SETTLE_LIMITS * limit_s)),
    )


def _broken_s(objective: Objective) -> float:
    """How long a level takes, in seconds, to break if every answer is slower than the objective allows."""
    return max(
        (
            crowd_told_s(term.limit / 1e9, math.ceil(shares.answers_to_break(term.share_limit, 1.0)))
            for term in objective.terms
            if term.is_time and term.share_limit is not None
        ),
        default=0.0,
    )


def outlook(
    objective: Objective, planned: Durations, load: float | None, left_s: float, beside_s: float
) -> SearchOutlook:
    """Return what the budget can reach.

    `load`: the first, in requests per second; `beside_s`: the time that a level takes besides measuring.
    """
    held_s = planned.longest_s if load is None else _held_s(objective, planned, load)
    # Levels that break end sooner.
    levels = left_s / (HELD_SHARE * held_s + planned.settle_s + beside_s)
    return SearchOutlook(max(1, int(levels)), load, LEAST_S, planned.longest_s)


def _held_s(objective: Objective, planned: Durations, load: float) -> float:
    """How long a level takes, in seconds, that holds without a slow answer."""
    needed = [shares.answers_needed(limit) for limit in _limits(objective)]
    # Do not wait for a share that needs more answers than a level can have.
    waited_for = [each for each in needed if each <= load * planned.longest_s]
    shares_s = max(waited_for) / load if waited_for else planned.longest_s if needed else LEAST_S
    # Terms that limit no share are known only when the level is over.
    least_s = LEAST_S if len(needed) == len(objective.terms) else planned.level_s
    return min(planned.longest_s, max(least_s, shares_s))


def answers_needed(objective: Objective) -> int:
    """How many answers decide the whole objective if none is against it."""
    for_shares = [shares.answers_needed(limit) for limit in _limits(objective)]
    others = [term.requests_needed for term in objective.terms if term.share_limit is None]
    return max([*for_shares, *others])


def longest_limit_s(objective: Objective) -> float:
    """The longest limit of a response time, in seconds; 0 where there is none."""
    return max((term.limit for term in objective.terms if term.is_time), default=0.0) / 1e9


def _limits(objective: Objective) -> list[float]:
    return [term.share_limit for term in objective.terms if term.share_limit is not None]


Purpose = Literal["bracket", "bisect", "repeat"]
# "never": broke at the lowest load; "highest": held at the highest load allowed; "engine": the engine reached
# its limit before the server; "budget": the time was over before there was a bracket.
Ending = Literal["found", "never", "highest", "engine", "budget"]

# Bisection ends when the interval that holds the breaking point with probability RESOLVED_SHARE is narrower
# than RESOLUTION, as a logarithm.
RESOLVED_SHARE, RESOLUTION = 0.9, 0.1
# The same with several starts. It is coarser: each start bisects again, and their differences matter more.
RESOLUTION_STARTS = 0.25
# The width of the bracket, as a logarithm, in which the engine's own limit is found, and the distance from it
# at which a breaking point counts as beyond it.
ENGINE_RESOLUTION = 0.03
# After ALIKE levels in a row with the same result, the next load is STEP_BEYOND times beyond them, and then
# farther: an outlier may have set the bracket.
ALIKE, STEP_BEYOND = 5, 1.1
# The quantiles of where the breaking point may lie between which repeats are drawn, and the share of repeats
# that are drawn there. The others are where levels show most.
DRAWN_BETWEEN, DRAWN_THERE = (0.15, 0.85), 0.3
# The fewest levels of a start before another start is made, and for which that one must have time.
LEVELS_A_START = 3
# The search ends early if its interval is narrower than NARROW_ENOUGH, as a share, and comes from
# STARTS_ENOUGH starts, as many as a verdict needs.
NARROW_ENOUGH, STARTS_ENOUGH = 0.015, 5
# How far below the first load that broke the search goes before it ends with "never", as factors: at least
# the former, and at most the latter where levels at such low loads can still show whether the server breaks.
FAR_BELOW, FARTHEST_BELOW = 16.0, 64.0
# After how many levels that held steps up are squared: the first guess was far too low then.
GUESS_TRUSTED = 3
# How often a level that was limited is tried, at least: a single one may come from a short stall of the
# machine.
LIMITED_MIN = 2
# How often it is tried in all at the end before it counts as the engine's own limit.
LOOKS_MAX = 4
# How many times the answers needed are planned for: near the edge, and by chance, a decision takes more of
# them.
ANSWERS_SPARE = 2.0
# The least share of its planned time with which the last level is still run.
SHORTENED_MIN = 0.4
# How long a level that holds lasts if a queue reaches its balance within seconds, as a multiple of that time.
BALANCES = 6.0


@dataclass(frozen=True)
class NextLevel:
    """A level to try. `measure_s`: its longest, `least_s` its shortest measured phase if it holds.

    `afresh`: on a new start.
    """

    load: float
    measure_s: float
    purpose: Purpose
    afresh: bool = False
    least_s: float = LEAST_S


@dataclass(frozen=True)
class Stop:
    """The search is over."""

    ending: Ending


@dataclass(frozen=True)
class Tried:
    """A level that was tried. `answers_per_s`: right answers per second while measuring."""

    judged: Judged
    purpose: Purpose
    answers_per_s: float

    @property
    def load(self) -> float:
        """The load of the level."""
        return self.judged.load

    @property
    def is_limited(self) -> bool:
        """Whether it says nothing of the server."""
        return self.judged.outcome == "limited"

    @property
    def held(self) -> bool:
        """Whether the server held, or the level is undecided and rather for it."""
        return not self.is_limited and not self.judged.leans_against


@dataclass(frozen=True)
class Aim:
    """What is searched. Loads are requests per second, or connections where `whole`.

    `step_up`: factor of the bracket. `answers_needed`: by the objective. `level_s`, `level_most_s`: shortest
    and longest measured phase; `around_s`: the time that a level takes besides. `start_s`: the time that a
    fresh start takes until its first level; None: the server cannot be started afresh. `arrivals`, `calm`:
    see `breaking_point.binding`; `limit_s`: the longest limit of a response time in the objective, or 0.
    """

    first: float
    lowest: float
    highest: float
    step_up: float
    whole: bool
    answers_needed: int
    level_s: float
    level_most_s: float
    around_s: float
    start_s: float | None
    arrivals: float | None
    calm: Base | None
    limit_s: float
    seed: int


def next_step(tried: Sequence[Tried], left_s: float, aim: Aim) -> NextLevel | Stop:
    """Return the next level, which takes no longer than `left_s`, or how the search ends."""
    return _Search(tried, left_s, aim).next()


def of_server(tried: Sequence[Tried]) -> list[Judged]:
    """Return the levels that say something of the server."""
    return [each.judged for each in tried if not each.is_limited]


@dataclass
class _Search:
    _tried: Sequence[Tried]
    _left_s: float
    _aim: Aim

    def __post_init__(self) -> None:
        past = outgrown.outgrown([each.judged for each in self._tried])
        now = [each for each, is_past in zip(self._tried, past, strict=True) if not is_past]
        self._levels = [each for each in now if not self._is_chance(each)]
        self._held = [each for each in self._levels if each.held]
        self._broke = [each for each in self._levels if not each.held and not each.is_limited]
        self._limited = [each for each in self._levels if each.is_limited]

    def next(self) -> NextLevel | Stop:
        if self._tried and self._wants_another_look(self._tried[-1]):
            return self._if_time(self._tried[-1].load, self._tried[-1].purpose)
        if not self._levels:
            return self._if_time(self._aim.first, "bracket")
        if not self._broke and not self._limited:
            return self._up()
        if not self._held:
            return self._down()
        elsewhere = self._elsewhere()
        if elsewhere is not None:
            return self._if_time(elsewhere, "bracket")
        found = self._binding()
        if self._engine_gave_in(found):
            return self._engines_limit()
        assert found is not None
        return self._around(found)

    def _is_chance(self, each: Tried) -> bool:
        """Whether a limited level may be chance: it is alone at its load, or one there or above was not."""
        if not each.is_limited:
            return False
        if any(other.load >= each.load and other.held for other in self._tried):
            return True
        there = [other for other in self._tried if other.load == each.load]
        return any(not other.is_limited for other in there) or len(there) < LIMITED_MIN

    def _wants_another_look(self, last: Tried) -> bool:
        there = [each for each in self._tried if each.load == last.load]
        return last.is_limited and last.purpose != "repeat" and len(there) < LIMITED_MIN

    def _up(self) -> NextLevel | Stop:
        top = max(each.load for each in self._held)
        if top >= self._aim.highest:
            decided = any(each.load >= top and each.judged.outcome == "held" for each in self._held)
            return Stop("highest") if decided else self._if_time(top, "repeat")
        step = self._aim.step_up if len(self._held) < GUESS_TRUSTED else self._aim.step_up**2
        return self._if_time(min(self._aim.highest, top * step), "bracket")

    def _down(self) -> NextLevel | Stop:
        stopped = [*self._broke, *self._limited]
        # Several levels together show what one cannot, so the search goes far below the first in any case.
        first = stopped[0].load
        lowest = max(self._aim.lowest, first / FARTHEST_BELOW, min(self._telling_from(), first / FAR_BELOW))
        at_lowest = [each for each in stopped if each.load <= lowest * (1 + 1e-9)]
        if len(at_lowest) > 1:
            # Two levels, since one alone may come from a short stall.
            return Stop("engine" if all(each.is_limited for each in at_lowest) else "never")
        bottom, tries = min(each.load for each in stopped), len({each.load for each in stopped})
        return self._if_time(max(min(lowest, bottom), bottom / (2 if tries < 3 else 4)), "bracket")

    def _telling_from(self) -> float:
        """The lowest load at which a level has enough answers to break as the server did above."""
        decided = [each for each in self._broke if each.judged.outcome == "broke"]
        if self._aim.whole or not decided:
            return 0.0
        lowest = min(decided, key=lambda each: each.load)
        answers = [
            shares.answers_to_break(each.limit, each.share)
            for each in lowest.judged.evidence
            if each.leans_against
        ]
        return ANSWERS_SPARE * max(answers, default=0.0) / self._aim.level_most_s

    def _elsewhere(self) -> float | None:
        """A load beyond a row of levels with the same result, since an outlier may have set the bracket."""
        last = self._levels[-1].held
        alike = list(takewhile(lambda each: each.held == last, reversed(self._levels)))
        if len(alike) < ALIKE:
            return None
        step = min(self._aim.step_up, STEP_BEYOND ** (len(alike) - ALIKE + 1))
        if last:
            return max(each.load for each in self._held) * step
        return min(each.load for each in (*self._broke, *self._limited)) / step

    def _binding(self) -> Binding | None:
        return binding(of_server(self._tried), self._aim.arrivals, self._aim.calm)

    def _engine_gave_in(self, found: Binding | None) -> bool:
        if not self._limited or found is None:
            return found is None
        server = found.posterior.interval.estimate
        return server > self._engines_edge()[1] * (1 + ENGINE_RESOLUTION)

    def _engines_edge(self) -> tuple[float, float, float]:
        # No load above the engine's limit is worth a try, so every load that did not hold marks it.
        return narrowed([(each.load, each.held) for each in self._levels], RESOLVED_SHARE)

    def _engines_limit(self) -> NextLevel | Stop:
        low, middle, high = self._engines_edge()
        if math.log(high / low) > ENGINE_RESOLUTION and not (self._aim.whole and high - low < 1):
            return self._if_time(middle, "bisect")
        # Repeat the lowest load that was too much for the engine: what disturbed it may be over.
        limited = [each.load for each in self._limited]
        if not limited or limited.count(min(limited)) >= LOOKS_MAX:
            return Stop("engine")
        return self._if_time(min(limited), "repeat")

    def _around(self, found: Binding) -> NextLevel | Stop:
        """A level around the edge; on a new start if the present one had its share and there is time."""
        posterior = found.posterior
        interval = posterior.interval
        starts_enough = self._aim.start_s is None or posterior.starts >= STARTS_ENOUGH
        if starts_enough and interval.high <= interval.low * (1 + NARROW_ENOUGH):
            return Stop("found")
        present = max(each.judged.start for each in self._tried)
        quantiles = (1 - RESOLVED_SHARE) / 2, 0.5, (1 + RESOLVED_SHARE) / 2
        low, middle, high = posterior.of_start(present, quantiles, telling=True)
        if len(self._tried) % 2:
            _, middle, _ = posterior.of_start(present, quantiles)
        near = RESOLUTION if self._aim.start_s is None else RESOLUTION_STARTS
        if math.log(high / low) > near and not (self._aim.whole and high - low < 1):
            top = self._aim.step_up * max(each.load for each in self._held)
            return self._if_time(min(middle, top), "bisect")
        afresh = self._has_time_for_another_start(interval.estimate, present)
        drawn = random.Random(f"{self._aim.seed}/{len(self._tried)}")
        telling, share = drawn.random() >= DRAWN_THERE, drawn.uniform(*DRAWN_BETWEEN)
        (load,) = posterior.of_start(present + afresh, [share], telling=telling)
        return self._if_time(load, "repeat", afresh)

    def _has_time_for_another_start(self, load: float, present: int) -> bool:
        here = sum(each.judged.start == present for each in self._tried)
        if self._aim.start_s is None or here < LEVELS_A_START:
            return False
        level_s = self._measure_s(load) + self._aim.around_s
        return self._aim.start_s + LEVELS_A_START * level_s <= self._left_s

    def _if_time(self, load: float, purpose: Purpose, afresh: bool = False) -> NextLevel | Stop:
        load = min(self._aim.highest, max(self._aim.lowest, round(load) if self._aim.whole else load))
        measure_s, left_s = self._measure_s(load), self._left_s - self._aim.around_s
        if left_s >= SHORTENED_MIN * measure_s:
            return NextLevel(load, min(measure_s, left_s), purpose, afresh, min(left_s, self._least_s(load)))
        if self._held and (self._broke or self._limited):
            return Stop("engine" if self._engine_gave_in(self._binding()) else "found")
        return Stop("budget")

    def _measure_s(self, load: float) -> float:
        """How long to measure, in seconds: enough for the answers that the objective needs, within bounds."""
        per_s = load
        if self._aim.whole:
            near = min(self._levels, key=lambda each: abs(math.log(each.load / load)), default=None)
            per_s = near.answers_per_s if near else math.inf
        # A slow answer is known to be slow only when it has taken longer than the limit.
        needed_s = self._aim.limit_s + ANSWERS_SPARE * self._aim.answers_needed / max(per_s, 1e-9)
        return min(self._aim.level_most_s, max(self._aim.level_s, needed_s, self._least_s(load)))

    def _least_s(self, load: float) -> float:
        """The shortest measured phase: queues begin empty, and need time to reach their balance.

        Where that takes longer than a level may last, the law of queues accounts for it.
        """
        least_s = self._aim.limit_s + LEAST_S
        if self._aim.arrivals is None:
            return least_s
        balance_s = BALANCES * laws.balance_s(self._aim.limit_s, load)
        return max(least_s, balance_s) if balance_s <= self._aim.level_most_s else least_s
