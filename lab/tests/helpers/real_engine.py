"""The real engine for tests that start it; they skip where it is not built."""

from pathlib import Path

import pytest
from crumple import engine
from crumple.engine import Engine
from crumple.errors import CrumpleError
from crumple.find import weighing

ROOT = Path(__file__).resolve().parents[3]


def _built() -> Path | None:
    try:
        return engine.find(ROOT)
    except CrumpleError:
        return None


# Found before any test puts a stand-in in its place; None: it is not built.
PATH = _built()


def loaded() -> Engine:
    """The engine; skips if there is none."""
    try:
        return engine.load(ROOT)
    except CrumpleError as error:
        pytest.skip(f"needs the engine: {error}")


def weighs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it say where a server breaks, also for tests that put a stand-in in its place."""

    def path() -> Path:
        return PATH or pytest.skip("needs the engine")

    monkeypatch.setattr(weighing, "program", path)


def used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands find the engine from wherever they run; skips if there is none."""
    monkeypatch.setenv("CRUMPLE_ENGINE", str(loaded().path))
