"""The answer of a diagnosis: what limits the server, what to change, what it holds, how sure it is. Pure."""

from collections.abc import Iterator

from crumple.diagnose.diagnosis import Diagnosis
from crumple.diagnose.report import diagnose_sentences as say
from crumple.diagnose.report import limit_rows, remedy_sentences
from crumple.drawing import numerals
from crumple.drawing.report_parts import Answer, Charts, Phrase, sentence, sure
from crumple.limit import finding
from crumple.limit.finding import CAUSES, Finding, Sure
from crumple.words import cause_sentences

# How the sentence begins that goes on after what to change.
_PREFIX = {"or": "or: ", "gain": ""}
UNANSWERED = f"{say.NOT_ANSWERED} while its breaking point was searched"
WHY: dict[Sure, str] = {
    "tested": "as an experiment that could have refuted it did not",
    "likely": "by what was measured; not confirmed by an experiment",
}


def of(diagnosis: Diagnosis, picture: Charts | None) -> Answer:
    """Return the answer."""
    return Answer(
        asked=asked(diagnosis),
        found=[sentence(said) for said in found(diagnosis)],
        sure=how_sure(diagnosis),
        picture=picture,
    )


def title(diagnosis: Diagnosis) -> str:
    """Return the result in a few words."""
    first = finding.first(diagnosis.said)
    return f"first limit: {CAUSES[first.cause] if first else 'not known'} – {diagnosis.plan.label}"


def asked(diagnosis: Diagnosis) -> str:
    """Return what was asked, in a sentence."""
    searched = ", and how much load does it hold" if diagnosis.plan.objective else ""
    return f"What limits {diagnosis.plan.label}{searched}?"


def found(diagnosis: Diagnosis) -> list[str]:
    """Return what limits it, what to change, and what it holds: a sentence each, as far as it is known."""
    unanswered = [UNANSWERED] if is_unanswered(diagnosis) else []
    return [*unanswered, limit(diagnosis), *_change(diagnosis), *_holds(diagnosis)]


def is_unanswered(diagnosis: Diagnosis) -> bool:
    """Whether no request of the search was answered as expected, so that all else is doubtful."""
    return say.holds(diagnosis) == say.NOT_ANSWERED


def limit(diagnosis: Diagnosis) -> str:
    """Return what limits it first, with its evidence."""
    first = finding.first(diagnosis.said)
    if first is None:
        why = "; ".join(limit_rows.why_unknown(diagnosis))
        return f"what limits it cannot be told{f': {why}' if why else ''}"
    facts = diagnosis.facts
    mean_s = facts.beyond.mean_s if facts is not None and facts.beyond.answers else None
    return cause_sentences.first_limit(first, mean_s, in_full=True)


def _change(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield what a change gave or would give, or what to change; without a limit, what would tell more."""
    first, tried = finding.first(diagnosis.said), diagnosis.remedy
    if tried is not None and tried.compared is not None:
        yield remedy_sentences.gave(tried.change, tried.compared)
    elif asked_for := limit_rows.what_if_asked(diagnosis):
        yield f"with {asked_for}"
    elif first is None and diagnosis.would_tell:
        yield f"more would tell: {diagnosis.would_tell}"
    elif first is not None and (rows := limit_rows.change(diagnosis, first)):
        (_, what), *gives = rows
        yield " ".join(
            [sentence(f"try: {what}"), *(sentence(f"{_PREFIX[name]}{said}") for name, said in gives)]
        )


def _holds(diagnosis: Diagnosis) -> Iterator[str]:
    held = say.holds(diagnosis)
    if held and not held.startswith(say.CANNOT_TELL) and not is_unanswered(diagnosis):
        yield f"it holds {held}"


def how_sure(diagnosis: Diagnosis) -> Phrase:
    """Return how sure the limit is, and why."""
    first = finding.first(diagnosis.said)
    if diagnosis.interrupted:
        return sure("interrupted", "bad", say.interruption(diagnosis))
    if first is None:
        return sure("not known", "doubtful", _ruled_out(diagnosis))
    probability = "" if first.probability >= 1.0 else f"{numerals.probability(first.probability)}, "
    others = "; ".join(filter(None, [_rival(first), _ruled_out(diagnosis)]))
    reason = f"{probability}{WHY[first.sure]}{f'; {others}' if others else ''}"
    if is_unanswered(diagnosis):
        return sure("doubtful", "doubtful", f"{UNANSWERED}; {first.sure}: {reason}")
    return sure(first.sure, "good" if first.sure == "tested" else "plain", reason)


def _rival(first: Finding) -> str:
    if first.rival is None:
        return ""
    return f"{CAUSES[first.rival]} is {numerals.probability(first.rival_probability)} likely"


def _ruled_out(diagnosis: Diagnosis) -> str:
    number = sum(len(causes) for causes, _ in limit_rows.ruled_out(diagnosis))
    of = "other cause" if finding.first(diagnosis.said) else "cause"
    return f"{numerals.count(number, of)} ruled out" if number else ""
