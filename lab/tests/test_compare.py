"""Two runs against each other: no false alarm, nothing slow overlooked, and what changed in verdicts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic_run
from crumple import cli
from crumple.commands import compare as command
from crumple.errors import NotFound, NotStored
from crumple.report.data import data
from crumple.report.view import view
from crumple.verdict import compare
from crumple.verdict.compare import Comparison, Side
from numpy.random import Generator

SERVERS = ("go", "java", "node", "express")


def side(random: Generator, slower: dict[str, float] | None = None, blocks: int = 5, **changes: Any) -> Side:
    """A run of four servers and a twin; `slower`: server → by what factor."""
    values = {}
    for server, twin in (*((name, False) for name in SERVERS), ("go", True)):
        factor = (slower or {}).get(server, 1.0)
        noise = np.exp(random.normal(0, 0.025, (2, blocks)))
        values["shared", server, twin] = {
            "throughput": tuple(10_000 / factor * noise[0]),
            "response_p50": tuple(1e6 * factor * noise[1]),
        }
    known: dict[str, Any] = {
        "run": "r", "study": "s", "scale": "full", "machine": {"cpu": "c"}, "versions": {}, "answers": {},
        "values": values, "failed": {}, "starts": {("shared", name): (blocks, blocks) for name in SERVERS},
    }  # fmt: skip
    return Side(**(known | changes))


def compared(before: Side, after: Side) -> Comparison:
    return compare.compare(before, after, ("throughput", "response_p50"))


def test_of_runs_that_are_alike_one_in_twenty_at_most_raises_an_alarm() -> None:
    random = np.random.default_rng(1)
    alarms = [bool(compared(side(random), side(random)).slower) for _ in range(150)]
    assert np.mean(alarms) <= 0.05


def test_without_twins_chance_alone_raises_no_more_alarms() -> None:
    random = np.random.default_rng(10)

    def alone() -> Side:
        seen = side(random)
        return replace(seen, values={key: each for key, each in seen.values.items() if not key[2]})

    alarms = [bool(compared(alone(), alone()).slower) for _ in range(200)]
    assert np.mean(alarms) <= 0.07


def test_a_server_that_became_a_fifth_slower_is_found_and_no_other() -> None:
    random = np.random.default_rng(2)
    found = [compared(side(random), side(random, {"node": 1.2})).slower for _ in range(100)]
    assert np.mean([any(each.server == "node" for each in slower) for slower in found]) >= 0.95
    assert np.mean([any(each.server != "node" for each in slower) for slower in found]) <= 0.05


def test_what_became_faster_is_no_alarm() -> None:
    random = np.random.default_rng(3)
    seen = compared(side(random, {"node": 1.5}), side(random))
    assert not seen.slower
    assert {each.server for each in seen.differences if each.change == "faster"} == {"node"}


def test_runs_need_not_have_as_many_starts() -> None:
    random = np.random.default_rng(4)
    seen = compared(side(random, blocks=10), side(random, {"node": 1.3}, blocks=4))
    assert {each.server for each in seen.slower} == {"node"}


def test_one_start_tells_nothing() -> None:
    random = np.random.default_rng(5)
    seen = compared(side(random), side(random, blocks=1))
    assert {each.change for each in seen.differences} == {"not known"}
    assert "5 and 1 starts, of 2 each that it takes" in seen.differences[0].reason


def test_a_server_that_fails_now_is_slower_however_fast() -> None:
    random = np.random.default_rng(6)
    seen = compared(side(random), side(random, {"node": 0.5}, failed={("shared", "node"): 0.2}))
    assert {each.server for each in seen.slower} == {"node"}
    assert "20 % of its requests fail, and did not before" in seen.slower[0].reason


def test_a_server_whose_starts_no_longer_count_is_slower() -> None:
    random = np.random.default_rng(7)
    starts = {("shared", name): (5, 5) for name in SERVERS} | {("shared", "node"): (2, 5)}
    assert {each.server for each in compared(side(random), side(random, starts=starts)).slower} == {"node"}


def test_verdicts_that_changed_are_named() -> None:
    random = np.random.default_rng(8)
    before = side(random, answers={"A": "supported", "B": "supported", "C": "contradicted"})
    after = side(random, answers={"A": "supported", "B": "contradicted", "D": "supported"})
    assert compared(before, after).verdicts == {"B": ("supported", "contradicted")}


def test_what_else_differs_is_a_caution() -> None:
    random = np.random.default_rng(9)
    before = side(random, versions={"go": {"go": "1.25"}})
    after = side(random, study="t", scale="quick", machine={"cpu": "d"}, versions={"go": {"go": "1.26"}},
                 starts={("shared", "go"): (5, 5)})  # fmt: skip
    said = " · ".join(compared(before, after).cautions)
    for part in (
        "two studies, s and t",
        "scale full",
        "cpu was c, is d",
        "go 1.25, now go 1.26",
        "node in shared",
    ):
        assert part in said


def document(factor: float = 1.0) -> dict[str, Any]:
    """The report of the made-up run, its Node server that much slower."""
    written = json.loads(data(view(synthetic_run.run_file(), synthetic_run.trials())))
    for trial in written["trials"]:
        if trial["server"] == "node-http" and trial["figures"]:
            trial["figures"]["throughput"] /= factor
    return dict(written)


def test_a_report_holds_all_that_is_needed() -> None:
    read = compare.side(document(), "report.json")
    assert read.starts["shared", "java-grizzly-worker"] == (2, 3)
    assert len(read.values["shared", "go-nethttp", True]["throughput"]) == 3
    assert read.answers["TJ-3"].startswith("supported")
    same = compare.compare(read, read)
    assert not same.slower and not same.verdicts and not same.cautions


def test_the_command_says_it_and_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept, now = tmp_path / "baseline.json", tmp_path / "now.json"
    kept.write_text(json.dumps(document()))
    now.write_text(json.dumps(document(2.0)))
    assert command.runs(str(kept), str(kept), ["throughput"], False) == 0
    assert "0 slower, 0 faster" in capsys.readouterr().out
    assert command.runs(str(kept), str(now), ["throughput"], True) == 1
    said = json.loads(capsys.readouterr().out)
    slower = [each for each in said["differences"] if each["change"] == "slower"]
    assert {each["server"] for each in slower} == {"node-http"}
    assert said["slower"] == len(slower)
    with pytest.raises(NotFound, match="did you mean throughput"):
        command.runs(str(kept), str(now), ["throghput"], True)


@pytest.mark.parametrize("text", ["{}", "[]", "3", "no json"])
def test_what_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(NotStored, match="crumple report"):
        command.runs(str(file), str(file), [], False)


def test_it_is_a_command() -> None:
    assert "compare" in [each.name or each.callback.__name__ for each in cli.app.registered_commands]  # type: ignore[union-attr]
