"""Comparing stored loads, searches and runs: what is judged, what is not and why, and how it is shown."""

import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import made_comparisons
import made_loads
import made_results
import made_versus
import numpy as np
import own_scripts
import pytest
from command_line import Call, with_store
from crumple import contract
from crumple.record import disturbance
from crumple.record.disturbance import Disturbance
from crumple.record.validity import Validity
from crumple.results import compare_answer, load_trial, result_store
from crumple.results.comparing import ResultComparison
from crumple.stats.estimate import of_two_samples
from crumple.stats.interval import Interval
from crumple.verdict import comparison, points
from crumple.verdict.points import BreakingPoint
from made_changes import MACHINE, keep, load
from synthetic_server import SyntheticServer
from synthetic_versions import LOADS, Machine


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple compare …` with a store of its own; return (exit code, stdout, stderr)."""
    monkeypatch.setenv("COLUMNS", "200")
    return with_store(monkeypatch, capsys, tmp_path, "compare")


def rows(out: str) -> dict[str, dict[str, Any]]:
    return {each["metric"]: each for each in json.loads(out)["differences"]}


def test_two_single_loads_show_their_ratio_and_decide_nothing(call: Call) -> None:
    load("a")
    load("b", 1.5)
    code, out, err = call("a", "b")
    assert code == 3
    assert re.search(r"throughput +10,000 /s +6,670 /s +0\.667 +– +not known", out), out
    *_, answer, why, last = out.splitlines()
    assert answer.startswith("Not judged: throughput 10,000 /s → 6,670 /s, median 4.50 ms → 6.00 ms, p99 13")
    said = f"{why} {last}"
    assert "a single load each does not tell by how much loads differ with nothing changed" in said
    assert out.count("a single load each") == 1 and "compare several results of each, or" in said
    assert said.endswith("in turns: crumple versus URL URL") and "nothing was judged" not in err
    assert "nothing was judged" in call("a", "b", "--json")[2]


def test_a_page_says_when_and_where_both_were_measured(call: Call, tmp_path: Path) -> None:
    load("a")
    load("b", 1.5, machine={**MACHINE, "kernel": "6.9"})
    page = tmp_path / "c.html"
    call("a", "b", "--format", "html", "--out", str(page))
    said = page.read_text()
    assert "http://127.0.0.1:8080/hello" in said and "Http://" not in said
    measured = json.loads(call("a", "b", "--json")[1])["measured"]
    assert [each.split(":")[0] for each in measured] == ["a", "b"] and "Linux 6.9" in measured[1]
    assert all(each in said for each in measured)


def test_of_two_loads_both_values_are_known(call: Call) -> None:
    load("a")
    load("b", 1.5)
    found = rows(call("a", "b", "--json")[1])
    assert found["throughput"]["was"] == pytest.approx(1.5 * found["throughput"]["now"], rel=0.01)
    for each in found.values():
        assert each["now"] / each["was"] == pytest.approx(each["ratio"]["estimate"])


def several(prefix: str, factors: list[float]) -> str:
    for number, factor in enumerate(factors):
        load(f"{prefix}{number}", factor)
    return ",".join(f"{prefix}{number}" for number in range(len(factors)))


NOISE = [1.0, 1.02, 0.98, 1.01, 0.99]


def test_one_load_is_judged_against_several(call: Call) -> None:
    before = several("a", NOISE)
    load("slow", 1.3)
    load("same", 1.005)
    code, out, _ = call(before, "slow", "--json")
    found = rows(out)
    assert code == 1 and {each["change"] for each in found.values()} == {"slower"}
    assert found["response_p50"]["ratio"]["low"] > 1
    code, out, _ = call(before, "same", "--json")
    assert code == 0 and {each["change"] for each in rows(out).values()} == {"as before"}
    assert json.loads(out)["before"] == "5 loads (the last: a4)"


def test_a_fall_is_told_as_a_fall_and_that_nothing_was_restarted_beside_the_word(call: Call) -> None:
    before, after = several("a", NOISE), several("b", [1.3 * factor for factor in NOISE])
    _, out, err = call(before, after)
    said = " ".join(out.split())
    assert said.startswith("What changed from 5 loads (the last: a4) to 5 loads (the last: b4)?")
    fall = r"throughput 10,000 /s → 7,690 /s \(−23 %, −2\d to −2\d\)"
    assert re.search(fall, said) and re.search(
        r"p99 [\d.]+ ms → [\d.]+ ms \(\+2\d %, \+1\d to \+2\d\)", said
    ), said
    assert "slower: but all loads, before and after, were of one start of the server (process" in said
    assert "caution: all loads, before and after, were of one start" in err


def test_results_of_one_name_are_told_apart_by_their_times() -> None:
    at = ("r: 21 November 2026, 06:30 UTC, 2 cores", "r: 22 November 2026, 06:30 UTC", "Linux 6.1")
    alike = ResultComparison("load", comparison.Comparison("r", "r", (), {}, ()), measured=at)
    asked = "What changed from r of 21 November 2026, 06:30 UTC to r of 22 November 2026, 06:30 UTC?"
    assert compare_answer.asked(alike) == asked


def test_what_others_took_from_loads_makes_no_server_slower(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = several("a", NOISE)
    after = several("b", [1.3 * factor for factor in NOISE])
    assert call(before, after)[0] == 1

    def taken(record: contract.TrialRecord) -> Disturbance:
        slowdown = 1.5 if record.outcomes.ok < 25_000 else 1.0
        return Disturbance(others_share=0.2, steal_share=0.0, taken_share=1 / 3, slowdown=slowdown)

    monkeypatch.setattr(load_trial, "disturbance", taken)
    monkeypatch.setattr(disturbance, "MENTIONED", 1.05)
    code, out, err = call(before, after, "--metric", "throughput")
    assert code == 3 and comparison.BY_OTHERS in out
    assert "5 loads (the last: b4), 5 of 5 trials: other programs took up to 33% of the time" in err


def test_that_loads_were_disturbed_is_no_alarm(call: Call) -> None:
    before = several("a", NOISE)
    against = Validity(word="disturbed", problems=("disturbed: others took it",), warnings=())
    for number in range(5):
        load(f"b{number}", validity=against)
    code, out, _ = call(before, ",".join(f"b{number}" for number in range(5)), "--json")
    assert code == 3 and {each["change"] for each in rows(out).values()} == {"not known"}


def test_several_are_judged_against_several_by_tag(call: Call) -> None:
    for number, factor in enumerate(NOISE):
        load(f"a{number}", factor, tags=["main"])
        load(f"b{number}", 1.15 * factor, tags=["branch"])
    code, out, _ = call("tag:main", "tag:branch", "--json")
    assert code == 1 and rows(out)["response_p99"]["change"] == "slower"


@pytest.mark.long
def test_the_latest_k_like_it_are_found_and_no_others(call: Call) -> None:
    several("a", NOISE)
    load("other-url", url="http://127.0.0.1:8080/hello")
    load("other-shape", shape=contract.ClosedShapeSpec(connections=8))
    load("elsewhere", machine={**MACHINE, "cpu_model": "another"})
    keep(made_results.of_diagnosis(made_results.diagnosis()), "diagnosis")
    (result_store.folder() / "damaged.json").write_text("{")
    os.utime(result_store.folder() / "damaged.json", (1e9, 1e9))
    load("now", 1.3)
    code, out, err = call("now", "--last", "6", "--json")
    said = json.loads(out)
    # The URL as it was typed does not matter, what was sent does.
    assert (code, said["before"], said["after"]) == (1, "6 loads (the last: other-url)", "now")
    assert err == "caution: 1 result of another machine left out\n"
    assert json.loads(call("--last", "2", "--json")[1])["before"] == "2 loads (the last: other-url)"
    assert json.loads(call("--json")[1])["before"] == "other-url"
    assert "only 6 earlier results like it, of 9 asked for" in call("--last", "9")[2]


def test_without_an_earlier_result_like_it_that_is_a_sentence(call: Call) -> None:
    load("a", shape=contract.ClosedShapeSpec(connections=8))
    load("b")
    code, out, err = call("b")
    assert (code, out) == (2, "")
    assert err == "no earlier result on this machine asked what b asked; name the two to compare\n"


@pytest.mark.long
def test_on_another_machine_nothing_is_judged_unless_by_cpu(call: Call) -> None:
    before = several("a", NOISE)
    load("kernel", 1.3, machine={**MACHINE, "kernel": "6.9"})
    load("cpu", 1.3, machine={**MACHINE, "cpu_model": "d"})
    code, out, err = call(before, "kernel", "--json")
    found = rows(out)
    assert code == 0 and json.loads(out)["other_machine"] == ["kernel was 6.1, is 6.9"]
    assert "caution: the machine is another: kernel was 6.1, is 6.9" in call(before, "kernel")[2]
    load("far", 1.3, loaded_from=made_loads.FAR.model_dump())
    came = "the load came from the server's machine, comes from ssh loader"
    assert f"caution: the machine is another: {came}" in call(before, "far")[2]
    for metric in ("throughput", "response_p50", "response_p99"):
        assert (found[metric]["change"], found[metric]["reason"]) == ("not known", "the machine is another")
        assert found[metric]["ratio"] is None
    # The made-up server takes 31 µs for each request in all of them.
    assert found["cpu_per_request"]["change"] == "as before"
    code, out, err = call(before, "cpu", "--json")
    assert code == 3 and {each["change"] for each in rows(out).values()} == {"not known"}
    assert "nothing was judged: the machine is another (cpu model was c, is d); measure both on one" in err
    assert call(before, "cpu", "--any-machine")[0] == 1


@pytest.mark.long
@pytest.mark.long
def test_on_another_machine_runs_are_not_judged_either(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    written = made_comparisons.document()
    one.write_text(json.dumps(written))
    other.write_text(
        json.dumps(made_comparisons.document(2.0) | {"machine": {**written["machine"], "cores": 64}})
    )
    assert call(str(one), str(other))[0] == 0
    assert {each["change"] for each in rows(call(str(one), str(other), "--json")[1]).values()} == {
        "not known", "as before",
    }  # fmt: skip
    assert call(str(one), str(other), "--metric", "throughput")[0] == 3
    assert call(str(one), str(other), "--metric", "throughput", "--any-machine")[0] == 1


@pytest.mark.long
def test_several_runs_are_compared_with_one_by_how_much_runs_differ(call: Call, tmp_path: Path) -> None:
    def run(name: str, factor: float) -> str:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(made_comparisons.document(factor)))
        return str(path)

    steady = ",".join(run(f"s{number}", factor) for number, factor in enumerate([1.0, 1.01, 0.99, 1.0]))
    drifting = ",".join(run(f"d{number}", factor) for number, factor in enumerate([1.0, 1.3, 0.8, 1.1]))
    now = run("now", 1.2)

    def changed(before: str) -> set[str]:
        said = json.loads(call(before, now, "--metric", "throughput", "--json")[1])
        return {each["server"] for each in said["differences"] if each["change"] == "slower"}

    assert changed(steady) == {"node-http"} and changed(drifting) == set()


def test_under_another_load_nothing_is_judged(call: Call) -> None:
    before = several("a", NOISE)
    load("more", 1.3, shape=contract.ClosedShapeSpec(connections=64))
    code, out, _ = call(before, "more")
    assert code == 3 and "the load is another: its shape differs" in out


def test_a_load_that_is_not_valid_does_not_count(call: Call) -> None:
    before = several("a", NOISE)
    load("bad", 1.3, validity=Validity("disturbed", ("others used 40 % of the cores",), ()))
    code, out, _ = call(before, "bad")
    assert code == 3 and "no load after that counts has this figure" in out


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({}, ""),
        ({"method": "POST", "body": "{}"}, "the requests are others: method, body"),
        ({"headers": (("Accept-Encoding", "gzip"),)}, "the requests are others: headers"),
        ({"body_file": "large.json"}, "the requests are others: body"),
    ],
)
def test_other_requests_are_named(call: Call, request_: dict[str, Any], said: str) -> None:
    load("a")
    load("b", request=request_)
    _, _, err = call("a", "b")
    assert (f"caution: {said}" in err) if said else ("the requests" not in err)


def test_cautions_name_what_else_differs(call: Call) -> None:
    load("a")
    load("b", url="http://127.0.0.1:9090/", ended_early=True)
    _, _, err = call("a", "b")
    assert "caution: the server is another: http://127.0.0.1:8080/hello, now http://127.0.0.1:9090/" in err
    assert "caution: b ended early" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a", "d"), "results of diagnose and load cannot be compared; name two of a kind"),
        (("d", "d"), "a result of diagnose is not compared; name loads, searches, comparisons or runs"),
        (("a", "x"), "no result or run is called x, and there is no such file"),
        (("a", "b", "--last", "3"), "--last finds the earlier results itself; name only the later one"),
        (("a", "b", "--format", "html"), "a page is written to a file; name it: --out compare.html"),
        (("a", "b", "--format", "htm"), 'no format is called "htm"; did you mean html?'),
        (("a", "b", "--metric", "p99"), 'no metric is called "p99"'),
    ],
)
def test_a_mistake_is_one_line_and_exits_with_2(call: Call, arguments: tuple[str, ...], said: str) -> None:
    load("a")
    load("b")
    keep(made_results.of_diagnosis(made_results.diagnosis()), "d")
    code, out, err = call(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith(said)


def test_markdown_is_a_table_that_no_name_breaks(call: Call, tmp_path: Path) -> None:
    before = several("a", NOISE)
    load("slow", 1.3, url="http://127.0.0.1:8080/a|b_*c*")
    code, out, _ = call(before, "slow", "--format", "md")
    table = [line for line in out.splitlines() if line.startswith("|")]
    assert code == 1 and len(table) == 5
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {7}
    assert all("**slower**" in line for line in table[2:])
    call(before, "slow", "--format", "md", "--out", str(tmp_path / "c.md"))
    assert (tmp_path / "c.md").read_text() == out


@pytest.mark.long
def test_the_page_overlays_the_quantiles_of_both(call: Call, tmp_path: Path) -> None:
    before = several("a", NOISE[:2])
    load("slow", 1.3)
    page = tmp_path / "c.html"
    assert call(before, "slow", "--format", "html", "--out", str(page))[0] in (0, 1, 3)
    said = page.read_text()
    assert "<svg" in said and ">before<" in said and ">after<" in said
    assert "<script" not in own_scripts.without(said) and not re.search(r"(?:src|href)=\"(?!#)", said)


def seen(estimate: float, low: float, high: float, starts: int = 5, **changes: Any) -> BreakingPoint:
    given: dict[str, Any] = {
        "name": "f",
        "point": Interval(estimate, low, high, 0.95, 9),
        "starts": starts,
        "asked": "server tiny",
        "terms": {"the objective": "p99<1s"},
        "machine": MACHINE,
    }
    return BreakingPoint(**given | changes)


def test_breaking_points_are_compared_by_their_intervals() -> None:
    def change(before: BreakingPoint, after: BreakingPoint) -> tuple[str, str]:
        (found,) = points.compare([before], [after]).differences
        return found.change, found.reason

    one = seen(1000, 950, 1050)
    assert change(one, seen(800, 760, 840))[0] == "slower"
    assert change(one, seen(1200, 1150, 1260))[0] == "faster"
    assert change(one, seen(960, 900, 1020))[0] == "as before"
    assert change(one, seen(800, 760, 840, starts=1)) == ("not known", points.ONE_START)
    assert change(one, seen(800, 760, 840, point=None)) == ("not known", "no breaking point was found after")
    other = seen(800, 760, 840, terms={"the objective": "p50<1s"})
    assert change(one, other) == ("not known", "the searches asked different things")
    assert change(one, seen(800, 760, 840, machine={**MACHINE, "cores": 4})) == (
        "not known", "the machine is another",
    )  # fmt: skip


def test_the_ratio_of_two_breaking_points_holds_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    held = 0
    for _ in range(2_000):
        a, b = 1000 * math.exp(random.normal(0, 0.05)), 800 * math.exp(random.normal(0, 0.02))
        ratio = points.ratio_of_two(
            Interval(b, b * math.exp(-1.96 * 0.02), b * math.exp(1.96 * 0.02), 0.95, 5),
            Interval(a, a * math.exp(-1.96 * 0.05), a * math.exp(1.96 * 0.05), 0.95, 5),
        )
        held += ratio.low <= 0.8 <= ratio.high
    assert 0.93 <= held / 2_000 <= 0.97


def test_several_searches_of_a_running_server_are_compared_by_how_much_they_differ() -> None:
    before = [seen(each, each * 0.99, each * 1.01, starts=1) for each in (1000, 1030, 980)]
    (found,) = points.compare(before, [seen(700, 690, 710, starts=1)]).differences
    assert found.change == "slower" and found.visible is not None
    (found,) = points.compare(before, [seen(960, 950, 970, starts=1)]).differences
    assert found.change == "as before"


@pytest.mark.long
@pytest.mark.parametrize("several", [2, 3, 5, 10])
def test_one_value_against_several_alike_is_called_different_in_one_case_of_twenty(several: int) -> None:
    random = np.random.default_rng(several)
    alarms, seen_ = 0, 0
    for _ in range(2_000):
        logs = random.normal(0, 0.05, several + 1)
        values = [math.exp(each) for each in logs]
        estimate = of_two_samples(values[:1], values[1:])
        ratio = estimate.interval(0.95)
        alarms += not ratio.low <= 1 <= ratio.high
        assert (estimate.chance_at(1.0) <= 0.05) == (not ratio.low <= 1 <= ratio.high)
    assert 0.035 <= alarms / 2_000 <= 0.065
    # A change as large as `visible` says is seen in about four cases of five.
    for _ in range(1_000):
        values = [math.exp(each) for each in random.normal(0, 0.05, several + 1)]
        moved = math.exp(0.05 * _reach(several))
        ratio = of_two_samples([values[0] * moved], values[1:]).interval(0.95)
        seen_ += ratio.low > 1
    assert 0.72 <= seen_ / 1_000 <= 0.9


def _reach(several: int) -> float:
    """Of values that differ by one, as logarithms: the change that is seen in four cases of five."""
    spread = np.array([-1.0, 1.0]) if several == 2 else np.resize([-1.0, 0.0, 1.0], several)
    spread = (spread - spread.mean()) / spread.std(ddof=1)
    return math.log(of_two_samples([1.0], list(np.exp(spread))).visible(0.95))


def versions(
    name: str, slower: float = 1.0, *, seed: int = 0, rate_per_s: float = 250.0, **changes: Any
) -> None:
    """Store a comparison of two versions, of which B is slower by a factor than it was at first."""
    there = Machine(
        {"A": SyntheticServer(1_000.0, seed=seed), "B": SyntheticServer(1_500.0 / slower, seed=seed + 1)}
    )
    loads = replace(LOADS, rate_per_s=rate_per_s)
    found = made_versus.result(compared=there.compare(loads), loads=loads)
    keep(made_results.of_versions(found, machine=MACHINE) | changes, name)


@pytest.mark.long
def test_comparisons_of_versions_are_compared_by_the_ratio_to_the_first(call: Call) -> None:
    versions("a")
    versions("b", seed=10)
    versions("c", 1.3, seed=20)
    code, out, _ = call("a", "b", "--json")
    assert code == 0 and {each["change"] for each in rows(out).values()} <= {"as before"}
    assert rows(out)["throughput"]["server"] == "B http://127.0.0.1:2/ ÷ A http://127.0.0.1:1/"
    code, out, _ = call("a", "c", "--json")
    assert code == 1 and rows(out)["throughput"]["change"] == "slower"
    assert rows(out)["throughput"]["ratio"]["estimate"] == pytest.approx(1 / 1.3, rel=0.05)
    assert rows(out)["response_p50"]["change"] == "slower"


@pytest.mark.long
def test_a_comparison_of_versions_is_compared_with_the_last_ones_that_asked_the_same(call: Call) -> None:
    labels = ("A ./x@main (123456789), B ./x", "A ./x@main (abcdef012), B ./x")
    for number, name in enumerate("abcd"):
        versions(name, seed=10 * number, asked=labels[number % 2])
    versions("e", 1.4, seed=50, asked=labels[1])
    code, out, _ = call("e", "--last", "4", "--json")
    assert json.loads(out)["before"] == "4 comparisons (the last: d)"
    assert code == 1 and rows(out)["throughput"]["change"] == "slower"


@pytest.mark.long
@pytest.mark.long
def test_ratios_of_times_at_another_rate_are_not_judged(call: Call) -> None:
    versions("a")
    versions("b", seed=10, rate_per_s=400.0)
    _, out, _ = call("a", "b", "--json")
    assert rows(out)["response_p50"]["change"] == "not known"
    assert rows(out)["response_p50"]["reason"].startswith("the load is another: 250 to 400 requests/s")
    assert rows(out)["throughput"]["change"] == "as before"


def test_versions_that_ran_already_are_a_caution(call: Call) -> None:
    versions("a")
    ran = json.loads((result_store.folder() / "a.json").read_text())
    keep({**ran, "versions": [{**each, "fresh_starts": False} for each in ran["versions"]]}, "b")
    assert "versions ran already: how much starts differ is not part" in call("a", "b")[2]
    assert "ran already" not in call("a", "a")[2]
