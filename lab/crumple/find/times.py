"""How long the levels of a search last, and what its budget can reach. Pure."""

from dataclasses import dataclass

from crumple.find import proportion
from crumple.find.judged import LEAST_S
from crumple.load.objective import Objective

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
