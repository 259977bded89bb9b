"""Which load is tried next and for how long: what was tried, and the time left → a level, or why it is over.

Pure: the same levels, time and seed have the same answer. First a bracket in growing steps, then loads drawn
from where the breaking point may still lie, and from where levels tell most of it.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from crumple.find import likelihood
from crumple.find.breaking_point import Binding, binding, narrowed
from crumple.find.seen import LEAST_S, Base, Judged
from crumple.load.objective import Objective
from crumple.stats import proportion

# A level is planned for this part of the budget where answers are many, and for at most that where few are.
LEVELS_IN_BUDGET, LONGEST_IN_BUDGET = 36, 10
LEVEL_S_MAX = 30.0
# It lasts this many times the limit of a response time at least, and may last so many; but no more than that
# share of the budget.
LIMITS_IN_LEVEL, LIMITS_IN_LONGEST, LEVEL_SHARE_MAX = 4.0, 8.0, 0.2
# Before it is measured a load is on for so many times the limit.
SETTLE_LIMITS, SETTLE_S_MIN, SETTLE_S_MAX = 4.0, 0.5, 1.0
# How long levels are on average, of one that holds.
HELD_SHARE = 0.8


@dataclass(frozen=True)
class Durations:
    """Of a level: where answers are many, where they are few, and of a load before it is measured."""

    level_s: float
    longest_s: float
    settle_s: float


@dataclass(frozen=True)
class Outlook:
    """What the budget can reach: about so many levels, of which each takes so long at that load.

    `load` None: how many answers a level has is not known yet.
    """

    levels: int
    load: float | None
    least_s: float
    most_s: float


def durations(objective: Objective, budget_s: float) -> Durations:
    """Of the levels of a search."""
    limit_s, most_s = longest_limit_s(objective), LEVEL_SHARE_MAX * budget_s
    level_s = max(LEAST_S, budget_s / LEVELS_IN_BUDGET, LIMITS_IN_LEVEL * limit_s)
    longest_s = max(level_s, budget_s / LONGEST_IN_BUDGET, LIMITS_IN_LONGEST * limit_s)
    return Durations(
        level_s=min(level_s, most_s, LEVEL_S_MAX),
        longest_s=min(longest_s, most_s, LEVEL_S_MAX),
        settle_s=min(SETTLE_S_MAX, max(SETTLE_S_MIN, SETTLE_LIMITS * limit_s)),
    )


def outlook(
    objective: Objective, planned: Durations, load: float | None, left_s: float, beside_s: float
) -> Outlook:
    """`load`: the first, in requests per second; `beside_s`: what a level takes besides."""
    held_s = planned.longest_s if load is None else _held_s(objective, planned, load)
    # Some end sooner, as they break.
    levels = left_s / (HELD_SHARE * held_s + planned.settle_s + beside_s)
    return Outlook(max(1, int(levels)), load, LEAST_S, planned.longest_s)


def _held_s(objective: Objective, planned: Durations, load: float) -> float:
    """How long a level takes that holds without a slow answer."""
    needed = [proportion.answers_needed(limit) for limit in _limits(objective)]
    # A share that takes more answers than a level can have is not waited for.
    waited_for = [each for each in needed if each <= load * planned.longest_s]
    shares_s = max(waited_for) / load if waited_for else planned.longest_s if needed else LEAST_S
    # What is about no share is known when the level is over.
    least_s = LEAST_S if len(needed) == len(objective.terms) else planned.level_s
    return min(planned.longest_s, max(least_s, shares_s))


def answers_needed(objective: Objective) -> int:
    """How many answers decide the whole of an objective, if none speaks against it."""
    shares = [proportion.answers_needed(limit) for limit in _limits(objective)]
    others = [term.requests_needed for term in objective.terms if term.share_limit is None]
    return max([*shares, *others])


def longest_limit_s(objective: Objective) -> float:
    """The longest of its response times; 0 where there is none."""
    return max((term.limit for term in objective.terms if term.is_time), default=0.0) / 1e9


def _limits(objective: Objective) -> list[float]:
    return [term.share_limit for term in objective.terms if term.share_limit is not None]


Purpose = Literal["bracket", "bisect", "repeat"]
# "never": broke at the lowest load; "highest": held at the highest it may try; "engine": that gave in before
# the server; "budget": the time was over before there was a bracket.
Ending = Literal["found", "never", "highest", "engine", "budget"]

# Halving ends where so much of what is left lies this close together.
RESOLVED_SHARE, RESOLUTION = 0.9, 0.1
# With other starts to come it may be coarser: each looks again, and how they differ matters more.
RESOLUTION_STARTS = 0.25
ENGINE_RESOLUTION = 0.03
# After so many levels in a row that came out alike the next is this far beyond them, then farther.
ALIKE, STEP_BEYOND = 5, 1.1
# Repeats are drawn between these shares of where the breaking point may lie, or levels tell most; so many of
# the former.
DRAWN_BETWEEN, DRAWN_THERE = (0.15, 0.85), 0.3
LEVELS_A_START = 3
# It is over before its time with an interval so narrow, from as many starts as a verdict asks for.
NARROW_ENOUGH, STARTS_ENOUGH = 0.015, 5
# What broke at loads so far below the first that broke, by this factor, breaks at any: where a level can tell
# it, and where it cannot.
FAR_BELOW, FARTHEST_BELOW = 16.0, 64.0
# Once so many levels held, steps up are squared: the first guess was far off.
GUESS_TRUSTED = 3
# A level that was limited is tried again: one alone may be a hiccup of the machine.
LIMITED_MIN = 2
# And at the end so often in all, before it is the engine's own limit.
LOOKS_MAX = 4
# A level ends once it is decided; near the edge, and by chance, that takes more answers.
ANSWERS_SPARE = 2.0
# The last level may have less time than planned, but this share of it.
SHORTENED_MIN = 0.4
# Where a queue comes to its balance within seconds, a level that holds lasts for so many of these times.
BALANCES = 6.0


@dataclass(frozen=True)
class Step:
    """A level to try. `measure_s`: at most, and `least_s` at least if it holds. `afresh`: on a new start."""

    load: float
    measure_s: float
    purpose: Purpose
    afresh: bool = False
    least_s: float = LEAST_S


@dataclass(frozen=True)
class Stop:
    """It is over."""

    ending: Ending


@dataclass(frozen=True)
class Tried:
    """A level that was tried. `answers_per_s`: what came of it while measuring."""

    judged: Judged
    purpose: Purpose
    answers_per_s: float

    @property
    def load(self) -> float:
        """Of the level."""
        return self.judged.load

    @property
    def is_limited(self) -> bool:
        """Whether it says nothing of the server."""
        return self.judged.outcome == "limited"

    @property
    def held(self) -> bool:
        """Whether the server rather held."""
        return not self.is_limited and not self.judged.leans_against


@dataclass(frozen=True)
class Aim:
    """What is searched. Loads are requests per second, or connections where `whole`.

    `step_up`: factor of the bracket. `answers_needed`: by the objective. `level_s`, `level_most_s`: shortest
    and longest measured phase; `around_s`: what a level takes besides. `start_s`: what a fresh start takes
    until its first level; None: it cannot be started afresh. `arrivals`, `calm`: see
    `breaking_point.binding`; `limit_s`: of the response time that the objective is about, or 0.
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


