"""A ladder of loads: it rises to as many requests as are served at a time, and no step takes too long."""

from typing import Any

import documents
import pytest
from crumple import contract
from crumple.experiment import ladder, throughput
from crumple.experiment.bench import Bench
from crumple.observation.outcome import Ladder, LadderStep
from experimenting import served
from made_observations import record
from made_subject import SUBJECT
from tried import SpoiledError, until_shown

# A step of a small server whose rate is not known to this share shows no corner.
SD_SHARE_MAX = 0.1
# How many requests at a time the server with a gate lets in.
LET_IN = 4


def climbed(kind: str) -> Ladder:
    with served(kind) as bench:
        found = ladder.climb(bench)
    if any(each.sd > SD_SHARE_MAX * each.per_s for each in found.steps[:-1]):
        raise SpoiledError(f"a busy machine: {found}")
    return found


def at(found: Ladder, connections: int) -> LadderStep:
    return next(each for each in found.steps if each.connections == connections)


def differ(higher: LadderStep, lower: LadderStep, factor: float = 1.0) -> float:
    """By how many standard errors one throughput is higher than a multiple of another."""
    sd = (higher.sd**2 + (factor * lower.sd) ** 2) ** 0.5
    return (higher.per_s - factor * lower.per_s) / sd


@pytest.mark.starts
def test_it_rises_to_as_many_as_a_gate_lets_in_and_stays() -> None:
    found = until_shown(lambda: climbed("gate"))
    let_in, one = at(found, LET_IN), at(found, 1)
    assert abs(differ(let_in, one, LET_IN)) < 5
    assert differ(let_in, at(found, 2)) > 5
    assert [each.connections for each in found.steps][-2:] == [64, 512]
    assert all(abs(differ(each, let_in)) < 5 for each in found.steps if LET_IN < each.connections < 512)


@pytest.mark.starts
def test_without_a_gate_it_rises_beyond() -> None:
    found = until_shown(lambda: climbed("free"))
    assert differ(at(found, 16), at(found, LET_IN), 2.0) > 5


def seen(ok_per_row: tuple[int, ...]) -> contract.TrialRecord:
    """The record of a load that was measured from its first tenth of a second on."""
    return record(ok_per_row, warm_up_ns=0, measured_ns=100_000_000 * len(ok_per_row))


def fake(per_s: Any, alone_s: float = 0.1) -> tuple[Bench, list[int]]:
    """A bench of a server with these answers per second for each number in flight, and what is put on."""
    put_on: list[int] = []

    def answered(_: Any, connections: int, stop: contract.StopSpec, warm_up: Any, /, **__: Any) -> Any:
        if isinstance(stop, contract.RequestsStopSpec):
            # It has settled.
            times = contract.HistogramRecord(count=1, min_ns=1, mean_ns=1.0, max_ns=1, encoded="")
            histograms = documents.record().histograms.model_copy(update={"response_time": times})
            return documents.record(histograms=histograms)
        put_on.append(connections)
        return seen((round(per_s(connections) / 10),) * 20)

    return Bench(SUBJECT, answered, alone_s, 32, 0.6), put_on


def test_once_it_no_longer_rises_only_large_steps_follow() -> None:
    bench, put_on = fake(lambda connections: 100 * min(connections, 2), alone_s=0.01)
    found = ladder.climb(bench)
    assert put_on == [1, 2, 3, 4, 64, 512]
    assert [round(each.per_s) for each in found.steps] == [100, 200, 200, 200, 200, 200]


def test_a_step_is_left_out_that_would_keep_the_server_busy_for_long() -> None:
    """After it, 512 requests at 20 a second would take 25 seconds."""
    bench, put_on = fake(lambda _: 20)
    ladder.climb(bench)
    assert put_on == [1, 2, 3, 64]


def test_after_a_step_without_an_answer_no_more_are_put_on() -> None:
    bench, put_on = fake(lambda connections: 20 if connections < 3 else 0)
    assert ladder.climb(bench).steps[-1].per_s == 0 and put_on == [1, 2, 3]


def test_steps_are_left_out_for_which_there_is_no_time() -> None:
    bench, put_on = fake(lambda connections: 100 * connections)
    assert ladder.climb(bench, within_s=1.0) == Ladder(()) and put_on == []
    ladder.climb(bench, within_s=2.0)
    assert put_on == [1, 2, 3, 4, 6, 8, 16, 64, 512]


def test_the_rate_has_an_error_by_batches() -> None:
    steady = throughput.rate(seen((10,) * 20))
    assert steady.per_s == pytest.approx(100) and steady.sd == pytest.approx(2)
    uneven = throughput.rate(seen((5, 5, 5, 5, 20, 20, 20, 20, 5, 5, 5, 5, 20, 20, 20, 20, 5, 5, 5, 5)))
    assert uneven.per_s == pytest.approx(110)
    assert uneven.sd == pytest.approx((27_000 / 4 / 5) ** 0.5)


def test_a_rate_of_a_part_is_that_of_its_rows() -> None:
    rising = seen((10,) * 10 + (20,) * 10)
    assert throughput.rate(rising, to_share=0.5).per_s == pytest.approx(100)
    assert throughput.rate(rising, from_share=0.5).per_s == pytest.approx(200)


def test_a_load_of_a_few_rows_has_a_rate_of_no_accuracy() -> None:
    found = throughput.rate(seen((10,) * 4))
    assert found.per_s == found.sd == pytest.approx(100)


def test_half_an_answer_more_or_less_is_not_known() -> None:
    assert throughput.rate(seen((0,) * 20)).sd == pytest.approx(0.25)
