"""The breaking point of a server behind a limiter. Pure.

A level is short, so one above the limiter's rate holds by its burst. No such load lasts: beyond its rate a
limiter turns requests away, in the long run as many as are due beyond it.
"""

from collections.abc import Sequence

from crumple.find.level import Level
from crumple.load.objective import Term
from crumple.record import let_through, limiter_course
from crumple.record.let_through import Slot
from crumple.record.limiter_course import Limiter
from crumple.stats.interval import Interval


def limiters(levels: Sequence[Level]) -> list[Limiter]:
    """Return what a limiter did at each level at which it limits.

    It shows in the course of a level, or by a share that differs between loads, as that of chance does not.
    """
    found = [each.limiter for each in levels if each.limiter is not None]
    shown = [each for each in found if each.is_shown]
    named = [each for each in found if each.is_named]
    return shown or (named if let_through.differ([_part(each) for each in levels]) else [])


def _part(level: Level) -> Slot:
    failed = sum(level.failures.values()) - level.failures.get("not-sent", 0)
    return Slot(level.measured_s, level.ok, level.ok + failed)


def at(levels: Sequence[Level], terms: Sequence[Term]) -> Interval | None:
    """Return the rate at which a limiter turns away as many as the objective allows; None: not known."""
    rate = limiter_course.rate(limiters(levels))
    shares = [each.share_limit for each in terms if each.share_limit is not None]
    if rate is None or not shares:
        return None
    sent = 1 / (1 - min(shares))
    return Interval(rate.estimate * sent, rate.low * sent, rate.high * sent, rate.confidence, rate.n)


def point(seen: Interval | None, levels: Sequence[Level], terms: Sequence[Term]) -> Interval | None:
    """Return the breaking point; `seen`: that of the levels, which counts unless it needs a burst."""
    lasts = at(levels, terms)
    return seen if seen is None or lasts is None or seen.estimate <= lasts.high else lasts
