"""What a server lets through while it turns others away: a number per time, or each request by chance. Pure.

Chance turns away a share that is the same at every load and in every moment, each request apart from the
others. A limiter lets a number per time through, whatever is sent: all at first, then a constant rate (a
bucket), or as much in every window. So its rate of answers varies less than that of chance. Within a window,
or until the bucket is empty, it varies more.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from statistics import mean

from crumple.contract import TrialRecord
from crumple.stats.interval import CONFIDENCE, Interval

# Chance does not explain a course that lies six standard deviations off. A number per time explains it better
# if the logarithm of the ratio of the likelihoods is 15.
RARE, BETTER = 6.0, 15.0
# The fewest parts of a course by which that is judged, and of requests of each kind in one of them.
PARTS_MIN, REQUESTS_MIN = 8, 5.0
# A limiter lets through what differs by less than half of what chance would make it differ by.
REGULAR_SHARE = 0.5
# A rate shows if four times as much was let through as strays from it, and if no quarter of the load had all
# let through, or all turned away.
WINDOWS_MIN = 4.0
# By how much more the number let through may stray: a window begins within a part of the course, and requests
# are whole.
ROWS_OFF, WHOLE = 1.2, 2.0
# Each halves an interval of rates, or takes a third off it.
STEPS = 50


@dataclass(frozen=True)
class Slot:
    """What ended in some time: `ok` of `ended` requests were let through."""

    seconds: float
    ok: int
    ended: int


@dataclass(frozen=True)
class LetThrough:
    """Whether a number per time was shown to be let through, and how many; `rate` None: it does not show."""

    by_number: bool
    rate: Interval | None = None


def of(record: TrialRecord) -> LetThrough:
    """Return by what a load was let through, from its first request on."""
    series = record.series
    columns = zip(series.duration_ns, series.ok, series.failed, strict=True)
    return judge([Slot(ns / 1e9, ok, ok + failed) for ns, ok, failed in columns if ns])


def judge(parts: Sequence[Slot]) -> LetThrough:
    """Return by what requests were let through; `parts`: from the first request on."""
    # What was let through before the first was turned away is the burst. A limiter shows from then on.
    first = next((at for at, each in enumerate(parts) if each.ok < each.ended), len(parts))
    limited = parts[first + 1 :]
    if _rarity(limited) > RARE or _is_regular(limited):
        return LetThrough(by_number=True, rate=_rate(limited))
    if _rarity(parts) > RARE:
        return LetThrough(by_number=True)
    return LetThrough(by_number=False, rate=_rate(limited) if limited else None)


def differ(loads: Sequence[Slot]) -> bool:
    """Whether the share that several loads let through differs from load to load by more than chance."""
    ended = [each for each in loads if each.ended]
    return len(ended) > 1 and _apart(ended) > RARE


def _rarity(parts: Sequence[Slot]) -> float:
    """By how many standard deviations the parts differ more than chance makes them differ."""
    merged = _large(parts)
    return _apart(merged) if len(merged) >= PARTS_MIN else 0.0


def _apart(merged: Sequence[Slot]) -> float:
    share, freedom = _share(merged), len(merged) - 1
    apart = sum((each.ok - share * each.ended) ** 2 / each.ended for each in merged)
    ratio = apart / (share * (1 - share)) / freedom
    # The cube root of such a sum is normal, nearly (Wilson and Hilferty, PNAS 17, 1931).
    spread = 2 / (9 * freedom)
    return (math.cbrt(ratio) - (1 - spread)) / math.sqrt(spread)


def _is_regular(parts: Sequence[Slot]) -> bool:
    """Whether a number per time explains the parts better than a share of what was sent.

    In longer parts it shows better, as long as there are enough of them.
    """
    merged = _large(parts)
    while len(merged) >= PARTS_MIN:
        if _is_by_number(merged):
            return True
        merged = _merged(merged, 2)
    return False


def _is_by_number(merged: Sequence[Slot]) -> bool:
    share = _share(merged)
    by_chance = [each.ended * share * (1 - share) for each in merged]
    per_s = sum(each.ok for each in merged) / sum(each.seconds for each in merged)
    off = [each.ok - per_s * each.seconds for each in merged]
    # Counts are whole numbers, which differ by a twelfth at least.
    differ = max(1 / 12, sum(each**2 for each in off) / (len(off) - 1))
    if differ > REGULAR_SHARE * mean(by_chance):
        return False
    number = sum(-math.log(differ) - each**2 / differ for each in off) / 2
    off_share = [each.ok - share * each.ended for each in merged]
    chance = sum(-math.log(usual) - each**2 / usual for each, usual in zip(off_share, by_chance, strict=True))
    return number - chance / 2 > BETTER


def _rate(parts: Sequence[Slot]) -> Interval | None:
    """Return the requests per second that were let through; None: there is too little to compute them from.

    A limiter is never further from its rate than what it lets through at once. So its rate is the one from
    which the number that it has let through strays least, and all that make it stray hardly more: it strays
    by as much once more if the course begins and ends in the middle of a window.
    """
    times_s = list(accumulate((each.seconds for each in parts), initial=0.0))
    numbers = list(accumulate((each.ok for each in parts), initial=0))

    def strays(per_s: float) -> float:
        off = [number - per_s * at_s for number, at_s in zip(numbers, times_s, strict=True)]
        return max(off) - min(off)

    most = max(each.ok / each.seconds for each in parts if each.seconds)
    best = _lowest(strays, 0.0, most)
    least, passed = strays(best), best * times_s[-1]
    if least > passed / WINDOWS_MIN or _longest_s(parts) > times_s[-1] / WINDOWS_MIN:
        return None
    row = passed / len(parts)
    limit = least + min(least / 2, ROWS_OFF * row) + WHOLE
    low, high = (_reaches(strays, limit, best, end) for end in (0.0, 2 * most))
    return Interval(best, low, high, CONFIDENCE, len(parts))


def _longest_s(parts: Sequence[Slot]) -> float:
    """The longest time in which all requests were let through, or none."""
    ways = groupby(parts, key=lambda each: (each.ok == each.ended) - (each.ok == 0))
    return max((sum(each.seconds for each in run) for way, run in ways if way), default=0.0)


def _lowest(of: Callable[[float], float], low: float, high: float) -> float:
    """Return where a convex function is lowest."""
    for _ in range(STEPS):
        third = (high - low) / 3
        low, high = (low, high - third) if of(low + third) < of(high - third) else (low + third, high)
    return (low + high) / 2


def _reaches(of: Callable[[float], float], limit: float, inside: float, outside: float) -> float:
    """Return where a convex function reaches a limit, between a point below it and one beyond it."""
    for _ in range(STEPS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if of(middle) <= limit else (inside, middle)
    return inside


def _large(parts: Sequence[Slot]) -> list[Slot]:
    """Return the parts, merged until each holds enough requests of both kinds, on average."""
    ended = [each for each in parts if each.ended]
    fewest = min(sum(each.ok for each in ended), sum(each.ended - each.ok for each in ended))
    if not fewest:
        return []
    size = max(1, math.ceil(REQUESTS_MIN * len(ended) / fewest))
    return _merged(ended, size)


def _merged(parts: Sequence[Slot], size: int) -> list[Slot]:
    whole = len(parts) - len(parts) % size
    return [_sum(parts[at : at + size]) for at in range(0, whole, size)]


def _share(parts: Sequence[Slot]) -> float:
    """The share that was let through: neither 0 nor 1, as chance has both."""
    ended = sum(each.ended for each in parts)
    return (sum(each.ok for each in parts) + 0.5) / (ended + 1)


def _sum(parts: Sequence[Slot]) -> Slot:
    return Slot(
        sum(each.seconds for each in parts),
        sum(each.ok for each in parts),
        sum(each.ended for each in parts),
    )
