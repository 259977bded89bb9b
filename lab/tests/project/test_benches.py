"""Every script under bench/ runs in its shortest form. The tests ignore what it measures, because no test
asserts a speed."""

import ctypes
import importlib
import os
import re
import resource
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import real_engine
from crumple import project

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

BENCH = project.root() / "bench"
# Script → the text that it prints when it has measured something.
SAYS = {
    "agreement": "over wrk",
    "beside_worker": "of a core",
    "build_site": "again, one is new, 1 rounds",
    "capture": "requests in the capture: at least",
    "cluster_engines": "head   listens",
    "containers": "1 diagnosed",
    "cpu_per_request": "crumple's CPU: loop",
    "elsewhere": "4 of 4",
    "experiments": "stamped+discard+low-water",
    "find": " of 1 hit",
    "fuzz_imports": " became requests",
    "interruptions": "interruptions: as before 1 of 1",
    "large_answers": "wrk",
    "lateness": "control: nothing but a clock",
    "live_view": "95 % interval",
    "lost_cluster_hosts": "stored before, 0 lost",
    "lost_loads": "over after",
    "map_stability": "within a quarter of an hour",
    "memory": "each more takes",
    "mutations": "noticed by the stored servers 4 of 4",
    "pages": " drawings, ",
    "probe_cost": "95 % interval",
    "same_work": "without --like, which asks for no compressed page",
    "several_hosts": "2 starts: median",
    "simulate_hosts": "| 12 | 2 | ",
    "simulate_budgets": "| 3 to 10 | 60% |",
    "simulate_studies": "| growth | 0.102 for at least 0.1 |",
    "simulated": "ns_per_interval_end",
    "start": "first request after",
    "tours": " decided, exit code 0",
    "trace_inside": "trace ",
    "versus_twins": "twins ",
}
# Programs that scripts start or run beside, and that measure nothing.
SERVERS = {"computing_server", "disturbed"}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
IO_URING_SETUP, EPERM = 425, 1

Bench = Callable[..., str]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Bench]:
    """Run a script in its shortest form and return its output; skip if the script skips, with its reason."""
    real_engine.used(monkeypatch)
    monkeypatch.syspath_prepend(str(BENCH))
    open_files = resource.getrlimit(resource.RLIMIT_NOFILE)

    def call(name: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [f"{name}.py", "--shortest", *arguments])
        code: object = 0
        try:
            runpy.run_path(str(BENCH / f"{name}.py"), run_name="__main__")
        except SystemExit as end:
            code = end.code
        said = capsys.readouterr().out
        assert not code, f"{code}\n{said}"
        for line in said.splitlines():
            if line.startswith("skipped: "):
                pytest.skip(line.removeprefix("skipped: "))
        return said

    yield call
    resource.setrlimit(resource.RLIMIT_NOFILE, open_files)


def test_a_command_runs_beside_another_program_and_ends_with_its_code() -> None:
    words = [sys.executable, str(BENCH / "disturbed.py"), "one", "--", sys.executable, "-c"]
    # What runs beside it is a child of the script, and uses CPU time.
    children = "open(f'/proc/{os.getppid()}/task/{os.getppid()}/children').read()"
    look = f"import os, sys; print({children}); sys.exit(7)"
    done = subprocess.run([*words, look], capture_output=True, text=True)
    beside = [int(pid) for pid in done.stdout.split()]
    assert done.returncode == 7 and len(beside) == 2, done.stderr
    assert not any(Path(f"/proc/{pid}").exists() for pid in beside)


def test_every_script_has_a_shortest_form() -> None:
    scripts = {file.stem for file in BENCH.glob("*.py") if '__name__ == "__main__"' in file.read_text()}
    assert scripts - SERVERS == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_every_script_runs(bench: Bench, name: str) -> None:
    said = bench(name)
    assert SAYS[name] in said
    assert not re.search(r" (met|open)$", said, re.MULTILINE), f"one round judges nothing: {said}"


def test_without_another_load_generator_there_is_no_agreement_to_show(bench: Bench, monkeypatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(pytest.skip.Exception, match=r"none of wrk is installed \(to install: apt-get"):
        bench("agreement")


def test_the_io_uring_loop_runs(bench: Bench) -> None:
    assert "stamped+uring" in bench("experiments", "--only", "uring")


@pytest.mark.usefixtures("bench")
def test_the_io_uring_loop_says_so_if_io_uring_is_forbidden() -> None:
    load, targets = (importlib.import_module(name) for name in ("load", "targets"))
    try:
        program = load.example("bare_loop", debug_will_do=True)
    except load.NotBuiltError as error:
        pytest.skip(str(error))
    with targets.null_server(min(os.sched_getaffinity(0))) as address:
        done = subprocess.run(
            [str(program), address, "1", "0.01", "stamped+uring"],
            preexec_fn=_forbid_io_uring,
            capture_output=True,
            text=True,
        )
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert done.stderr.startswith("no io_uring here: Operation not permitted")


def _forbid_io_uring() -> None:
    """io_uring_setup fails for this process and those it starts: a filter of four instructions,
    seccomp(2)."""
    load_number, if_equal, give_back = 0x20, 0x15, 0x06
    fails, passes = 0x00050000 | EPERM, 0x7FFF0000
    program = (ctypes.c_uint64 * 4)(
        load_number,
        if_equal | 1 << 24 | IO_URING_SETUP << 32,
        give_back | fails << 32,
        give_back | passes << 32,
    )
    header = (ctypes.c_uint64 * 2)(len(program), ctypes.addressof(program))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in (
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_void_p(ctypes.addressof(header)), 0, 0),
    ):
        if libc.prctl(*call):
            raise OSError(ctypes.get_errno(), "prctl")
