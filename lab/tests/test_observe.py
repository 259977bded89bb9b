"""What a load's record comes to in a diagnosis: rates and their intervals, light requests that waited."""

from typing import Any

import documents
import pytest
from crumple import contract
from crumple.diagnose import observe

MS = 1_000_000


def record(ok_per_row: tuple[int, ...] = (100,) * 15, **changes: Any) -> contract.TrialRecord:
    """A record whose series has a row of 100 ms for each number of answers."""
    rows = len(ok_per_row)
    plain = documents.record(**changes)
    series = plain.series.model_copy(
        update={
            "at_ns": tuple(100 * MS * row for row in range(rows)),
            "duration_ns": (100 * MS,) * rows,
            "phase": ("measured",) * rows,
            "ok": ok_per_row,
            "failed": (0,) * rows,
        }
    )
    return plain.model_copy(update={"series": series})


def test_the_interval_of_a_rate_is_that_of_the_mean_of_its_batches() -> None:
    # Five batches of 80, 90, 100, 110 and 120 answers in 100 ms: their standard deviation is 158 per second.
    found = observe.many(record(tuple(n for n in (80, 90, 100, 110, 120) for _ in range(3))), None)
    assert found.per_s == pytest.approx(1000)
    half = 2.776 * 158.11 / 5**0.5
    assert found.per_s_high - found.per_s == pytest.approx(half, rel=1e-3)


@pytest.mark.parametrize("rows", [1, 3])
def test_of_a_load_too_short_for_batches_the_rate_is_known_to_no_accuracy(rows: int) -> None:
    found = observe.many(record((100,) * rows), None)
    assert (found.per_s_low, found.per_s_high) == (0.0, pytest.approx(2 * found.per_s))


def test_a_load_without_a_measured_row_has_no_rate() -> None:
    found = observe.many(record(()), None)
    assert (found.per_s, found.per_s_low, found.per_s_high) == (0.0, 0.0, 0.0)


def test_a_light_request_that_is_refused_has_not_waited() -> None:
    times = documents.record().histograms.model_copy(
        update={"response_time": documents.histogram({1 * MS: 60, 30 * MS: 20})}
    )
    seen = record(
        outcomes=documents.outcomes(ok=80, wrong_status=50, refused=10, timeout=3, unfinished=2),
        histograms=times,
    )
    found = observe.beside_of(seen, 8, 5.0 * MS)
    assert (found.light, found.waited) == (85, 25)


def test_without_any_answer_nothing_is_said_of_waiting() -> None:
    none = documents.record().histograms.model_copy(update={"response_time": documents.histogram({})})
    seen = record(outcomes=documents.outcomes(wrong_status=50), histograms=none)
    assert observe.beside_of(seen, 1, 5.0 * MS).light == 0
