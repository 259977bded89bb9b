"""What --fail-if can ask of a search: where the objective breaks, and the highest load at which it held."""

from collections.abc import Mapping, Sequence

from crumple.find.report import find_sentences
from crumple.find.report.find_figures import SearchFigures
from crumple.find.search import SearchResult
from crumple.gate import condition
from crumple.gate.condition import Condition, FigureKind, FigureSeen, NoFigure, Outcome

_LOAD = {"": 1.0, "/s": 1.0}
KINDS: Mapping[str, FigureKind] = {
    "breaking-point": FigureKind(_LOAD, "breaking-point<1000"),
    "highest-held": FigureKind(_LOAD, "highest-held<1000"),
}


def outcomes(asked: Sequence[Condition], finding: SearchFigures) -> tuple[Outcome, ...]:
    """Return what comes of each condition."""
    return tuple(condition.outcome(each, _seen(each, finding)) for each in asked)


def breaking_point(found: SearchResult, said: str, none: str) -> Sequence[FigureSeen] | NoFigure:
    """Return the breaking point with its interval; if all loads held, that it lies above the highest.

    `said`: it in words; `none`: why there is none.
    """
    if found.point is not None:
        return [FigureSeen(found.point.low, found.point.high, said)]
    if found.ending == "highest" and found.highest_held is not None:
        return [FigureSeen(found.highest_held, float("inf"), none)]
    return NoFigure(none)


def _seen(asked: Condition, finding: SearchFigures) -> Sequence[FigureSeen] | NoFigure:
    found, headline = finding.found, find_sentences.headline(finding)
    if finding.decided_nothing:
        return NoFigure(headline)
    if asked.quantity == "breaking-point":
        return breaking_point(found, find_sentences.point(finding), headline)
    if found.highest_held is None:
        return NoFigure(headline)
    return [FigureSeen.exactly(found.highest_held, find_sentences.load(found.highest_held, finding.by_rate))]
