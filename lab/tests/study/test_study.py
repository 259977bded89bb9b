"""Studies: all problems of a file are reported at once, each with its key and remedy."""

import copy
from pathlib import Path
from typing import Any

import documents
import pytest
from crumple import parsing
from crumple.contract import DurationStopSpec, RequestsStopSpec
from crumple.errors import FileInvalid, NotFound
from crumple.study import study
from made_studies import FILE, KNOWN, QUICK, SHAPE, changed, problems


def test_a_study_is_read_as_written() -> None:
    demo = study.parse(documents.STUDY, FILE, KNOWN)
    assert demo.name == "demo"
    assert demo.experiments["separate"].placement == "separate"
    assert demo.experiments["shared"].scales["quick"].stop.stop() == DurationStopSpec(duration_s=1)
    assert demo.experiments["separate"].scales["quick"].stop.stop() == RequestsStopSpec(
        requests=1000, within_s=5
    )
    assert [claim.kind for claim in demo.claims] == ["order", "ratio"]


def test_a_studys_snapshot_round_trips() -> None:
    demo = documents.study()
    assert study.Study.model_validate_json(demo.model_dump_json()) == demo


WRONG = [
    ((*SHAPE, "connections"), 0, "experiments.shared.shape.connections", "write 1 or more"),
    ((*SHAPE, "connections"), "32", "experiments.shared.shape.connections", "whole number"),
    ((*SHAPE, "conections"), 32, "experiments.shared.shape.conections", "did you mean connections?"),
    ((*SHAPE, "pause_ms"), -1, "experiments.shared.shape.pause_ms", "write 0 or more"),
    ((*SHAPE, "pause_ms"), float("nan"), "experiments.shared.shape.pause_ms", "finite"),
    ((*SHAPE, "kind"), "cloosed", "experiments.shared.shape", "choose among closed, ramp, open"),
    (SHAPE, {"kind": "ramp", "from": 5, "to": 5}, "experiments.shared.shape", "end it higher"),
    (SHAPE, {"kind": "ramp", "form": 5, "to": 9}, "experiments.shared.shape.form", "did you mean from?"),
    (SHAPE, {"kind": "open"}, "experiments.shared.shape", "write one of them"),
    (SHAPE, {"kind": "open", "rate_per_s": 0}, "experiments.shared.shape.rate_per_s", "above 0"),
    (
        SHAPE,
        {"kind": "open", "steps_per_s": [1, 2], "to_per_s": 3},
        "experiments.shared.shape",
        "add rate_per_s",
    ),
    (
        SHAPE,
        {"kind": "ramp", "to": 500, "over_s": 300},
        "experiments.shared",
        "write stop = { duration_s = 300 }, or give the scale a shape = { over_s = … }",
    ),
    (
        ("experiments", "separate", "shape"),
        {"kind": "ramp", "to": 500},
        "experiments.separate",
        "write stop = { duration_s = … }",
    ),
    (
        (*QUICK, "shape"),
        {"connections": 0},
        "experiments.shared.scales.quick.shape.connections",
        "1 or more",
    ),
    (
        (*QUICK, "shape"),
        {"conections": 1},
        "experiments.shared.scales.quick.shape.conections",
        "did you mean connections?",
    ),
    ((*QUICK, "parameters"), {"delay": 1}, "experiments.shared.scales.quick.parameters.delay", "delay_ms"),
    (
        ("experiments", "shared", "canary"),
        {"workload": "helo"},
        "experiments.shared.canary.workload",
        "did you mean hello?",
    ),
    (
        ("experiments", "shared", "canary"),
        {"workload": "todos"},
        "experiments.shared.servers",
        "choose among hello",
    ),
    (
        ("experiments", "shared", "canary"),
        {"workload": "hello", "parameters": {"dely_ms": 1}},
        "experiments.shared.canary.parameters.dely_ms",
        "did you mean delay_ms?",
    ),
    (("experiments", "shared", "server_cores"), 0, "experiments.shared.server_cores", "1 or more"),
    (
        ("experiments", "shared", "servers"),
        ["go-nethttp[worker=1]"],
        "experiments.shared.servers",
        "did you mean workers?",
    ),
    (
        ("experiments", "shared", "servers"),
        ["go-nethttp[workers=a]"],
        "experiments.shared.servers",
        "workers=4",
    ),
    (
        ("experiments", "shared", "servers"),
        ["go-nethttp[workers=1,keep_alive=0]", "go-nethttp[keep_alive=0,workers=1]"],
        "experiments.shared.servers",
        "twin",
    ),
    (("experiments", "shared", "threads"), 0, "experiments.shared.threads", "write 1 or more"),
    (("experiments", "shared", "threads"), 33, "experiments.shared", "set threads to 32 or fewer"),
    (
        ("experiments", "shared", "placement"),
        "both",
        "experiments.shared.placement",
        "choose among shared, separate",
    ),
    (("experiments", "shared", "servers"), [], "experiments.shared.servers", "at least 1"),
    (
        ("experiments", "shared", "servers"),
        ["go-nethtp"],
        "experiments.shared.servers",
        "did you mean go-nethttp",
    ),
    (
        ("experiments", "shared", "servers"),
        ["java-only-todos"],
        "experiments.shared.servers",
        "choose among todos",
    ),
    (("experiments", "shared", "servers"), ["go-nethttp"] * 2, "experiments.shared.servers", "twin"),
    (("experiments", "shared", "twin"), "node", "experiments.shared.twin", "did you mean node-http"),
    (("experiments", "shared", "workload"), "helo", "experiments.shared.workload", "did you mean hello?"),
    (
        ("experiments", "shared", "parameters"),
        {"delay": 1},
        "experiments.shared.parameters.delay",
        "delay_ms",
    ),
    ((*QUICK, "blocks"), 0, "experiments.shared.scales.quick.blocks", "write 1 or more"),
    (
        (*QUICK, "stop"),
        {"requests": 0, "within_s": 1},
        "experiments.shared.scales.quick.stop.requests",
        "1 or more",
    ),
    ((*QUICK, "stop"), {"requests": 10}, "experiments.shared.scales.quick.stop", "add within_s"),
    ((*QUICK, "stop"), {}, "experiments.shared.scales.quick.stop", "write one of them"),
    ((*QUICK, "stop"), {"duration_s": -1}, "experiments.shared.scales.quick.stop.duration_s", "above 0"),
    ((*QUICK, "warm_up"), {"duration_s": 1, "connections": 99}, "experiments.shared", "32 or fewer"),
    (
        ("experiments", "shared", "scales", "fast"),
        {},
        "experiments.shared.scales.fast",
        "choose among tour, quick, full",
    ),
    (("claims", 0, "experiment"), "shard", "claims.X-1.experiment", "did you mean shared?"),
    (("claims", 0, "metric"), "speed", "claims.X-1.metric", "known: response_p99, throughput"),
    (("claims", 0, "tiers"), [["go-nethttp"], ["nod-http"]], "claims.X-1.tiers", "did you mean node-http"),
    (("claims", 0, "tiers"), [["go-nethttp"]], "claims.X-1.tiers", "at least 2"),
    (("claims", 0, "kind"), "odrer", "claims.X-1", "choose among order, ratio, share"),
    (("claims", 0, "tires"), [], "claims.X-1.tires", "did you mean tiers?"),
    (("claims", 0, "scales"), ["fast"], "claims.X-1.scales.entry 1", "choose among tour, quick"),
    (("claims", 1, "id"), "X-1", "claims.X-1", "one of its own"),
    (("claims", 1, "pairs", 0, "of"), "express", "claims.X-2.pairs.entry 1.of", "did you mean node-express?"),
    (("claims", 1, "pairs", 0, "published"), 0, "claims.X-2.pairs.entry 1.published", "above 0"),
    (("claims", 0, "confidence"), 0.9999, "claims.X-1.confidence", "write 0.999 or less"),
    (("claims", 1, "tolerance"), 1e308, "claims.X-2.tolerance", "write 100 or less"),
    ((*SHAPE, "pause_ms"), 1e308, "experiments.shared.shape.pause_ms", "write 86400000 or less"),
    ((*QUICK, "blocks"), 10**12, "experiments.shared.scales.quick.blocks", "write 1000 or less"),
    ((*QUICK, "least_blocks"), 1, "experiments.shared.scales.quick.least_blocks", "write 2 or more"),
    ((*QUICK, "least_blocks"), 4, "experiments.shared", "set least_blocks to 3 or fewer, or leave it out"),
    (
        (*QUICK, "stop"),
        {"duration_s": 1e12},
        "experiments.shared.scales.quick.stop.duration_s",
        "write 86400 or less",
    ),
    (("answers",), ["X-1", "X-3"], "answers.entry 2", "did you mean"),
    (("answers",), ["X-2", "X-1", "X-2"], "answers.entry 3", "remove it"),
    (("name",), "x", "name", "remove it"),
    # What was found on one machine is no part of a study.
    (("prose",), {"found": "Go is fastest."}, "prose.found", "known: did, differs"),
]


