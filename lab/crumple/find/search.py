"""Which load is tried next: what was tried so far and the time left → the next level, or why it is over.

Pure: the same levels, time and seed have the same answer. First a bracket in growing steps, then loads drawn
from where the breaking point may still lie, and from where levels tell most of it.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from crumple.find import proportion, queue_law
from crumple.find.breaking_point import Binding, binding, narrowed
from crumple.find.judged import LEAST_S, Base, Judged

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
        balance_s = BALANCES * queue_law.balance_s(self._aim.limit_s, load)
        return max(least_s, balance_s) if balance_s <= self._aim.level_most_s else least_s
