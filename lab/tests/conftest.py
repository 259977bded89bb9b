"""Fixtures that several files of tests use: a project of its own, and stand-ins for servers and machine.

All tests get these automatically: a cache that is not the user's, names of turns and scratch folders that no
other crumple on the machine uses, signal handlers as a shell sets them, and the real engine to say where a
server breaks. Only tests marked `starts` may
start a process.
"""

import gc
import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import documents
import pytest
import real_engine
import stand_ins
from crumple.machine import alone, leftovers
from crumple.record import disturbance
from hypothesis import settings
from stand_ins import Stage
from starting import pytest_ignore_collect as pytest_ignore_collect
from starting import pytest_itemcollected as pytest_itemcollected
from starting import pytest_runtest_call as pytest_runtest_call
from starting import pytest_runtest_protocol as pytest_runtest_protocol
from starting import pytest_runtest_teardown as pytest_runtest_teardown
from users_cache import users_cache as users_cache

# No test asserts a time, and some run at idle priority, where one example may take any time.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")

# The workers of pytest-xdist inherit these from its first process, in which readline sets them to 80 and 24.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)


def pytest_collection_finish() -> None:
    """Leave what is there by then out of each search for garbage: it stays, and is most of all objects."""
    gc.collect()
    gc.freeze()


# From which slowdown on a trial does not count, and others are mentioned.
LIMITS = {name: getattr(disturbance, name) for name in ("SLOWDOWN_MAX", "MENTIONED")}


@pytest.fixture(scope="session", autouse=True)
def names_of_its_own() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alone, "NAME", f"crumple-{os.getpid()}")
        patch.setattr(leftovers, "PREFIX", f"crumple-test-{os.getpid()}-")
        yield


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Set default handlers: an interrupted command and a shell's background job leave signals ignored."""
    before = {each: signal.signal(each, signal.SIG_DFL) for each in (signal.SIGTERM, signal.SIGHUP)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for each, previous in before.items():
        signal.signal(each, previous)


@pytest.fixture(autouse=True)
def others_may_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials of tests count, and no sentence says what others took, whatever else the machine does."""
    for limit in LIMITS:
        monkeypatch.setattr(disturbance, limit, math.inf)


@pytest.fixture
def real_limits(monkeypatch: pytest.MonkeyPatch, others_may_work: None) -> None:
    """What others take counts as it does outside the tests."""
    for limit, value in LIMITS.items():
        monkeypatch.setattr(disturbance, limit, value)


@pytest.fixture(autouse=True)
def weighs(monkeypatch: pytest.MonkeyPatch) -> None:
    real_engine.weighs(monkeypatch)


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stage:
    monkeypatch.setenv("CRUMPLE_ENGINE", str(documents.fake_engine(tmp_path)))
    stand_ins.engine_in_process(monkeypatch)
    return stand_ins.stage(monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return stand_ins.project(tmp_path / "project")
