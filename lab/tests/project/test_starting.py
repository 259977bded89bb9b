"""A test that starts a process without the mark fails, wherever it does so, and is named."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import starting

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

HERE = Path(__file__).parents[1] / "helpers"
HOOKS = ("pytest_runtest_protocol", "pytest_runtest_call", "pytest_runtest_teardown")
CONFTEST = "".join(f"from starting import {hook} as {hook}\n" for hook in HOOKS)
SUITE = """
import contextlib
import subprocess
import threading

import pytest

def plainly():
    subprocess.run(["true"])

def caught():
    with contextlib.suppress(BaseException):
        plainly()

def in_a_thread():
    thread = threading.Thread(target=caught)
    thread.start()
    thread.join()

WAYS = pytest.mark.parametrize("way", [plainly, caught, in_a_thread])

@pytest.fixture
def begins(way):
    way()

@pytest.fixture
def ends(way):
    yield
    way()

@WAYS
def test_itself(way):
    way()

@WAYS
def test_setup(begins):
    pass

@WAYS
def test_teardown(ends):
    pass

@WAYS
@pytest.mark.starts
def test_marked(way, begins, ends):
    way()

def test_without_a_process():
    pass
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest says of the suite."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(SUITE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfE", "-c", os.devnull, "--rootdir", folder,
         "-p", "no:cacheprovider", folder],
        cwd=folder,
        env={**kept, "COLUMNS": "300", "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return done.stdout


def test_each_refusal_fails_its_test_once(said: str) -> None:
    found = re.findall(r"^(FAILED|ERROR) test_it\.py::(\S+) - Failed: ", said, re.MULTILINE)
    ways = ("plainly", "caught", "in_a_thread")
    assert sorted(found) == sorted(
        [
            *(("FAILED", f"test_itself[{way}]") for way in ways),
            ("ERROR", "test_setup[plainly]"),
            ("FAILED", "test_setup[caught]"),
            ("FAILED", "test_setup[in_a_thread]"),
            *(("ERROR", f"test_teardown[{way}]") for way in ways),
        ]
    )


def test_a_refusal_names_the_test_and_the_remedy(said: str) -> None:
    for name in ("test_itself[plainly]", "test_setup[caught]", "test_teardown[in_a_thread]"):
        assert f"test_it.py::{name} starts a process (Popen.__init__ of ['true'])" in said
    assert "mark it @pytest.mark.starts" in said


def test_a_marked_test_passes(said: str) -> None:
    assert "test_marked" not in said and "test_without_a_process" not in said


# What a file of tests says → which of the suites read it.
FILES = {
    "import pytest\n": {"not starts", "not starts and not long"},
    "pytestmark = pytest.mark.long\n": {"not starts", "not starts and not long"},
    "@pytest.mark.starts\n": {"not starts", "not starts and not long", "starts and not parallel"},
    "pytestmark = pytest.mark.starts\n": {"starts and not parallel"},
    "pytestmark = [pytest.mark.starts, pytest.mark.parallel]\n": {
        "starts and not parallel",
        "starts and parallel",
    },
}


@pytest.mark.parametrize("text", FILES)
def test_a_file_is_read_by_the_suites_that_may_run_a_test_of_it(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    (tmp_path / "test_it.py").write_text(text)

    def reads(asked: str) -> bool:
        monkeypatch.setattr(pytestconfig.option, "markexpr", asked)
        assert starting.pytest_ignore_collect(tmp_path, pytestconfig) is None
        return starting.pytest_ignore_collect(tmp_path / "test_it.py", pytestconfig) is None

    suites = ("not starts", "not starts and not long", "starts and parallel", "starts and not parallel")
    assert {asked for asked in suites if reads(asked)} == FILES[text]
    # Any other choice of tests reads every file.
    assert all(map(reads, ("", "long", "starts or long", "not (starts and parallel)")))
