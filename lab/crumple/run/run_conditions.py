"""What --fail-if can ask of runs: how many claims have which verdict, and how many trials do not count."""

from collections.abc import Iterator, Mapping, Sequence

from crumple.gate import condition
from crumple.gate.condition import Condition, FigureKind, FigureSeen, Outcome
from crumple.run.report.view import RunView
from crumple.verdict.effect import VerdictWord

VERDICTS: Mapping[str, VerdictWord] = {
    "contradicted": VerdictWord.CONTRADICTED,
    "supported": VerdictWord.SUPPORTED,
    "undecided": VerdictWord.UNDECIDED,
    "not-testable": VerdictWord.NOT_TESTABLE,
}
TRIALS = ("failed", "not-valid", "skipped")
KINDS: Mapping[str, FigureKind] = {
    name: FigureKind({"": 1.0}, f"{name}>0") for name in (*VERDICTS, "in-size-only", *TRIALS)
}


def outcomes(asked: Sequence[Condition], views: Sequence[RunView]) -> tuple[Outcome, ...]:
    """Return what comes of each condition in all runs together."""
    found = []
    for each in asked:
        named = list(_names(each.quantity, views))
        found.append(condition.outcome(each, [FigureSeen.exactly(len(named), ", ".join(named))]))
    return tuple(found)


def _names(quantity: str, views: Sequence[RunView]) -> Iterator[str]:
    """Yield the claims or the trials that a figure counts."""
    for view in views:
        trials = {"failed": view.failed, "not-valid": view.not_valid, "skipped": view.skipped}
        if quantity in trials:
            yield from (start.trial.trial.id for start in trials[quantity])
        elif quantity == "in-size-only":
            yield from (each.claim_id for each in view.asked if each.in_size_only)
        else:
            yield from (each.claim_id for each in view.asked if each.answer is VERDICTS[quantity])
