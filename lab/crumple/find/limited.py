"""The breaking point of a server behind a limiter. Pure.

A level is short, so one above the limiter's rate holds by its burst. No such load lasts: beyond its rate a
limiter turns requests away, in the long run as many as are due beyond it.
"""

from collections.abc import Iterable, Sequence

from crumple.find.level import Level
from crumple.load.objective import Term
from crumple.record import limiter
from crumple.stats.interval import Interval


def at(levels: Iterable[Level], terms: Sequence[Term]) -> Interval | None:
    """Return the rate at which a limiter turns away as many as the objective allows; None: not known."""
    rate = limiter.rate([each.limiter for each in levels if each.limiter is not None])
    shares = [each.share_limit for each in terms if each.share_limit is not None]
    if rate is None or not shares:
        return None
    sent = 1 / (1 - min(shares))
    return Interval(rate.estimate * sent, rate.low * sent, rate.high * sent, rate.confidence, rate.n)


def point(seen: Interval | None, levels: Sequence[Level], terms: Sequence[Term]) -> Interval | None:
    """Return the breaking point; `seen`: that of the levels, which counts unless it needs a burst."""
    lasts = at(levels, terms)
    return seen if seen is None or lasts is None or seen.estimate <= lasts.high else lasts
