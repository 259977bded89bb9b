"""Facts, fitness and the division of cores. Each check fails in one of the tests."""

import dataclasses
import json
import multiprocessing
import os
import re
import resource
import shutil
import socket
import subprocess
import sys

import pytest
from crumple.errors import UsageError
from crumple.machine import alone, capacity
from crumple.machine import facts as machine_facts
from crumple.machine.capacity import CHECKS, MachineFitness

FIT = MachineFitness(
    governor="performance",
    usable_cores=4,
    physical_cores=2,
    cpu_quota_cores=None,
    open_files_soft=1024,
    connections=32,
    ports=28_000,
    memory_available_bytes=4 * 2**30,
)


@pytest.mark.starts
@pytest.mark.parallel
def test_facts_are_data_and_name_what_could_not_be_read():
    facts = capacity.facts()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["cores"] >= 1
    assert facts["memory_bytes"] > 0
    unread = {entry["field"] for entry in facts["unread"]}
    assert unread == {name for name, value in facts.items() if value is None}
    assert all(entry["why"] for entry in facts["unread"])


def test_an_unreadable_fact_is_none_with_a_reason_never_zero(tmp_path):
    missing = tmp_path / "no-such-file"
    read = machine_facts.read({"one": lambda: machine_facts.text(missing), "two": lambda: 2})
    assert read == {
        "one": None,
        "two": 2,
        "unread": [{"field": "one", "why": f"{missing}: No such file or directory"}],
    }


def _texts(value):
    """Every text among facts, however deep; names of facts are ours."""
    if isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)
    elif isinstance(value, str):
        yield value


def _holds(facts, name):
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    return any(word.search(text) for text in _texts(facts))


@pytest.mark.starts
@pytest.mark.parallel
def test_facts_hold_no_name_of_the_machine():
    facts, name = capacity.facts(), socket.gethostname()
    told = {"kernel": [f"Linux {name} 6.1.0-28-amd64 #1 SMP"]}
    assert _holds({**facts, "more": told}, name), "in the middle of a text it would be found"
    assert not _holds(facts, name)


def test_a_fit_machine_has_no_problems():
    assert [check(FIT) for check in CHECKS] == [None] * len(CHECKS)


def test_a_missing_fact_is_no_problem():
    told_nothing = dataclasses.replace(
        FIT,
        governor=None,
        physical_cores=None,
        ports=None,
        memory_available_bytes=None,
    )
    assert not any(check(told_nothing) for check in CHECKS)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"governor": "powersave"}, "the CPU governor is powersave"),
        ({"usable_cores": 1, "physical_cores": 1}, "share the only core"),
        ({"usable_cores": 2, "physical_cores": 1}, "share the only physical core"),
        ({"cpu_quota_cores": 1.5}, "may use 1.5 of 4 cores"),
        ({"connections": 1000}, "1024 open files are too few for 1000 connections"),
        ({"connections": 40_000, "open_files_soft": 65_536}, "28000 local ports are too few"),
        ({"memory_available_bytes": 2**20}, "only 1 MiB"),
    ],
)
def test_each_problem_is_one_line_with_a_remedy(changed, said):
    problems = [line for check in CHECKS if (line := check(dataclasses.replace(FIT, **changed)))]
    assert len(problems) == 1
    assert said in problems[0]
    assert ";" in problems[0]
    assert "\n" not in problems[0]


def test_cpu_time_of_others_is_seen_and_our_own_is_not(monkeypatch):
    ticks = iter(
        [{"user": 0, "idle": 0, "iowait": 0, "steal": 0}, {"user": 60, "idle": 30, "iowait": 0, "steal": 10}]
    )
    monkeypatch.setattr(machine_facts, "cpu_ticks", lambda: next(ticks))
    ours = iter([100, 120])
    monkeypatch.setattr(alone, "_our_ticks", lambda: next(ours))
    assert alone.CpuWatch().shares() == alone.Shares(others=0.4, steal=0.1)


