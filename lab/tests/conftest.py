"""What several files of tests ask for by name: a project of its own, and stand-ins on its stage.

And what each of them has without asking: a cache that is not the user's.
"""

from pathlib import Path

import documents
import pytest
import stand_ins
from stand_ins import Stage
from users_cache import users_cache as users_cache


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stage:
    monkeypatch.setenv("CRUMPLE_ENGINE", str(documents.fake_engine(tmp_path)))
    return stand_ins.stage(monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return stand_ins.project(tmp_path / "project")
