"""Requests that a limiter turns away, as a finding: with its rate, and what to do about it. Pure."""

from collections.abc import Sequence

from crumple.drawing import numerals
from crumple.drawing.terminal import shown
from crumple.limit.finding import Finding, Said, Sure
from crumple.record import limiter_course
from crumple.record.limiter_course import Limiter

# How probable it is by its course alone, where its answer does not say so.
BY_ITS_COURSE = 0.9
ASK_LESS = "ask for less than that, or raise its limit"
ASK_FEWER = "load it for longer to see its rate; ask for less, or raise its limit"
NO_RATE = "it lets a number through per time, which this load is too short to show"
AFTER_ITS_TIME = "load it again when its quota is renewed, for less than the quota, or raise its limit"


def finding(seen: Sequence[Limiter]) -> Finding | None:
    """Return what a limiter does, by the loads in which it does; None: in none."""
    if not seen:
        return None
    limited, ended = sum(each.limited for each in seen), sum(each.ended for each in seen)
    after = next((each.retry_after for each in seen if each.retry_after), None)
    asks = f" with Retry-After: {shown(after)}" if after else ""
    turned_away = f"it answered {limited:,} of {ended:,} requests {seen[0].status}{asks}"
    rate = limiter_course.rate(seen)
    is_named = all(each.is_named for each in seen)
    sure: Sure = "tested" if is_named else "likely"
    probability = 1.0 if is_named else BY_ITS_COURSE
    if rate is not None:
        passes = f"it lets {numerals.with_interval(rate, unit='/s')} through"
        return Finding("limiter", sure, probability, None, f"{passes}; {turned_away}", ASK_LESS)
    if all(each.is_quota for each in seen):
        passed = numerals.count(sum(each.passed for each in seen), "request")
        evidence = f"{turned_away}; it let {passed} through, and then none"
        return Finding("limiter", sure, probability, None, evidence, AFTER_ITS_TIME)
    return Finding("limiter", sure, probability, None, f"{turned_away}; {NO_RATE}", ASK_FEWER)


def is_explained(said: Sequence[Said]) -> bool:
    """Whether it is sure what limits the server, so that it may turn requests away because of that."""
    return any(isinstance(each, Finding) and each.is_sure and each.cause != "none" for each in said)
