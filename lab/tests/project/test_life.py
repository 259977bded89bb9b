"""When a process ended, and how, as far as this machine shows it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from crumple.machine.life import End, Life

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


def ended(life: Life) -> End:
    """How it ended; waits for that."""
    until_s = time.monotonic() + 20
    while (found := life.ended()) is None:
        assert time.monotonic() < until_s
        time.sleep(0.005)
    return found


@pytest.mark.parametrize(
    ("program", "how"),
    [
        ("import sys; sys.stdin.read(); sys.exit(3)", "ended with code 3"),
        ("import os, sys; sys.stdin.read(); os.kill(os.getpid(), 9)", "was killed by signal 9 (SIGKILL)"),
    ],
)
def test_how_a_process_ended_is_known_until_its_parent_asks(program: str, how: str) -> None:
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as one:
        life = Life(one.pid)
        assert life.ended() is None
        began_s = time.time()
        assert one.stdin is not None
        one.stdin.close()
        found = ended(life)
        assert (found.pid, found.how, found.out_of_memory) == (one.pid, how, False)
        assert found.at_unix_s is not None and began_s <= found.at_unix_s <= time.time()


def test_a_process_that_ended_before_it_was_watched_is_gone() -> None:
    with subprocess.Popen(["true"]) as one:
        one.wait()
    assert Life(one.pid).ended() == End(one.pid, None, "is gone")


def test_a_process_that_a_signal_has_stopped() -> None:
    with subprocess.Popen(["sleep", "60"]) as one:
        life = Life(one.pid)
        assert not life.is_stopped()
        os.kill(one.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, one.pid, os.WSTOPPED | os.WNOWAIT)
        assert life.is_stopped() and life.ended() is None
        one.kill()
        ended(life)
    assert not life.is_stopped()


def test_the_kernel_says_that_it_killed_a_process_for_memory(tmp_path: Path) -> None:
    vmstat = tmp_path / "vmstat"
    vmstat.write_text("pgfault 7\noom_kill 4\n")
    with subprocess.Popen(["sleep", "60"]) as one:
        life = Life(one.pid, vmstat=vmstat)
        vmstat.write_text("pgfault 9\noom_kill 5\n")
        one.kill()
        assert ended(life).out_of_memory
