"""What control groups of version 1 and 2 allow, and what they have counted: of files, and of real groups."""

import subprocess
import sys
import time
from pathlib import Path

import made_groups
import pytest
from crumple.machine import control_groups, group_limits
from crumple.machine.control_groups import Group, Groups
from crumple.machine.group_limits import GroupLimits, Limit
from crumple.machine.group_owner import Owner

MIB = 2**20
UNIT = Owner("unit", "shop.service", "systemd")
PRESSURE = "some avg10=9.00 avg60=1.00 avg300=0.00 total=1500\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9"


def group(folder: Path, path: str, **files: str) -> Group:
    """A group with these files; dots in their names are written as two underscores."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")
    return Group(path, folder)


def of_version_2(*groups: Group) -> Groups:
    return Groups(groups, groups, groups, groups, groups)


def test_the_least_that_its_group_and_those_around_it_allow_is_its_limit(tmp_path: Path) -> None:
    own = group(tmp_path / "own", "/system.slice/shop.service", cpu__max="max 100000", memory__max="max",
                memory__high=str(64 * MIB), pids__max="20", pids__current="18")  # fmt: skip
    around = group(tmp_path, "/system.slice", cpu__max="25000 50000", memory__max=str(96 * MIB),
                   pids__max="400", pids__current="399")  # fmt: skip
    found = group_limits.limits(of_version_2(own, around))
    slice_ = Owner("unit", "system.slice", "systemd")
    assert found.quota == Limit(0.5, slice_, str(tmp_path / "cpu.max"), "25000 50000")
    assert found.memory == Limit(64 * MIB, UNIT, str(tmp_path / "own" / "memory.high"), str(64 * MIB))
    assert found.tasks is not None and found.tasks.owner == slice_, "it allows only one more"


def test_version_1_writes_the_same_otherwise(tmp_path: Path) -> None:
    own = group(tmp_path / "own", "/shop", cpu__cfs_quota_us="150000", cpu__cfs_period_us="100000",
                memory__limit_in_bytes=str(64 * MIB), pids__max="max")  # fmt: skip
    root = group(tmp_path, "/", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000",
                 memory__limit_in_bytes="9223372036854771712")  # fmt: skip
    found = group_limits.limits(Groups((own, root), (), (own, root), (own, root), ()))
    shop = Owner("group", "/shop")
    assert found.quota == Limit(1.5, shop, str(tmp_path / "own" / "cpu.cfs_quota_us"), "150000")
    assert found.memory == Limit(
        64 * MIB, shop, str(tmp_path / "own" / "memory.limit_in_bytes"), str(64 * MIB)
    )
    assert found.tasks is None and found.cores is None


@pytest.mark.parametrize("name", ["cpuset__cpus__effective", "cpuset__effective_cpus"])
def test_the_outermost_group_that_allows_no_more_cores_is_whose_limit_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    own = group(tmp_path / "own", "/pod/web", **{name: "0-1"})
    pod = group(tmp_path / "pod", "/pod", **{name: "0,1"})
    root = group(tmp_path, "/", **{name: "0-7"})
    found = group_limits.limits(Groups((), (own, pod, root), (), (), ())).cores
    assert found == Limit(2, Owner("group", "/pod"), str(tmp_path / "pod" / "cpuset.cpus"), "0,1")
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert group_limits.limits(Groups((), (own, pod), (), (), ())).cores is None, "there are no more"


def test_without_files_there_are_no_limits(tmp_path: Path) -> None:
    assert group_limits.limits(of_version_2(Group("/", tmp_path))) == GroupLimits()


def test_what_was_counted_is_of_all_groups(tmp_path: Path) -> None:
    own = group(tmp_path / "own", "/pod/web", cpu__stat="nr_periods 0\nthrottled_usec 0",
                memory__events__local="low 0\nhigh 3\nmax 4\noom 0", memory__pressure=PRESSURE,
                cgroup__events="populated 1\nfrozen 0",
                pids__events="max 2", pids__current="7", pids__max="20")  # fmt: skip
    around = group(tmp_path, "/pod", cpu__stat="nr_periods 9\nthrottled_usec 700", pids__events="max 1",
                   memory__events__local="low 0\nhigh 0\nmax 5", pids__max="max")  # fmt: skip
    found = group_limits.counts(of_version_2(own, around))
    assert found.stopped_ns == {tmp_path / "own": 0, tmp_path: 700_000}
    assert (found.stalled_ns, found.full, found.refused, found.tasks) == (1_500_000, 12, 3, 7)


def test_version_1_counts_in_nanoseconds_and_failures(tmp_path: Path) -> None:
    own = group(tmp_path, "/shop", cpu__stat="nr_throttled 3\nthrottled_time 800", memory__failcnt="6")
    found = group_limits.counts(Groups((own,), (), (own,), (), ()))
    assert found.stopped_ns == {tmp_path: 800} and found.full == 6 and found.tasks is None


def test_a_wait_for_memory_is_known_of_the_group_that_limits_it_alone(tmp_path: Path) -> None:
    limited = group(tmp_path / "limited", "/docker/shop", memory__failcnt="6")
    waits = {"memory__pressure": PRESSURE, "cgroup__events": "populated 1"}
    same = group(tmp_path / "same", "/docker/shop", **waits)
    other = group(tmp_path / "other", "/system.slice/docker.service", **waits)
    machine = group(tmp_path / "machine", "/docker/shop", memory__pressure=PRESSURE)

    def stalled_ns(*unified: Group) -> int | None:
        return group_limits.counts(Groups((), (), (limited,), (), unified)).stalled_ns

    assert stalled_ns(same) == 1_500_000
    assert (stalled_ns(other), stalled_ns(machine), stalled_ns()) == (None, None, None)


@pytest.fixture
def real() -> None:
    if why := made_groups.cannot():
        pytest.skip(why)


BURNS = "while True: pass"


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.usefixtures("real")
def test_limits_of_a_real_group_are_read() -> None:
    limits = {"quota": 0.25, "cores": "0", "memory": 64 * MIB, "tasks": 30}
    with (
        made_groups.group("crumple-test-limits", **limits) as move,
        subprocess.Popen(["sleep", "60"]) as sleeps,
    ):  # type: ignore[arg-type]
        move(sleeps.pid)
        found = group_limits.limits(control_groups.of(sleeps.pid))
        sleeps.kill()
    assert found.quota and found.memory and found.tasks
    assert (found.quota.amount, found.memory.amount, found.tasks.amount) == (0.25, 64 * MIB, 30)
    assert {each.owner for each in (found.quota, found.memory, found.tasks)} == {
        Owner("group", "/crumple-test-limits")
    }
    assert found.cores is None or found.cores.written == "0"


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.usefixtures("real")
def test_a_real_groups_wait_for_memory_is_not_the_machines() -> None:
    with (
        made_groups.group("crumple-test-memory", memory=64 * MIB) as move,
        subprocess.Popen(["sleep", "60"]) as sleeps,
    ):
        move(sleeps.pid)
        assert group_limits.counts(control_groups.of(sleeps.pid)).stalled_ns == 0
        if not made_groups.UNIFIED:
            # As a container of version 1 is in the group of version 2 that is around all.
            (made_groups.ROOT / "unified" / "cgroup.procs").write_text(str(sleeps.pid))
            assert group_limits.counts(control_groups.of(sleeps.pid)).stalled_ns is None
        sleeps.kill()


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.usefixtures("real")
def test_a_real_quota_stops_who_computes() -> None:
    with (
        made_groups.group("crumple-test-quota", quota=0.05) as move,
        subprocess.Popen([sys.executable, "-c", BURNS]) as burns,
    ):
        move(burns.pid)
        groups, over_s = control_groups.of(burns.pid), time.monotonic() + 20.0
        while not (stopped := max(group_limits.counts(groups).stopped_ns.values())):
            assert time.monotonic() < over_s
            time.sleep(0.05)
        burns.kill()
    assert stopped > 0


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.usefixtures("real")
def test_a_real_group_counts_what_was_not_started() -> None:
    started = "import os, sys\nsys.stdin.readline()\nos.fork()"
    with made_groups.group("crumple-test-tasks", tasks=1) as move:
        with subprocess.Popen(
            [sys.executable, "-c", started], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as forks:
            move(forks.pid)
            groups = control_groups.of(forks.pid)
            before = group_limits.counts(groups)
            _, said = forks.communicate("go\n")
        assert before.tasks == 1 and "BlockingIOError" in said
        assert group_limits.counts(groups).refused == before.refused + 1
