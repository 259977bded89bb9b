"""What a process writes is bounded, by its lines too, and a process that goes on is left behind in time."""

import time

import pytest
from crumple.load_host import piped_process
from crumple.load_host.piped_process import LINE_COST_BYTES, LINES_MOST_PER_S, Ending, PipedProcess

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

LONG_S = 60.0


def ending_of(lines: int, *, taken: bool = True) -> Ending:
    """How a process ended that wrote so many empty lines; unless they are taken, they wait until then."""
    process = PipedProcess(["sh", "-c", f"yes '' | head -n {lines}"])
    if not taken:
        process._threads[1].join(LONG_S)
    while process.ending is None:
        process.line(time.monotonic() + LONG_S)
    return process.ending


@pytest.mark.parametrize(("times", "flooded"), [(0.75, False), (1.25, True)])
def test_more_lines_than_an_engine_writes_are_a_flood(times: float, flooded: bool) -> None:
    assert ending_of(round(times * LINES_MOST_PER_S)).flooded == flooded


@pytest.mark.parametrize(("times", "flooded"), [(0.75, False), (1.25, True)])
def test_empty_lines_that_wait_take_memory_too(
    monkeypatch: pytest.MonkeyPatch, times: float, flooded: bool
) -> None:
    monkeypatch.setattr(piped_process, "WAITING_MOST_BYTES", 1_000 * LINE_COST_BYTES)
    assert LINE_COST_BYTES == 64 and ending_of(round(times * 1_000), taken=False).flooded == flooded


def test_after_its_time_no_line_is_taken_though_some_wait() -> None:
    process = PipedProcess(["sh", "-c", "echo; echo; exec cat"])
    assert process.line(time.monotonic() + LONG_S) == b""
    assert process.line(time.monotonic()) is None
    process.close()


def test_a_process_is_closed_though_its_child_goes_on_writing() -> None:
    process = PipedProcess(["sh", "-c", "(trap '' TERM; while echo; do sleep 0.01; done) & echo; wait"])
    assert process.line(time.monotonic() + LONG_S) == b""
    process.close()
    # It no longer reads, so that the child is told that nobody does, and ends.
    assert process.ending is not None and not process._threads[1].is_alive()
