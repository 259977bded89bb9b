"""Lines of progress of several hosts are added up by their numbers."""

from typing import Any

import documents
from crumple.contract import ProgressLine
from crumple.load_host.summed_lines import SummedLines, summed


def line(at_s: float, ok: int = 0, **changes: Any) -> ProgressLine:
    ended = documents.outcomes(ok=ok)
    made = documents.progress(seconds=at_s, scheduled=2 * ok, outcomes=ended, slower=(ok, 1))
    return made.model_copy(update={"at_s": at_s, **changes})


def test_a_line_comes_when_all_have_spoken_and_sums_what_all_say() -> None:
    lines = SummedLines(3, every_ms=100)
    assert lines.add(0, line(0.1, ok=1)) is None and lines.add(2, line(0.1, ok=3)) is None
    found = lines.add(1, line(0.103, ok=2))
    assert found is not None and (found.at_s, found.ok, found.connections) == (0.1, 6, 3)
    assert found.measured.scheduled == 12 and found.measured.slower == (6, 3)
    assert found.measured.outcomes == documents.outcomes(ok=6) and found.measured.seconds == 0.1


def test_lines_of_one_host_wait_for_those_of_the_others() -> None:
    lines = SummedLines(2, every_ms=1_000)
    assert [lines.add(0, line(at, ok=at)) for at in (1, 2, 3)] == [None, None, None]
    assert [found and found.ok for found in (lines.add(1, line(at, ok=10 * at)) for at in (1, 2, 3))] == [
        11,
        22,
        33,
    ]


def test_a_number_that_one_host_leaves_out_is_left_out() -> None:
    lines = SummedLines(2, every_ms=100)
    assert lines.add(0, line(0.1)) is None and lines.add(0, line(0.2)) is None
    assert lines.add(1, line(0.2, ok=7)) is not None
    assert lines.add(1, line(0.1)) is None, "it is over"
    assert lines.add(1, line(0.3)) is None and lines.add(0, line(0.3)) is not None


def test_what_is_no_sum_is_that_of_the_slowest() -> None:
    one = line(0.5, p50_ns=5, p99_ns=9, max_ns=None, left_s=1.0, throughput_per_s=10.0, statuses={200: 1})
    two = line(0.6, p50_ns=6, p99_ns=8, max_ns=3, left_s=2.0, throughput_per_s=5.0, statuses={200: 2, 503: 1})
    found = summed([one, two])
    assert (found.p50_ns, found.p99_ns, found.max_ns, found.left_s) == (6, 9, 3, 2.0)
    assert (found.throughput_per_s, found.statuses) == (15.0, {200: 3, 503: 1})
    warming = summed([one, two.model_copy(update={"phase": "warm-up"})])
    assert (found.phase, warming.phase) == ("measured", "warm-up")
