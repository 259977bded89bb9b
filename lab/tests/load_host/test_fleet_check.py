"""`crumple fleet check` says of load hosts whether each is reached, what it is, and what it lacks."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
import real_engine
import scripted_engine
from command_line import Call, caller
from crumple.load_host import fleet_check, way
from crumple.load_host.answer_types import Clock
from crumple.load_host.facts_there import FactsThere
from crumple.machine import facts


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `crumple fleet …`."""
    monkeypatch.setenv("COLUMNS", "200")
    return caller(monkeypatch, capsys, "fleet")


@pytest.mark.starts
@pytest.mark.parallel
def test_hosts_that_are_reached_are_in_a_table_and_others_have_a_line(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real_engine.used(monkeypatch)
    shell = f"env XDG_CACHE_HOME={tmp_path} A_TOKEN=hidden"
    shown = f"env XDG_CACHE_HOME={tmp_path} 'A_TOKEN=…'"
    code, out, _ = call("check", "--from", shell, "--json")
    (found,) = json.loads(out)
    assert code == 0 and found["where"] == shown and found["was_sent"] and not found["is_apart"]
    assert (found["cores"], found["kernel"]) == (len(facts.usable_cores()), os.uname().release)
    assert found["ceiling_per_s"] and found["round_trip_p99_ns"] >= found["round_trip_ns"] > 0
    # Both ends have one clock.
    assert abs(found["clock_ahead_ns"]) <= found["clock_off_most_ns"]

    code, out, err = call("check", "--from", shell, "--from", "false of-a-test")
    assert code == 1 and "was there" in out and "A_TOKEN=…" in out and "hidden" not in out + err
    assert "false of-a-test is not reached: false of-a-test gives no shell: false ended with code 1" in err
    assert "try it: false of-a-test sh -c true" in err


def test_what_is_no_check_is_refused(call: Call) -> None:
    assert call("mend", "--from", "loader")[0] == 2
    assert call("check")[::2] == (2, "no load host is named; write crumple fleet check --from WHERE\n")


def lacking(*, is_apart: bool = True, **stated: Any) -> list[str]:
    stating = FactsThere.model_validate({**scripted_engine.FACTS, **stated})
    return fleet_check.lacking(stating, is_apart=is_apart)


def test_what_is_lacking_is_named_with_its_remedy() -> None:
    assert lacking() == []
    # A thousand connections and what an engine needs beside them.
    assert lacking(open_files_hard=1_128) == [] and lacking(open_files_hard=None) == []
    (files,) = lacking(open_files_hard=1_127)
    assert "open files are too few" in files and "ulimit -Hn 1128" in files
    assert "cpupower" in lacking(governor="powersave")[0]
    assert "local ports are too few" in lacking(port_range=[40_000, 40_999])[0]
    assert "CPU quota" in lacking(cpu_quota_cores=1.5)[0]


def test_a_single_core_is_too_few_only_beside_the_server() -> None:
    one = {"cores": [0], "physical_cores": [[0]]}
    assert lacking(**one) == []
    assert "share the only core" in lacking(**one, is_apart=False)[0]


def test_the_fastest_line_tells_how_far_the_clock_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    now_ns, took_ns = [10**18], iter([9_000, 1_000, 5_000])
    monkeypatch.setattr(time, "time_ns", lambda: now_ns[0])
    monkeypatch.setattr(time, "monotonic_ns", lambda: now_ns[0])

    def clock() -> Clock:
        """What a clock says that is 300 ns ahead; the way there takes a quarter of the time."""
        took = next(took_ns)
        there_ns = now_ns[0] + took // 4 + 300
        now_ns[0] += took
        return Clock(unix_ns=there_ns, monotonic_ns=there_ns + 7_000)

    found = way.measured(clock, 3)
    assert found == way.Way(5_000, 9_000, 50, 500, 7_050)


def reached(where: str, **changes: Any) -> fleet_check.ReachedHost:
    plain = fleet_check.ReachedHost(
        where=where, engine_version="0", was_sent=False, is_apart=True, kernel=None, cpu_model=None, cores=4,
        open_files=1, ports=None, round_trip_ns=2e5, round_trip_p99_ns=1, clock_ahead_ns=0,
        clock_off_most_ns=50_000, ceiling_per_s=9e4, ceiling_at_least=False, ceiling_why="", boot_id=where,
        lacks=(),
    )  # fmt: skip
    return plain.model_copy(update=changes)


def test_what_several_hosts_are_together() -> None:
    far = reached(
        "c", clock_off_most_ns=700_000, ceiling_per_s=1e4, ceiling_at_least=True, ceiling_why="busy"
    )
    found = fleet_check.together([reached("a"), reached("b"), far])
    assert (found.cores, found.one_machine) == (12, ())
    assert found.ceiling.throughput_per_s == 19e4 and found.ceiling.at_least and found.ceiling.why == "busy"
    # The two whose clocks are known worst.
    assert found.start_apart_ns == 750_000
    unread = fleet_check.together([reached("a"), reached("b", ceiling_per_s=None, ceiling_why="gone")])
    assert unread.ceiling.throughput_per_s is None and unread.ceiling.why == "gone"


def test_hosts_that_are_one_machine_are_named_and_their_cores_count_once() -> None:
    found = fleet_check.together([reached("a"), reached("b", boot_id="a", cores=2), reached("c")])
    assert (found.cores, found.one_machine) == (8, (("a", "b"),))
    unknown = fleet_check.together([reached("a", boot_id=None), reached("b", boot_id=None)])
    assert unknown.one_machine == ()


@pytest.mark.starts
@pytest.mark.parallel
def test_two_shells_of_this_machine_are_said_to_be_one(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real_engine.used(monkeypatch)
    shells = [f"env XDG_CACHE_HOME={tmp_path} A={at}" for at in (1, 2)]
    code, _, err = call("check", "--from", shells[0], "--from", shells[1])
    assert code == 0 and "they begin within" in err and "are one machine" in err
