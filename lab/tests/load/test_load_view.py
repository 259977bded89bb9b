"""The live view: nothing with --quiet, lines without a terminal, redrawn on a terminal."""

import io
import re

import documents
import pytest
from crumple import contract
from crumple.load.load_live import WINDOW_S, LoadView
from rich.console import Console

URL = "http://127.0.0.1:8080/hello"


def progress(at_s: float, **changes: object) -> contract.ProgressLine:
    plain = contract.ProgressLine(
        at_s=at_s,
        phase="warm-up" if at_s <= 1 else "measured",
        ok=round(20_000 * at_s),
        failed=0,
        throughput_per_s=20_000.0,
        p50_ns=150_000,
        p99_ns=410_000,
        max_ns=3_400_000,
        connections=64,
        left_s=30.0 - at_s,
        statuses={},
        measured=contract.MeasuredSoFar(
            seconds=max(0.0, at_s - 1), scheduled=0, outcomes=documents.outcomes(), slower=()
        ),
    )
    return plain.model_copy(update=changes)


def console(terminal: bool, width: int = 80) -> Console:
    file = io.StringIO()
    return Console(file=file, width=width, height=40, force_terminal=terminal, force_interactive=terminal)


def said(on: Console) -> str:
    file = on.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def watched(
    on: Console, *lines: contract.ProgressLine, spec: contract.TrialSpec | None = None, quiet: bool = False
) -> str:
    with LoadView(spec or documents.spec(), URL, quiet=quiet, console=on) as view:
        for line in lines:
            view.progress(line)
        return said(on)


def test_without_a_terminal_it_is_a_plain_line_every_five_seconds() -> None:
    found = watched(console(terminal=False), *(progress(at_s) for at_s in range(1, 14))).splitlines()
    assert len(found) == 2
    line = "0:05 measured 20,000 /s p50 150 µs p99 410 µs 100,000 ok 0 failed 64 connections 0:25 left"
    assert " ".join(found[0].split()) == line
    assert found[1].startswith(" 0:10")


@pytest.mark.parametrize("terminal", [True, False])
def test_quiet_prints_nothing(terminal: bool) -> None:
    assert watched(console(terminal), *(progress(at_s) for at_s in range(1, 8)), quiet=True) == ""


def test_on_a_terminal_it_is_removed_at_the_end() -> None:
    on = console(terminal=True, width=100)
    found = watched(on, progress(1.0), progress(2.0, failed=12))
    for part in (URL, "0:02, 0:28 left", "20,000 /s", "p50 150 µs", "p99 410 µs", "max 3.40 ms", "12 failed"):
        assert part in found
    assert said(on).endswith("\x1b[2K")


def test_it_is_redrawn_at_most_four_times_a_second() -> None:
    often = watched(console(terminal=True), *(progress(1 + step / 100) for step in range(100)))
    assert 1 <= often.count("throughput") <= 8


@pytest.mark.parametrize("width", [40, 80, 200])
def test_it_fits_the_terminal(width: int) -> None:
    on = console(terminal=True, width=width)
    found = watched(on, *(progress(float(at_s)) for at_s in range(1, 30)))
    frame = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", found.split("\x1b[2K")[-1])
    lines = frame.splitlines()
    assert 10 <= len(lines) <= 18
    assert all(len(line) <= width for line in lines)
    assert any("\u2800" < character <= "\u28ff" for character in frame)


def test_before_the_first_answer_there_is_no_error() -> None:
    silent = {"p50_ns": None, "p99_ns": None, "max_ns": None, "throughput_per_s": 0.0, "ok": 0}
    found = watched(console(terminal=True), *(progress(at_s, **silent) for at_s in (1.0, 2.0)))
    assert "p50 –" in found
    assert "0 ok" in found


def test_for_a_number_of_requests_the_time_left_follows_from_those_left() -> None:
    spec = documents.spec(stop=contract.RequestsStopSpec(requests=100_000, within_s=3_600))
    lines = (progress(1.0, left_s=3_600.0), progress(5.0, ok=60_000, left_s=3_595.0))
    # Of the 60,000 requests 20,000 belonged to the warm-up.
    assert "0:03 left" in watched(console(terminal=False), *lines, spec=spec)


def test_time_left_is_not_guessed() -> None:
    spec = documents.spec(stop=contract.RequestsStopSpec(requests=100_000, within_s=3_600))
    assert "? left" in watched(console(terminal=False), progress(5.0, throughput_per_s=0.0), spec=spec)


def test_a_long_load_shows_its_last_minutes() -> None:
    on = console(terminal=True)
    hours = (progress(at_s, left_s=7_200 - at_s) for at_s in (1.0, WINDOW_S, 3_600.0))
    assert "50:00" in watched(on, *hours)
    assert "1:00:00 " in said(on)


def test_answers_are_counted_by_status() -> None:
    statuses = {200: 39_000, 503: 312}
    found = watched(console(terminal=True, width=100), progress(2.0, failed=312, statuses=statuses))
    assert "39,000 × 200" in found and "312 × 503" in found
    on = console(terminal=False)
    assert "  312 × 503  " in watched(on, progress(5.0, failed=312, statuses=statuses))
    assert "× 200" not in said(on)


def test_an_expected_status_is_no_failure() -> None:
    found = watched(console(terminal=False), progress(5.0, statuses={200: 40_000}))
    assert "×" not in found
