"""What several files of tests ask for by name: a project of its own, and stand-ins on its stage.

And what each of them has without asking: a cache that is not the user's, turns to measure and scratch folders
that no other crumple on the machine knows of, and signals as a shell leaves them.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import documents
import pytest
import stand_ins
from crumple.machine import alone, leftovers
from crumple.record import disturbance
from stand_ins import Stage
from users_cache import users_cache as users_cache


@pytest.fixture(scope="session", autouse=True)
def names_of_its_own() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alone, "NAME", f"crumple-{os.getpid()}")
        patch.setattr(leftovers, "PREFIX", f"crumple-test-{os.getpid()}-")
        yield


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """An interrupted command leaves them ignored, and so does a shell for what runs in the background."""
    before = {each: signal.signal(each, signal.SIG_DFL) for each in (signal.SIGTERM, signal.SIGHUP)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for each, previous in before.items():
        signal.signal(each, previous)


@pytest.fixture(autouse=True)
def others_may_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials of tests count whatever else the machine does meanwhile, and are not done again."""
    for limit in ("OTHERS_TOO_MUCH", "STEAL_TOO_MUCH"):
        monkeypatch.setattr(disturbance, limit, 100.0)


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stage:
    monkeypatch.setenv("CRUMPLE_ENGINE", str(documents.fake_engine(tmp_path)))
    return stand_ins.stage(monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return stand_ins.project(tmp_path / "project")
