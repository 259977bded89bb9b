"""Runs with real processes, for tests: a project of one tiny server, the real engine, tenths of a second."""

from pathlib import Path

import documents
import pytest
import real_engine
import stand_ins
import tiny_servers
from crumple.contract import ProgressLine
from crumple.run import runs
from crumple.run.run_plan import Block
from crumple.run.runs import Begun
from crumple.run.store import StoredTrial, TrialIdentity
from crumple.study.study import Study

ROOT = Path(__file__).parents[3]


class Quiet:
    """A watcher that prints nothing."""

    def preparing(self, server: str) -> None: ...
    def waiting(self) -> None: ...
    def calibrating(self) -> None: ...
    def skipped(self, server: str, reason: str) -> None: ...
    def not_built(self, server: str, reason: str) -> None: ...
    def block(self, study: Study, block: Block, why: str) -> None: ...
    def began(self, trial: TrialIdentity) -> None: ...
    def slice(self, trial: TrialIdentity, number: int, of: int) -> None: ...
    def progress(self, trial: TrialIdentity, progress: ProgressLine) -> None: ...
    def ended(self, stored: StoredTrial) -> None: ...
    def over(self, run: Begun) -> None: ...
    def unfit(self, problem: str) -> None: ...


def project(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """A project with the server `tiny` and the real engine; skips if there is no engine."""
    real_engine.used(monkeypatch)
    root = stand_ins.project(folder / "project")
    tiny_servers.write(root, "tiny")
    return root


def study() -> Study:
    """One experiment of one server, and its twin."""
    shared = documents.study().experiments["shared"]
    quick = shared.scales["quick"].model_validate(
        {"blocks": 1, "warm_up": {"duration_s": 0.2}, "stop": {"duration_s": 0.3}}
    )
    shape = shared.shape.model_copy(update={"connections": 2})
    update = {"servers": ("tiny",), "twin": "tiny", "shape": shape, "scales": {"quick": quick}}
    experiments = {"shared": shared.model_copy(update=update)}
    return documents.study().model_copy(update={"experiments": experiments, "claims": ()})


def begin(root: Path, *own: str, only: tuple[str, ...] = (), asked: Study | None = None) -> Begun:
    """Begin a run of `asked`, by default of that study, with `own` servers added."""
    return runs.begin(
        asked or study(),
        "quick",
        root=root,
        runs=root / "runs",
        seed=1,
        only=only,
        own=own,
        waiting=lambda: None,
    )
