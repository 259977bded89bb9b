"""What limits a server, from one load alone: a time alone that others disturbed is not known."""

from dataclasses import replace

import pytest
from crumple.cause import in_short
from crumple.limit.finding import Finding, Unclear
from made_at_load import POOL, WORKERS
from made_observed import alone


@pytest.fixture(autouse=True)
def named_though_a_rival_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loads here are too plain to tell causes apart; what is made of a named one is tested."""
    monkeypatch.setattr("crumple.cause.judged.LIKELY", 0.3)


def test_a_load_whose_requests_wait_in_front_is_judged_without_the_time_alone() -> None:
    said = in_short.of_load(WORKERS.beyond, None)
    assert isinstance(said[0], Finding) and said[0].cause == "workers"


def test_a_time_alone_that_others_disturbed_is_not_known() -> None:
    assert WORKERS.beyond.stage is not None
    inside = replace(POOL, stage=replace(WORKERS.beyond.stage, unread=0.0, inside=64.0))
    calm = in_short.of_load(inside, alone(380))
    assert isinstance(calm[0], Finding) and calm[0].cause == "none"
    disturbed = in_short.of_load(inside, replace(alone(380), disturbed="others used 40 %"))
    assert isinstance(disturbed[0], Unclear) and "alone" in disturbed[0].why
