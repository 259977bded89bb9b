"""What a CI platform is told of a command that has ended: its answer, its conditions and its findings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crumple.gate.condition import Outcome, State

# "error": it is not known whether it fails. What has the answer "failed" or "error" ends the job.
Answer = Literal["passed", "failed", "error", "skipped"]
_ANSWERS: dict[State, Answer] = {
    "holds": "failed",
    "does not hold": "passed",
    "not shown": "passed",
    "not known": "error",
}


@dataclass(frozen=True)
class Finding:
    """A comparison or a claim. It fails no job, as only conditions do. `is_open`: nothing was decided."""

    name: str
    said: str
    is_open: bool = False


@dataclass(frozen=True)
class Told:
    """What is told. `screen`: as the terminal shows it, without styles; `problem`: why nothing can be judged.

    `verb`: the command. `asked`: what was measured. Any text may come from a server.
    """

    verb: str
    asked: str
    headline: str
    screen: str
    outcomes: tuple[Outcome, ...] = ()
    findings: tuple[Finding, ...] = ()
    problem: str = ""
    began_unix_s: float = 0.0
    took_s: float = 0.0

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The conditions that hold."""
        return tuple(each for each in self.outcomes if each.state == "holds")

    @property
    def word(self) -> str:
        """What came of it, in a word."""
        if self.problem:
            return "nothing can be judged"
        if self.failed:
            return "fails"
        unknown = any(each.state == "not known" for each in self.outcomes)
        return "not known" if unknown else "passes" if self.outcomes else "done"


@dataclass(frozen=True)
class Case:
    """A line of a list of tests."""

    group: str
    name: str
    answer: Answer
    said: str


def cases(told: Told) -> Sequence[Case]:
    """Return what a list of tests has of it: whether it could be judged, each condition, each finding."""
    verb = f"crumple.{told.verb}"
    valid = Case(verb, "the measurement can be judged", "error" if told.problem else "passed", told.problem)
    conditions = (
        Case(f"{verb}.conditions", f"fail if {each.written}", _ANSWERS[each.state], each.said)
        for each in told.outcomes
    )
    findings = (
        Case(f"{verb}.findings", each.name, "skipped" if each.is_open else "passed", each.said)
        for each in told.findings
    )
    return [valid, *conditions, *findings]
