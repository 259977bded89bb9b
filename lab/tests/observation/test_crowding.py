"""What half-sent requests tell of a server: each takes the place of a worker, or none."""

import random
from dataclasses import replace

import pytest
from crumple.cause import judged
from crumple.experiment import crowd
from crumple.limit.finding import Finding
from crumple.observation import crowding, outcome, parallelism
from crumple.observation.outcome import Crowd, ExperimentOutcomes, LoadPairs
from crumple.observation.parallelism import Parallelism
from made_at_load import under_load
from made_observed import PROCESSES, alone


def crowded(held: int, ratio: float, spread: float, drawn: random.Random) -> Crowd:
    """What four pairs come to, each of which comes at another speed of the machine."""
    speeds = [drawn.uniform(50, 100) for _ in range(4)]
    pairs = [
        (ratio * per_s * (1 + drawn.gauss(0, spread)), per_s * (1 + drawn.gauss(0, spread)))
        for per_s in speeds
    ]
    paired = outcome.paired(pairs)
    assert paired is not None
    return Crowd(held, 32, paired)


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
    value, low, high = crowding.places(Crowd(2, 32, LoadPairs(0.0, 0.02, 4))) or (0, 0, 0)
    assert value == low == 2 and 2 < high < 2.2


def test_a_fall_of_a_few_percent_is_none() -> None:
    # Of four pairs the interval reaches 3.18 standard errors to each side.
    assert crowding.places(Crowd(2, 32, LoadPairs(0.95, 0.02, 4))) is None
    assert crowding.places(Crowd(2, 32, LoadPairs(0.85, 0.02, 4))) is not None


TRIED = replace(
    PROCESSES,
    work=alone(50, 0.6),
    slow=None,
    waiting=(),
    outcomes=ExperimentOutcomes(half_sent=Crowd(2, 32, LoadPairs(0.75, 0.02, 4))),
)


def test_workers_that_were_tried_are_named_as_tested() -> None:
    said = judged.judged(under_load(TRIED, 0.05))[0]
    assert isinstance(said, Finding) and (said.cause, said.sure) == ("workers", "tested")


def test_how_many_wait_at_a_time_is_known_without_a_request_that_only_waits() -> None:
    waits = parallelism.waits(TRIED)
    assert isinstance(waits, Parallelism) and waits.kind == "limit" and waits.value == 8
    assert waits.low == pytest.approx(2 / (0.25 + 3.18 * 0.02), abs=0.01)
    assert waits.high == pytest.approx(2 / (0.25 - 3.18 * 0.02), abs=0.01)
