"""Figures of one trial: known answers, and absence that never looks like zero."""

from pathlib import Path
from typing import Any

import documents
import pytest
from crumple import histogram
from crumple.contract import TrialRecord
from crumple.errors import NotStored
from crumple.metrics import METRICS, Figures, figures
from test_histogram import STAIRS

GOLDEN = Path(__file__).parents[2] / "contract" / "golden" / "record.json"


def golden(**changes: Any) -> TrialRecord:
    return TrialRecord.model_validate_json(GOLDEN.read_text()).model_copy(update=changes)


def measured(**changes: Any) -> Figures:
    """20,000 ok answers in 2 s, 45 µs of server CPU each; changes to the record."""
    record = documents.record()
    times = record.histograms.response_time.model_copy(update={"encoded": STAIRS, "count": 1007})
    histograms = record.histograms.model_copy(update={"response_time": times})
    record = record.model_copy(update={"histograms": histograms} | changes)
    seen = figures(documents.stored(record=record))
    assert seen is not None
    return seen


def probes(window: dict[str, Any] | None) -> dict[str, Any]:
    record = documents.record()
    server = record.probes.server
    assert server is not None and server.window is not None
    shown = server.window.model_copy(update=window) if window is not None else None
    return {
        "probes": record.probes.model_copy(update={"server": server.model_copy(update={"window": shown})})
    }


def test_the_engines_own_record() -> None:
    record = golden()
    seen = figures(documents.stored(record=record))
    assert seen is not None
    assert seen.throughput_per_s == pytest.approx(record.outcomes.ok / (record.measured_ns / 1e9))
    assert seen.response_mean_ns == record.histograms.response_time.mean_ns
    times = histogram.decode(record.histograms.response_time.encoded)
    assert times.count == record.outcomes.ok
    assert times.mean_ns == pytest.approx(record.histograms.response_time.mean_ns, rel=1e-3)
    assert seen.response_ns[0.5] == times.quantile_ns(0.5)


def test_known_answers() -> None:
    seen = measured()
    assert seen.throughput_per_s == 10_000
    assert seen.failed_share == 0
    assert seen.cpu_per_request_us == pytest.approx(90)
    assert seen.cpu_user_us == seen.cpu_kernel_us == pytest.approx(45)
    assert seen.engine_cpu_per_request_us == pytest.approx(50)
    assert seen.engine_core_share == pytest.approx(0.5)
    assert (seen.processes_max, seen.threads_max) == (1, 2)


def test_identity_comes_from_the_stored_trial() -> None:
    stored = documents.stored("shared/b03/go-nethttp~twin", problems=("late",), record=golden())
    seen = figures(stored)
    assert seen is not None
    assert (seen.experiment, seen.block, seen.server, seen.twin) == ("shared", 3, "go-nethttp", True)
    assert (seen.valid, seen.problems) == (False, ("late",))


def test_a_failed_trial_has_no_figures() -> None:
    assert figures(documents.stored(status="failed", record=None)) is None
    assert figures(documents.stored(status="failed", record=golden())) is None


def test_only_quantiles_with_samples_enough() -> None:
    assert set(measured().response_ns) == {0.5, 0.75, 0.9, 0.99}
    assert METRICS["response_p99"].of(measured()) == pytest.approx(997_000, rel=1e-3)


def test_failures_are_a_share_of_the_requests_that_ended() -> None:
    mixed = documents.outcomes(ok=90, timeout=6, reset=4, unfinished=50, not_sent=7)
    assert measured(outcomes=mixed).failed_share == pytest.approx(0.1)


def test_a_server_that_ends_no_request_has_not_served_them() -> None:
    nothing = measured(outcomes=documents.outcomes(unfinished=32))
    assert nothing.failed_share == 1
    assert nothing.throughput_per_s == 0
    assert nothing.cpu_per_request_us is None


def test_memory_is_proportional_where_that_was_read() -> None:
    assert measured().memory_peak_bytes == 10_000_000
    assert measured(**probes({"pss_max_bytes": 4_000_000})).memory_peak_bytes == 4_000_000


def test_switches_need_both_kinds() -> None:
    assert measured().switches_per_request is None
    read = measured(**probes({"voluntary_switches": 30_000, "involuntary_switches": 10_000}))
    assert read.switches_per_request == 2


def test_what_was_not_read_is_none() -> None:
    unread = measured(**probes(None))
    assert unread.cpu_per_request_us is unread.cpu_user_us is unread.cpu_kernel_us is None
    assert unread.memory_peak_bytes is unread.processes_max is unread.threads_max is None


def test_a_damaged_histogram_names_its_trial() -> None:
    record = documents.record()
    with pytest.raises(NotStored, match="shared/b01/go-nethttp"):
        figures(documents.stored(record=record))


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_reads_a_figure(name: str) -> None:
    value = METRICS[name].of(measured())
    assert isinstance(value, float | int)
    assert METRICS[name].better == ("higher" if name == "throughput" else "lower")
