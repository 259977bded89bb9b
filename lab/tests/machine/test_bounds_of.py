"""Open files of a server's processes, and what it does at rest."""

import os
import subprocess
import sys
import time

import pytest
from crumple.machine import at_rest, bounds_of


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
