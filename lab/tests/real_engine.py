"""The real engine for tests that start it; they skip where it is not built."""

from pathlib import Path

import pytest
from crumple import engine
from crumple.engine import Engine
from crumple.errors import CrumpleError

ROOT = Path(__file__).resolve().parents[2]


def loaded() -> Engine:
    """The engine; skips if there is none."""
    try:
        return engine.load(ROOT)
    except CrumpleError as error:
        pytest.skip(f"needs the engine: {error}")


def used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands find the engine from wherever they run; skips if there is none."""
    monkeypatch.setenv("CRUMPLE_ENGINE", str(loaded().path))
