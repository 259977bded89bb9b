"""Figures of one trial: known answers, and missing figures that are never shown as zero."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import documents
import pytest
from crumple.contract import TrialRecord
from crumple.errors import NotStored
from crumple.machine.process_tree import Tree
from crumple.record import histogram
from crumple.record.figures import Figures, figures
from crumple.record.metrics import LATE, METRICS
from crumple.run.store import DatabaseFacts
from crumple.subject.effects import TreeSeen
from made_figures import kneed, ramp
from made_histograms import STAIRS

GOLDEN = Path(__file__).parents[3] / "contract" / "golden" / "record.json"


def golden(**changes: Any) -> TrialRecord:
    return TrialRecord.model_validate_json(GOLDEN.read_text()).model_copy(update=changes)


def measured(**changes: Any) -> Figures:
    """Figures of 20,000 ok answers in 2 s at 45 µs of server CPU each; `changes`: to the record."""
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


def test_figures_of_a_record_of_the_engine() -> None:
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


def test_only_quantiles_with_enough_samples() -> None:
    assert set(measured().response_ns) == {0.5, 0.75, 0.9, 0.99}
    assert METRICS["response_p99"].of(measured()) == pytest.approx(997_000, rel=1e-3)


def test_failures_are_a_share_of_the_requests_that_ended() -> None:
    mixed = documents.outcomes(ok=90, timeout=6, reset=4, unfinished=50, not_sent=7)
    assert measured(outcomes=mixed).failed_share == pytest.approx(0.1)


def test_a_server_without_an_ended_request_failed_all() -> None:
    nothing = measured(outcomes=documents.outcomes(unfinished=32))
    assert nothing.failed_share == 1
    assert nothing.throughput_per_s == 0
    assert nothing.cpu_per_request_us is None


def test_memory_is_proportional_if_that_was_read() -> None:
    assert measured().memory_peak_bytes == 10_000_000
    assert measured(**probes({"pss_max_bytes": 4_000_000})).memory_peak_bytes == 4_000_000


def test_context_switches_need_both_kinds() -> None:
    assert measured().switches_per_request is None
    read = measured(**probes({"voluntary_switches": 30_000, "involuntary_switches": 10_000}))
    assert read.switches_per_request == 2
    assert METRICS["switches"].of(read) == 2


def test_a_reading_that_is_missing_is_none() -> None:
    unread = measured(**probes(None))
    assert unread.cpu_per_request_us is unread.cpu_user_us is unread.cpu_kernel_us is None
    assert unread.memory_peak_bytes is unread.processes_max is unread.threads_max is None


def test_a_damaged_histogram_names_its_trial() -> None:
    times = documents.record().histograms
    damaged = times.response_time.model_copy(update={"encoded": "HISTFAAA"})
    record = documents.record(histograms=times.model_copy(update={"response_time": damaged}))
    with pytest.raises(NotStored, match="shared/b01/go-nethttp"):
        figures(documents.stored(record=record))


HIGHER = ("throughput", "successes", "knee")
# Metrics that are missing in a trial that is not a ramp, has no canary and uses no database.
ABSENT = (
    "cores_busy_to_knee", "memory_per_connection", "knee", "canary_p50", "canary_p90", "canary_p99",
    "database_cpu", "switches",
)  # fmt: skip


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_reads_a_figure_or_returns_none(name: str) -> None:
    value = METRICS[name].of(measured())
    assert (value is None) is (name in ABSENT)
    assert METRICS[name].better == ("higher" if name in HIGHER else "lower")


def value(name: str, **stored: Any) -> float | None:
    """A metric of a stored trial with these parts."""
    record = stored.pop("record", None) or documents.record()
    times = record.histograms.response_time.model_copy(update={"encoded": STAIRS, "count": 1007})
    histograms = record.histograms.model_copy(update={"response_time": times})
    seen = figures(documents.stored(record=record.model_copy(update={"histograms": histograms}), **stored))
    assert seen is not None
    return METRICS[name].of(seen)


def canary_of(answered: dict[int, int], **others: dict[int, int]) -> TrialRecord:
    """A canary with these times (ns → how often); `others`: histograms by their name."""
    times = {name: documents.histogram(each) for name, each in others.items()}
    times["response_time"] = documents.histogram(answered)
    ok, unfinished, timeout = (
        sum(each.values())
        for each in (answered, others.get("unfinished_age", {}), others.get("timed_out", {}))
    )
    return documents.record(
        scheduled=ok + unfinished + timeout,
        outcomes=documents.outcomes(ok=ok, unfinished=unfinished, timeout=timeout),
        histograms=documents.record().histograms.model_copy(update=times),
    )


def test_unanswered_canary_requests_count_as_the_longest() -> None:
    unfinished = canary_of({1_000_000: 25}, unfinished_age={900_000_000: 75})
    assert value("canary_p50", canary=unfinished) == pytest.approx(9e8, rel=1e-3)
    timed_out = canary_of({1_000_000: 25}, timed_out={2_000_000_000: 75})
    assert value("canary_p50", canary=timed_out) == pytest.approx(2e9, rel=1e-3)


def test_a_canary_that_does_not_add_up_has_no_figures() -> None:
    odd = canary_of({1_000_000: 100}).model_copy(update={"scheduled": 120})
    assert value("canary_p50", canary=odd) is None


def test_the_canarys_times_are_not_the_loads() -> None:
    canary = canary_of({5_000_000: 900, 80_000_000: 100})
    assert value("canary_p50", canary=canary) == pytest.approx(5e6, rel=1e-3)
    assert value("canary_p99", canary=canary) == pytest.approx(8e7, rel=1e-3)
    assert value("response_p50", canary=canary) == value("response_p50")


def test_the_databases_cpu_time_is_per_query_and_none_if_unknown() -> None:
    facts = DatabaseFacts(place="private", version="10.11", queries=20_000, cpu_s=1.0)
    assert value("database_cpu", database=facts) == pytest.approx(50)
    assert value("database_cpu", database=facts.model_copy(update={"cpu_s": None})) is None


def test_times_of_the_whole_load() -> None:
    assert value("wall_time") == 2e9
    assert value("start_time") == pytest.approx(1e8)
    assert value("cores_busy") == pytest.approx(0.9)
    assert value("cpu_user_share") == pytest.approx(0.5)


def test_only_timeouts_count_as_timed_out() -> None:
    mixed = documents.outcomes(ok=90, timeout=6, reset=3, connect_timeout=1, unfinished=50)
    assert value("timed_out_share", record=documents.record(outcomes=mixed)) == pytest.approx(0.07)


def sampled(path: str = "/hello") -> TrialRecord:
    """100 connections; the server began with 12 threads and 4 MB, and had at most 112 threads and 14 MB."""
    record = documents.record()
    server = record.probes.server
    assert server is not None and server.window is not None
    read = dict.fromkeys(type(server.samples).model_fields, (0,)) | {"pss_bytes": (None,)}
    samples = server.samples.model_copy(
        update=read | {"rss_bytes": (4_000_000,), "processes": (1,), "threads": (12,)}
    )
    window = server.window.model_copy(update={"rss_max_bytes": 14_000_000, "threads_max": 112})
    probe = server.model_copy(update={"samples": samples, "window": window})
    series = record.series.model_copy(
        update={"connections": (100,), "phase": ("measured",), "duration_ns": (2_000_000_000,)}
    )
    return record.model_copy(
        update={
            "series": series, "spec": documents.spec(requests=(documents.request(path=path),)),
            "probes": record.probes.model_copy(update={"server": probe}),
            "outcomes": documents.outcomes(ok=2_000, unfinished=18_032),
        }
    )  # fmt: skip


def test_memory_per_connection_is_the_growth_with_the_connections() -> None:
    assert value("memory_per_connection", record=sampled()) == 100_000


def test_requests_waiting_at_once_follow_from_the_wait() -> None:
    seen = figures(
        documents.stored(record=sampled("/hello?delay_ms=80").model_copy(update={"histograms": NONE}))
    )
    assert seen is not None
    # 1,000 answers per second, each of which waited 80 ms.
    assert seen.waiting == TreeSeen(Tree(1, 12), Tree(1, 112), 100, 80)
    quick = figures(documents.stored(record=sampled().model_copy(update={"histograms": NONE})))
    assert quick is not None
    assert quick.waiting is None


NONE = documents.record().histograms.model_copy(update={"response_time": documents.histogram({})})


def test_a_ramps_knee_is_a_metric_and_cpu_time_is_read_up_to_it() -> None:
    busy = ramp("php", kneed(340), cores_busy=lambda users: users / 100)[0]
    assert METRICS["knee"].of(busy) == pytest.approx(340, abs=10)
    assert METRICS["cores_busy_to_knee"].of(busy) == pytest.approx(3.4, abs=0.2)
    flat = ramp("node", lambda users: 1e6, cores_busy=lambda users: users / 100)[0]
    assert METRICS["cores_busy_to_knee"].of(flat) == 5


def test_times_that_a_late_engine_has_lengthened_show_no_knee_and_other_figures_count() -> None:
    late = replace(ramp("php", kneed(340), cores_busy=lambda users: users / 100)[0], late=(0.5, 0.99))
    for name in ("knee", "cores_busy_to_knee", "response_mean"):
        assert METRICS[name].of(replace(late, response_mean_ns=None)) is None, name
    assert METRICS["knee"].reason(late) == METRICS["response_mean"].reason(late) == LATE
    assert METRICS["throughput"].of(late) is not None


def test_a_metric_may_be_read_at_a_number_of_connections() -> None:
    trial = ramp("php", kneed(340))[0]
    calm, late = (
        METRICS["response_p50"].while_connected(20, 300),
        METRICS["response_p50"].while_connected(480, 500),
    )
    assert calm.of(trial) == pytest.approx(3.2e8, rel=0.02)
    assert late.of(trial) == pytest.approx(2.6e9, rel=0.1)
    assert calm.while_connected(600, 700).of(trial) is None
    with pytest.raises(ValueError, match="not known along a ramp"):
        METRICS["wall_time"].while_connected(1, 2)


@pytest.mark.parametrize(("processes", "split"), [(36, True), (37, False), (150, False)])
def test_few_clock_ticks_per_process_give_no_split_of_cpu_time(processes: int, split: bool) -> None:
    # 1.8 s of CPU time: five hundredths of a second for each of 36 processes.
    seen = measured(**probes({"processes_max": processes}))
    assert seen.cpu_per_request_us == pytest.approx(90)
    assert ((seen.cpu_user_us is None), (seen.cpu_kernel_us is None)) == (not split, not split)
    for name in ("cpu_user", "cpu_kernel", "cpu_user_share"):
        assert (METRICS[name].of(seen) is None) is not split
        assert ("too few ticks" in METRICS[name].reason(seen)) is not split
    assert METRICS["cpu_per_request"].of(seen) is not None
