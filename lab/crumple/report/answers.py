"""An answer to each study in a sentence of this run's own figures: what a reader takes home.

What contradicts the article comes first, the greatest surprise before all; then what was confirmed, then what
stays open. Plain text: the formats place it.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from crumple.report import findings, sentences
from crumple.report.findings import Finding
from crumple.report.view import RunView
from crumple.verdict.effect import Answer

# In this order a study's answer is looked for among its verdicts.
_ORDER = (Answer.CONTRADICTED, Answer.SUPPORTED, Answer.UNDECIDED)


@dataclass(frozen=True)
class StudyAnswer:
    """What a study came to. `badge`: the answer as verdicts show it, empty where no claim was asked.

    `sentence`: one, with its full stop. `rank`: surprises sort by it.
    """

    view: RunView
    badge: str
    sentence: str
    rank: tuple[int, int, bool, float]

    @property
    def word(self) -> str:
        """What opens the sentence where no badge stands beside it."""
        return f"{self.badge.capitalize()}: " if self.badge else ""

    @property
    def said(self) -> str:
        """The whole of it."""
        return self.word + self.sentence


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
            badge = sentences.answer(lead.verdict)
            return StudyAnswer(view, badge, _sentence(lead, found), (place, *lead.rank))
    return _nothing(view, found)


def _first_of(found: Sequence[Finding], kind: Answer) -> Finding:
    """The greatest surprise; of what is open what takes least to decide."""
    if kind is Answer.UNDECIDED:
        return min(found, key=lambda each: (each.lead and each.lead.blocks_needed) or math.inf)
    return min(found, key=lambda each: each.rank)


def _sentence(lead: Finding, found: Sequence[Finding]) -> str:
    is_open = lead.verdict.answer is Answer.UNDECIDED
    would = f"; {_would_take(lead)}" if is_open else ""
    return f"{lead.sentence}{would} ({lead.verdict.claim_id}{_others(lead, found)})."


def _others(lead: Finding, found: Sequence[Finding]) -> str:
    """How the study's other claims came out: "; 2 more contradicted, 6 supported"."""
    counted = Counter(each.verdict.answer for each in found if each is not lead)
    more = {lead.verdict.answer: " more"}
    parts = [f"{counted[kind]}{more.get(kind, '')} {kind.value}" for kind in _ORDER if counted[kind]]
    return "".join(["; " if parts else "", ", ".join(parts)])


def _would_take(lead: Finding) -> str:
    """What an open claim needs."""
    effect = lead.lead
    if effect is None or effect.blocks_needed is None or effect.measured is None:
        return "how many blocks would tell is not known"
    return f"about {effect.blocks_needed} blocks would tell, {effect.blocks_needed - effect.measured.n} more"


def _nothing(view: RunView, found: Sequence[Finding]) -> StudyAnswer:
    if not found:
        return StudyAnswer(view, "", sentences.summary(view), (4, 0, False, 0.0))
    claim = found[0].verdict
    because = f": {why}" if (why := findings.why(claim)) else ""
    none = "No claim" if len(found) > 1 else "The claim that was asked"
    could = "could be judged" if len(found) > 1 else "could not be judged"
    said = f"{none} {could}{because} ({claim.claim_id}). Ask again: crumple run {view.run.study.name}."
    return StudyAnswer(view, Answer.NOT_TESTABLE.value, said, (3, 0, False, 0.0))
