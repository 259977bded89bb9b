"""Crowding out: what is beside the work takes places of workers, and none of a gate inside the program."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from crumple import contract
from crumple.experiment import crowd
from crumple.experiment.bench import Bench
from crumple.observation.outcome import Crowd
from experimenting import agrees, asked, served
from tried import until_shown

pytestmark = pytest.mark.starts
WAIT = asked("/wait")


@pytest.mark.parametrize(
    ("tried", "kind", "predicted"),
    [
        # One of four workers reads the rest of a request.
        (crowd.half_sent, "pool", 0.75),
        (crowd.half_sent, "gate", 1.0),
        # One of four workers has accepted a connection on which nothing comes; a loop waits for it instead.
        (crowd.silent, "accepts", 0.75),
        (crowd.silent, "pool", 1.0),
    ],
)
def test_a_connection_takes_the_place_of_a_worker(
    tried: Callable[[Bench], Crowd | None], kind: str, predicted: float
) -> None:
    def agrees_() -> bool:
        with served(kind) as bench:
            found = tried(bench)
        assert found is not None and found.others == 1
        return agrees(found.paired, predicted)

    assert until_shown(agrees_)


@pytest.mark.parametrize("kind", ["pool", "gate"])
def test_requests_that_wait_take_places_of_workers_and_none_of_a_gate(kind: str) -> None:
    def agrees_() -> bool:
        with served(kind, slow=WAIT) as bench:
            found = crowd.waiting(bench)
        assert found is not None and found.other_s is not None
        queued = found.others * found.other_s / (found.connections * bench.alone_s)
        return agrees(found.paired, 1 / (1 + queued) if kind == "pool" else 1.0)

    assert until_shown(agrees_)


def test_a_server_that_answers_half_a_request_does_not_wait_for_the_rest() -> None:
    with served("hasty") as bench:
        assert crowd.half_sent(bench, per_s=50.0) is None


def test_requests_that_are_refused_do_not_wait() -> None:
    """They are expected to be answered otherwise beside the work."""
    other = WAIT.model_copy(update={"expect": WAIT.expect.model_copy(update={"status": 201})})
    with served("free", slow=WAIT) as bench:

        def put_on(requests: Any, *given: Any, **changed: Any) -> Any:
            is_beside = requests == (WAIT,) and isinstance(given[1], contract.DurationStopSpec)
            return bench.put_on((other,) if is_beside else requests, *given, **changed)

        assert crowd.waiting(replace(bench, put_on=put_on)) is None


def test_without_a_request_that_waits_nothing_is_tried() -> None:
    with served("gate") as bench:
        assert crowd.waiting(bench) is None
