"""What is seen of each part of the objective while a level runs, and the result of a level. Pure.

A count is kept for each tenth of a second. The counts show whether answers against the part came one by one
or in crowds, as they do once a queue has grown beyond the limit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal, NamedTuple

from crumple.stats.shares import AnswerCount

# The least share of answers in a crowd that are slow, and the fewest slow answers of a crowd.
CROWDED_SHARE, CROWD_MIN = 0.5, 4
# The shortest time, in seconds and in limits, within which slow answers with one cause lie, and the fewest
# known answers that a block has on average. A block is long enough for both. The number of slow answers
# varies from block to block.
BLOCK_S, BLOCK_LIMITS, BLOCK_KNOWN_MIN = 0.5, 2.0, 10.0
# The largest variance from block to block, as a multiple of that of independent answers, with which each slow
# answer is an occasion; and the fewest blocks, of a tick at least, that show it. (With one answer per block
# the number never varies by more.)
EVEN_EXCESS_MAX, EVEN_BLOCKS_MIN = 1.5, 10
# The fewest ticks of crowds, besides their first and last, from which the server's pace is read.
PACE_TICKS_MIN = 3


@dataclass(frozen=True)
class Tick:
    """Requests that ended in it; those that became known, and how many of these are against the limit.

    A request that has waited beyond the limit is known before it has ended. `slow`: those against the limit
    for their time, which did not fail. `end_s`: since measuring began.
    """

    end_s: float
    ended: int
    known: int
    against: int
    slow: int = 0


@dataclass(frozen=True)
class Dispersion:
    """How much more the number of answers against the limit varies from block to block than by chance.

    `excess`: sum of the squares over the variance of independent answers; `freedom`: its degrees of freedom.
    """

    excess: float = 0.0
    freedom: int = 0


@dataclass(frozen=True)
class PartEvidence:
    """What a level says of one part of the objective, whose share against it is to stay below `limit`.

    `bunches`: the fewest runs of neighbouring answers that those against it can form; `dispersion`: how much
    their number varies; `crowded`: how many slow ones came in crowds. `settled_s`: how long the load ran
    before it was measured; `watched_s`: how long it was measured. `passed_s`: when a queue grew beyond the
    limit, since measuring began (negative: before); None: it did not. `pace`: how many requests the server
    answered while it had more to do than it could, and in how many seconds. `limit_s`: the limit of a
    response time; None: the part limits no time. `by_others`: of a level that counts as a whole, what others
    took may be why it broke.
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
    by_others: bool = False

    @property
    def share(self) -> float:
        """The share of the known answers that are against the part (0..1)."""
        return self.against / self.known if self.known else 0.0

    @property
    def leans_against(self) -> bool:
        """Whether more are against the part than the limit allows, decided or not."""
        return self.share > self.limit


class _AnswerBlock(NamedTuple):
    known: int
    against: int


def counted(ticks: Sequence[Tick], together_s: float) -> AnswerCount:
    """Sum the ticks; answers against the limit within `together_s` of the first of them are one occasion.

    Where most answers are against it, half of that time makes one occasion, since the cause persists.
    """
    occasions, since_s = 0, -math.inf
    for tick in ticks:
        apart_s = together_s / 2 if tick.against >= CROWDED_SHARE * tick.known else together_s
        if tick.against and tick.end_s > since_s + apart_s * (1 - 1e-9):
            occasions, since_s = occasions + 1, tick.end_s
    known, against = sum(tick.known for tick in ticks), sum(tick.against for tick in ticks)
    alone = _occasions_alone(ticks)
    return AnswerCount(known, against, min(occasions if alone is None else alone, against))


def crowd_told_s(limit_s: float, occasions: int) -> float:
    """How long a level takes, in seconds, to show so many occasions if every answer is slower than `limit_s`.

    The first slow answer is known after the limit, and a line may be late. Each occasion ends with a line.
    """
    apart_s = SLOW_TOGETHER_LIMITS / 2 * limit_s
    return limit_s + 2 * EVERY_S + (occasions - 1) * (apart_s + EVERY_S)


def _occasions_alone(ticks: Sequence[Tick]) -> int | None:
    """The number of occasions if answers against the limit are spread as independent ones are; else None.

    The first and the last block are not tested, and count as one occasion each: a late line may count a slow
    answer before others that were due with it.
    """
    known = sum(tick.known for tick in ticks)
    number = min(len(ticks), int(known / BLOCK_KNOWN_MIN))
    if number < EVEN_BLOCKS_MIN:
        return None
    blocks = _blocks(ticks, number)
    inner, ends = blocks[1:-1], (blocks[0], blocks[-1])
    if len(inner) < EVEN_BLOCKS_MIN:
        return None
    excess = _excess(inner)
    if excess is None or excess > EVEN_EXCESS_MAX * (len(inner) - 1):
        return None
    return sum(each.against for each in inner) + sum(each.against > 0 for each in ends)


def _blocks(ticks: Sequence[Tick], number: int) -> list[_AnswerBlock]:
    """Return each of `number` equal parts of a level, without parts that have none known."""
    length_s, known, against = ticks[-1].end_s, [0] * number, [0] * number
    for tick in ticks:
        at = min(number - 1, int((tick.end_s - 1e-9) / length_s * number))
        known[at] += tick.known
        against[at] += tick.against
    return [_AnswerBlock(*each) for each in zip(known, against, strict=True) if each[0]]


def _excess(blocks: Sequence[_AnswerBlock]) -> float | None:
    """Return the squared excess over the variance of independent answers, summed over blocks."""
    share = sum(each.against for each in blocks) / sum(each.known for each in blocks)
    if not 0 < share < 1:
        return None
    return sum(
        (each.against - share * each.known) ** 2 / (each.known * share * (1 - share)) for each in blocks
    )


