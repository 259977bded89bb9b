"""Hooks for `conftest`: a test that starts a process fails unless it is marked `starts`.

`make check` leaves the marked tests out. These are hooks, not a fixture, because fixtures of a module or of
the session start processes too. A file of which `-m` leaves out every test is not imported, because importing
all of them takes seconds.
"""

import multiprocessing.util
import os
import re
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NoReturn

import pytest

# asyncio, os.popen and os.spawn use these, and so does multiprocessing, whichever way it starts a process.
WAYS: tuple[tuple[Any, str], ...] = (
    (subprocess.Popen, "__init__"),
    (os, "fork"),
    (os, "forkpty"),
    (os, "posix_spawn"),
    (os, "posix_spawnp"),
    (os, "system"),
    (multiprocessing.util, "spawnv_passfds"),
)
REFUSED = pytest.StashKey[list[str]]()
# The mark of all tests of a file.
OF_THE_FILE = re.compile(r"^pytestmark = .*\bmark\.(starts|weighs)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file of tests if `-m` selects none of them, as its text shows."""
    asked = str(config.getoption("markexpr"))
    # Where it says more than which marks a test must have and lack, all files are read.
    marks = asked.split(" and ") if not re.search(r" or |[()]", asked) else []
    if collection_path.suffix != ".py" or not {"starts", "not starts"} & {*marks}:
        return None
    text = collection_path.read_text(encoding="utf-8")
    if "not starts" in marks:
        return True if OF_THE_FILE.search(text) else None
    wanted = {"starts", "parallel", "alone"} & {*marks}
    return None if "mark.weighs" in text or all(f"mark.{mark}" in text for mark in wanted) else True


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test that weighs as one that starts a process and passes on a busy machine."""
    if item.get_closest_marker("weighs"):
        item.add_marker("starts")
        item.add_marker("parallel")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Refuse the processes that an unmarked test, or a fixture for it, starts."""
    if item.get_closest_marker("starts"):
        return (yield)
    refused = item.stash[REFUSED] = list[str]()
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in WAYS:
            patch.setattr(owner, name, _refusing(item.nodeid, f"{owner.__name__}.{name}", refused))
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail the test also where the refusal was raised in a thread, or was caught."""
    result = yield
    if refused := item.stash.get(REFUSED, []):
        pytest.fail(refused[0], pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Fail the test also where that happened while a fixture ended."""
    refused = item.stash.get(REFUSED, [])
    before = len(refused)
    result = yield
    if len(refused) > before:
        pytest.fail(refused[before], pytrace=False)
    return result


def _refusing(test: str, way: str, refused: list[str]) -> Callable[..., NoReturn]:
    def refuse(*arguments: object, **_: object) -> NoReturn:
        command = f" of {arguments[1]!s:.80}" if len(arguments) > 1 else ""
        refused.append(
            f"{test} starts a process ({way}{command}) and is not marked; mark it @pytest.mark.starts, or "
            "all tests of its file: pytestmark = pytest.mark.starts"
        )
        pytest.fail(refused[-1])

    return refuse
