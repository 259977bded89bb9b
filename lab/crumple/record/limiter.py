"""A limiter in front of a server, or in it: it answers 429, or 503 with Retry-After, beyond a rate. Pure.

What it lets through is answered as expected. So the rate of right answers while it limits is its rate, unless
the server is slower. A limiter that lets a number of requests through and then none is a quota: within one
load it shows no rate.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from crumple.contract import TrialRecord
from crumple.record import failures, outage
from crumple.stats import student
from crumple.stats.interval import CONFIDENCE, Interval

_RETRY_AFTER = re.compile(r"^retry-after:[ \t]*([^\r\n]+)", re.IGNORECASE | re.MULTILINE)
# Of failures of several kinds, those by a limiter are most from here on.
MOST_SHARE = 0.5


@dataclass(frozen=True)
class Limiter:
    """What it did in one load. `limited`: how many of `ended` requests it answered with `status`.

    `passed`: right answers in `seconds`; `retry_after`: what it asks for, as it says it; None: it does not.
    `is_quota`: it let these through at first, and then none.
    """

    status: int
    limited: int
    ended: int
    passed: int
    seconds: float
    retry_after: str | None
    is_quota: bool = False


def of(record: TrialRecord) -> Limiter | None:
    """Return the limiter that most of the failures of a load come from; None: there is none."""
    ends, seen = record.outcomes, failures.unexpected(record)
    limited = {status: number for status, number in seen.items() if _limits(record, status)}
    number, ended = sum(limited.values()), ends.ok + ends.failed
    if number <= max(failures.SHARE_MAX * ended, MOST_SHARE * ends.failed):
        return None
    status = max(limited, key=lambda each: limited[each])
    quota = outage.of(record)
    return Limiter(
        status=status,
        limited=number,
        ended=ended,
        passed=ends.ok,
        seconds=record.measured_ns / 1e9,
        retry_after=next(_retry_after(record, status), None),
        is_quota=not ends.ok or (quota is not None and not quota.answered_after),
    )


def rate(seen: Sequence[Limiter]) -> Interval | None:
    """Return the requests per second that it lets through, with a 95 % interval; None: it shows no rate.

    Within a load their number has at most the noise of independent requests. Several loads also show how much
    the rate differs from load to load.
    """
    told = [each for each in seen if not each.is_quota and each.passed and each.seconds]
    if not told:
        return None
    passed, seconds = sum(each.passed for each in told), sum(each.seconds for each in told)
    estimate = passed / seconds
    reach = student.of_interval(1e9, CONFIDENCE) * passed**0.5 / seconds
    if len(told) > 2:
        apart = [each.passed / each.seconds - estimate for each in told]
        spread = (sum(each**2 for each in apart) / (len(told) - 1)) ** 0.5
        reach = max(reach, student.of_interval(len(told) - 1, CONFIDENCE) * spread / len(told) ** 0.5)
    return Interval(estimate, max(0.0, estimate - reach), estimate + reach, CONFIDENCE, len(told))


def _limits(record: TrialRecord, status: int) -> bool:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return True
    return status == HTTPStatus.SERVICE_UNAVAILABLE and any(_retry_after(record, status))


def _retry_after(record: TrialRecord, status: int) -> Iterator[str]:
    for kind in record.requests:
        for each in kind.examples:
            if each.status == status and (found := _RETRY_AFTER.search(each.head)):
                yield found[1].strip()