@pytest.mark.parametrize(("path", "value", "key", "remedy"), WRONG, ids=lambda part: str(part)[:50])
def test_a_problem_is_reported_with_key_and_remedy(
    path: tuple[str | int, ...], value: Any, key: str, remedy: str
) -> None:
    all_problems = problems(changed(*path, to=value))
    found = [problem for problem in all_problems if problem.key == key]
    assert found, [str(problem) for problem in all_problems]
    assert any(remedy in problem.remedy for problem in found), [str(problem) for problem in found]
    assert all(str(problem).startswith(f"demo.toml: {problem.key}: ") for problem in found)


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ((*SHAPE, "kind"), "cloosed", 'kind is "cloosed"; choose among closed, ramp, open'),
        (SHAPE, {"connections": 3}, "has no kind; add kind = …"),
        (SHAPE, 3, "is 3; write a table"),
        ((*SHAPE, "connections"), 0, "is 0; write 1 or more"),
        ((*SHAPE, "connections"), "32", 'is "32"; write a whole number, without quotes'),
        ((*SHAPE, "connections"), 1.5, "is 1.5; write a whole number"),
        ((*SHAPE, "pause_ms"), "x" * 99, f'is "{"x" * 59}…; write a number, without quotes'),
        (("experiments", "shared", "servers"), [], "is empty; write at least 1"),
        (("experiments", "shared", "servers"), "php", 'is "php"; write a list: […]'),
        (("claims", 0, "tiers"), [["go-nethttp"]], "has 1; write at least 2"),
        (("claims", 0, "users"), [1], "is missing; add it"),
        (("claims", 0, "users"), [1, 2, 3], "has 3; write 2 at most"),
        (("claims", 0, "text"), "", "is empty; write something"),
        (("claims", 0, "confidence"), True, "is true; write a number, without quotes"),
        (("experiments", "shared", "scales", "fast"), {}, "unknown key; choose among tour, quick, full, "),
    ],
)
def test_problems_are_reported_in_our_own_words(path: tuple[str | int, ...], value: Any, line: str) -> None:
    said = [str(problem) for problem in problems(changed(*path, to=value))]
    assert any(f": {line}" in each for each in said), said


