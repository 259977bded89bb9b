"""Which load is tried next: what was tried so far and the time left → the next level, or why it is over.

Pure: the same levels, time and seed have the same answer. First a bracket in growing steps, then halves on a
logarithmic scale, then levels drawn from where the breaking point may still lie, in random order.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from crumple.find.breaking_point import Judged, Posterior, narrowed

# How a level came out. "limited": it measured the engine or its limits, and says nothing of the server;
# "unknown": too few answers to tell.
Outcome = Literal["held", "broke", "limited", "unknown"]
Purpose = Literal["bracket", "bisect", "repeat"]
# "never": broke at the lowest load; "highest": held at the highest it may try; "engine": that gave in before
# the server; "budget": the time was over before there was a bracket; "unknown": too few answers in the time.
Ending = Literal["found", "never", "highest", "engine", "budget", "unknown"]

# Halving ends where so much of what is left lies this close together, or after so many levels.
RESOLVED_SHARE, RESOLUTION = 0.9, 0.03
# With other starts to come it may be coarser: each looks again, and how they differ matters more.
RESOLUTION_STARTS = 0.06
BISECTIONS_MAX = 9
# After so many levels in a row that came out alike the next is this far beyond them, then farther.
ALIKE, STEP_BEYOND = 5, 1.1
# Repeats are drawn between these shares of where the breaking point may lie.
DRAWN_BETWEEN = (0.1, 0.9)
LEVELS_A_START = 3
# It is over before its time with an interval so narrow, from as many starts as a verdict asks for.
NARROW_ENOUGH, STARTS_ENOUGH = 0.015, 5
# Once so many levels held, steps up are squared: the first guess was far off.
GUESS_TRUSTED = 3
EXTENDED_MAX = 2
# A level that was limited is tried again: one alone may be a hiccup of the machine.
LIMITED_MIN = 2
# And at the end so often in all, before it is the engine's own limit.
LOOKS_MAX = 4
# Answers come unevenly, so a level is planned for somewhat more than it needs.
ANSWERS_SPARE = 1.2


@dataclass(frozen=True)
class Step:
    """A level to try. `afresh`: on a new start."""

    load: float
    measure_s: float
    purpose: Purpose
    afresh: bool = False


@dataclass(frozen=True)
class Stop:
    """It is over."""

    ending: Ending


@dataclass(frozen=True)
class Tried:
    """A level that was tried. `answers_per_s`: what came of it while measuring."""

    load: float
    start: int
    purpose: Purpose
    outcome: Outcome
    answers_per_s: float


@dataclass(frozen=True)
class Aim:
    """What is searched. Loads are requests per second, or connections where `whole`.

    `step_up`: factor of the bracket. `requests_needed`: by the objective. `level_s`: shortest measured phase;
    `around_s`: what a level takes besides. `start_s`: what a fresh start takes until its first level; None:
    it cannot be started afresh.
    """

    first: float
    lowest: float
    highest: float
    step_up: float
    whole: bool
    requests_needed: int
    level_s: float
    around_s: float
    start_s: float | None
    seed: int


def next_step(tried: Sequence[Tried], left_s: float, aim: Aim) -> Step | Stop:
    """The next level, which takes no longer than `left_s`, or how the search ends."""
    return _Search(tried, left_s, aim).next()


def judged(tried: Sequence[Tried]) -> list[Judged]:
    """The levels that say something of the server."""
    said = [each for each in tried if each.outcome in ("held", "broke")]
    return [Judged(each.load, each.start, each.outcome == "held") for each in said]


class _Search:
    def __init__(self, tried: Sequence[Tried], left_s: float, aim: Aim) -> None:
        self._tried = tried
        self._left_s = left_s
        self._aim = aim
        self._levels = [each for each in tried if each.outcome != "unknown" and not self._is_chance(each)]
        self._held = [each for each in self._levels if each.outcome == "held"]
        self._stopped = [each for each in self._levels if each.outcome != "held"]

    def next(self) -> Step | Stop:
        if self._tried and self._tried[-1].outcome == "unknown":
            return self._extended(self._tried[-1])
        if self._tried and self._wants_another_look(self._tried[-1]):
            return self._if_time(self._tried[-1].load, self._tried[-1].purpose)
        if not self._levels:
            return self._if_time(self._aim.first, "bracket")
        if not self._stopped:
            return self._up()
        if not self._held:
            return self._down()
        elsewhere = self._elsewhere()
        if elsewhere is not None:
            return self._if_time(elsewhere, "bracket")
        middle = self._halved()
        if middle is not None:
            return self._if_time(middle, "bisect")
        if self._engine_gave_in():
            return self._last_look()
        return self._repeated()

    def _is_chance(self, each: Tried) -> bool:
        """Whether a limited level is no limit: there was one alone, or it held at that load or above."""
        if each.outcome != "limited":
            return False
        if any(other.load >= each.load and other.outcome == "held" for other in self._tried):
            return True
        there = [other.outcome for other in self._tried if other.load == each.load]
        return "broke" in there or there.count("limited") < LIMITED_MIN

    def _wants_another_look(self, last: Tried) -> bool:
        there = [each for each in self._tried if each.load == last.load]
        return last.outcome == "limited" and last.purpose != "repeat" and len(there) < LIMITED_MIN

    def _extended(self, last: Tried) -> Step | Stop:
        """The same load for as long as its answers need."""
        again = [each for each in self._tried if each.outcome == "unknown" and each.load == last.load]
        if not last.answers_per_s or len(again) > EXTENDED_MAX:
            return Stop("unknown")
        measure_s = ANSWERS_SPARE ** len(again) * self._aim.requests_needed / last.answers_per_s
        if measure_s + self._aim.around_s > self._left_s:
            return Stop("found" if self._bracketed() else "unknown")
        return Step(last.load, measure_s, last.purpose)

    def _up(self) -> Step | Stop:
        top = max(each.load for each in self._held)
        if top >= self._aim.highest:
            return Stop("highest")
        step = self._aim.step_up if len(self._held) < GUESS_TRUSTED else self._aim.step_up**2
        return self._if_time(min(self._aim.highest, top * step), "bracket")

    def _down(self) -> Step | Stop:
        at_lowest = [each for each in self._stopped if each.load <= self._aim.lowest]
        if len(at_lowest) > 1:
            # Twice, for once may be a hiccup.
            limited = all(each.outcome == "limited" for each in at_lowest)
            return Stop("engine" if limited else "never")
        bottom, tries = min(each.load for each in self._stopped), len({each.load for each in self._stopped})
        return self._if_time(max(self._aim.lowest, bottom / 2**tries), "bracket")

    def _elsewhere(self) -> float | None:
        """After a row of levels that all came out alike: beyond them, for a slip may have set the bracket."""
        last = self._levels[-1].outcome == "held"
        alike = list(takewhile(lambda each: (each.outcome == "held") == last, reversed(self._levels)))
        if len(alike) < ALIKE:
            return None
        step = min(self._aim.step_up, STEP_BEYOND ** (len(alike) - ALIKE + 1))
        if last:
            return max(each.load for each in self._held) * step
        return min(each.load for each in self._stopped) / step

    def _halved(self) -> float | None:
        """The load that halves the bracket; None where that is narrow enough."""
        if sum(each.purpose == "bisect" for each in self._levels) >= BISECTIONS_MAX:
            return None
        low, middle, high = narrowed(self._marks(), RESOLVED_SHARE)
        near = RESOLUTION if self._aim.start_s is None else RESOLUTION_STARTS
        if math.log(high / low) <= near or (self._aim.whole and high - low < 1):
            return None
        return min(middle, self._aim.step_up * max(each.load for each in self._held))

    def _marks(self) -> list[Judged]:
        # Where the engine gives in no higher load is worth a try, whatever the server did.
        return [Judged(each.load, 0, each.outcome == "held") for each in self._levels]

    def _engine_gave_in(self) -> bool:
        if all(each.outcome != "limited" for each in self._levels):
            return False
        if all(each.outcome != "broke" for each in self._levels):
            return True
        server = Posterior(judged(self._levels)).interval().estimate
        return server > narrowed(self._marks(), RESOLVED_SHARE)[1] * (1 + RESOLUTION)

    def _last_look(self) -> Step | Stop:
        """The lowest load that was too much for the engine, later; what disturbed it may be over."""
        limited = [each.load for each in self._levels if each.outcome == "limited"]
        if not limited or limited.count(min(limited)) >= LOOKS_MAX:
            return Stop("engine")
        return self._if_time(min(limited), "repeat")

    def _repeated(self) -> Step | Stop:
        """A level around the edge; on a fresh start where the present one had its share and there is time."""
        posterior = Posterior(judged(self._levels))
        interval = posterior.interval()
        starts_enough = self._aim.start_s is None or posterior.starts >= STARTS_ENOUGH
        if starts_enough and interval.high <= interval.low * (1 + NARROW_ENOUGH):
            return Stop("found")
        present = max(each.start for each in self._tried)
        afresh = self._has_time_for_another_start(interval.estimate, present)
        drawn = random.Random(f"{self._aim.seed}/{len(self._tried)}")
        # Half of the levels tell half-way, the others what is to be known: how far below it a load lasts.
        lasting, share = drawn.random() < 0.5, drawn.uniform(*DRAWN_BETWEEN)
        (load,) = posterior.of_start(present + afresh, [share], lasting=lasting)
        return self._if_time(load, "repeat", afresh)

    def _has_time_for_another_start(self, load: float, present: int) -> bool:
        here = sum(each.start == present for each in self._tried)
        if self._aim.start_s is None or here < LEVELS_A_START:
            return False
        level_s = self._measure_s(load) + self._aim.around_s
        return self._aim.start_s + LEVELS_A_START * level_s <= self._left_s

    def _if_time(self, load: float, purpose: Purpose, afresh: bool = False) -> Step | Stop:
        load = min(self._aim.highest, max(self._aim.lowest, round(load) if self._aim.whole else load))
        measure_s = self._measure_s(load)
        if measure_s + self._aim.around_s <= self._left_s:
            return Step(load, measure_s, purpose, afresh)
        if self._bracketed():
            return Stop("engine" if self._engine_gave_in() else "found")
        return Stop("budget")

    def _measure_s(self, load: float) -> float:
        """Long enough for the answers that the objective needs."""
        per_s = load
        if self._aim.whole:
            near = min(self._levels, key=lambda each: abs(math.log(each.load / load)), default=None)
            per_s = near.answers_per_s if near else math.inf
        return max(self._aim.level_s, ANSWERS_SPARE * self._aim.requests_needed / max(per_s, 1e-9))

    def _bracketed(self) -> bool:
        return bool(self._held and self._stopped)
