"""Checks after each load of a diagnosis that the server answers, so that no finding rests on silence."""

import time

from crumple import contract, engine
from crumple.contract import TrialRecord
from crumple.drawing import numerals
from crumple.engine import Engine
from crumple.errors import ServerLost
from crumple.experiment.subject import Subject
from crumple.load import engine_spec, lost, unloaded
from crumple.machine import capacity
from crumple.record.loss import Lost
from crumple.words import lost_sentences

# How long one light request may take, in seconds: many seconds, since the server may still work on a load.
WITHIN_S = 10.0


class Presence:
    """The server of a diagnosis: its process from now on, and what it has answered."""

    def __init__(self, subject: Subject, loader: Engine) -> None:
        self.process = lost.process(subject.pid, subject.guarded)
        self._subject, self._loader = subject, loader
        self._answered: set[contract.RequestSpec] = set()

    def check(self, record: TrialRecord) -> None:
        """Raise CrumpleError if the server was lost in that load, or is lost since."""
        if (found := self.lost_in(record)) is not None:
            raise error(found, in_load(record.spec.shape))

    def lost_in(self, record: TrialRecord) -> Lost | None:
        """Return how the server was lost in that load, or since; None: it was not.

        Raises CrumpleError if nobody listens.
        """
        was_answered = self._answered.issuperset(record.spec.requests)
        found = lost.by_now(record, self.process, self._one, was_answered=was_answered)
        if found is not None:
            return found
        if record.outcomes.refused and not record.outcomes.ok:
            engine_spec.check_listening(self._subject.target, self._subject.options.machine)
        if record.outcomes.ok:
            self._answered.update(record.spec.requests)
        return None

    def answers_within(self, within_s: float) -> bool:
        """Wait until the server answers one light request; return whether it did within about that time."""
        over_s = time.monotonic() + within_s
        while time.monotonic() < over_s:
            if self._one().outcomes.ok:
                return True
        return False

    def look(self) -> None:
        """Raise CrumpleError if the server is lost."""
        self.check(self._one())

    def _one(self) -> TrialRecord:
        """Send one light request."""
        subject = self._subject
        spec = engine_spec.spec(
            label="diagnose/one",
            target=subject.target,
            requests=(subject.light,),
            shape=contract.ClosedShapeSpec(connections=1),
            stop=contract.RequestsStopSpec(requests=1, within_s=WITHIN_S),
            options=subject.options,
        )
        return engine.run(self._loader, unloaded.one_of(spec, WITHIN_S), lambda _: None)


def in_load(shape: contract.ShapeSpec) -> str:
    """Return during which load of a diagnosis: "in its load with 64 connections"."""
    if isinstance(shape, contract.OpenShapeSpec):
        return f"in its load at {numerals.rate(engine_spec.peak_per_s(shape))}"
    return f"in its load with {numerals.count(capacity.connections_of(shape), 'connection')}"


def error(found: Lost, during: str) -> ServerLost:
    """Return what a diagnosis ends with if the server is lost. `during`: which of its loads."""
    remedy = f"{lost_sentences.remedy(found)}; what was measured before says nothing of its limits"
    return ServerLost(lost_sentences.sentence(found, f"the server was lost {during},"), remedy)
