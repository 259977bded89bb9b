"""What comes of the conditions of `load --fail-if`, by the record of the load. Pure."""

from collections.abc import Sequence

from crumple.contract import TrialRecord
from crumple.drawing import numerals
from crumple.gate.condition import Outcome
from crumple.load.objective import Term
from crumple.record.disturbance import Disturbance


def outcomes(
    terms: Sequence[Term], record: TrialRecord, others: Disturbance, *, is_lost: bool = False
) -> tuple[Outcome, ...]:
    """Return what comes of each condition.

    `others`: what they took from the load. `is_lost`: the server was lost, so that a condition which does not
    hold by the time before is not known.
    """
    return tuple(_outcome(term, record, others, is_lost) for term in terms)


def _outcome(term: Term, record: TrialRecord, others: Disturbance, is_lost: bool) -> Outcome:
    holds = term.holds_surely(record, others)
    if holds:
        return Outcome(term.written, "holds", "")
    if holds is None or is_lost:
        return Outcome(term.written, "not known", _why_unknown(term, record, others, is_lost))
    return Outcome(term.written, "does not hold", "")


def _why_unknown(term: Term, record: TrialRecord, others: Disturbance, is_lost: bool) -> str:
    if is_lost:
        return "the server was lost before the load was over"
    if term.by_lateness(record):
        return "the engine was late, so the time is at most what is shown"
    if term.by_others(record, others):
        took = others.why or f"others took up to {others.taken_share:.1%} of the time"
        return f"{took}, and on a calm machine it may be otherwise"
    needed = numerals.count(term.requests_needed, "answer" if term.is_time else "request")
    return f"it takes {needed} to know, and {term.counted(record):,} came"
