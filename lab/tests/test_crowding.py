"""What half-sent requests tell of a server: each takes the place of a worker, or none."""

import random
from dataclasses import replace

import experimenting
import pytest
import real_engine
from crumple.cause import crowding, judged, outcome, parallelism
from crumple.cause.finding import Facts, Finding
from crumple.cause.observed import Crowded
from crumple.cause.outcome import Crowd, Paired
from crumple.cause.parallelism import Parallelism
from crumple.diagnose import observe, running
from crumple.experiment import crowd
from made_at_load import under_load
from made_observed import PROCESSES, alone
from test_observe import Silent
from tried import SpoiledError, until_shown

# An interval that is wider holds no more than that there are workers.
WIDTH_MAX = 0.2


def crowded(held: int, ratio: float, spread: float, drawn: random.Random) -> Crowded:
    """What four pairs come to, each of which comes at another speed of the machine."""
    speeds = [drawn.uniform(50, 100) for _ in range(4)]
    pairs = [
        (ratio * per_s * (1 + drawn.gauss(0, spread)), per_s * (1 + drawn.gauss(0, spread)))
        for per_s in speeds
    ]
    paired = outcome.paired(pairs)
    assert paired is not None
    return crowding.crowded(Crowd(held, 32, paired))


@pytest.mark.parametrize("workers", [2, 3, 4, 8, 20])
def test_the_interval_holds_the_number_of_workers(workers: int) -> None:
    """A quarter of the places is held, as the experiment does."""
    drawn, missed, unseen = random.Random(workers), 0, 0
    held = max(1, round(crowd.SHARE * workers))
    for _ in range(400):
        places = crowding.places(crowded(held, (workers - held) / workers, 0.01, drawn))
        unseen += places is None
        missed += places is not None and not places[1] <= workers <= places[2]
    assert missed <= 0.08 * 400
    assert unseen <= 0.01 * 400


def test_where_no_place_is_taken_there_are_hardly_ever_places() -> None:
    drawn = random.Random(1)
    found = [crowded(2, 1.0, 0.1, drawn) for _ in range(400)]
    assert sum(crowding.places(each) is not None for each in found) <= 0.04 * 400


def test_with_no_answer_beside_them_there_are_no_more_places_than_connections() -> None:
    value, low, high = crowding.places(crowding.crowded(Crowd(2, 32, Paired(0.0, 0.02, 4)))) or (0, 0, 0)
    assert value == low == 2 and 2 < high < 2.2


def test_a_fall_of_a_few_percent_is_none() -> None:
    assert crowding.places(Crowded(2, 0.95, 0.93, 0.975)) is None
    assert crowding.places(Crowded(2, 0.95, 0.94, 0.965)) is not None


@pytest.mark.starts
def test_half_sent_requests_take_places_of_four_workers_that_run() -> None:
    def crowded_once() -> Crowded:
        with experimenting.served("accepts") as bench:
            runs = running.runner(real_engine.loaded(), lambda _: None)
            course = observe.Course(bench.subject, runs, Silent())
            course._note(work=alone(20))
            found = course._crowded()
        assert found is not None
        if found.high - found.low > WIDTH_MAX:
            raise SpoiledError(f"the pairs differ: {found}")
        return found

    places = crowding.places(until_shown(crowded_once))
    assert places is not None and places[1] <= 4 <= places[2]


TRIED = replace(PROCESSES, work=alone(50), slow=None, waiting=(), crowded=Crowded(2, 0.75, 0.74, 0.76))


def found(given: Facts) -> list[Finding]:
    return [each for each in judged.judged(given) if isinstance(each, Finding)]


def test_workers_that_were_tried_are_named_also_while_others_use_the_cores() -> None:
    given = under_load(TRIED, 0.05, idle_most=0.0)
    tried = found(given)
    assert [(each.cause, each.sure) for each in tried] == [("workers", "shown")]
    assert tried[0].evidence == (
        "75\u202f% of the throughput is left beside 2 half-sent requests: it has 8.0 workers (7.7 to 8.3), "
        "and a request that waits keeps one"
    )
    assert not found(replace(given, seen=replace(TRIED, crowded=None)))


def test_how_many_wait_at_a_time_is_known_without_a_request_that_only_waits() -> None:
    waits = parallelism.waits(TRIED)
    assert isinstance(waits, Parallelism) and waits.kind == "limit" and waits.value == 8
    assert (waits.low, waits.high) == (pytest.approx(7.69, abs=0.01), pytest.approx(8.33, abs=0.01))