@pytest.mark.parametrize("value", [True, [3], {"a": 3}])
def test_a_value_of_several_types_is_reported_once(value: Any) -> None:
    figure = {
        "id": "X-9",
        "text": "So much.",
        "kind": "figure",
        "cost": "thread",
        "published": value,
    }
    (problem,) = problems({**documents.STUDY, "claims": [figure]})
    assert (problem.key, problem.remedy) == ("claims.X-9.published", "write a number, or text in quotes")


def test_all_problems_are_reported_at_once() -> None:
    written = changed(*SHAPE, "connections", to=0)
    written["experiments"]["shared"]["workload"] = "helo"
    written["claims"][0]["metric"] = "speed"
    del written["question"]
    keys = [problem.key for problem in problems(written)]
    expected = [
        "question",
        "experiments.shared.shape.connections",
        "experiments.shared.workload",
        "claims.X-1.metric",
    ]
    assert sorted(keys) == sorted(expected)


def test_a_missing_key_is_named() -> None:
    (problem,) = problems(changed("experiments", "shared", "twin", drop=True))
    assert (problem.key, problem.message) == ("experiments.shared.twin", "is missing")


@pytest.mark.parametrize("name", ["a__b", "a/b", "a:b", "-a", "a_", "", "a" * 65])
def test_an_experiments_name_must_fit_into_a_trials_id(name: str) -> None:
    written = copy.deepcopy(documents.STUDY)
    written["experiments"][name] = written["experiments"]["shared"]
    (problem,) = problems(written)
    assert problem.key == f"experiments.{name}"
    assert problem.remedy == "write up to 64 letters (a to z) and digits, single - or _ between them"


@pytest.mark.parametrize("value", [True, [1], {"a": 1}])
def test_an_invalid_value_of_a_parameter_is_reported_once(value: Any) -> None:
    (problem,) = problems(changed("experiments", "shared", "parameters", to={"delay_ms": value}))
    assert problem.key == "experiments.shared.parameters.delay_ms"
    assert problem.remedy == "write a number, or text in quotes"


@pytest.mark.parametrize("claim_id", [["X"], {"a": 1}, 3])
def test_an_id_of_another_type_is_reported(claim_id: Any) -> None:
    (problem,) = problems(changed("claims", 0, "id", to=claim_id))
    assert (problem.key, problem.remedy) == ("claims.entry 1.id", "write it in quotes")


@pytest.mark.parametrize("value", [None, 3, "x", [], [3], {"a": 3}])
@pytest.mark.parametrize("key", ["experiments", "claims", "article", "prose"])
def test_no_input_makes_the_reader_fail(key: str, value: Any) -> None:
    if (key, value) not in (("claims", []), ("article", None)):
        assert problems(changed(key, to=value))


def test_invalid_toml_is_reported_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    file.write_text('title = "x"\nquestion = \n')
    with pytest.raises(FileInvalid, match="line 2"):
        parsing.read_toml(file)


def test_a_number_that_python_cannot_read_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(f"blocks = {'9' * 5_000}\n")
    with pytest.raises(FileInvalid, match="thousands of digits; shorten it"):
        parsing.read_toml(file)


def test_an_unknown_study_is_reported_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "todo-json.toml").touch()
    with pytest.raises(NotFound, match="did you mean todo-json"):
        study.load("todo-jsn", tmp_path, KNOWN)
