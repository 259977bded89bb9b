"""What was read at both ends of the measured phase counts by the time that lies between the two readings."""

from typing import Any

import documents
import pytest
import synthetic_load
from crumple.contract import TrialRecord
from crumple.load.report import load_sentences
from crumple.record import brief_threads, disturbance, engine_limits, invariants, windows
from crumple.record.figures import figures
from crumple.record.validity import assess

# Of two seconds the readings of the server and the engine span this part.
IN_TIME, LATE = 0.96, 0.94


def spanning(part: float, **changes: Any) -> TrialRecord:
    """A record whose windows span that part of the phase, and hold what was used in it."""
    plain = documents.record()
    span_ns = round(part * plain.measured_ns)
    probes = plain.probes.model_copy(
        update={
            "server": of_span(documents.probe(0.9 * part), span_ns),
            "engine": of_span(documents.probe(0.5 * part), span_ns),
            "threads": (of_span(documents.thread(0.45 * part, 0.1 * part), span_ns),),
            "machine": documents.machine(round(3.4 * part * 10**9), span_ns=span_ns),
            **changes,
        }
    )
    times = documents.histogram({3_200_000: 20_000})
    both = {"response_time": times, "time_to_first_byte": times}
    histograms = plain.histograms.model_copy(update=both)
    return plain.model_copy(update={"probes": probes, "histograms": histograms})


def of_span(read: Any, span_ns: int) -> Any:
    return read.model_copy(update={"window": read.window.model_copy(update={"span_ns": span_ns})})


def test_what_is_used_counts_by_the_time_that_the_window_spans() -> None:
    record = spanning(IN_TIME)
    found = figures(documents.stored(record=record))
    assert found is not None and found.cores_busy == pytest.approx(0.9)
    assert found.cpu_per_request_us == pytest.approx(0.9 * 2e6 / 20_000)
    assert engine_limits.engine_share(record) == pytest.approx(0.5)
    assert engine_limits.waited_share(record) == pytest.approx(0.1)
    assert disturbance.disturbance(record).others_share == pytest.approx((3.4 - 2.8) / 4, abs=1e-4)
    assert windows.cores(record, windows.server(record)) == pytest.approx(0.9)
    assert windows.why(record, record.probes.server) == ""


def test_what_spans_another_time_than_the_phase_is_not_known_and_the_reason_is_named() -> None:
    record = spanning(LATE)
    found = figures(documents.stored(record=record))
    assert found is not None
    assert (found.cores_busy, found.cpu_per_request_us, found.cpu_user_us) == (None, None, None)
    # What was most is known all the same.
    assert found.memory_peak_bytes == 10_000_000 and found.threads_max == 2
    why = windows.why(record, record.probes.server).replace("\u202f", " ")
    assert why == (
        "its two readings lie 1.88 s apart, and the measured phase took 2.00 s (limit 5% off): "
        "other work had the cores"
    )
    others = disturbance.disturbance(record)
    # Others may have had what was not read.
    assert others.unread == "" and others.taken_share >= 0.06
    assert "lie 1.88 s apart" in assess(record, placement="separate").problems[0].replace("\u202f", " ")
    load = synthetic_load.load(record, assess(record))
    said = load_sentences.server(load).replace("\u202f", " ")
    assert said == f"could not be read ({why})"


def test_a_window_that_was_not_read_has_the_engines_reason() -> None:
    record = documents.record()
    probe = documents.probe(0.5).model_copy(update={"window": None})
    assert windows.why(record, probe) == "pss_bytes: made up"
    assert (windows.why(record, None), windows.cpu_ns(record, None)) == ("", None)


@pytest.mark.parametrize(("measured_ns", "span_ns"), [(0, 0), (0, 5), (2_000_000_000, 0)])
def test_no_time_is_no_figure(measured_ns: int, span_ns: int) -> None:
    assert windows.in_phase(documents.record(measured_ns=measured_ns), 7, span_ns) is None


def test_a_late_engine_is_not_taken_for_one_that_had_time() -> None:
    thread = of_span(documents.thread(0.99), 10**9)
    assert engine_limits.waited_share(spanning(IN_TIME, threads=(thread,))) == 0.0


def test_more_cpu_time_than_its_cores_had_in_the_window_is_a_fault() -> None:
    record = spanning(1.0, server=of_span(documents.probe(1.2), 10**9))
    broken = invariants.impossible(record, server_cores=(0,))
    assert broken == ("the server used 2.4 s of CPU time, more than its 1 core had in 1 s",)
    assert invariants.impossible(spanning(1.0, server=documents.probe(0.99)), server_cores=(0,)) == ()


def test_threads_are_compared_with_processes_by_their_own_spans() -> None:
    record = spanning(IN_TIME)
    assert brief_threads.why(record) == ""
