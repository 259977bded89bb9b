"""`.ci/test` on stand-ins for cargo, the launcher and pytest: what it runs, sums up and ends."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

SCRIPT = Path(__file__).parents[3] / ".ci" / "test"
# Logs its part, scheduling policy and niceness (fields 41 and 19 of proc_pid_stat(5)); ends as it is told.
STAND_IN = """#!/bin/sh
case "${0##*/} $*" in
  "cargo "*" --no-run --message-format=json"*) part=built;;
  "cargo "*--no-run*) part=compiling;;
  "cargo "*" --lib "*) part=engine;;
  "cargo "*" --doc") part=examples;;
  "engine-tests --quiet") part=engine;;
  "more-tests --quiet") part=more;;
  "more-tests --quiet --exact "*) part="again ${*#--quiet --exact }";;
  "crumple ") part="set up $CRUMPLE_SET_UP";;
  "crumple setup --yes") part=servers;;
  *"-m (not starts or weighs) and not long "*) part=lab;;
  *"-m not starts "*) part=lab-idle;;
  *"-m starts and parallel and not alone "*) part=lab-parallel;;
  *"-m starts and not parallel and not alone "*) part=lab-serial;;
  *"-m starts and alone "*) part=lab-alone;;
  "python "*" --numprocesses=0 "*) for part; do :; done; part="again $part";;
  *) part="unknown: ${0##*/} $*";;
esac
echo "$part $(cut -d ' ' -f 41,19 "/proc/$$/stat")" >> "$TOLD/log"
[ ! -e "$TOLD/$part.hangs" ] || { echo $$ > "$TOLD/$part.pid"; exec sleep 600; }
[ ! -e "$TOLD/$part.lasts" ] || { sleep "$(cat "$TOLD/$part.lasts")"; echo "$part ended 0 0" >> "$TOLD/log"; }
[ ! -e "$TOLD/$part" ] || cat "$TOLD/$part"
cache=${*#*cache_dir=} cache=${cache%% *}/v/cache
[ ! -e "$TOLD/$part.lastfailed" ] || { mkdir -p "$cache"; cp "$TOLD/$part.lastfailed" "$cache/lastfailed"; }
[ ! -e "$TOLD/$part.code" ] || exit "$(cat "$TOLD/$part.code")"
"""
ENGINE = """
test result: ok. 372 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 14.05s
test result: ok. 13 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 3.27s
"""
MORE = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s\n"
SAID = {
    "engine": ENGINE,
    "more": MORE,
    "lab": "4 passed in 1.21s\n",
    "lab-idle": "1000 passed, 7 deselected in 9.21s\n",
    "lab-parallel": "== 200 passed, 2 skipped in 61.50s (0:01:01) ==\n",
    "lab-serial": "30 passed in 3.00s\n",
    "lab-alone": "9 passed in 9.00s\n",
}
SUITES = ("engine", "lab-idle", "lab-parallel", "lab-serial", "lab-alone")
# What the launcher sets up, and what else the tests need.
PACKAGES, BROWSER, ENGINE_BUILT = "set up tests", "set up browser", "set up engine"
SET_UP = (PACKAGES, BROWSER, "compiling", ENGINE_BUILT, "servers")
# What the suite of the engine consists of, besides `engine`.
OF_ENGINE = {"built", "more", "examples"}
SCHED_IDLE = "5"
INTERRUPTED = 130


class Checkout:
    """A checkout with nothing in it but `.ci/test` and stand-ins for what it starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkout"
        self.told = folder / "told"
        names = ("cargo", "engine-tests", "more-tests", "engine")
        programs = [folder / "bin" / name for name in names]
        programs += [self.folder / "crumple"]
        programs += [self.folder / ".venv" / "bin" / "python"]
        for program in programs:
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(STAND_IN)
            program.chmod(0o755)
        for place in (".ci", "engine"):
            (self.folder / place).mkdir()
        shutil.copy(SCRIPT, self.folder / ".ci" / "test")
        self.told.mkdir()
        for part, said in SAID.items():
            (self.told / part).write_text(said)
        built = [artifact(program, "tests" in program.name) for program in programs[1:4]]
        (self.told / "built").write_text("\n".join(built))
        self.env = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "TOLD": str(self.told)}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.folder / ".ci" / "test", *arguments],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> tuple[int, list[str]]:
        """The exit code and the lines that were printed."""
        with self.start(*arguments) as running:
            said, _ = running.communicate(timeout=60)
        return running.returncode, said.splitlines()

    def ends(self, part: str, code: int, said: str = "") -> None:
        """From now on this part ends so."""
        (self.told / part).write_text(said)
        (self.told / f"{part}.code").write_text(str(code))

    def fails(self, part: str, tests: Sequence[str]) -> None:
        """From now on these tests of a suite of the lab fail, and 4 pass."""
        self.ends(part, 1, f"{len(tests)} failed, 4 passed in 1.0s\n")
        (self.told / f"{part}.lastfailed").write_text(json.dumps(dict.fromkeys(tests, True), indent=2))

    def again(self, test: str, code: int, said: str) -> None:
        """From now on this test ends so when it is run again."""
        self.ends(f"again {test}", code, said)

    def lasts(self, part: str, seconds: float) -> None:
        """From now on this part takes so long, and its end is logged."""
        (self.told / f"{part}.lasts").write_text(str(seconds))

    @property
    def log(self) -> list[list[str]]:
        """Of each part that was run: its name, its niceness and its scheduling policy."""
        return [line.rsplit(maxsplit=2) for line in (self.told / "log").read_text().splitlines()]


