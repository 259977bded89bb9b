"""Control groups of a process: found in mounts of version 1, 2 and both, and from inside a container."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import made_groups
import pytest
from crumple.machine import control_groups
from crumple.machine.control_groups import Group

ID = "3f2a" * 16


@pytest.fixture
def proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A /proc in which the processes are to be written."""
    monkeypatch.setattr(control_groups, "PROC", tmp_path / "proc")
    return tmp_path / "proc"


def process(proc: Path, pid: str, groups: str = "", mounts: str = "") -> None:
    (proc / pid).mkdir(parents=True)
    (proc / pid / "cgroup").write_text(groups)
    (proc / pid / "mountinfo").write_text(f"22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n{mounts}")


def unified(folder: Path, root: str = "/") -> str:
    return f"30 22 0:27 {root} {folder} rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"


def of_version_1(folder: Path, controllers: str, root: str = "/") -> str:
    return f"31 22 0:28 {root} {folder} rw,nosuid - cgroup cgroup rw,{controllers}\n"


def folders(groups: tuple[Group, ...]) -> list[Path]:
    return [each.folder for each in groups]


def test_version_2_has_one_tree_for_all(proc: Path, tmp_path: Path) -> None:
    mount = tmp_path / "cgroup"
    (mount / "system.slice" / "shop.service").mkdir(parents=True)
    process(proc, "self", mounts=unified(mount))
    process(proc, "7", "0::/system.slice/shop.service\n")
    found = control_groups.of(7)
    assert found.cpu == found.memory == found.tasks == found.cores == found.unified
    assert [each.path for each in found.cpu] == ["/system.slice/shop.service", "/system.slice", "/"]
    assert found.cpu[0].folder == mount / "system.slice" / "shop.service"


def test_version_1_has_a_tree_for_each_controller_also_beside_version_2(proc: Path, tmp_path: Path) -> None:
    cpu, memory, both = (tmp_path / name for name in ("cpu,cpuacct", "memory", "unified"))
    for folder in (cpu / "web", memory / "docker" / ID, both / "web.slice"):
        folder.mkdir(parents=True)
    mounts = of_version_1(cpu, "cpu,cpuacct") + of_version_1(memory, "memory") + unified(both)
    process(proc, "self", mounts=mounts)
    process(proc, "7", f"4:memory:/docker/{ID}\n3:cpu,cpuacct:/web\n1:name=systemd:/x\n0::/web.slice\n")
    found = control_groups.of(7)
    assert folders(found.cpu) == [cpu / "web", cpu]
    assert folders(found.memory) == [memory / "docker" / ID, memory / "docker", memory]
    assert folders(found.unified) == folders(found.tasks) == [both / "web.slice", both]


def test_a_container_without_a_namespace_of_groups_sees_its_own_as_the_root(
    proc: Path, tmp_path: Path
) -> None:
    mount = tmp_path / "cpu"
    mount.mkdir()
    process(proc, "self", f"2:cpu:/docker/{ID}\n", of_version_1(mount, "cpu", f"/docker/{ID}"))
    assert control_groups.of("self").cpu == (Group(f"/docker/{ID}", mount),)


def test_the_mount_that_shows_most_groups_around_it_is_taken(proc: Path, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole", tmp_path / "part"
    (whole / "pod" / "web").mkdir(parents=True)
    (part / "web").mkdir(parents=True)
    process(proc, "self", mounts=unified(part, "/pod") + unified(whole))
    process(proc, "7", "0::/pod/web\n")
    assert folders(control_groups.of(7).cpu) == [whole / "pod" / "web", whole / "pod", whole]


def test_a_group_that_no_mount_here_shows_is_read_where_the_process_sees_it(
    proc: Path, tmp_path: Path
) -> None:
    """As from a container beside it: both have namespaces of their own."""
    own, there = tmp_path / "own", proc / "7" / "root" / "sys" / "fs" / "cgroup"
    own.mkdir()
    process(proc, "self", "0::/\n", unified(own))
    process(proc, "7", f"0::/../{ID}/worker\n", unified(Path("/sys/fs/cgroup"), f"/../{ID}"))
    (there / "worker").mkdir(parents=True)
    assert control_groups.of(7).cpu == (
        Group(f"/../{ID}/worker", there / "worker"),
        Group(f"/../{ID}", there),
    )


def test_a_mount_point_with_a_space_is_found(proc: Path, tmp_path: Path) -> None:
    mount = tmp_path / "my groups"
    mount.mkdir()
    process(proc, "self", "0::/\n", unified(Path(str(mount).replace(" ", r"\040"))))
    assert folders(control_groups.of("self").cpu) == [mount]


def test_a_process_that_is_gone_and_a_group_that_is_deleted_have_none(proc: Path, tmp_path: Path) -> None:
    process(proc, "self", mounts=unified(tmp_path))
    process(proc, "7", "0::/gone (deleted)\n")
    assert not control_groups.of(7).cpu and not control_groups.of(8).cpu


def test_files_of_a_group_are_read_as_numbers_and_counts(tmp_path: Path) -> None:
    (tmp_path / "pids.max").write_text("max\n")
    (tmp_path / "pids.current").write_text("12\n")
    (tmp_path / "cpu.stat").write_text("nr_periods 3\nthrottled_usec 700\n")
    group = Group("/web", tmp_path)
    assert group.number("pids.max") is None and group.number("pids.current") == 12
    assert group.number("no such file") is None and group.text("no such file") == ""
    assert group.counted("cpu.stat", "throttled_usec") == 700
    assert group.counted("cpu.stat", "nr_bursts") is None


@pytest.fixture
def in_a_quota() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a real group that may use half a core."""
    if why := made_groups.cannot():
        pytest.skip(why)
    with (
        made_groups.group("crumple-test-groups", quota=0.5) as move,
        subprocess.Popen(["sleep", "60"]) as sleeps,
    ):
        move(sleeps.pid)
        yield sleeps
        sleeps.kill()


@pytest.mark.starts
@pytest.mark.parallel
def test_a_real_group_is_found(in_a_quota: subprocess.Popen[bytes]) -> None:
    own = control_groups.of(in_a_quota.pid).cpu[0]
    assert own.path == "/crumple-test-groups" and str(in_a_quota.pid) in own.text("cgroup.procs").split()


# What is said of its own quota by a process in a namespace of groups, which has mounted what it sees.
INSIDE = """
from crumple.machine import control_groups, group_limits
print(group_limits.limits(control_groups.of("self")).quota)
"""


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.skipif(made_groups.UNIFIED, reason="mounts version 1")
def test_a_real_namespace_of_groups_shows_its_own_root() -> None:
    if why := made_groups.cannot():
        pytest.skip(why)
    cpu = "/sys/fs/cgroup/cpu"
    mounts = f'umount {cpu} && mount -t cgroup -o cpu none {cpu} && exec "$0" -c "$1"'
    with made_groups.group("crumple-test-inside", quota=0.5) as move:
        enter = "import os, sys; sys.stdin.readline(); os.execvp('unshare', sys.argv[1:])"
        words = ["unshare", "--cgroup", "--mount", "sh", "-c", mounts, sys.executable, INSIDE]
        with subprocess.Popen(
            [sys.executable, "-c", enter, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process_:
            move(process_.pid)
            said, _ = process_.communicate("go\n", timeout=30)
    assert "amount=0.5" in said and "Owner(kind='container', name=''" in said, said
