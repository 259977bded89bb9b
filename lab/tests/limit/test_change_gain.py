"""What a change of a number is expected to give: laws of closed queues, and where they end."""

import math
from dataclasses import replace

import made_at_load
import pytest
from crumple.limit import change_gain
from crumple.limit.finding import Cause, Finding
from crumple.limit.remedy import Expected, Number
from crumple.observation.server_facts import ServerFacts

# What the interval is widened by where only the comparison has an error.
ERROR = math.exp(change_gain.ERRORS * change_gain.SD_MIN)


def of(cause: Cause, facts: ServerFacts, *numbers: Number, connections: int = 64) -> Expected:
    said = [Finding(cause, "likely", 0.9, None, "", "")]
    found, why = change_gain.predicted(facts, said, numbers, connections)
    assert found is not None, why
    return found


def doubled(before: float | None = 8.0, after: float = 16.0) -> Number:
    return Number("WORKERS", before, after)


def test_twice_the_workers_give_twice_as_much_while_cores_are_idle() -> None:
    found = of("workers", made_at_load.WORKERS, doubled())
    assert found.high == pytest.approx(2 * ERROR) and 1.85 < found.low * ERROR <= 2


def test_workers_beyond_the_cores_give_what_the_cores_have() -> None:
    # 0.5 of 2 cores are used for 160 requests a second: four times as many at most.
    facts = made_at_load.facts(cores=0.5, engine_cores=0.0)
    found = of("workers", facts, doubled(8, 80), connections=512)
    assert found.limit == "CPU" and found.high == pytest.approx(4 * ERROR) and found.low > 3


def test_near_the_cores_limit_requests_wait_for_both() -> None:
    facts = made_at_load.facts(cores=1.0, engine_cores=0.0)
    found = of("workers", facts, doubled())
    assert found.low * ERROR < 1.95 and found.high / ERROR == pytest.approx(2.0)


def test_more_workers_than_requests_in_flight_are_not_all_busy() -> None:
    # 64 in flight, which take 50 ms: 1,280 a second at most, 8 times as many.
    found = of("workers", made_at_load.WORKERS, doubled(8, 800))
    assert found.limit == "the requests in flight" and found.low < 8 < found.high
    # How long a request takes alone has an error as well.
    assert found.high / 8 > ERROR


def test_more_places_change_nothing_where_something_else_is_the_limit() -> None:
    for cause, facts in (("cpu", made_at_load.CPU), ("dependency", made_at_load.DEPENDENCY)):
        found = of(cause, facts, doubled())  # type: ignore[arg-type]
        assert found.low == pytest.approx(1 / ERROR) and found.high == pytest.approx(ERROR)


def test_a_pool_lets_through_so_many_more_until_the_requests_inside_are_used_up() -> None:
    facts = made_at_load.CONNECTION_POOL
    assert of("connection-pool", facts, doubled(4, 8)).high == pytest.approx(2 * ERROR)
    # 64 inside, which take 5 ms alone: 12,800 a second; the cores are used up before.
    assert of("connection-pool", facts, doubled(4, 400)).limit == "CPU"


def test_a_number_that_was_not_known_is_compared_with_how_many_there_are() -> None:
    known, unknown = (of("workers", made_at_load.WORKERS, doubled(each)) for each in (8.0, None))
    assert unknown.low < known.low and unknown.high > known.high
    assert math.sqrt(unknown.low * unknown.high) == pytest.approx(math.sqrt(known.low * known.high), rel=0.05)


@pytest.mark.parametrize(
    ("cause", "numbers", "why"),
    [
        ("workers", (), "what is changed is no number"),
        ("workers", (doubled(), doubled(1, 3)), "several numbers change, by different factors"),
        ("disk", (doubled(),), "what limits it is no number of places"),
        ("none", (doubled(),), "what limits it is not known"),
    ],
)
def test_where_nothing_is_predicted_it_says_why(cause: Cause, numbers: tuple[Number, ...], why: str) -> None:
    said = [Finding(cause, "likely", 0.9, None, "", "")]
    found, told = change_gain.predicted(made_at_load.WORKERS, said, numbers, 64)
    assert found is None and told.startswith(why)


def test_the_load_with_a_change_has_requests_enough_for_it() -> None:
    said = [Finding("workers", "likely", 0.9, None, "", "")]
    facts = made_at_load.WORKERS
    assert change_gain.in_flight(facts, said, (doubled(),), 64) == 64
    assert change_gain.in_flight(facts, said, (doubled(8, 80),), 64) == 160
    assert change_gain.in_flight(facts, said, (doubled(8, 8_000),), 64) == change_gain.IN_FLIGHT_MOST
    assert change_gain.in_flight(facts, [], (doubled(8, 80),), 64) == 64


def test_without_the_cores_used_only_the_number_counts() -> None:
    unread = replace(made_at_load.WORKERS, beyond=replace(made_at_load.WORKERS.beyond, cores=None))
    found = of("workers", unread, doubled())
    assert (found.low * ERROR, found.high / ERROR) == pytest.approx((2.0, 2.0))


def test_what_others_use_is_no_limit_unless_it_asks_them() -> None:
    # The server uses 0.1 and the engine 0.02 of 2 cores; others use the rest, and share them with it.
    busy = made_at_load.facts(idle_most=0.0)
    assert of("workers", busy, doubled(8, 80), connections=160).low > 7
    asks = made_at_load.facts(busy, peers=(made_at_load.NEAR,))
    assert of("workers", asks, doubled(8, 80), connections=160).low < 1.1
