"""What is seen of each part of the objective while a level runs, and what the level comes to. Pure.

A count is kept for each tenth of a second. From the counts follows whether answers that speak against the
part came one by one or in crowds, as they do once a queue has grown beyond the limit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crumple.stats.proportion import Counted

# In a crowd most are slow, and there are so many.
CROWDED_SHARE, CROWD_MIN = 0.5, 4
# Slow answers that belong together lie within this time, or twice their limit; their number varies from one
# such block to the next. A block has so many known, on average, or it is longer.
BLOCK_S, BLOCK_LIMITS, BLOCK_KNOWN_MIN = 0.5, 2.0, 10.0
# Where their number varies no more than so from one such block to the next, each at least a tick, in so many
# blocks, each is an occasion. (Of a block with a single answer the number never varies by more.)
EVEN_EXCESS_MAX, EVEN_BLOCKS_MIN = 1.5, 10
# The server's pace is read from crowds that have so many ticks besides their first and last.
PACE_TICKS_MIN = 3


@dataclass(frozen=True)
class Tick:
    """Requests that ended in it; those that became known, and how many of these speak against the limit.

    A request that has waited beyond the limit is known before it has ended. `slow`: they are against it for
    their time, and did not fail. `end_s`: since measuring began.
    """

    end_s: float
    ended: int
    known: int
    against: int
    slow: int = 0


@dataclass(frozen=True)
class Dispersion:
    """How much more the number of answers against the limit varies from block to block than chance has it.

    `excess`: sum of the squares over the variance of independent answers; `freedom`: its degrees of freedom.
    """

    excess: float = 0.0
    freedom: int = 0


@dataclass(frozen=True)
class Evidence:
    """What a level says of one part of the objective, whose share against it is to stay below `limit`.

    `bunches`: the fewest rows of neighbours that the answers against it make up; `dispersion`: how much their
    number varies; `crowded`: how many slow ones came in crowds. `settled_s`: how long the load was on before
    it was measured, for `watched_s`. `passed_s`: when a queue grew beyond the limit, since measuring began
    (before it, where negative); None: not in that time. `pace`: what the server answered while it had more
    to do than it could, and in how many seconds. `limit_s`: of a response time; None: it is about none.
    """

    name: str
    limit: float
    known: int
    against: int
    bunches: int
    dispersion: Dispersion = Dispersion()
    crowded: int = 0
    settled_s: float = 0.0
    watched_s: float = 0.0
    passed_s: float | None = None
    pace: tuple[int, float] | None = None
    limit_s: float | None = None

    @property
    def share(self) -> float:
        """Of those known, how many speak against it (0..1)."""
        return self.against / self.known if self.known else 0.0

    @property
    def leans_against(self) -> bool:
        """Whether more speak against it than the limit allows, decided or not."""
        return self.share > self.limit


def counted(ticks: Sequence[Tick], together_s: float) -> Counted:
    """In sum; answers against the limit within `together_s` of the first of them are one occasion.

    Where most are against it, half of that time makes one: it goes on.
    """
    occasions, since_s = 0, -math.inf
    for tick in ticks:
        apart_s = together_s / 2 if tick.against >= CROWDED_SHARE * tick.known else together_s
        if tick.against and tick.end_s > since_s + apart_s * (1 - 1e-9):
            occasions, since_s = occasions + 1, tick.end_s
    known, against = sum(tick.known for tick in ticks), sum(tick.against for tick in ticks)
    alone = _occasions_alone(ticks)
    return Counted(known, against, min(occasions if alone is None else alone, against))


def _occasions_alone(ticks: Sequence[Tick]) -> int | None:
    """How many there are, where answers against the limit are spread as independent ones are; else None.

    The first and the last block do not tell, and are an occasion each: a slow answer may be known by a line
    that is late before others that were due with it.
    """
    known = sum(tick.known for tick in ticks)
    number = min(len(ticks), int(known / BLOCK_KNOWN_MIN))
    if number < EVEN_BLOCKS_MIN:
        return None
    blocks = _blocks(ticks, number)
    inner, ends = blocks[1:-1], blocks[[0, -1], 1]
    if len(inner) < EVEN_BLOCKS_MIN:
        return None
    excess = _excess(inner)
    if excess is None or excess > EVEN_EXCESS_MAX * (len(inner) - 1):
        return None
    return int(inner[:, 1].sum()) + int((ends > 0).sum())


def _blocks(ticks: Sequence[Tick], number: int) -> NDArray[np.float64]:
    """Known and against in each of so many equal parts of a level, but for those without any known."""
    length_s, blocks = ticks[-1].end_s, np.zeros((number, 2))
    for tick in ticks:
        blocks[min(number - 1, int((tick.end_s - 1e-9) / length_s * number))] += tick.known, tick.against
    return blocks[blocks[:, 0] > 0]


def _excess(counts: NDArray[np.float64]) -> float | None:
    """Of blocks (known, against): squares of their excess over the variance of independent answers."""
    known, against = counts.T
    share = against.sum() / known.sum()
    if not 0 < share < 1:
        return None
    return float(((against - share * known) ** 2 / (known * share * (1 - share))).sum())


def bunches(ticks: Sequence[Tick]) -> int:
    """The fewest rows of neighbours that answers against the limit can have come in."""
    found, goes_on = 0, False
    for tick in (tick for tick in ticks if tick.known):
        found += bool(tick.against) and not goes_on
        goes_on = 2 * tick.against >= tick.known
    return found


def dispersion(ticks: Sequence[Tick], limit_s: float | None) -> Dispersion:
    """Over the blocks of a level; none where nothing is against the limit, or everything."""
    known = sum(tick.known for tick in ticks)
    if not known:
        return Dispersion()
    length_s = ticks[-1].end_s
    block_s = max(BLOCK_S, BLOCK_LIMITS * (limit_s or 0.0), BLOCK_KNOWN_MIN * length_s / known)
    blocks = _blocks(ticks, max(1, int(length_s / block_s)))
    excess = _excess(blocks)
    return Dispersion() if excess is None else Dispersion(excess, len(blocks) - 1)


def evidence(
    name: str, limit: float, ticks: Sequence[Tick], *, limit_s: float | None, settled_s: float
) -> Evidence:
    """`limit_s`: of a response time, else None; `settled_s`: how long the load was on before that."""
    whole = counted(ticks, 0.0)
    plain = Evidence(name, limit, whole.known, whole.against, bunches(ticks), dispersion(ticks, limit_s))
    if limit_s is None or not ticks:
        return plain
    crowd = _crowd(ticks)
    first = _first_row(ticks)
    return replace(
        plain,
        crowded=sum(tick.slow for tick, within in zip(ticks, crowd, strict=True) if within),
        settled_s=settled_s,
        watched_s=ticks[-1].end_s,
        # What is slow now came when the queue was that long.
        passed_s=None if first is None else _began_s(ticks, first) - limit_s,
        pace=_pace(ticks, crowd),
        limit_s=limit_s,
    )


def _crowd(ticks: Sequence[Tick]) -> NDArray[np.bool_]:
    """Which ticks are part of a crowd: rows in which most are slow, with the ticks at their ends."""
    within = np.zeros(len(ticks), bool)
    full = [tick.slow >= CROWDED_SHARE * tick.known for tick in ticks]
    at = 0
    while at < len(ticks):
        end = at
        while end < len(ticks) and full[end]:
            end += 1
        if sum(tick.slow for tick in ticks[at:end]) >= CROWD_MIN:
            within[max(0, at - 1) : end + 1] = True
        at = end + 1
    return within & np.array([tick.slow > 0 for tick in ticks])


def _first_row(ticks: Sequence[Tick]) -> int | None:
    """The first tick of a row that has so many slow answers that they may be of a queue."""
    rows = (place for place, tick in enumerate(ticks) if tick.slow and _row(ticks, place) >= CROWD_MIN)
    return next(rows, None)


def _row(ticks: Sequence[Tick], place: int) -> int:
    """Slow answers from there on: of that tick, the next, and those after it in which most are."""
    slow = ticks[place].slow
    for number, tick in enumerate(ticks[place + 1 :]):
        if number and tick.slow < CROWDED_SHARE * tick.known:
            break
        slow += tick.slow
    return slow


def _pace(ticks: Sequence[Tick], crowd: NDArray[np.bool_]) -> tuple[int, float] | None:
    """How many ended within crowds, but for their first and last ticks, and in what time."""
    # At first those end that were due before measuring began, and are not counted.
    inner = crowd & (np.cumsum([0, *(tick.ended for tick in ticks[:-1])]) > 0)
    inner[1:] &= crowd[:-1]
    inner[:-1] &= crowd[1:]
    inner[:1] = inner[-1:] = False
    if inner.sum() < PACE_TICKS_MIN:
        return None
    places = np.flatnonzero(inner)
    seconds = sum(ticks[place].end_s - _began_s(ticks, place) for place in places)
    return sum(ticks[place].ended for place in places), seconds


def _began_s(ticks: Sequence[Tick], place: int) -> float:
    return ticks[place - 1].end_s if place else 0.0


# "limited": it measured the engine or its limits, and says nothing of the server.
Outcome = Literal["held", "broke", "undecided", "limited"]

# A level shorter than that has seen too few moments of the server, however many its answers.
LEAST_S = 1.0
FEW = 5


@dataclass(frozen=True)
class Base:
    """What requests take without a queue: their median, and their variance over the square of their mean.

    `pace`: how many the server answered, and in how many seconds, when it had more to do than it could; None:
    not known beforehand.
    """

    median_s: float
    variation: float
    pace: tuple[int, float] | None = None


@dataclass(frozen=True)
class Judged:
    """A level that was put on. `base`: of its response times, queue and all; None: too few were answered."""

    load: float
    start: int
    outcome: Outcome
    evidence: tuple[Evidence, ...]
    base: Base | None = None

    @property
    def leans_against(self) -> bool:
        """Whether it rather broke than held."""
        if self.outcome == "undecided":
            # One of many may be chance.
            return any(
                each.leans_against and (each.against > 1 or each.known < FEW) for each in self.evidence
            )
        return self.outcome == "broke"

    def of(self, name: str) -> Evidence | None:
        """What it says of that part."""
        return next((each for each in self.evidence if each.name == name), None)
