"""The data that a CI platform is given after a command: its answer, its conditions and its remarks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crumple.gate.condition import Outcome, State

# "error": it is not known whether it fails. A test that "failed" or has an "error" ends the job.
TestResult = Literal["passed", "failed", "error", "skipped"]
_RESULTS: dict[State, TestResult] = {
    "holds": "failed",
    "does not hold": "passed",
    "not shown": "passed",
    "not known": "error",
}


@dataclass(frozen=True)
class Remark:
    """A comparison or a claim. It fails no job, as only conditions do."""

    name: str
    """What is compared or claimed."""
    words: str
    """What came of it."""
    is_open: bool = False
    """Whether nothing was decided."""


@dataclass(frozen=True)
class JobReport:
    """A command that has ended. Any text may come from a server."""

    verb: str
    """The command."""
    asked: str
    """What was measured."""
    headline: str
    """What came of it, in a line."""
    screen: str
    """As the terminal shows it, without styles."""
    outcomes: tuple[Outcome, ...] = ()
    """What came of each condition."""
    remarks: tuple[Remark, ...] = ()
    """What else was found."""
    problem: str = ""
    """Why nothing can be judged; empty: it can."""
    began_unix_s: float = 0.0
    """When it began."""
    took_s: float = 0.0
    """How long it took."""

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
class JobTest:
    """A line of a list of tests."""

    group: str
    """The part of the report that it belongs to."""
    name: str
    """What was tested."""
    result: TestResult
    """What came of it."""
    words: str
    """The result in words."""


def tests(report: JobReport) -> Sequence[JobTest]:
    """Return the report as tests: whether it could be judged, each condition, each remark."""
    verb = f"crumple.{report.verb}"
    problem = report.problem
    valid = JobTest(verb, "the measurement can be judged", "error" if problem else "passed", problem)
    conditions = (
        JobTest(f"{verb}.conditions", f"fail if {each.written}", _RESULTS[each.state], each.sentence)
        for each in report.outcomes
    )
    remarks = (
        JobTest(f"{verb}.findings", each.name, "skipped" if each.is_open else "passed", each.words)
        for each in report.remarks
    )
    return [valid, *conditions, *remarks]
