"""A trial from several load hosts: what each is told, how they begin and end together, and the one record."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import documents
import pytest
import scripted_engine
from crumple import contract, engine
from crumple.contract import ProgressLine, TrialSpec
from crumple.engine import EndEarly, Engine
from crumple.errors import LoadHostLost
from crumple.load_host import parted_trial, where
from crumple.load_host.load_host import LoadHost
from crumple.load_host.several_hosts import SeveralHosts

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

GOLDEN = Path(__file__).parents[3] / "contract" / "golden"
# How far the clocks of the hosts are ahead, in ns: they count from the boot of each.
AHEAD_NS = (0, 7_000_000_000, 3_000_000_000_000)
# Speaks as `crumple-engine serve` does there, and as `watch` does here, and notes what it is told.
ENGINE = (
    f"#!{sys.executable}"
    + """
import json, os, sys, time
from pathlib import Path
command = sys.argv[1]
if command == "--version":
    sys.exit(0)
home = Path(os.environ["HOME"]) if command == "serve" else Path(__file__).parent
record = json.loads(Path("GOLDEN/record.json").read_text())
progress = json.loads(Path("GOLDEN/progress.json").read_text())
noted = (home / command).open("a")
def told():
    for line in sys.stdin:
        line = line.strip()
        if line != "beat":
            print(line, file=noted, flush=True)
            yield line
def say(*lines, to=sys.stdout):
    for line in lines:
        print(json.dumps(line, separators=(",", ":")), file=to, flush=True)
if command == "watch":
    spec = json.loads(next(lines := told()))
    for turn in range(len(spec["turns"]) or 1):
        say({"held": turn}, to=sys.stderr)
        next(lines)
    for line in lines:
        if line == "end":
            break
    say(record["probes"])
    sys.exit()
turns = 0
for line in told():
    if line[0] == "{":
        spec, turns = json.loads(line), 0
        say({"held": 0})
    elif line.startswith("go"):
        turns += 1
        if turns == 1:
            record["began_monotonic_ns"] = int(line.split()[1]) if " " in line else 0
        say(progress)
        if spec["label"] == "lost" and spec["part"]["index"] == 1:
            os.kill(os.getpid(), 9)
        if turns < len(spec["turns"]):
            say({"held": turns})
        elif spec["label"] not in ("endless", "lost"):
            line = "end"
    elif line == "facts":
        say({"facts": FACTS | {"boot_id": os.environ["HOME"]}})
    elif line == "clock":
        now_ns = time.monotonic_ns() + int(os.environ["AHEAD"])
        say({"clock": {"unix_ns": 1, "monotonic_ns": now_ns}})
    if line == "end" and turns:
        record["spec"] = spec
        say({"over": 1}, {"record": record}, {"ended": {"code": 0, "why": None}})
