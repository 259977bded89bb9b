"""`crumple report` of several runs: its links, and how its drawing processes end."""

import select
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from os import pidfd_open
from pathlib import Path

import pytest
import synthetic_ramp
import synthetic_run
from crumple.commands import report
from crumple.interrupt import deaf_children
from crumple.run import run_file
from crumple.run.store import RunStore

# A parent that starts a worker for a minute, prints the worker's process id, and waits.
PARENT = """
    import os, sys, time
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context
    from crumple.commands import report

    pool = ProcessPoolExecutor(1, get_context("spawn"), report.end_with_parent)
    print(pool.submit(os.getpid).result(), flush=True)
    pool.submit(time.sleep, 60).result()
"""


def _in_this_process(*_: object) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1)


def test_a_run_whose_folder_was_renamed_is_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, made in (("before", synthetic_run), ("after", synthetic_ramp)):
        run_file.write(RunStore(tmp_path / name), made.run_file())
    monkeypatch.setattr(report, "ProcessPoolExecutor", _in_this_process)
    monkeypatch.setattr(report, "_page", lambda run: run.folder / "report.html")
    out = tmp_path / "all" / "claims.html"
    report.show([str(tmp_path / "before"), str(tmp_path / "after")], "html", False, out)
    said = out.read_text()
    assert 'href="../before/report.html"' in said and 'href="../after/report.html"' in said


@pytest.mark.starts
@pytest.mark.parallel
def test_a_drawing_process_ends_with_its_parent_even_if_that_is_killed() -> None:
    command = [sys.executable, "-c", textwrap.dedent(PARENT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        worker = pidfd_open(int(parent.stdout.readline()))
        parent.kill()
    assert select.select([worker], [], [], 10)[0]


@pytest.mark.starts
@pytest.mark.parallel
def test_ctrl_c_reaches_only_the_parent() -> None:
    asks = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with deaf_children():
        inside = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True)
    assert inside.stdout == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
