"""A limiter in front of a server, or in it: it answers 429 or 503 beyond a number of requests per time. Pure.

What it lets through is answered as expected. So the number of right answers per time while it limits is its
rate, unless the server is slower. A limiter that lets a number of requests through and then none is a quota:
within one load it shows no rate. A server that answers a share of its requests so by chance is no limiter.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from crumple.contract import TrialRecord
from crumple.record import failures, let_through, outage
from crumple.stats import shares
from crumple.stats.interval import CONFIDENCE, Interval

_RETRY_AFTER = re.compile(r"^retry-after:[ \t]*([^\r\n]+)", re.IGNORECASE | re.MULTILINE)
_STATUSES = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


@dataclass(frozen=True)
class Limiter:
    """What it did in one load."""

    status: int
    limited: int
    """How many of `ended` requests it answered with `status`."""
    ended: int
    passed: int
    """The number of right answers."""
    rate: Interval | None
    """The requests per second that it lets through while it limits; None: that does not show."""
    retry_after: str | None
    """What its header Retry-After says; None: it has none."""
    is_quota: bool = False
    """Whether it let the first requests through and then none."""
    is_named: bool = True
    """Whether status and head say that it limits; a 503 alone does not."""
    is_shown: bool = True
    """Whether the course of the load shows that it lets a number of requests through, and not a share by
    chance.
    """


def of(record: TrialRecord) -> Limiter | None:
    """Return the limiter that most of the failures of a load come from; None: none shows."""
    found = maybe(record)
    return found if found is not None and found.is_shown else None


def maybe(record: TrialRecord) -> Limiter | None:
    """Return what may be a limiter, as most of the failures are answered so; other loads may show it."""
    ends, seen = record.outcomes, failures.unexpected_statuses(record)
    limited = {status: seen[status] for status in _STATUSES if seen[status]}
    number, ended = sum(limited.values()), ends.ok + ends.failed
    if number <= max(failures.SHARE_MAX * ended, shares.MOST * ends.failed):
        return None
    status = max(limited, key=lambda each: limited[each])
    after = next(_retry_after(record, status), None)
    is_named = status == HTTPStatus.TOO_MANY_REQUESTS or after is not None
    is_quota = is_named and _is_quota(record)
    course = let_through.of(record)
    # Without a rate, a 503 may come from anything that the load breaks.
    is_shown = is_quota or (course.by_number and (is_named or course.rate is not None))
    rate = None if is_quota else course.rate
    return Limiter(status, number, ended, ends.ok, rate, after, is_quota, is_named, is_shown)


def rate(seen: Sequence[Limiter]) -> Interval | None:
    """Return the requests per second that it lets through, by several loads; None: it shows no rate.

    A load counts the more the narrower its interval is. Where they differ by more than these, the interval is
    wider by as much.
    """
    found = [each.rate for each in seen if each.rate is not None]
    if len(found) < 2:
        return found[0] if found else None
    weights = [1 / max(1e-9, each.high - each.low) ** 2 for each in found]
    pairs = list(zip(found, weights, strict=True))
    estimate = sum(each.estimate * weight for each, weight in pairs) / sum(weights)
    apart = sum((each.estimate - estimate) ** 2 * 4 * weight for each, weight in pairs) / (len(found) - 1)
    reach = max(1.0, apart) ** 0.5 / sum(weights) ** 0.5 / 2
    return Interval(estimate, max(0.0, estimate - reach), estimate + reach, CONFIDENCE, len(found))


def _is_quota(record: TrialRecord) -> bool:
    used_up = outage.of(record)
    return not record.outcomes.ok or (used_up is not None and not used_up.answered_after)


def _retry_after(record: TrialRecord, status: int) -> Iterator[str]:
    for kind in record.requests:
        for each in kind.examples:
            if each.status == status and (found := _RETRY_AFTER.search(each.head)):
                yield found[1].strip()