"""
)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    program = tmp_path / "engine"
    text = ENGINE.replace("GOLDEN", str(GOLDEN)).replace("FACTS", repr(scripted_engine.FACTS))
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return program


@contextmanager
def elsewhere(program: Path, hosts: int = 2) -> Iterator[Engine]:
    """An engine whose loads come from so many hosts, each with a home and a clock of its own."""
    with ExitStack() as stack:
        there = []
        for number in range(hosts):
            home = program.parent / f"home-{number}"
            home.mkdir(exist_ok=True)
            words = ["env", "-u", "XDG_CACHE_HOME", f"HOME={home}", f"AHEAD={AHEAD_NS[number]}"]
            there.append(stack.enter_context(LoadHost(where.read(shlex.join(words)), program)))
        yield Engine(program, "0", SeveralHosts(there))


def spec(**changes: Any) -> TrialSpec:
    probe = contract.ProbeSpec(interval_ms=100, server_pid=1, tasks=True)
    return documents.spec(probe=probe, **changes)


def noted(program: Path, number: int, *, all_: bool = False) -> list[str]:
    lines = (program.parent / f"home-{number}" / "serve").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if all_ or line not in ("facts", "clock")]


def at_ns(line: str) -> int:
    return int(line.removeprefix("go "))


def test_each_is_told_its_part_and_one_instant_by_its_own_clock(program: Path) -> None:
    with elsewhere(program, 3) as load:
        record = engine.run(load, spec(), lambda _: None)
    told = [noted(program, number) for number in range(3)]
    specs = [json.loads(lines[0]) for lines in told]
    assert [each.pop("part") for each in specs] == [{"index": index, "of": 3} for index in range(3)]
    assert specs[0] == specs[1] == specs[2] and specs[0]["begins"] == "told"
    instants = [at_ns(lines[1]) - ahead for lines, ahead in zip(told, AHEAD_NS, strict=True)]
    off_ns = [host.late_off_ns for host in record.load_hosts]
    assert max(instants) - min(instants) <= 2 * max(off_ns)
    here = (program.parent / "watch").read_text(encoding="utf-8").splitlines()
    assert abs(at_ns(here[1]) - instants[0]) <= 2 * max(off_ns) and here[-1] == "end"
    # They began at the instant that they were told.
    assert all(host.late_ns <= 2 * max(off_ns) for host in record.load_hosts)


def test_one_record_has_what_all_have_done(program: Path) -> None:
    seen: list[ProgressLine] = []
    asked = spec()
    with elsewhere(program) as load:
        record = engine.run(load, asked, seen.append)
    golden = contract.TrialRecord.model_validate_json((GOLDEN / "record.json").read_text(encoding="utf-8"))
    assert record.spec == asked and record.load_host == load_name(program)
    assert record.outcomes.ok == 2 * golden.outcomes.ok and len(record.load_hosts) == 2
    assert len(record.probes.threads) == 2 * len(golden.probes.threads)
    assert (record.probes.server, record.probes.tasks) == (golden.probes.server, golden.probes.tasks)
    # All are on this kernel, so there is one machine.
    assert record.probes.watch == golden.probes.engine and record.probes.server_machine is None
    line = ProgressLine.model_validate_json((GOLDEN / "progress.json").read_text(encoding="utf-8"))
    assert [each.ok for each in seen] == [2 * line.ok]


def load_name(program: Path) -> str:
    named = [f"env -u XDG_CACHE_HOME HOME={program.parent}/home-{at} AHEAD={AHEAD_NS[at]}" for at in (0, 1)]
    return " and ".join(named)


def test_each_turn_begins_at_one_instant(program: Path) -> None:
    turn = contract.TurnSpec(warm_up_s=0.0, measured_s=0.5)
    asked = spec(turns=(turn, turn), stop=contract.DurationStopSpec(duration_s=1.0))
    with elsewhere(program) as load, engine.started(load, asked, lambda _: None) as loading:
        loading.turn()
        assert len([line for line in noted(program, 1) if line.startswith("go")]) == 1
        loading.turn()
        record = loading.record()
    for number in (0, 1):
        gone = [line for line in noted(program, number) if line.startswith("go ")]
        assert len(gone) == 2 and at_ns(gone[0]) < at_ns(gone[1])
    off_ns = max(host.late_off_ns for host in record.load_hosts)
    assert max(host.late_ns for host in record.load_hosts) <= 2 * off_ns


def test_a_load_is_ended_early_everywhere(program: Path) -> None:
    early = EndEarly()
    early()
    with elsewhere(program) as load:
        record = engine.run(load, spec(label="endless"), lambda _: None, early)
    assert record.load_hosts and [noted(program, number)[-1] for number in (0, 1)] == ["end", "end"]


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": contract.ClosedShapeSpec(connections=1)},
        {"stop": contract.RequestsStopSpec(requests=5, within_s=1.0)},
        {
            "warm_up": contract.WarmUpSpec(
                connections=None, pauses=True, stop=contract.RequestsStopSpec(requests=5, within_s=1.0)
            )
        },
    ],
)
def test_what_cannot_be_parted_comes_from_the_first_alone(program: Path, changes: dict[str, Any]) -> None:
    assert not parted_trial.can_be_parted(spec(**changes), 2)
    with elsewhere(program) as load:
        record = engine.run(load, spec(**changes), lambda _: None)
    assert record.load_hosts == () and record.load_host == load_name(program).split(" and ")[0]
    assert not (program.parent / "home-1" / "serve").exists()


def test_as_many_connections_as_hosts_are_parted() -> None:
    two = spec(shape=contract.ClosedShapeSpec(connections=2))
    assert parted_trial.can_be_parted(two, 2) and not parted_trial.can_be_parted(two, 3)


def test_a_host_that_is_lost_ends_the_others_and_is_named(program: Path) -> None:
    with elsewhere(program, 3) as load, pytest.raises(LoadHostLost, match=r"^agent-lost: ") as lost:
        engine.run(load, spec(label="lost"), lambda _: None)
    assert "home-1" in lost.value.message and lost.value.how == "client-ended"
    assert lost.value.exit_code == 3
    assert [noted(program, number)[-1] for number in (0, 2)] == ["end", "end"]


def test_an_error_while_it_is_watched_ends_all(program: Path) -> None:
    def fails(_: ProgressLine) -> None:
        raise KeyboardInterrupt

    with elsewhere(program) as load, pytest.raises(KeyboardInterrupt):
        engine.run(load, spec(label="endless"), fails)
    assert [noted(program, number)[-1] for number in (0, 1)] == ["end", "end"]
