"""Limiters by the record of one load: by the course of their answers, whatever they answer with."""

import random

import documents
import pytest
from crumple.cause import limiter_rule
from crumple.contract import TrialRecord
from crumple.limit.finding import Finding
from crumple.record import limiter_course
from made_outages import record as of_rows
from simulated_limiters import Server, bucket, by_chance, leaky, load

WARM_UP = 10


def record(serve: Server, per_s: float, status: int, head: str = "", seconds: float = 5.0) -> TrialRecord:
    """A load of `serve`, after a warm-up of a second, that answers `status` to what it turns away."""
    parts = load(serve, "poisson", per_s, seconds, random.Random(7))
    ok, failed = [each.ok for each in parts], [each.ended - each.ok for each in parts]
    number = sum(failed[WARM_UP:])
    came = documents.request_record(
        statuses={200: sum(ok[WARM_UP:]), status: number},
        examples=(documents.example(outcome="wrong-status", status=status, head=head),),
    )
    rows = of_rows(ok, failed, warm_up=WARM_UP, wrong_status=number)
    return rows.model_copy(update={"requests": (came,)})


@pytest.mark.parametrize("per_s", [300.0, 1_000.0])
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("head", ["", "HTTP/1.1 429 X\r\nRetry-After: 1\r\n\r\n"])
def test_a_share_by_chance_is_no_limiter(per_s: float, status: int, head: str) -> None:
    assert limiter_course.of(record(by_chance(0.1, random.Random(1)), per_s, status, head)) is None


def test_the_rate_of_a_bucket_is_that_after_its_burst() -> None:
    found = limiter_course.of(record(bucket(200, 400), 600, 429))
    assert found is not None and found.rate is not None and found.is_named
    assert found.rate.low <= 200 <= found.rate.high < 210


def test_a_503_without_retry_after_is_a_limiter_if_its_rate_shows() -> None:
    found = limiter_course.of(record(leaky(100, 50), 300, 503))
    assert found is not None and found.rate is not None and not found.is_named
    assert found.rate.low <= 100 <= found.rate.high
    said = limiter_rule.finding([found])
    assert said is not None and said.sure == "likely" and "Retry-After" not in said.evidence


def test_a_503_of_a_server_that_fails_from_some_time_on_is_no_limiter() -> None:
    rng = random.Random(3)
    fails = by_chance(0.2, rng)
    assert limiter_course.of(record(lambda now: now if now < 2.5 else fails(now), 300, 503)) is None


def test_a_limiter_that_shows_no_rate_has_no_remedy_with_one() -> None:
    found = limiter_course.of(record(bucket(200, 900), 320, 429, seconds=8.0))
    said = limiter_rule.finding([found]) if found is not None else None
    assert said is not None and "/s" not in said.evidence and said.remedy == limiter_rule.ASK_FEWER


def test_the_rates_of_several_loads_count_by_their_intervals() -> None:
    loads = [limiter_course.of(record(bucket(200, 50), per_s, 429)) for per_s in (400.0, 600.0, 900.0)]
    rate = limiter_course.rate([each for each in loads if each is not None])
    assert rate is not None and rate.low <= 200 <= rate.high


def test_only_what_is_sure_explains_that_requests_are_turned_away() -> None:
    """Of one load no experiment tries a cause, and cores that are all busy explain it all the same."""
    for probability, explains in ((0.96, True), (0.9, False)):
        cpu = Finding("cpu", "likely", probability, None, "it uses 2 of 2 cores", "")
        assert limiter_rule.is_explained([cpu]) == explains
    assert not limiter_rule.is_explained([Finding("none", "tested", 1.0, None, "nothing waits", "")])