def artifact(program: Path, is_test: bool) -> str:
    """What cargo writes of a program that it has built."""
    return json.dumps(
        {
            "reason": "compiler-artifact",
            "target": {"kind": ["test" if is_test else "bin"], "name": program.name, "test": True},
            "profile": {"opt_level": "0", "debuginfo": 1, "test": is_test},
            "features": [],
            "filenames": [str(program)],
            "executable": str(program),
            "fresh": True,
        },
        separators=(",", ":"),
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_totals_of_all_suites_are_the_last_line(checkout):
    code, said = checkout.run()
    assert (code, said[-1]) == (0, "crumple: 1625 passed, 0 failed, 3 skipped"), said
    assert {part for part, *_ in checkout.log} == {*SET_UP, *SUITES, *OF_ENGINE}
    total, *each = said[-2].removeprefix("seconds: ").split(", ")
    assert total.isdecimal()
    assert all(one.split()[1].isdecimal() for one in each)
    assert {one.split()[0] for one in each} == {
        "packages",
        "browser",
        "compiling",
        "building",
        "servers",
        *SUITES,
    }
    # What ran beside others is shown, too, and each line once.
    assert all(said.count(line) == 1 for each in SUITES for line in SAID[each].split("\n") if line)


@pytest.mark.parametrize(
    ("part", "code", "said", "failed"),
    [
        ("engine", 101, ENGINE + "test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured;\n", 3),
        ("lab-idle", 1, "= 2 failed, 4 passed, 1 error in 1.0s =\n", 3),
        ("lab-parallel", 1, "= 1 failed, 4 passed in 1.0s =\n", 1),
        ("lab-serial", 1, "1 failed, 4 passed in 1.0s\n", 1),
        # Nothing failed, but something did not end well.
        (PACKAGES, 1, "no network\n", 1),
        (ENGINE_BUILT, 1, "no network\n", 1),
        ("compiling", 101, "", 1),
        ("servers", 2, "Traceback\n", 1),
        ("engine", 101, "", 1),
        ("more", 101, "test result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured;\n", 2),
        ("examples", 101, "", 1),
        ("lab-idle", 0, "no tests ran in 0.02s\n", 1),
        ("lab-serial", 2, "", 1),
        ("lab-alone", 1, "1 failed, 4 passed in 1.0s\n", 1),
    ],
)
def test_what_fails_ends_it_nonzero_after_everything_has_run(checkout, part, code, said, failed):
    checkout.ends(part, code, said)
    ended, told = checkout.run()
    assert ended == 1 and f", {failed} failed, " in told[-1], told
    assert set(SUITES) <= {part for part, *_ in checkout.log}


def test_an_engine_that_does_not_compile_fails_whatever_was_built(checkout):
    built = (checkout.told / "built").read_text()
    checkout.ends("built", 101, built)
    ended, told = checkout.run()
    assert ended == 1 and ", 1 failed, " in told[-1] and "engine: no test ran" in told, told
    assert {*SUITES} - {"engine"} <= {part for part, *_ in checkout.log}


def test_servers_that_cannot_be_had_break_nothing(checkout):
    checkout.ends("servers", 1, "php-fpm: skipped, php is not installed\n")
    code, said = checkout.run()
    assert code == 0 and "php-fpm: skipped, php is not installed" in said


def test_only_what_is_not_timed_runs_beside_others_and_at_idle_priority(checkout):
    checkout.run()
    idle = {part for part, niceness, policy in checkout.log if policy == SCHED_IDLE or niceness == "19"}
    assert idle == {"servers", "lab-idle"}
    order = [part for part, *_ in checkout.log]
    assert order.index("engine") > order.index("compiling") and order[-1] == "lab-alone"


def test_no_part_begins_in_an_environment_that_another_is_still_writing(checkout):
    for part in (PACKAGES, ENGINE_BUILT):
        checkout.lasts(part, 0.5)
    checkout.run()
    order = [part for part, *_ in checkout.log]
    # The packages come first and alone, and are asked for once. The engine is awaited by all that starts it.
    assert order[:2] == [PACKAGES, f"{PACKAGES} ended"] and order.count(PACKAGES) == 1
    assert order.index("lab-idle") < order.index(f"{ENGINE_BUILT} ended") < order.index("engine")


def test_nothing_runs_beside_the_tests_that_need_the_machine_alone(checkout):
    # Longer than the suites that run beside it.
    checkout.lasts("lab-idle", 1.0)
    checkout.run()
    order = [part for part, *_ in checkout.log]
    assert order.index("lab-serial") < order.index("lab-idle ended") < order.index("lab-alone")


def test_an_interruption_ends_what_runs_beside(checkout):
    for part in ("lab-idle", "engine"):
        (checkout.told / f"{part}.hangs").touch()
    files = [checkout.told / f"{part}.pid" for part in ("lab-idle", "engine")]
    with checkout.start() as running:
        try:
            wait_for(lambda: all(file.exists() and file.read_text() for file in files))
            os.killpg(running.pid, signal.SIGINT)
            running.communicate(timeout=30)
            assert running.returncode == INTERRUPTED
            wait_for(lambda: not any(map(lives, files)))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


def lives(pid_file: Path) -> bool:
    """Whether that process is there, and has not ended."""
    try:
        stat = Path(f"/proc/{pid_file.read_text().strip()}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_for(happened) -> None:
    deadline = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_quick_runs_what_starts_nothing_and_says_if_the_engine_is_not_built(checkout):
    code, said = checkout.run("quick")
    assert (code, said[-1]) == (0, "crumple: 4 passed, 0 failed, 1 skipped")
    assert any(line.startswith("engine: its tests are not built") for line in said)
    built = checkout.folder / "engine" / "target" / "debug" / "deps"
    built.mkdir(parents=True)
    (built / "crumple_engine-0123").touch()
    assert checkout.run("quick")[1][-1] == "crumple: 389 passed, 0 failed, 1 skipped"


ALONE = "failed beside others and passed alone, so mend the test: "
PASSED, FAILED = (0, "1 passed in 0.1s\n"), (1, "1 failed in 0.1s\n")


def passed_alone(said: list[str]) -> list[str]:
    """The tests that were disturbed."""
    return [line.removeprefix(ALONE) for line in said if line.startswith(ALONE)]


def test_a_test_that_fails_beside_others_and_passes_alone_is_named_and_has_passed(checkout):
    tests = ["t.py::test_a", 't.py::test_b[say "a b" \\ c]']
    checkout.fails("lab-parallel", tests)
    for test in tests:
        checkout.again(test, *PASSED)
    code, said = checkout.run()
    # 196 fewer than the 200 that passed otherwise, and none was skipped.
    assert (code, said[-1]) == (0, "crumple: 1431 passed, 0 failed, 1 skipped"), said
    assert passed_alone(said) == tests
    assert said.index("== again ==") < said.index("1 passed in 0.1s")
    order = [part for part, *_ in checkout.log]
    assert order[-3:] == ["lab-alone", *(f"again {test}" for test in tests)]


def test_a_test_that_fails_twice_has_failed(checkout):
    checkout.fails("lab-idle", ["t.py::test_a", "t.py::test_b", "t.py::test_c"])
    checkout.again("t.py::test_a", *FAILED)
    checkout.again("t.py::test_b", *PASSED)
    # To be skipped is not to pass.
    checkout.again("t.py::test_c", 0, "1 skipped in 0.1s\n")
    code, said = checkout.run()
    assert code == 1 and ", 2 failed, " in said[-1], said
    assert passed_alone(said) == ["t.py::test_b"]


@pytest.mark.parametrize("number", [10, 11])
def test_more_than_ten_failures_are_no_disturbance(checkout, number):
    checkout.fails("lab-idle", [f"t.py::test_{number}" for number in range(number - 1)])
    checkout.fails("lab-serial", ["t.py::test_last"])
    for test in range(number - 1):
        checkout.again(f"t.py::test_{test}", *PASSED)
    checkout.again("t.py::test_last", *PASSED)
    code, said = checkout.run()
    again = [part for part, *_ in checkout.log if part.startswith("again")]
    if number == 10:
        assert (code, len(again), len(passed_alone(said))) == (0, 10, 10)
        assert ", 0 failed, " in said[-1]
    else:
        assert (code, again) == (1, []) and ", 11 failed, " in said[-1], said
        assert "11 tests failed, more than 10, so none is run again" in said


FAILURES = """
running 2 tests

failures:

---- b::two stdout ----
    an indented line of what it wrote

failures:
    a_test
    b::two

test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s
"""
OK_AGAIN = (0, "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 6 filtered out; finished in 0s\n")


def test_tests_of_the_engine_are_run_again_by_their_names(checkout):
    checkout.ends("more", 101, FAILURES)
    checkout.again("a_test", *OK_AGAIN)
    checkout.again("b::two", 101, OK_AGAIN[1].replace("1 passed; 0", "0 passed; 1"))
    code, said = checkout.run()
    assert code == 1 and said[-1] == "crumple: 1630 passed, 1 failed, 3 skipped", said
    assert [one.rpartition("/")[2] for one in passed_alone(said)] == ["more-tests a_test"]
    checkout.again("b::two", *OK_AGAIN)
    assert checkout.run()[1][-1] == "crumple: 1631 passed, 0 failed, 3 skipped"


@pytest.mark.parametrize("also", ["examples", "more", "compiling", "lab-serial"])
def test_what_breaks_is_not_hidden_by_what_passes_alone(checkout, also):
    checkout.fails("lab-idle", ["t.py::test_a"])
    checkout.again("t.py::test_a", *PASSED)
    checkout.ends(also, 2, "")
    code, said = checkout.run()
    assert code == 1 and ", 1 failed, " in said[-1] and passed_alone(said) == ["t.py::test_a"], said


def test_quick_runs_nothing_again(checkout):
    checkout.fails("lab", ["t.py::test_a"])
    code, said = checkout.run("quick")
    assert code == 1 and said[-1] == "crumple: 4 passed, 1 failed, 1 skipped"
    assert [part for part, *_ in checkout.log] == ["lab"]
