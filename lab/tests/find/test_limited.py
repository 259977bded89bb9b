"""Where a server behind a limiter breaks, and which part of the objective breaks there."""

from dataclasses import replace
from typing import Any

import pytest
from crumple.find import limited
from crumple.find.level import Level, PartResult
from crumple.load import objective
from crumple.record.limiter_course import Limiter
from crumple.stats.interval import Interval

OBJECTIVE = objective.parse("p99<250ms, failed<1%").terms


def level(load: float, outcome: Any = "broke", *parts: PartResult, seen: Limiter | None = None) -> Level:
    return Level(
        load, 0, "bracket", outcome, parts, "valid", (), (), 1.0, 500, 300, 300.0, None, None, None, None,
        0.2, 0, {}, {}, 0, 10, 1_000, None, None, None, limiter=seen,
    )  # fmt: skip


def limiter(rate: Interval | None) -> Limiter:
    return Limiter(429, 200, 500, 300, rate, "1")


LIMITS = limiter(Interval(300, 297, 303, 0.95, 20))


def test_a_level_that_holds_by_the_burst_does_not_move_the_breaking_point() -> None:
    tried = [level(360, "held"), level(400, seen=LIMITS)]
    found = limited.point(Interval(363, 222, 393, 0.95, 6), tried, OBJECTIVE)
    assert found is not None and found.low <= 300 / 0.99 <= found.high < 310


def test_a_server_that_breaks_below_the_rate_of_its_limiter_breaks_there() -> None:
    seen = Interval(250, 240, 260, 0.95, 6)
    assert limited.point(seen, [level(400, seen=LIMITS)], OBJECTIVE) == seen


@pytest.mark.parametrize("known", [None, limiter(None)])
def test_without_the_rate_of_a_limiter_the_levels_count(known: Limiter | None) -> None:
    seen = Interval(363, 222, 393, 0.95, 6)
    assert limited.point(seen, [level(400, seen=known)], OBJECTIVE) == seen


def test_requests_that_failed_did_not_break_the_time() -> None:
    slow = PartResult("p99<250ms", "p99", 250e6, 1e6, False, known=519, against=135)
    failed = PartResult("failed<1%", "failed", 0.01, 0.25, None, known=519, against=130)
    assert level(400, "broke", slow, failed).broken == (failed,)
    # Most of these were answered, and late.
    late = replace(slow, against=400)
    assert level(400, "broke", late, failed).broken == (late,)
    # Nothing is said to break where nothing did.
    assert level(400, "undecided", replace(slow, holds=None), failed).broken == ()


def test_a_share_that_differs_between_levels_shows_a_limiter() -> None:
    maybe = replace(LIMITS, is_shown=False)
    low = replace(level(200, "held"), ok=400, failures={})
    high = replace(level(400, seen=maybe), ok=300, failures={"wrong-status": 100})
    assert limited.limiters([low, high]) == [maybe]
    by_chance = replace(low, ok=300, failures={"wrong-status": 100})
    assert limited.limiters([by_chance, high]) == []
    # A server that is overloaded fails by its load, too.
    unnamed = replace(high, limiter=replace(maybe, status=503, is_named=False))
    assert limited.limiters([low, unnamed]) == []
