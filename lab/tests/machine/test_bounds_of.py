"""Bounds of a server's processes: open files, the quota of its control groups, and what it does at rest."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from crumple.machine import at_rest, bounds_of


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A tree of control groups; the process is in service/web of it."""
    (tmp_path / "service" / "web").mkdir(parents=True)
    monkeypatch.setattr(bounds_of, "_CGROUPS", tmp_path)
    monkeypatch.setattr(bounds_of, "_groups", lambda _: list(bounds_of._folders("0::/service/web\n")))
    return tmp_path / "service"


def test_a_quota_may_be_that_of_a_group_around_its_own(groups: Path) -> None:
    (groups / "web" / "cpu.max").write_text("max 100000\n")
    (groups / "cpu.max").write_text("25000 100000\n")
    (groups / "web" / "cpu.stat").write_text("nr_periods 0\nthrottled_usec 0\n")
    (groups / "cpu.stat").write_text("nr_periods 9\nthrottled_usec 700\n")
    assert bounds_of.quota_cores(1) == 0.25
    assert bounds_of.throttled_ns(1) == {groups / "web": 0, groups: 700_000}


def test_without_a_quota_none_is_said(groups: Path) -> None:
    (groups / "web" / "cpu.max").write_text("max 100000\n")
    assert bounds_of.quota_cores(1) is None and bounds_of.throttled_ns(1) == {}


def test_the_quota_of_version_1_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "cpu" / "docker"
    own.mkdir(parents=True)
    (own / "cpu.cfs_quota_us").write_text("50000\n")
    (own / "cpu.cfs_period_us").write_text("100000\n")
    (own / "cpu.stat").write_text("nr_throttled 3\nthrottled_time 800\n")
    monkeypatch.setattr(bounds_of, "_CGROUPS", tmp_path)
    listed = "5:memory:/docker\n4:cpu,cpuacct:/docker\n"
    monkeypatch.setattr(bounds_of, "_groups", lambda _: list(bounds_of._folders(listed)))
    assert bounds_of.quota_cores(1) == 0.5 and bounds_of.throttled_ns(1) == {own: 800}


def test_the_process_nearest_to_its_limit_counts_and_not_the_one_with_most_files() -> None:
    assert bounds_of.nearest([(900, 1_000_000), (39, 40)]) == (39, 40)
    assert bounds_of.nearest([]) is None


def test_the_open_files_of_this_process_are_read() -> None:
    found = bounds_of.open_files(os.getpid())
    assert found is not None and 0 < found[0] < found[1]


@pytest.mark.starts
@pytest.mark.parallel
def test_a_thread_that_burns_a_core_is_seen_at_rest() -> None:
    program = (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\nwhile True: pass"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as burns:
        time.sleep(0.3)
        found = at_rest.look(burns.pid, 0.5)
        burns.kill()
    assert found is not None and found.cores > 0.1 and found.disk < 0.5
    # On a busy machine it may get less than half of a core.
    assert found.burning == (burns.pid,) or found.cores < 0.55


@pytest.mark.starts
@pytest.mark.parallel
def test_a_process_that_sleeps_uses_nothing_at_rest() -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeps:
        found = at_rest.look(sleeps.pid, 0.2)
        sleeps.kill()
    assert found is not None and found.cores < 0.05 and found.burning == ()
    assert at_rest.look(sleeps.pid, 0.1) is None
