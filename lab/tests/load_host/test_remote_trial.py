"""A trial whose load comes from a load host: what both engines are told, and the one record of it."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import documents
import pytest
import scripted_engine
import slow_pipe
from crumple import contract, engine
from crumple.contract import ProgressLine, TrialRecord, TrialSpec
from crumple.engine import EndEarly, Engine
from crumple.errors import EngineFailed
from crumple.load_host import remote_trial, where
from crumple.load_host.load_host import LoadHost

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

GOLDEN = Path(__file__).parents[3] / "contract" / "golden" / "record.json"
# How far away a load host is in seconds, each way: far more than two cores make a line late.
AWAY_S = 0.3
# Speaks as `crumple-engine serve` does there, and as `watch` does here, and notes what it is told.
ENGINE = (
    f"#!{sys.executable}"
    + """
import json, sys, time
from pathlib import Path
command, here = sys.argv[1], Path(__file__).parent
if command == "--version":
    sys.exit(0)
record = json.loads(Path("GOLDEN").read_text())
noted = Path("NOTED", command).open("a")
def told():
    for line in sys.stdin:
        line = line.strip()
        if line == "beat":
            continue
        print(line if line[0] != "{" else "spec", file=noted, flush=True)
        if line == "go":
            Path("NOTED", command + "-go").write_text(str(time.monotonic()))
        yield line
def say(*lines, to=sys.stdout):
    for line in lines:
        text = line if isinstance(line, str) else json.dumps(line, separators=(",", ":"))
        print(text, file=to, flush=True)
if command == "watch":
    spec = json.loads(next(lines := told()))
    if spec["label"] == "not watched":
        say({"error": "no such process", "remedy": ""}, to=sys.stderr)
        sys.exit(1)
    for turn in range(len(spec["turns"]) or 1):
        say({"held": turn}, to=sys.stderr)
        for line in lines:
            if line in ("go", "end"):
                break
    for line in lines:
        if line == "end":
            break
    record["probes"]["sockets"]["in_use"] = [5 for _ in record["probes"]["sockets"]["in_use"]]
    say(record["probes"])
else:
    turns = 0
    for line in told():
        if line[0] == "{":
            spec, turns = json.loads(line), 0
            say({"held": 0})
        elif line == "go":
            turns += 1
            say({"measures": 1}, PROGRESS)
            if turns < len(spec["turns"]):
                say({"held": turns})
            elif spec["label"] != "endless":
                line = "end"
        elif line == "facts":
            say({"facts": STATED})
        elif line == "clock":
            say({"clock": {"unix_ns": 1, "monotonic_ns": 1}})
        if line == "end" and turns:
            record["spec"] = spec
            say({"over": 1}, {"record": record}, {"ended": {"code": 0, "why": None}})
"""
)
PROGRESS = (GOLDEN.parent / "progress.json").read_text(encoding="utf-8")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    program = tmp_path / "engine"
    text = ENGINE.replace("GOLDEN", str(GOLDEN)).replace("NOTED", str(tmp_path))
    text = text.replace("PROGRESS", repr(json.loads(PROGRESS))).replace("STATED", repr(scripted_engine.FACTS))
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return program


@contextmanager
def elsewhere(program: Path, away_s: float = 0.0) -> Iterator[Engine]:
    """An engine whose loads come from a load host, which is so far away."""
    words = [
        *(slow_pipe.words(away_s) if away_s else ["env"]),
        "-u",
        "XDG_CACHE_HOME",
        f"HOME={program.parent}",
    ]
    with LoadHost(where.read(shlex.join(words)), program) as host:
        host.is_this_kernel = False  # It stands for another machine.
        yield Engine(program, "0", host)


def spec(**changes: object) -> TrialSpec:
    probe = contract.ProbeSpec(interval_ms=100, server_pid=1, tasks=True, stages=True)
    return documents.spec(probe=probe, **changes)


def told(program: Path, command: str) -> list[str]:
    lines = (program.parent / command).read_text(encoding="utf-8").split()
    return [line for line in lines if line not in ("facts", "clock")]


def test_one_record_has_the_load_from_there_and_the_server_from_here(program: Path) -> None:
    seen: list[ProgressLine] = []
    asked = spec()
    with elsewhere(program) as load:
        record = engine.run(load, asked, seen.append)
    golden = TrialRecord.model_validate_json(GOLDEN.read_text(encoding="utf-8")).probes
    probes = record.probes
    assert (record.spec, record.load_host) == (asked, f"env -u XDG_CACHE_HOME HOME={program.parent}")
    assert (probes.engine, probes.threads, probes.machine) == (golden.engine, golden.threads, golden.machine)
    assert (probes.server, probes.tasks, probes.stages) == (golden.server, golden.tasks, golden.stages)
    assert (probes.server_machine, probes.watch) == (golden.machine, golden.engine)
    assert probes.server_sockets is not None and set(probes.server_sockets.in_use) == {5}
    assert probes.sockets == golden.sockets and probes.sockets_of_server == probes.server_sockets
    assert len(seen) == 1
    assert told(program, "serve") == ["spec", "go"]
    assert told(program, "watch")[:4] == ["spec", "go", "measure", "end"]


def test_what_the_engine_there_is_asked_has_no_server_in_it() -> None:
    there, here = remote_trial.spec_there(spec()), remote_trial.spec_here(spec(cores=(3,)))
    assert there.probe.server_pid is None and not there.probe.tasks and not there.probe.stages
    assert (there.begins, there.silence_s) == ("told", 3.0)
    assert here.probe == spec().probe and here.cores == ()
    assert there.cores == spec().cores


def test_turns_begin_at_both_ends_when_they_are_told(program: Path) -> None:
    turn = contract.TurnSpec(warm_up_s=0.0, measured_s=0.5)
    turns = (turn, turn)
    with elsewhere(program) as load:
        asked = spec(turns=turns, stop=contract.DurationStopSpec(duration_s=1.0))
        with engine.started(load, asked, lambda _: None) as loading:
            loading.turn()
            assert told(program, "serve").count("go") == 1
            loading.turn()
            assert loading.record().load_host
    assert told(program, "watch").count("go") == told(program, "serve").count("go") == 2


@pytest.mark.alone
def test_the_watch_begins_when_the_load_does_and_not_when_it_is_told_to(program: Path) -> None:
    with elsewhere(program, AWAY_S) as load:
        engine.run(load, spec(), lambda _: None)
    here_s, there_s = (float((program.parent / f"{each}-go").read_text()) for each in ("watch", "serve"))
    assert abs(here_s - there_s) < AWAY_S / 3


def test_a_load_is_ended_early_at_both_ends(program: Path) -> None:
    early = EndEarly()
    early()
    with elsewhere(program) as load:
        record = engine.run(load, spec(label="endless"), lambda _: None, early)
    assert record.probes.server_machine is not None
    assert told(program, "serve")[-1] == "end" and "end" in told(program, "watch")


def test_without_a_server_to_watch_nothing_is_started_here(program: Path) -> None:
    unwatched = contract.ProbeSpec(interval_ms=100, server_pid=None)
    with elsewhere(program) as load:
        record = engine.run(load, documents.spec(probe=unwatched), lambda _: None)
    assert record.probes.server_machine is None and record.load_host
    assert not (program.parent / "watch").exists()


def test_a_watch_that_fails_says_why_and_the_load_does_not_begin(program: Path) -> None:
    with elsewhere(program) as load, pytest.raises(EngineFailed, match="no such process"):
        engine.run(load, spec(label="not watched"), lambda _: None)
    assert "go" not in told(program, "serve")
