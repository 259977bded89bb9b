"""Exports of one load: read back by other programs, and nothing lost on the way."""

import csv
import json
from pathlib import Path

import pytest
import synthetic_load
from crumple import contract
from crumple.documents.result import Result
from crumple.gate.condition import Outcome
from crumple.load.report import load_files
from crumple.record import histogram
from golden_file import alike, as_golden
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

LONGEST_NS = 300_000_000_000


def test_the_series_has_a_row_per_interval_with_units_in_its_names() -> None:
    load = synthetic_load.frozen()
    header, *rows = csv.reader(load_files.series_csv(load).splitlines())
    assert header == [
        "at_ns", "duration_ns", "phase", "ok", "failed", "response_time_p50_ns", "response_time_p99_ns",
        "response_time_max_ns", "scheduled", "engine_late_p99_ns", "connections",
    ]  # fmt: skip
    read = [dict(zip(header, row, strict=True)) for row in rows]
    assert len(read) == 120
    assert sum(int(row["ok"]) for row in read if row["phase"] == "measured") == load.record.outcomes.ok
    # There were no answers then: a missing time is not a zero.
    assert [row["response_time_p99_ns"] for row in read[60:80]] == [""] * 20


def test_requests_have_a_row_each_and_statuses_a_column() -> None:
    load = synthetic_load.several()
    rows = list(csv.DictReader(load_files.requests_csv(load).splitlines()))
    assert [row["request"] for row in rows] == [request.name for request in load.requests]
    orders = rows[1]
    assert (orders["ok"], orders["wrong-status"], orders["reset"]) == ("27000", "2500", "500")
    assert (orders["status_200"], orders["status_201"], orders["status_415"]) == ("0", "27000", "2500")
    assert float(orders["response_time_p50_ns"]) == pytest.approx(4.1e6, rel=0.02)
    # No answer was as expected: a missing time is not a zero.
    assert rows[2]["response_time_p99_ns"] == ""


def test_the_log_names_the_statuses() -> None:
    said = load_files.hdr_log(synthetic_load.failing())
    assert "#[Answers by status: 95,000 × 200, 5,000 × 500]" in said.splitlines()
    assert "#[Answers by status: none]" in load_files.hdr_log(synthetic_load.silent()).splitlines()


def test_the_document_counts_answers_and_keeps_the_first_of_each_kind_whole() -> None:
    read = json.loads(json.dumps(synthetic_load.printed(synthetic_load.failing())))
    assert read["statuses"] == {"200": 95_000, "500": 5_000}
    assert read["failed_share"] == pytest.approx(5_009 / 100_009)
    fault, reset = read["unexpected"]
    assert (fault["outcome"], fault["status"], fault["count"]) == ("wrong-status", 500, 5_000)
    assert fault["first"]["body"] == '{"error":"pool \x1b[31mexhausted"}'
    assert (reset["outcome"], reset["status"], reset["count"]) == ("reset", None, 9)


def test_the_document_has_each_request_and_the_users_without_an_answer() -> None:
    several = synthetic_load.printed(synthetic_load.several())["requests"]
    assert [(each["name"], round(each["share"], 2)) for each in several[:2]] == [
        ("list", 0.6), ("POST /orders", 0.3)
    ]  # fmt: skip
    assert several[1]["statuses"] == {"201": 27_000, "415": 2_500}
    starved = synthetic_load.printed(synthetic_load.starved())
    assert (starved["users"], starved["users_unanswered"]) == (64, 56)
    closing = synthetic_load.printed(synthetic_load.closing())
    assert (closing["connections_closed_by_server"], closing["slow_connects"]) == (4_000, 100)


def read_log(path: Path) -> tuple[HistogramLogReader, list[HdrHistogram]]:
    reader = HistogramLogReader(str(path), HdrHistogram(1, LONGEST_NS, 3))
    intervals = list(iter(reader.get_next_interval_histogram, None))
    reader.close()
    return reader, intervals


def test_another_implementation_reads_the_log(tmp_path: Path) -> None:
    load = synthetic_load.stepped()
    path = tmp_path / "load.hlog"
    path.write_text(load_files.hdr_log(load), encoding="utf-8")
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


def test_a_second_without_answers_is_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    path.write_text(load_files.hdr_log(synthetic_load.frozen()), encoding="utf-8")
    counts = [interval.get_total_count() for interval in read_log(path)[1]]
    assert counts == [1_000] * 4 + [0] * 2 + [1_000] * 4


def test_the_log_says_its_units_and_has_maxima_in_milliseconds() -> None:
    load = synthetic_load.constant()
    lines = load_files.hdr_log(load).splitlines()
    assert "#[Histogram log format version 1.3]" in lines
    assert any("in nanoseconds" in line for line in lines if line.startswith("#"))
    assert load_files.LEGEND in lines
    maxima_ms = [float(line.split(",")[2]) for line in lines if line[0].isdigit()]
    assert max(maxima_ms) == pytest.approx(load.times["response_time"].max_ns / 1e6, rel=1e-3)
    assert [line.split(",")[0] for line in lines if line[0].isdigit()][:2] == ["0.000", "1.000"]


@pytest.mark.parametrize("name", ["constant", "stepped"])
def test_the_document_equals_the_golden_file(name: str) -> None:
    found = synthetic_load.printed(getattr(synthetic_load, name)())
    # The record is tested with the contract, and another zlib may write other bytes.
    for field in {"record", *Result.model_fields} - {"version", "command"}:
        del found[field]
    said = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    alike(json.loads(said), json.loads(as_golden(f"load-{name}.json", said)))


def test_the_document_carries_the_whole_record() -> None:
    unknown = Outcome("p99>1s", "not known", "no answer came")
    load = synthetic_load.silent(fail_if=(unknown,))
    read = json.loads(json.dumps(synthetic_load.printed(load), allow_nan=False))
    assert contract.TrialRecord.model_validate(read["record"]) == load.record
    assert read["fail_if"] == [{"written": "p99>1s", "state": "not known", "why": "no answer came"}]
    assert read["validity"]["word"] == "not-valid"
