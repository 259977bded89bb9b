"""A run of a small study, and what it says while it goes on."""

from pathlib import Path
from typing import Any

import documents
from crumple.contract import ProgressLine
from crumple.errors import Interrupted
from crumple.run import runs
from crumple.run.run_plan import Block
from crumple.run.runs import Begun
from crumple.run.store import StoredTrial, TrialIdentity
from crumple.study.study import Study


class Notes:
    """Notes the events of a run; raises `Interrupted` after that many trials."""

    def __init__(self, interrupt_after: int | None = None) -> None:
        self.order: list[str] = []
        self.skips: list[tuple[str, str]] = []
        self.unbuilt: list[tuple[str, str]] = []
        self.builds: list[str] = []
        self.said_unfit: list[str] = []
        self.reasons: list[str] = []
        # The id of each run that is over, and after how many trials.
        self.overs: list[tuple[str, int]] = []
        self._interrupt_after = interrupt_after

    def preparing(self, server: str) -> None:
        self.builds.append(server)

    def calibrating(self) -> None:
        pass

    def waiting(self) -> None:
        pass

    def skipped(self, server: str, reason: str) -> None:
        self.skips.append((server, reason))

    def not_built(self, server: str, reason: str) -> None:
        self.unbuilt.append((server, reason))

    def block(self, study: Study, block: Block, why: str) -> None:
        self.reasons.append(why)

    def began(self, trial: TrialIdentity) -> None:
        if len(self.order) == self._interrupt_after:
            raise Interrupted("SIGINT")

    def slice(self, trial: TrialIdentity, number: int, of: int) -> None:
        pass

    def progress(self, trial: TrialIdentity, progress: ProgressLine) -> None:
        pass

    def ended(self, stored: StoredTrial) -> None:
        self.order.append(stored.trial.id)

    def unfit(self, problem: str) -> None:
        self.said_unfit.append(problem)

    def over(self, run: Begun) -> None:
        self.overs.append((run.file.id, len(self.order)))


def begin(root: Path, only: tuple[str, ...] = (), seed: int | None = 42, **changes: Any) -> Begun:
    asked = changes.pop("asked", documents.study())
    changes = {"waiting": lambda: None, **changes}
    return runs.begin(asked, "quick", root=root, runs=root / "runs", seed=seed, only=only, **changes)
