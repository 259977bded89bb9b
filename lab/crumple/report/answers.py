"""An answer to each study in a sentence of this run's own figures: what a reader takes home.

What contradicts the article comes first, the greatest surprise before all; then what was confirmed, then what
stays open. Plain text: the formats place it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from crumple.report import findings, sentences
from crumple.report.findings import Finding
from crumple.report.view import RunView
from crumple.verdict.effect import Answer

# In this order a study's answer is looked for among its verdicts.
_ORDER = (Answer.CONTRADICTED, Answer.SUPPORTED, Answer.UNDECIDED)
REASON_MAX = 160
IDS_MAX = 3


@dataclass(frozen=True)
class StudyAnswer:
    """What a study came to. `word`: its kind, as verdicts have it; `badge`: the same with "in size only".

    `sentence`: with a full stop; `word` opens it where it is read alone: see `said`.
    """

    view: RunView
    badge: str
    word: str
    sentence: str
    rank: tuple[int, int, float]

    @property
    def said(self) -> str:
        """The whole of it."""
        return f"{self.word}: {self.sentence}" if self.word else self.sentence


def answers(views: Sequence[RunView]) -> list[StudyAnswer]:
    """The answer to each study, surprises first; equal ones as the studies come."""
    return sorted((answer(view) for view in views), key=lambda each: each.rank)


def answer(view: RunView) -> StudyAnswer:
    """The answer of one study."""
    found = findings.findings(view)
    for place, kind in enumerate(_ORDER):
        alike = [each for each in found if each.verdict.answer is kind]
        if alike:
            lead = _first_of(alike, kind)
            others = [each for each in alike if each is not lead]
            return StudyAnswer(
                view, sentences.answer(lead.verdict), _word(lead), _sentence(lead, others, kind),
                (place, *lead.rank),
            )  # fmt: skip
    return _nothing(view, found)


def _first_of(found: Sequence[Finding], kind: Answer) -> Finding:
    """The greatest surprise; of what is open what takes least to decide."""
    if kind is Answer.UNDECIDED:
        return min(found, key=lambda each: (each.lead and each.lead.blocks_needed) or math.inf)
    return min(found, key=lambda each: each.rank)


def _word(lead: Finding) -> str:
    return sentences.answer(lead.verdict).capitalize()


def _sentence(lead: Finding, others: Sequence[Finding], kind: Answer) -> str:
    also = ""
    if others:
        ids = [each.verdict.claim_id for each in others]
        named = ids[:IDS_MAX] + ([f"{len(ids) - IDS_MAX} more"] if len(ids) > IDS_MAX else [])
        also = f"; {sentences.listed(named)} {'is' if len(ids) == 1 else 'are'} {kind.value}, too"
    would = f"; {_would_take(lead)}" if kind is Answer.UNDECIDED else ""
    return f"{lead.sentence}{would} ({lead.verdict.claim_id}{also})."


def _would_take(lead: Finding) -> str:
    """What an open claim needs."""
    effect = lead.lead
    if effect is None or effect.blocks_needed is None or effect.measured is None:
        return "how many blocks would tell is not known"
    more = effect.blocks_needed - effect.measured.n
    return f"about {effect.blocks_needed} blocks would tell, {more} more"


def _nothing(view: RunView, found: Sequence[Finding]) -> StudyAnswer:
    if not found:
        return StudyAnswer(view, "", "", sentences.summary(view), (4, 0, 0.0))
    reasons = [effect.reason for each in found for effect in each.verdict.effects if effect.reason]
    why = f": {_cut(reasons[0])}" if reasons else ""
    first = found[0].verdict.claim_id
    said = (
        f"No claim could be judged; {first} for one{why}."
        if len(found) > 1
        else f"{first} could not be judged{why}."
    )
    badge = Answer.NOT_TESTABLE.value
    return StudyAnswer(view, badge, badge.capitalize(), said, (3, 0, 0.0))


def _cut(reason: str) -> str:
    first = reason.partition("; ")[0]
    if len(first) <= REASON_MAX:
        return first
    return first[:REASON_MAX].rsplit(" ", 1)[0] + " …"
