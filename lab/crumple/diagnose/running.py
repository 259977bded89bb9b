"""What puts a load of a diagnosis on the server, and who receives its progress."""

from collections.abc import Callable
from typing import Protocol

from crumple.contract import TrialRecord, TrialSpec
from crumple.engine import Engine
from crumple.load import canary
from crumple.load.canary import LightRequests


class StepWatcher(Protocol):
    """Receives the progress of a diagnosis."""

    def doing(self, what: str) -> None:
        """A step begins."""


# A spec, and beside it a canary if there is one → their records.
Run = Callable[[TrialSpec, LightRequests | None], tuple[TrialRecord, TrialRecord | None]]


def runner(engine: Engine, check: Callable[[TrialRecord], None]) -> Run:
    """Return what runs a load in this engine. `check` raises if the server has ended since."""

    def run(spec: TrialSpec, beside: LightRequests | None) -> tuple[TrialRecord, TrialRecord | None]:
        record, seen_beside = canary.beside(engine, spec, beside, lambda _: None)
        check(record)
        return record, seen_beside

    return run
