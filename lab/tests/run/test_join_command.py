"""`crumple run --shard` and `crumple join` from the outside, with the real engine and a tiny server."""

import json
import re
from pathlib import Path

import pytest
import tiny_runs
from command_line import Call, caller

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

STUDY_TOML = """
title = "Hello"
question = "Does it answer?"
[experiments.one]
title = "One"
servers = ["tiny"]
twin = "tiny"
workload = "hello"
placement = "shared"
shape = { kind = "closed", connections = 2 }
scales.quick = { blocks = 2, warm_up = { duration_s = 0.2 }, stop = { duration_s = 0.3 } }
"""


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple …` in a project of one study of two blocks; return (exit code, stdout, stderr)."""
    root = tiny_runs.project(monkeypatch, tmp_path)
    (root / "studies" / "hello.toml").write_text(STUDY_TOML)
    monkeypatch.chdir(root)
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    monkeypatch.setenv("COLUMNS", "200")
    return caller(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--shard", "3/2", "--seed", "1"),
            "--shard 3/2 is no part of a run; write 2/5 for the second of five",
        ),
        (("--shard", "0/2", "--seed", "1"), "--shard 0/2 is no part of a run"),
        (("--shard", "1/2"), "--shard needs the seed of the whole run; give all shards the same: --seed 1"),
        (("--shard", "1/2", "--seed", "1", "--only", "x"), "--only asks for one trial, --shard for many"),
        (
            ("--shard", "1/3", "--seed", "1"),
            "hello at quick has blocks for 2 shards at most; take --shard 1/2",
        ),
        (("--resume", "x", "--shard", "1/2"), "--resume continues a run as it was begun; leave out --shard"),
    ],
)
def test_a_shard_that_cannot_be_is_refused_before_anything_runs(
    call: Call, arguments: tuple[str, ...], said: str
) -> None:
    study = () if "--resume" in arguments else ("hello",)
    code, out, err = call("run", *study, *arguments)
    assert (code, out) == (2, "") and said in err
    assert not Path("runs").exists()


def test_shards_are_joined_reported_compared_resumed_and_a_page_of_the_site(call: Call) -> None:
    for shard in ("1/2", "2/2"):
        assert call("run", "hello", "--seed", "5", "--shard", shard)[0] == 0
    shards = sorted(map(str, Path("runs").glob("hello-quick-?of2-*")))
    assert len(shards) == 2
    code, _, err = call("join", shards[0])
    assert code == 2 and "is missing" in err and err.count("\n") == 1
    code, out, err = call("join", *shards)
    assert code == 0 and "2 shards joined, stored in" in err
    (name,) = re.findall(r"(hello-quick-2\d+-\d+): 2 shards", err)
    assert f"{name}: scale quick, seed 5" in out
    report = json.loads(call("report", name, "--json")[1])
    assert (report["run"], report["trials_left_out"], len(report["trials"])) == (name, 0, 4)
    assert {each["programs"]["host"] for each in report["trials"]} != {""}
    code, _, err = call("run", "--resume", name)
    assert code == 0 and "nothing was left to run" in err
    assert call("run", "hello", "--seed", "5")[0] == 0
    assert call("compare", name, "last")[0] in (0, 1)
    assert call("report", "--site", "site")[0] == 0
    assert [*Path("site").rglob(f"*{name}*")]


def test_a_condition_of_join_fails_the_job(call: Call) -> None:
    for shard in ("1/2", "2/2"):
        call("run", "hello", "--seed", "5", "--shard", shard)
    shards = [*map(str, Path("runs").glob("hello-quick-?of2-*"))]
    code, out, _ = call("join", *shards, "--fail-if", "skipped<1")
    assert code == 1 and "skipped<1" in out
    with_wrong = call("join", *shards, "--fail-if", "p99>1ms")
    assert with_wrong[0] == 2