def next_step(tried: Sequence[Tried], left_s: float, aim: Aim) -> Step | Stop:
    """The next level, which takes no longer than `left_s`, or how the search ends."""
    return _Search(tried, left_s, aim).next()


def of_server(tried: Sequence[Tried]) -> list[Judged]:
    """The levels that say something of the server."""
    return [each.judged for each in tried if not each.is_limited]


class _Search:
    def __init__(self, tried: Sequence[Tried], left_s: float, aim: Aim) -> None:
        self._tried = tried
        self._left_s = left_s
        self._aim = aim
        self._levels = [each for each in tried if not self._is_chance(each)]
        self._held = [each for each in self._levels if each.held]
        self._broke = [each for each in self._levels if not each.held and not each.is_limited]
        self._limited = [each for each in self._levels if each.is_limited]

    def next(self) -> Step | Stop:
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
        """Whether a limited level is no limit: there was one alone, or the server was seen there or above."""
        if not each.is_limited:
            return False
        if any(other.load >= each.load and other.held for other in self._tried):
            return True
        there = [other for other in self._tried if other.load == each.load]
        return any(not other.is_limited for other in there) or len(there) < LIMITED_MIN

    def _wants_another_look(self, last: Tried) -> bool:
        there = [each for each in self._tried if each.load == last.load]
        return last.is_limited and last.purpose != "repeat" and len(there) < LIMITED_MIN

    def _up(self) -> Step | Stop:
        top = max(each.load for each in self._held)
        if top >= self._aim.highest:
            decided = any(each.load >= top and each.judged.outcome == "held" for each in self._held)
            return Stop("highest") if decided else self._if_time(top, "repeat")
        step = self._aim.step_up if len(self._held) < GUESS_TRUSTED else self._aim.step_up**2
        return self._if_time(min(self._aim.highest, top * step), "bracket")

    def _down(self) -> Step | Stop:
        stopped = [*self._broke, *self._limited]
        # Several levels together tell what one cannot, so it goes far below the first in any case.
        first = stopped[0].load
        lowest = max(self._aim.lowest, first / FARTHEST_BELOW, min(self._telling_from(), first / FAR_BELOW))
        at_lowest = [each for each in stopped if each.load <= lowest * (1 + 1e-9)]
        if len(at_lowest) > 1:
            # Twice, for once may be a hiccup.
            return Stop("engine" if all(each.is_limited for each in at_lowest) else "never")
        bottom, tries = min(each.load for each in stopped), len({each.load for each in stopped})
        return self._if_time(max(min(lowest, bottom), bottom / (2 if tries < 3 else 4)), "bracket")

    def _telling_from(self) -> float:
        """The lowest load at which a level can tell whether the server is as it was above."""
        decided = [each for each in self._broke if each.judged.outcome == "broke"]
        if self._aim.whole or not decided:
            return 0.0
        lowest = min(decided, key=lambda each: each.load)
        answers = [
            proportion.answers_to_break(each.limit, each.share)
            for each in lowest.judged.evidence
            if each.leans_against
        ]
        return ANSWERS_SPARE * max(answers, default=0.0) / self._aim.level_most_s

    def _elsewhere(self) -> float | None:
        """After a row of levels that all came out alike: beyond them, for a slip may have set the bracket."""
        last = self._levels[-1].held
        alike = list(takewhile(lambda each: each.held == last, reversed(self._levels)))
        if len(alike) < ALIKE:
            return None
        step = min(self._aim.step_up, STEP_BEYOND ** (len(alike) - ALIKE + 1))
        if last:
            return max(each.load for each in self._held) * step
        return min(each.load for each in (*self._broke, *self._limited)) / step

    def _binding(self) -> Binding | None:
        server = [each.judged for each in self._levels if not each.is_limited]
        return binding(server, self._aim.arrivals, self._aim.calm)

    def _engine_gave_in(self, found: Binding | None) -> bool:
        if not self._limited or found is None:
            return found is None
        server = found.posterior.interval.estimate
        return server > self._engines_edge()[1] * (1 + ENGINE_RESOLUTION)

    def _engines_edge(self) -> tuple[float, float, float]:
        # Where the engine gives in no higher load is worth a try, whatever the server did.
        return narrowed([(each.load, each.held) for each in self._levels], RESOLVED_SHARE)

    def _engines_limit(self) -> Step | Stop:
        low, middle, high = self._engines_edge()
        if math.log(high / low) > ENGINE_RESOLUTION and not (self._aim.whole and high - low < 1):
            return self._if_time(middle, "bisect")
        # The lowest load that was too much for it, later: what disturbed it may be over.
        limited = [each.load for each in self._limited]
        if not limited or limited.count(min(limited)) >= LOOKS_MAX:
            return Stop("engine")
        return self._if_time(min(limited), "repeat")

    def _around(self, found: Binding) -> Step | Stop:
        """A level around the edge; on a fresh start where the present one had its share and there is time."""
        posterior = found.posterior
        interval = posterior.interval
        starts_enough = self._aim.start_s is None or posterior.starts >= STARTS_ENOUGH
        if starts_enough and interval.high <= interval.low * (1 + NARROW_ENOUGH):
            return Stop("found")
        present = max(each.judged.start for each in self._tried)
        shares = (1 - RESOLVED_SHARE) / 2, 0.5, (1 + RESOLVED_SHARE) / 2
        low, middle, high = posterior.of_start(present, shares, telling=True)
        if len(self._tried) % 2:
            _, middle, _ = posterior.of_start(present, shares)
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

    def _if_time(self, load: float, purpose: Purpose, afresh: bool = False) -> Step | Stop:
        load = min(self._aim.highest, max(self._aim.lowest, round(load) if self._aim.whole else load))
        measure_s, left_s = self._measure_s(load), self._left_s - self._aim.around_s
        if left_s >= SHORTENED_MIN * measure_s:
            return Step(load, min(measure_s, left_s), purpose, afresh, min(left_s, self._least_s(load)))
        if self._held and (self._broke or self._limited):
            return Stop("engine" if self._engine_gave_in(self._binding()) else "found")
        return Stop("budget")

    def _measure_s(self, load: float) -> float:
        """Long enough for the answers that the objective needs, within reason."""
        per_s = load
        if self._aim.whole:
            near = min(self._levels, key=lambda each: abs(math.log(each.load / load)), default=None)
            per_s = near.answers_per_s if near else math.inf
        # What is slow is known so only when it has taken the limit.
        needed_s = self._aim.limit_s + ANSWERS_SPARE * self._aim.answers_needed / max(per_s, 1e-9)
        return min(self._aim.level_most_s, max(self._aim.level_s, needed_s, self._least_s(load)))

    def _least_s(self, load: float) -> float:
        """Queues begin empty; where they take longer to be in balance, `queue_law` makes up for it."""
        least_s = self._aim.limit_s + LEAST_S
        if self._aim.arrivals is None:
            return least_s
        balance_s = BALANCES * likelihood.balance_s(self._aim.limit_s, load)
        return max(least_s, balance_s) if balance_s <= self._aim.level_most_s else least_s
