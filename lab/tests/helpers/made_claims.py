"""A claim with trials for it, and the answer that judging them gives."""

from typing import Any

from crumple.record.figures import Figures
from crumple.study.claim import Claim
from crumple.verdict.case import RunFacts
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import judge
from pydantic import TypeAdapter

SUPPORTED, CONTRADICTED = VerdictWord.SUPPORTED, VerdictWord.CONTRADICTED


OPEN, UNTESTABLE = VerdictWord.UNDECIDED, VerdictWord.NOT_TESTABLE


def claim(kind: str, **written: Any) -> Claim:
    known: dict[str, Any] = {"id": "C", "text": "A claim.", "kind": kind}
    return TypeAdapter(Claim).validate_python(known | written)


def answer(meant: Claim, figures: list[Figures], facts: RunFacts | None = None) -> VerdictWord:
    return judge(meant, figures, facts=facts or RunFacts()).answer
