"""Comparing two runs: no false alarm, no slower server missed, and the verdicts that changed."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import made_shards
import numpy as np
import pytest
import synthetic_run
from crumple import cli
from crumple.commands import compare as command
from crumple.errors import NotFound, NotStored, UsageError
from crumple.record.disturbance import Disturbance
from crumple.run.report.report_document import as_json
from crumple.run.report.view import view
from crumple.run.store import StoredTrial
from crumple.verdict import comparison, sides
from crumple.verdict.comparison import Comparison
from crumple.verdict.sides import Side
from made_comparisons import document
from numpy.random import Generator

SERVERS = ("go", "java", "node", "express")


def side(random: Generator, slower: dict[str, float] | None = None, blocks: int = 5, **changes: Any) -> Side:
    """Return a run of four servers and a twin; `slower`: server → by what factor."""
    values = {}
    for server, twin in (*((name, False) for name in SERVERS), ("go", True)):
        factor = (slower or {}).get(server, 1.0)
        noise = np.exp(random.normal(0, 0.025, (2, blocks)))
        values["shared", server, twin] = {
            "throughput": tuple(10_000 / factor * noise[0]),
            "response_p50": tuple(1e6 * factor * noise[1]),
        }
    known: dict[str, Any] = {
        "run": "r", "study": "s", "scale": "full", "machine": {"cpu_model": "c"}, "versions": {},
        "answers": {}, "values": values, "failed": {("shared", name): (0.0,) * blocks for name in SERVERS},
        "starts": {("shared", name): (blocks, blocks) for name in SERVERS},
    }  # fmt: skip
    return Side(**(known | changes))


def compared(before: Side, after: Side) -> Comparison:
    return comparison.compare(before, after, ("throughput", "response_p50"))


@pytest.mark.long
def test_at_most_one_in_twenty_pairs_of_equal_runs_raises_an_alarm() -> None:
    random = np.random.default_rng(1)
    alarms = [bool(compared(side(random), side(random)).slower) for _ in range(150)]
    assert np.mean(alarms) <= 0.05


@pytest.mark.long
def test_without_twins_equal_runs_raise_no_more_alarms() -> None:
    random = np.random.default_rng(10)

    def alone() -> Side:
        seen = side(random)
        return replace(seen, values={key: each for key, each in seen.values.items() if not key[2]})

    alarms = [bool(compared(alone(), alone()).slower) for _ in range(200)]
    assert np.mean(alarms) <= 0.05


@pytest.mark.long
def test_only_the_server_that_became_a_fifth_slower_is_found() -> None:
    random = np.random.default_rng(2)
    found = [compared(side(random), side(random, {"node": 1.2})).slower for _ in range(100)]
    assert np.mean([any(each.server == "node" for each in slower) for slower in found]) >= 0.95
    assert np.mean([any(each.server != "node" for each in slower) for slower in found]) <= 0.05


def test_a_faster_server_raises_no_alarm() -> None:
    random = np.random.default_rng(3)
    seen = compared(side(random, {"node": 1.5}), side(random))
    assert not seen.slower
    assert {each.server for each in seen.differences if each.change == "faster"} == {"node"}


def test_runs_may_have_different_numbers_of_starts() -> None:
    random = np.random.default_rng(4)
    seen = compared(side(random, blocks=10), side(random, {"node": 1.3}, blocks=4))
    assert {each.server for each in seen.slower} == {"node"}


def test_with_one_start_no_change_is_known() -> None:
    random = np.random.default_rng(5)
    seen = compared(side(random), side(random, blocks=1))
    assert {each.change for each in seen.differences} == {"not known"}
    assert "5 and 1 starts, of 2 each that it takes" in seen.differences[0].reason


def test_a_server_that_now_fails_counts_as_slower_even_if_it_is_fast() -> None:
    random = np.random.default_rng(6)
    seen = compared(side(random), side(random, {"node": 0.5}, failed=failing(0.2, 0.18, 0.15)))
    assert {each.server for each in seen.slower} == {"node"}
    assert seen.slower[0].reason == (
        "in 3 of 3 starts more than 1 % of its requests fail (up to 20 %), and in none did before"
    )


def failing(*shares: float) -> dict[tuple[str, str], tuple[float, ...]]:
    return {("shared", name): (0.0,) * 5 for name in SERVERS} | {("shared", "node"): shares}


def test_one_start_with_slightly_more_failures_is_chance() -> None:
    random = np.random.default_rng(11)
    before, after = side(random, failed=failing(0.0098, 0.0)), side(random, failed=failing(0.0103, 0.0))
    assert not compared(before, after).slower


def test_a_server_that_failed_before_is_neither_slower_nor_faster() -> None:
    """A server that refuses most requests is fast, so refusing fewer and answering slower is no alarm."""
    random = np.random.default_rng(12)
    for before, after in (((0.67,) * 5, (0.0,) * 5), ((0.67,) * 5, (0.7,) * 5)):
        seen = compared(
            side(random, failed=failing(*before)), side(random, {"node": 3.0}, failed=failing(*after))
        )
        assert {each.change for each in seen.differences if each.server == "node"} == {"not known"}
        assert not seen.slower


def test_without_valid_starts_before_no_change_is_known() -> None:
    random = np.random.default_rng(13)
    starts = {("shared", name): (5, 5) for name in SERVERS} | {("shared", "node"): (0, 5)}
    before = side(random, starts=starts)
    before = replace(
        before, failed={place: each for place, each in before.failed.items() if place[1] != "node"},
        values={key: each for key, each in before.values.items() if key[1] != "node"},
    )  # fmt: skip
    assert not compared(before, side(random, failed=failing(0.02, 0.02, 0.02, 0.02, 0.02))).slower


def test_a_server_whose_starts_are_no_longer_valid_counts_as_slower() -> None:
    random = np.random.default_rng(7)
    starts = {("shared", name): (5, 5) for name in SERVERS}
    none, some = starts | {("shared", "node"): (0, 5)}, starts | {("shared", "node"): (3, 5)}
    seen = compared(side(random), side(random, starts=none))
    assert {each.reason for each in seen.slower} == {"0 of 5 starts count, and 5 of 5 did before"}
    # Two starts that do not count may be chance; so may five after two of four did not.
    assert not compared(side(random), side(random, starts=some)).slower
    few = starts | {("shared", "node"): (2, 4)}
    assert not compared(side(random, starts=few), side(random, starts=none)).slower


@pytest.mark.long
def test_occasional_failures_raise_an_alarm_in_at_most_one_pair_of_twenty() -> None:
    """Before and after, each server loses 3 % of its requests in a quarter of its starts."""
    random = np.random.default_rng(14)

    def sometimes() -> Side:
        lossy = {place: tuple(0.03 * (random.uniform(size=5) < 0.25)) for place in failing()}
        return side(random, failed=lossy)

    alarms = [bool(compared(sometimes(), sometimes()).slower) for _ in range(400)]
    assert np.mean(alarms) <= 0.05


def test_an_unchanged_figure_has_an_interval_around_1_and_its_visible_change() -> None:
    random = np.random.default_rng(15)
    for _ in range(20):
        for each in compared(side(random), side(random, {"node": 1.04})).differences:
            assert each.ratio is not None and each.visible is not None
            assert (each.change == "as before") == (each.ratio.low <= 1 <= each.ratio.high)
            assert 1.005 < each.visible < 1.5


def test_with_two_starts_each_only_large_changes_are_visible() -> None:
    random = np.random.default_rng(16)
    seen = compared(side(random, blocks=2), side(random, blocks=2)).differences
    assert np.median([each.visible or 0 for each in seen]) > 1.3


def test_changed_verdicts_are_listed() -> None:
    random = np.random.default_rng(8)
    before = side(random, answers={"A": "supported", "B": "supported", "C": "contradicted"})
    after = side(random, answers={"A": "supported", "B": "contradicted", "D": "supported"})
    assert compared(before, after).verdicts == {"B": ("supported", "contradicted")}


def disturbed(factor: float, slowdown: float, taken_share: float) -> dict[str, Any]:
    """Return the report of a run that others slowed by `factor`, and at most by `slowdown`."""
    taken = Disturbance(
        others_share=taken_share / 2, steal_share=0.0, taken_share=taken_share, slowdown=slowdown
    )

    def slowed(trial: StoredTrial) -> StoredTrial:
        if trial.record is None:
            return trial
        outcomes = trial.record.outcomes.model_copy(update={"ok": int(trial.record.outcomes.ok / factor)})
        record = trial.record.model_copy(update={"outcomes": outcomes})
        return trial.model_copy(update={"record": record, "disturbance": taken})

    trials = [slowed(each) for each in synthetic_run.trials()]
    return dict(json.loads(as_json(view(synthetic_run.run_file(), trials))))


@pytest.mark.usefixtures("real_limits")
def test_what_others_may_have_taken_makes_no_server_slower() -> None:
    before = sides.side(document(), "a")
    seen = comparison.compare(before, sides.side(disturbed(1.3, 1.5, 1 / 3), "b"), ("throughput",))
    assert not seen.slower
    go = next(each for each in seen.differences if (each.server, each.change) == ("go-nethttp", "not known"))
    assert go.reason == comparison.BY_OTHERS
    assert go.ratio is not None and go.ratio.low < 1 / 1.3 < 1 < go.ratio.high
    assert [each for each in seen.cautions if "other programs took up to 33% of the time" in each]
    # More than they may have caused is the server's.
    assert comparison.compare(before, sides.side(disturbed(1.8, 1.1, 0.09), "b"), ("throughput",)).slower
    # The other way round, the run that was slowed may be the first.
    assert not comparison.compare(sides.side(disturbed(1.3, 1.5, 1 / 3), "b"), before, ("throughput",)).slower


@pytest.mark.usefixtures("real_limits")
def test_figures_of_which_more_was_taken_than_was_left_do_not_count() -> None:
    after = sides.side(disturbed(4.0, 5.0, 0.8), "b")
    assert "throughput" not in after.values["shared", "go-nethttp", False]
    assert "memory" in after.values["shared", "go-nethttp", False]
    seen = comparison.compare(sides.side(document(), "a"), after, ("throughput",))
    assert {each.change for each in seen.differences} == {"not known"}
    assert [each for each in seen.cautions if "more than was left" in each]
    rows = disturbed(4.0, 5.0, 0.8)["experiments"][0]["servers"]
    assert {row["summaries"]["throughput"] for row in rows} == {None}
    assert all(row["summaries"]["memory"] for row in rows)


def _on_hosts(hosts: int) -> Side:
    trials = [
        each.model_copy(update={"programs": made_shards.PROGRAMS.model_copy(update={"host": host})})
        for each in synthetic_run.trials()
        for host in [f"host {each.trial.block % hosts}"]
    ]
    written = json.loads(as_json(view(synthetic_run.run_file(), trials)))
    return sides.side(written, "a")


def test_a_run_on_several_hosts_has_one_value_for_each_host() -> None:
    key = ("shared", "go-nethttp", False)
    one, two = _on_hosts(1), _on_hosts(2)
    assert (one.unit, two.unit) == ("start", "host")
    first, second, third = one.values[key]["throughput"]
    assert two.values[key]["throughput"] == pytest.approx((np.sqrt(first * third), second))
    assert two.starts == one.starts and two.run == one.run
    # Beside it, a run on one host has one value, which is taken to vary as hosts do.
    before, after = sides.in_one_unit(one, two)
    assert (before.unit, len(before.values[key]["throughput"])) == ("host", 1)
    assert sides.in_one_unit(one, one) == (one, one)
    seen = comparison.compare(before, after, ("throughput",))
    assert not seen.slower and {each.change for each in seen.differences} <= {"as before", "not known"}


def test_several_runs_are_as_far_off_as_their_trials() -> None:
    both = sides.together([sides.side(disturbed(1.3, 1.5, 1 / 3), name) for name in "ab"])
    low, high = both.off(("shared", "go-nethttp", False), "throughput")
    assert (low, high) == pytest.approx((0.0, np.log(1.5)))


def test_failures_that_others_may_have_caused_are_no_alarm() -> None:
    before = side(np.random.default_rng(6))
    now = replace(before, failed=failing(0.05, 0.05, 0.05, 0.05, 0.05))
    assert compared(before, now).slower
    assert not compared(before, replace(now, certain=failing(0.0, 0.0, 0.0, 0.0, 0.0))).slower


def test_other_differences_between_the_runs_are_cautions() -> None:
    random = np.random.default_rng(9)
    before = side(random, versions={"go": {"go": "1.25"}})
    after = side(
        random, study="t", scale="quick", machine={"cpu_model": "d"}, versions={"go": {"go": "1.26"}},
        starts={("shared", "go"): (5, 5)},
    )  # fmt: skip
    said = " · ".join(compared(before, after).cautions)
    for part in (
        "two studies, s and t",
        "scale full",
        "cpu model was c, is d",
        "go 1.25, now go 1.26",
        "node in shared",
    ):
        assert part in said


def test_a_report_as_json_is_enough_for_a_comparison() -> None:
    read = sides.side(document(), "report.json")
    assert read.starts["shared", "java-grizzly-worker"] == (2, 3)
    assert len(read.values["shared", "go-nethttp", True]["throughput"]) == 3
    assert read.answers["TJ-3"].startswith("supported")
    same = comparison.compare(read, read)
    assert not same.slower and not same.verdicts and not same.cautions


def test_the_command_prints_the_slower_server_and_exits_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, now = tmp_path / "baseline.json", tmp_path / "now.json"
    kept.write_text(json.dumps(document()))
    now.write_text(json.dumps(document(2.0)))
    assert command.runs(str(kept), str(kept), ["throughput"], False) == 0
    said = capsys.readouterr().out
    assert "Within chance: " in said and "Slower: " not in said and "Faster: " not in said
    assert command.runs(str(kept), str(now), ["throughput"], False) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"Slower: node-http throughput [\d,]+ /s → [\d,]+ /s \(2\.\d+ times less, 1\.\d+ – 2\.\d+\)",
        told,
    ), told
    assert command.runs(str(kept), str(now), ["throughput"], True) == 1
    said = json.loads(capsys.readouterr().out)
    slower = [each for each in said["differences"] if each["change"] == "slower"]
    assert {each["server"] for each in slower} == {"node-http"}
    assert said["slower"] == len(slower)
    with pytest.raises(NotFound, match="did you mean throughput"):
        command.runs(str(kept), str(now), ["throghput"], True)


def test_a_change_that_could_have_been_missed_exits_with_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "baseline.json"
    kept.write_text(json.dumps(document()))
    assert command.runs(str(kept), str(kept), ["throughput"], False, "300%") == 0
    assert "would have been seen in four cases of five" in " ".join(capsys.readouterr().out.split())
    assert command.runs(str(kept), str(kept), ["throughput"], False, "0.1%") == 3
    assert "a change of 0.1% could have been missed in" in capsys.readouterr().err
    for nonsense in ("10", "-1%", "0%", "fast"):
        with pytest.raises(UsageError, match="must-see"):
            command.runs(str(kept), str(kept), [], False, nonsense)


def limited(factor: float) -> dict[str, Any]:
    """Return the report with the engine as the limit of each start of Node, which is faster by `factor`."""
    written = document(1 / factor)
    for trial in written["trials"]:
        if trial["server"] == "node-http":
            trial |= {"counts": False, "engine_limited": True}
    return written


def node(before: dict[str, Any], after: dict[str, Any], metric: str = "throughput") -> comparison.Difference:
    """Return the difference for Node on shared cores."""
    seen = comparison.compare(sides.side(before, "a"), sides.side(after, "b"), (metric,))
    return next(
        each for each in seen.differences if (each.experiment, each.server) == ("shared", "node-http")
    )


@pytest.mark.long
def test_starts_limited_by_the_engine_are_lower_bounds_and_raise_no_alarm() -> None:
    faster = node(document(), limited(2.0))
    assert (faster.change, faster.limit) == ("faster", "at least")
    assert faster.reason == "the engine was the limit of starts in the second run"
    assert faster.ratio is not None and 1.5 < faster.ratio.low < 2 and faster.ratio.high == np.inf
    # If the engine was the limit, it is unknown whether Node became slower, or how fast it was before.
    assert node(document(), limited(0.5)).change == "not known"
    assert node(limited(0.5), document()).change == "not known"
    slower = node(limited(2.0), document())
    assert (slower.change, slower.limit) == ("slower", "at most")
    assert node(limited(2.0), limited(1.0)).reason.startswith("the engine was the limit in both runs")
    # Starts limited by the engine count for no figure but throughput.
    assert "0 and 3 starts" in node(limited(2.0), document(), "response_p50").reason


def test_a_figure_limited_by_the_engine_shows_its_bound_and_exits_with_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, now = tmp_path / "baseline.json", tmp_path / "now.json"
    kept.write_text(json.dumps(document()))
    now.write_text(json.dumps(limited(2.0)))
    assert command.runs(str(kept), str(now), ["throughput"], False, "300%") == 3
    said = capsys.readouterr()
    assert "at least 1." in " ".join(said.out.split())
    assert "a change of 300% could have been missed in 2 figures" in said.err
    command.runs(str(kept), str(now), ["throughput"], True)
    told = [each for each in json.loads(capsys.readouterr().out)["differences"] if each["limit"]]
    assert [(each["limit"], each["ratio"]["high"], each["visible"]) for each in told] == [
        ("at least", None, None)
    ] * 2


def test_cautions_are_printed_before_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, now = tmp_path / "baseline.json", tmp_path / "now.json"
    kept.write_text(json.dumps(document()))
    now.write_text(json.dumps(document() | {"scale": "full"}))
    said: list[str] = []
    monkeypatch.setattr(command.output, "say", lambda line: said.append(line))
    monkeypatch.setattr(command.output, "drawn", lambda _: said.append("the table"))
    command.runs(str(kept), str(now), ["throughput"], False)
    assert said[:2] == ["caution: one run is of scale quick, the other of full", "the table"]


def test_no_name_is_broken_at_80_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "baseline.json"
    kept.write_text(json.dumps(document()))
    monkeypatch.setenv("COLUMNS", "80")
    command.runs(str(kept), str(kept), [], False)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "node-express-cluster in separate, throughput, median, p99: more" in " ".join(lines)
    for name in (*synthetic_run.SERVERS, "throughput", "median", "experiment"):
        assert any(name in line.split() for line in lines)
    row = r" node-http +throughput +1\.\d+ \[0\.\d+–1\.\d+\] .*as before$"
    assert any(re.search(row, line) for line in lines)


def test_starts_without_an_answer_count_as_failed() -> None:
    written = document()
    silent = [
        each for each in written["trials"]
        if (each["experiment"], each["server"], each["twin"]) == ("shared", "node-http", False)
    ]  # fmt: skip
    for trial in silent:
        trial["counts"] = False
        trial["figures"] |= {"failed_share": 1.0}
    read = sides.side(written, "report.json")
    assert sorted(read.failed["shared", "node-http"])[-3:] == [1.0, 1.0, 1.0]
    assert {each.server for each in comparison.compare(sides.side(document(), "r"), read).slower} == {
        "node-http"
    }


def test_runs_that_cannot_be_compared_exit_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept, other = tmp_path / "baseline.json", tmp_path / "other.json"
    kept.write_text(json.dumps(document()))
    other.write_text(json.dumps(document() | {"trials": []}))
    assert command.runs(str(kept), str(other), [], False) == 3
    assert "Nothing could be compared." in capsys.readouterr().out
    assert command.runs(str(kept), str(other), [], True) == 3
    assert "nothing could be compared: no server has figures" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{}", "[]", "3", "no json"])
def test_a_file_that_is_no_report_exits_with_2(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(UsageError, match="crumple report"):
        command.runs(str(file), str(file), [], False)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"version": 99}, "version: is 99"),
        ({"machine": "x"}, 'machine: is "x"'),
        ({"versions": None}, "versions: is nothing"),
        ({"trials": [{}]}, "trials.entry 1.experiment: is missing"),
        ({"run": 3}, "run: is 3"),
    ],
)
def test_a_report_with_a_wrong_value_is_refused(changed: dict[str, Any], fault: str) -> None:
    with pytest.raises(NotStored) as caught:
        sides.side(document() | changed, "baseline.json")
    assert str(caught.value).startswith(
        f"baseline.json is not the report of a study ({fault}); write it with"
    )


def test_a_report_without_a_required_part_is_refused() -> None:
    written = document()
    del written["run"]
    with pytest.raises(NotStored, match=r"not the report of a study \(run: is missing\)"):
        sides.side(written, "baseline.json")


@pytest.mark.parametrize("figure", ["fast", float("inf"), float("nan"), [1]])
def test_a_figure_that_is_no_number_is_refused(figure: object) -> None:
    written = document()
    written["trials"][0]["figures"]["throughput"] = figure
    with pytest.raises(NotStored, match="throughput"):
        sides.side(written, "baseline.json")


def test_compare_is_a_command() -> None:
    assert "compare" in cli.group().commands
