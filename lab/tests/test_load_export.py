"""Exports of one load: read back by other programs, and nothing lost on the way."""

import csv
import json
from pathlib import Path

import pytest
import synthetic_load
from crumple import contract
from crumple.load_report import export as load_export
from crumple.record import histogram
from golden_file import alike, as_golden
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

LONGEST_NS = 300_000_000_000


def test_the_series_has_a_row_per_interval_with_units_in_its_names() -> None:
    load = synthetic_load.frozen()
    header, *rows = csv.reader(load_export.series_csv(load).splitlines())
    assert header == [
        "at_ns", "duration_ns", "phase", "ok", "failed", "response_time_p50_ns", "response_time_p99_ns",
        "response_time_max_ns", "scheduled", "engine_late_p99_ns", "connections",
    ]  # fmt: skip
    read = [dict(zip(header, row, strict=True)) for row in rows]
    assert len(read) == 120
    assert sum(int(row["ok"]) for row in read if row["phase"] == "measured") == load.record.outcomes.ok
    # Nothing was answered then: an absent time is no zero.
    assert [row["response_time_p99_ns"] for row in read[60:80]] == [""] * 20


def read_log(path: Path) -> tuple[HistogramLogReader, list[HdrHistogram]]:
    reader = HistogramLogReader(str(path), HdrHistogram(1, LONGEST_NS, 3))
    intervals = list(iter(reader.get_next_interval_histogram, None))
    reader.close()
    return reader, intervals


def test_another_implementation_reads_the_log(tmp_path: Path) -> None:
    load = synthetic_load.stepped()
    path = tmp_path / "load.hlog"
    path.write_text(load_export.hdr_log(load), encoding="utf-8")
    reader, intervals = read_log(path)
    record = load.record
    began_s = (record.began_unix_ns + record.warm_up_ns) / 1e9
    assert reader.get_start_time_sec() == reader.base_time_sec == pytest.approx(began_s, abs=1e-3)
    assert len(intervals) == 10
    for second, interval in enumerate(intervals):
        assert interval.get_start_time_stamp() == pytest.approx((began_s + second) * 1e3, abs=1)
        assert interval.get_end_time_stamp() - interval.get_start_time_stamp() == pytest.approx(1e3, abs=1)
    together = HdrHistogram(1, LONGEST_NS, 3)
    for interval in intervals:
        together.add(interval)
    whole = histogram.decode(record.histograms.response_time.encoded)
    assert together.get_total_count() == record.outcomes.ok
    assert together.get_value_at_percentile(99) == pytest.approx(whole.quantile_ns(0.99), rel=1e-3)


def test_a_second_without_answers_stands_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    path.write_text(load_export.hdr_log(synthetic_load.frozen()), encoding="utf-8")
    counts = [interval.get_total_count() for interval in read_log(path)[1]]
    assert counts == [1_000] * 4 + [0] * 2 + [1_000] * 4


def test_the_log_says_its_units_and_has_maxima_in_milliseconds() -> None:
    load = synthetic_load.constant()
    lines = load_export.hdr_log(load).splitlines()
    assert "#[Histogram log format version 1.3]" in lines
    assert any("in nanoseconds" in line for line in lines if line.startswith("#"))
    assert load_export.LEGEND in lines
    maxima_ms = [float(line.split(",")[2]) for line in lines if line[0].isdigit()]
    assert max(maxima_ms) == pytest.approx(load.spreads["response_time"].max_ns / 1e6, rel=1e-3)
    assert [line.split(",")[0] for line in lines if line[0].isdigit()][:2] == ["0.000", "1.000"]


@pytest.mark.parametrize("name", ["constant", "stepped"])
def test_the_document_is_as_the_golden_file(name: str) -> None:
    found = load_export.document(getattr(synthetic_load, name)())
    del found["record"]  # it is tested with the contract, and another zlib may write other bytes
    said = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    alike(json.loads(said), json.loads(as_golden(f"load-{name}.json", said)))


def test_the_document_carries_the_whole_record() -> None:
    load = synthetic_load.silent(fail_if=(("p99>1s", None),))
    read = json.loads(json.dumps(load_export.document(load), allow_nan=False))
    assert contract.TrialRecord.model_validate(read["record"]) == load.record
    assert read["fail_if"] == [{"condition": "p99>1s", "holds": None}]
    assert read["validity"]["word"] == "not-valid"
