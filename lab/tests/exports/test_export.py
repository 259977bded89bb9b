"""`crumple export`: tables, percentile files and history formats, read back by other programs."""

import csv
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import made_results
import made_searches
import made_versus
import polars
import pytest
import stand_ins
import synthetic_load
import synthetic_run
from command_line import Call, caller
from crumple.exports import openmetrics
from crumple.record import histogram
from crumple.record.metrics import METRICS
from crumple.record.validity import Validity
from crumple.results import result_store
from crumple.run import run_file
from crumple.run.store import RunStore
from hdrh.histogram import HdrHistogram
from jsonschema import Draft7Validator
from prometheus_client.openmetrics.parser import text_string_to_metric_families

RUN = "todo-json-quick-20261121-063012"
# As Bencher documents it, and as github-action-benchmark reads it.
BENCHER = {
    "type": "object",
    "patternProperties": {
        ".+": {
            "type": "object",
            "patternProperties": {
                ".+": {
                    "type": "object",
                    "properties": {
                        name: {"type": "number"} for name in ("value", "lower_value", "upper_value")
                    },
                    "required": ["value"],
                    "additionalProperties": False,
                }
            },
        }
    },
}  # fmt: skip
ACTION = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            **{name: {"type": "string"} for name in ("name", "unit", "range", "extra")},
            "value": {"type": "number"},
        },
        "required": ["name", "unit", "value"],
        "additionalProperties": False,
    },
}


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple export …` with a store of its own, in an empty folder."""
    root = stand_ins.project(tmp_path / "project")
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    monkeypatch.setenv("CRUMPLE_RUNS", str(tmp_path / "runs"))
    return caller(monkeypatch, capsys, "export")


def load(name: str = "a", kind: str = "constant", **changes: Any) -> Any:
    made = getattr(synthetic_load, kind)(**changes)
    result_store.keep(made_results.of_load(made), name)
    return made


def run() -> None:
    store = RunStore(Path(os.environ["CRUMPLE_RUNS"]) / RUN)
    run_file.write(store, synthetic_run.run_file())
    for each in synthetic_run.trials():
        store.add(each)


def test_a_load_is_three_tables_in_parquet_and_the_same_in_csv(call: Call) -> None:
    made = load()
    assert call("a", "--to", "a.parquet")[0] == 0 and call("a", "--to", "a.csv")[0] == 0
    frames = {name: polars.read_parquet(f"a.{name}.parquet") for name in ("trials", "series", "quantiles")}
    (trial,) = frames["trials"].to_dicts()
    assert trial["ok"] == made.record.outcomes.ok and trial["validity"] == "valid"
    assert trial["throughput_per_s"] == pytest.approx(made.throughput_per_s)
    assert trial["response_p99_ns"] == made.times["response_time"].quantile_ns[0.99]
    assert trial["canary_p99_ns"] is None
    assert frames["series"]["ok"].to_list() == list(made.record.series.ok)
    times = frames["quantiles"].filter(polars.col("time") == "response_time", polars.col("quantile") == 0.99)
    assert times["value_ns"].to_list() == [made.times["response_time"].quantile_ns[0.99]]
    for name, frame in frames.items():
        rows = list(csv.reader(Path(f"a.{name}.csv").read_text().splitlines()))
        assert rows[0] == frame.columns and len(rows) == len(frame) + 1
        for column, cells in zip(frame.columns, zip(*rows[1:], strict=True), strict=True):
            assert [cell == "" for cell in cells] == [value is None for value in frame[column]]


def test_a_missing_time_is_no_zero(call: Call) -> None:
    load(kind="frozen")
    call("a", "--to", "a.parquet", "--table", "series")
    frame = polars.read_parquet("a.parquet")
    assert frame["response_time_p99_ns"].to_list()[60:80] == [None] * 20
    assert sorted(path.name for path in Path().iterdir()) == ["a.parquet"]


def test_a_run_has_a_row_for_each_trial(call: Call) -> None:
    run()
    assert call(RUN, "--to", "r.parquet")[0] == 0
    trials = polars.read_parquet("r.trials.parquet")
    assert len(trials) == len(synthetic_run.trials())
    assert set(trials["server"]) == {each.trial.server for each in synthetic_run.trials()}
    series = polars.read_parquet("r.series.parquet")
    assert set(series["trial"]) <= set(trials["trial"]) and series["block"].dtype == polars.Int64


def test_a_search_has_its_levels_and_a_diagnosis_its_loads(call: Call) -> None:
    found = made_searches.finding("never")
    result_store.keep(made_results.of_search(found), "f")
    call("f", "--to", "f.parquet")
    levels = polars.read_parquet("f.levels.parquet")
    assert levels["load"].to_list() == [each.load for each in found.found.levels]
    result_store.keep(made_results.of_diagnosis(made_results.diagnosis()), "d")
    call("d", "--to", "d.csv", "--table", "trials")
    (row,) = csv.DictReader(Path("d.csv").read_text().splitlines())
    assert row["trial"] == "beyond" and int(row["ok"]) > 0


@pytest.mark.long
def test_a_comparison_of_versions_has_its_turns_and_its_ratios(call: Call) -> None:
    found = made_versus.result("three")
    result_store.keep(made_results.of_versions(found), "v")
    assert call("v", "--to", "v.parquet")[0] == 0
    turns = polars.read_parquet("v.turns.parquet")
    every = [each for block in found.compared.blocks for each in block.turns]
    assert turns["letter"].to_list() == [each.letter for each in every]
    assert turns["response_p50_ns"].to_list() == [each.at_rate.figures["p50"] for each in every]
    assert turns.filter(polars.col("twin"))["version"].unique().to_list() == [found.labels["A"]]
    call("v", "--to", "v.csv")
    assert len(Path("v.turns.csv").read_text().splitlines()) == len(every) + 1
    ratio = next(each for each in found.compared.ratios if (each.letter, each.figure) == ("C", "p50"))
    _, out, _ = call("v", "--as", "bencher")
    (measure,) = [each["latency-ratio"] for name, each in json.loads(out).items() if name.endswith(" C")]
    assert ratio.interval is not None
    assert measure == {
        "value": ratio.interval.estimate,
        "lower_value": ratio.interval.low,
        "upper_value": ratio.interval.high,
    }
    read = families(call("v", "--as", "openmetrics")[1])
    assert len(read["crumple_version_ratio"].samples) == 3 * len(found.compared.ratios)


def test_a_turn_says_which_of_its_figures_are_only_bounds(call: Call) -> None:
    found = made_versus.bounded(made_versus.result("faster"))
    result_store.keep(made_results.of_versions(found), "v")
    call("v", "--to", "v.parquet")
    turns = polars.read_parquet("v.turns.parquet").select("block", "letter", "at_least").rows()
    assert [row for row in turns if row[2]] == [(1, "B", "response_p99_ns")]


def test_the_ratio_of_two_versions_says_the_confidence_of_its_interval(call: Call) -> None:
    found = made_versus.result("three")
    result_store.keep(made_results.of_versions(found), "v")
    known = {each.interval.confidence for each in found.compared.ratios if each.interval}
    assert known and all(confidence > 0.98 for confidence in known)
    assert call("v", "--to", "v.csv")[0] == 0
    rows = list(csv.DictReader(Path("v.ratios.csv").read_text().splitlines()))
    assert [(row["letter"], row["metric"]) for row in rows[:2]] == [
        ("B", "response_p50"),
        ("B", "response_p90"),
    ]
    assert {float(row["confidence"]) for row in rows} == known
    assert all(float(row["low"]) <= float(row["ratio"]) <= float(row["high"]) for row in rows)
    read = families(call("v", "--as", "openmetrics")[1])
    assert {each.value for each in read["crumple_version_ratio_confidence"].samples} == known
    (less,) = [
        each
        for each in json.loads(call("v", "--as", "github-action-benchmark")[1])
        if each["name"].endswith(f"C: {METRICS['response_p50'].title}, C ÷ A")
    ]
    assert less["range"].endswith(" % interval)")


def test_a_comparison_without_a_block_that_counts_has_ratios_without_numbers(call: Call) -> None:
    result_store.keep(made_results.of_versions(made_versus.result("limited")), "v")
    assert call("v", "--to", "v.csv")[0] == 0
    rows = list(csv.DictReader(Path("v.ratios.csv").read_text().splitlines()))
    assert rows and {(row["answer"], row["ratio"], row["confidence"]) for row in rows} == {
        ("undecided", "", "")
    }


def test_without_polars_one_line_says_what_to_do_and_csv_is_written(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    load()
    monkeypatch.setitem(sys.modules, "polars", None)
    code, out, err = call("a", "--to", "a.parquet")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("polars is needed for this") and "pip install polars; or write CSV" in err
    assert call("a", "--to", "a.csv")[0] == 0


def test_the_percentile_file_is_the_distribution(call: Call) -> None:
    made = load()
    assert call("a", "--to", "a.hgrm")[0] == 0
    lines = Path("a.hgrm").read_text().splitlines()
    assert lines[0].split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"] and lines[1] == ""
    rows = [[float(cell) for cell in line.split()] for line in lines[2:] if not line.startswith("#")]
    stored = made.record.histograms.response_time
    times = histogram.decoded(stored)
    assert rows[-1][1] == 1 and rows[-1][2] == stored.count and len(rows[-1]) == 3
    assert [row[2] for row in rows] == sorted(row[2] for row in rows)
    # Five steps from one halving of the distance to 100 % to the next.
    assert [row[1] for row in rows[:12]] == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.775]
    for value_ms, share, *_ in rows[1:-1]:
        assert value_ms == pytest.approx(times.quantile_ns(share) / 1e6, rel=2e-3, abs=2e-3)
    footer = dict(line[2:].split("=", 1) for line in lines if line.startswith("#[Max"))
    assert float(footer["Max     "].split(",")[0]) == pytest.approx(stored.max_ns / 1e6, abs=1e-3)
    mean, deviation, _, _, buckets, sub_buckets = map(float, re.findall(r"= *([\d.]+)", "".join(lines[-3:])))
    assert mean == pytest.approx(stored.mean_ns / 1e6, abs=1e-3)
    read = HdrHistogram.decode(stored.encoded)
    assert deviation == pytest.approx(read.get_stddev() / 1e6, abs=1e-3)
    assert (buckets, sub_buckets) == (read.bucket_count, read.sub_bucket_count)


def test_a_load_without_an_answer_has_an_empty_percentile_file(call: Call) -> None:
    load(kind="silent")
    assert call("a", "--to", "a.hgrm")[0] == 0
    assert "Total count    =            0]" in Path("a.hgrm").read_text()


@pytest.mark.parametrize("what", ["a", RUN])
def test_bencher_reads_it(call: Call, what: str) -> None:
    load()
    run()
    code, out, _ = call(what, "--as", "bencher")
    said = json.loads(out)
    Draft7Validator(BENCHER).validate(said)
    assert code == 0 and said
    for name, measures in said.items():
        assert len(name) <= 1024 and {"latency", "throughput"} <= set(measures)
        assert all(len(measure) <= 64 for measure in measures)
        for each in measures.values():
            assert each.get("lower_value", 0) <= each["value"] <= each.get("upper_value", float("inf"))
    # A single load has no interval.
    assert any("lower_value" in each for each in next(iter(said.values())).values()) is (what == RUN)


@pytest.mark.parametrize("what", ["a", RUN])
def test_github_action_benchmark_reads_it(call: Call, what: str) -> None:
    load()
    run()
    less, more = (
        json.loads(call(what, "--as", f"github-action-benchmark{end}")[1]) for end in ("", "-bigger")
    )
    for said in (less, more):
        Draft7Validator(ACTION).validate(said)
        names = [each["name"] for each in said]
        assert names and len(names) == len(set(names))
    assert {each["unit"] for each in more} == {"requests/s"}
    assert "requests/s" not in {each["unit"] for each in less}


def test_the_benchmark_has_the_name_that_the_user_gives(call: Call) -> None:
    made = load()
    said = json.loads(call("a", "--as", "bencher", "--benchmark", "GET /orders")[1])
    assert said["GET /orders"]["throughput"]["value"] == pytest.approx(made.throughput_per_s)
    assert said["GET /orders"]["latency"]["value"] == made.times["response_time"].quantile_ns[0.5]


def test_what_is_not_valid_enters_no_history(call: Call) -> None:
    doubted = Validity("disturbed", ("others used 40 %",), ())
    made = synthetic_load.load(synthetic_load.closed().record, doubted)
    result_store.keep(made_results.of_load(made), "a")
    for format_ in ("bencher", "github-action-benchmark"):
        code, out, err = call("a", "--as", format_)
        assert (code, out) == (1, "") and "a is not valid (others used 40 %)" in err
    code, out, _ = call("a", "--as", "openmetrics")
    assert code == 0 and 'validity="disturbed"' in out


def families(text: str) -> dict[str, Any]:
    return {each.name: each for each in text_string_to_metric_families(text)}


def test_prometheus_own_parser_reads_a_load(call: Call) -> None:
    made = load()
    _, out, _ = call("a", "--as", "openmetrics")
    read = families(out)
    ends = {each.labels["outcome"]: each.value for each in read[openmetrics.OUTCOMES].samples}
    assert ends == made.record.outcomes.as_dict()
    samples = read[openmetrics.TIME].samples
    buckets = [each.value for each in samples if each.name.endswith("_bucket")]
    assert buckets == sorted(buckets) and buckets[-1] == made.record.outcomes.ok
    total = next(each.value for each in samples if each.name.endswith("_sum"))
    assert total == pytest.approx(made.record.outcomes.ok * made.times["response_time"].mean_ns / 1e9)
    assert synthetic_load.URL not in out and 'quantile="' not in out


@pytest.mark.long
def test_prometheus_own_parser_reads_a_run_and_a_search(call: Call) -> None:
    run()
    read = families(call(RUN, "--as", "openmetrics")[1])
    servers = {each.labels["server"] for each in read[openmetrics.TIME].samples}
    assert servers <= {each.trial.server for each in synthetic_run.trials()} and len(servers) > 2
    result_store.keep(made_results.of_search(made_searches.finding("never")), "f")
    assert "crumple_result" in families(call("f", "--as", "openmetrics")[1])


@pytest.mark.weighs
@pytest.mark.long
def test_a_breaking_point_is_exported_with_its_interval(call: Call) -> None:
    found = made_searches.finding("found")
    result_store.keep(made_results.of_search(found), "f")
    point = found.found.point
    said = json.loads(call("f", "--as", "bencher")[1])[found.asked]["breaking-point"]
    assert said == {"value": point.estimate, "lower_value": point.low, "upper_value": point.high}
    read = families(call("f", "--as", "openmetrics")[1])[openmetrics.POINT]
    assert {each.labels["bound"]: each.value for each in read.samples}["estimate"] == point.estimate


def test_labels_are_escaped() -> None:
    assert openmetrics._escaped('a\\b"c\nd') == 'a\\\\b\\"c\\nd'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a",), "nothing says what to write; name a file: --to a.parquet, or a format: --as bencher"),
        (
            ("a", "--to", "a.xlsx"),
            "--to a.xlsx: the ending says no format; end it with .parquet, .csv",
        ),
        (("a", "--as", "benchr"), 'no format is called "benchr"; did you mean bencher?'),
        (
            ("a", "--as", "bencher", "--to", "-"),
            "--to -: that names no file; leave it out to write to stdout",
        ),
        (("a", "--to", "no/a.csv"), "--to no/a.csv: there is no folder no; make it first"),
        (("a", "--to", "a.csv", "--table", "serie"), 'a has no table called "serie"; did you mean series?'),
        (("a", "--to", "a.hgrm", "--table", "series"), "--table is for .parquet and .csv; leave it out"),
        (("a", "--to", "a.csv", "--benchmark", "x"), "--benchmark names what a history tool tracks"),
        ((RUN, "--to", "a.hgrm"), f"{RUN} is no load; percentile files are of one load"),
        (("none", "--to", "a.csv"), "no result or run is called none"),
    ],
)
def test_a_mistake_is_one_line_and_exits_with_2(call: Call, arguments: tuple[str, ...], said: str) -> None:
    load()
    run()
    code, out, err = call(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith(said), err
