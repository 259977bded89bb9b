"""Claims and runs that are judged, and the answer each verdict has."""

from collections.abc import Sequence
from typing import Any

from crumple.record.figures import Figures
from crumple.study.claim import OrderClaim, RatioClaim, RatioPair
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import Verdict
from made_figures import server, twins

UNDECIDED = (0.9, 1.12, 0.95, 1.1, 1.0)


def run(apart: float = 1.0) -> list[Figures]:
    return [
        *twins(apart=apart),
        *server("java", 20_000, shift=2),
        *server("node", 11_000, shift=3),
        *server("express", 5_600, shift=1),
        *server("close", 11_050, UNDECIDED),
    ]


def ratio(*pairs: tuple[str, str, float], tolerance: float = 0.25, **changes: Any) -> RatioClaim:
    meant = tuple(RatioPair(of=of, to=to, published=published) for of, to, published in pairs)
    known: dict[str, Any] = {
        "id": "R", "text": "A claim.", "kind": "ratio", "experiment": "shared", "metric": "throughput",
        "pairs": meant, "tolerance": tolerance,
    }  # fmt: skip
    return RatioClaim(**(known | changes))


def order(*tiers: Sequence[str], metric: str = "throughput") -> OrderClaim:
    meant = tuple(tuple(tier) for tier in tiers)
    return OrderClaim(id="O", text="A claim.", kind="order", experiment="shared", metric=metric, tiers=meant)


def answered(verdict: Verdict) -> tuple[VerdictWord, bool]:
    return verdict.answer, verdict.in_size_only


SUPPORTED, CONTRADICTED = (VerdictWord.SUPPORTED, False), (VerdictWord.CONTRADICTED, False)


# The direction holds, and the size is refuted or undecided.
REFUTED, SIZE_OPEN = (VerdictWord.CONTRADICTED, True), (VerdictWord.UNDECIDED, True)


OPEN = (VerdictWord.UNDECIDED, False)


UNTESTABLE = (VerdictWord.NOT_TESTABLE, False)