def bunches(ticks: Sequence[Tick]) -> int:
    """The fewest runs of neighbouring answers that those against the limit can form."""
    found, goes_on = 0, False
    for tick in (tick for tick in ticks if tick.known):
        found += bool(tick.against) and not goes_on
        goes_on = 2 * tick.against >= tick.known
    return found


def dispersion(ticks: Sequence[Tick], limit_s: float | None) -> Dispersion:
    """The dispersion over the blocks of a level; empty where no answer is against the limit, or all are."""
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
) -> PartEvidence:
    """Return what the ticks of a level say of one part.

    `limit_s`: of a response time, else None; `settled_s`: how long the load ran before it was measured.
    """
    whole = counted(ticks, 0.0)
    plain = PartEvidence(name, limit, whole.known, whole.against, bunches(ticks), dispersion(ticks, limit_s))
    if limit_s is None or not ticks:
        return plain
    crowd = _crowd(ticks)
    first = _first_row(ticks)
    return replace(
        plain,
        crowded=sum(tick.slow for tick, within in zip(ticks, crowd, strict=True) if within),
        settled_s=settled_s,
        watched_s=ticks[-1].end_s,
        # An answer that is slow now was due `limit_s` earlier, when the queue had grown that long.
        passed_s=None if first is None else _began_s(ticks, first) - limit_s,
        pace=_pace(ticks, crowd),
        limit_s=limit_s,
    )


def _crowd(ticks: Sequence[Tick]) -> list[bool]:
    """Which ticks are part of a crowd: rows in which most answers are slow, with the ticks at their ends."""
    within: set[int] = set()
    full = [tick.slow >= CROWDED_SHARE * tick.known for tick in ticks]
    at = 0
    while at < len(ticks):
        end = at
        while end < len(ticks) and full[end]:
            end += 1
        if sum(tick.slow for tick in ticks[at:end]) >= CROWD_MIN:
            within.update(range(at - 1, end + 1))
        at = end + 1
    return [place in within and tick.slow > 0 for place, tick in enumerate(ticks)]


def _first_row(ticks: Sequence[Tick]) -> int | None:
    """The first tick of a row with enough slow answers to come out of a queue; None: there is none."""
    rows = (place for place, tick in enumerate(ticks) if tick.slow and _row(ticks, place) >= CROWD_MIN)
    return next(rows, None)


def _row(ticks: Sequence[Tick], place: int) -> int:
    """Slow answers from there on: of that tick, the next, and the following ones in which most are slow."""
    slow = ticks[place].slow
    for number, tick in enumerate(ticks[place + 1 :]):
        if number and tick.slow < CROWDED_SHARE * tick.known:
            break
        slow += tick.slow
    return slow


def _pace(ticks: Sequence[Tick], crowd: Sequence[bool]) -> tuple[int, float] | None:
    """How many requests ended within crowds, and in how many seconds, without first and last ticks."""
    ended = [0, *accumulate(tick.ended for tick in ticks)]
    # The first requests to end were due before measuring began, and are not counted.
    inner = [
        place for place in range(1, len(ticks) - 1) if all(crowd[place - 1 : place + 2]) and ended[place]
    ]
    if len(inner) < PACE_TICKS_MIN:
        return None
    seconds = sum(ticks[place].end_s - _began_s(ticks, place) for place in inner)
    return sum(ticks[place].ended for place in inner), seconds


def _began_s(ticks: Sequence[Tick], place: int) -> float:
    return ticks[place - 1].end_s if place else 0.0


# "limited": the level measured the engine or its limits, and says nothing of the server.
LevelOutcome = Literal["held", "broke", "undecided", "limited"]

# How often the engine reports what it has counted, in seconds.
EVERY_S = 0.1
# The time within which slow answers count as one occasion, as a multiple of their limit.
SLOW_TOGETHER_LIMITS = 2.0
# The shortest level, in seconds: a shorter one covers too little of the server's behaviour over time, however
# many answers it has.
LEAST_S = 1.0
# The number of answers from which on a single one against a part may be chance.
FEW = 5


@dataclass(frozen=True)
class Base:
    """Response times without a queue: their median, and their variance over the square of their mean.

    `pace`: how many requests the server answered, and in how many seconds, when it had more to do than it
    could; None: not known beforehand. `mean_s`: their mean; None: not known.
    """

    median_s: float
    variation: float
    pace: tuple[int, float] | None = None
    mean_s: float | None = None


@dataclass(frozen=True)
class Judged:
    """A level that was tried. `base`: of its response times, with any queue; None: too few were answered.

    `taken_share`: for which share of the time others may have had what it needed (0..1); `slowdown`: by which
    factor that slowed it at most; `delayed_share`: how many requests they delayed at most (0..1).
    """

    load: float
    start: int
    outcome: LevelOutcome
    evidence: tuple[PartEvidence, ...]
    base: Base | None = None
    taken_share: float = 0.0
    slowdown: float = 1.0
    delayed_share: float = 0.0

    @property
    def leans_against(self) -> bool:
        """Whether the level broke, or is undecided and rather against the objective."""
        if self.outcome == "undecided":
            # A single answer against the part, out of many, may be chance.
            return any(
                each.leans_against and (each.against > 1 or each.known < FEW) for each in self.evidence
            )
        return self.outcome == "broke"

    def of(self, name: str) -> PartEvidence | None:
        """Return the evidence for that part; None: there is none."""
        return next((each for each in self.evidence if each.name == name), None)