@pytest.mark.starts
@pytest.mark.parallel
def test_cpu_time_of_our_ended_children_is_ours():
    before = alone._our_ticks()
    subprocess.run([sys.executable, "-c", "while __import__('time').process_time() < 0.3: pass"], check=True)
    assert alone._our_ticks() - before >= 0.2 * os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ((0.5, 0.0), "other programs use 50% of the CPU"),
        ((0.0, 0.1), "the hypervisor takes 10% of the CPU time"),
        ((0.14, 0.04), ""),
        ((None, None), ""),
    ],
)
def test_who_uses_the_machine_is_said(monkeypatch, shares, said):
    monkeypatch.setattr(alone, "LOOK_S", 0.0)
    monkeypatch.setattr(alone.CpuWatch, "shares", lambda _: alone.Shares(*shares))
    assert alone.look() == said


def test_fitness_describes_the_present():
    fitness = capacity.fitness(connections=10**9)
    assert set(fitness.facts) >= {"load_average", "memory_available_bytes"}
    assert any("open files" in problem for problem in fitness.problems)


@pytest.mark.parametrize(
    ("cores", "wanted", "physical", "given"),
    [
        ((0, 1), 1, [[0], [1]], (0,)),
        ((0, 1, 2, 3), 2, [[0, 1], [2, 3]], (0, 2)),
        ((0, 1, 2, 3), 3, [[0, 1], [2, 3]], (0, 1, 2)),
        ((0, 1), 2, [[0, 1], [2, 3]], (0, 1)),
    ],
)
def test_chosen_cores_are_on_different_physical_cores_first(cores, wanted, physical, given):
    assert capacity.fewer(cores, wanted, physical) == given


def test_asking_for_more_cores_than_exist_is_an_error():
    with pytest.raises(UsageError, match="server_cores = 3, and 2 of this machine's cores may be the server"):
        capacity.fewer((0, 1), 3, [[0], [1]])


@pytest.mark.parametrize(
    ("placement", "threads", "physical", "engine", "server"),
    [
        ("shared", 1, [[0], [1]], (), (0, 1)),
        ("shared", 1, [[0]], (), (0,)),
        ("separate", 1, [[0], [1]], (1,), (0,)),
        ("separate", 1, [[0]], (0,), (0,)),
        ("separate", 1, [[0, 1]], (1,), (0,)),
        ("separate", 1, [[0, 2], [1, 3]], (1,), (0, 2)),
        ("separate", 2, [[0, 4], [1, 5], [2, 6], [3, 7]], (2, 3), (0, 1, 4, 5)),
        ("separate", 4, [[0], [1]], (1,), (0,)),
    ],
)
def test_cores_are_divided_along_physical_cores(placement, threads, physical, engine, server):
    assert capacity.divide(placement, threads, physical) == capacity.Cores(engine, server)


@pytest.mark.starts
@pytest.mark.parallel
def test_the_repository_around_an_installed_lab_is_not_its_checkout(tmp_path, monkeypatch):
    if shutil.which("git") is None:
        pytest.skip("needs git")
    file = tmp_path / "facts.py"
    file.touch()
    monkeypatch.setattr(machine_facts, "__file__", str(file))
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "somebody's work"], check=True)
    with pytest.raises(machine_facts.UnreadError, match="not a git checkout"):
        machine_facts.commit()
    subprocess.run([*git, "add", file.name], check=True)
    assert machine_facts.commit().endswith("+changes")


def test_the_file_system_of_scratch_files(tmp_path, monkeypatch):
    device = tmp_path.stat().st_dev
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "21 1 0:21 / /proc rw - proc proc rw\n"
        f"28 1 {os.major(device)}:{os.minor(device)} / /tmp rw,relatime shared:1 - xfs /dev/root rw\n"
    )
    monkeypatch.setattr(machine_facts.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(machine_facts, "MOUNTS", mounts)
    assert machine_facts.scratch_file_system() == "xfs"


def test_a_file_system_that_is_not_listed_is_a_reason(tmp_path, monkeypatch):
    mounts = tmp_path / "mountinfo"
    mounts.write_text("21 1 0:21 / /proc rw - proc proc rw\n")
    monkeypatch.setattr(machine_facts, "MOUNTS", mounts)
    with pytest.raises(machine_facts.UnreadError, match="does not list the device"):
        machine_facts.scratch_file_system()


@pytest.mark.starts
@pytest.mark.parallel
def test_the_limit_of_open_files_is_raised_to_the_hard_limit():
    # In a process of its own, because this process would keep the lowered limit.
    process = multiprocessing.get_context("fork").Process(target=_lower_and_raise)
    process.start()
    process.join(10)
    assert process.exitcode == 0


def _lower_and_raise() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    capacity.raise_open_files()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == hard
