"""What --fail-if can ask of a diagnosis: where it breaks, what a connection takes, what limits the server."""

from collections.abc import Mapping, Sequence
from typing import get_args

from crumple.diagnose.diagnosis import Diagnosis
from crumple.drawing import numerals
from crumple.find import find_conditions
from crumple.gate import condition
from crumple.gate.condition import Condition, FigureKind, FigureSeen, NoFigure, Outcome
from crumple.limit import finding
from crumple.limit.finding import Cause, Finding, Out, Unclear
from crumple.observation import connection_memory, parallelism
from crumple.observation.parallelism import Parallelism
from crumple.observation.unknown import Unknown

_BYTES = {"b": 1.0, "kib": 1024.0, "mib": 1024.0**2, "kb": 1e3, "mb": 1e6}
CAUSES: tuple[Cause, ...] = tuple(each for each in get_args(Cause) if each != "none")
KINDS: Mapping[str, FigureKind] = {
    "breaking-point": find_conditions.KINDS["breaking-point"],
    "memory-per-connection": FigureKind(_BYTES, "memory-per-connection>64KiB"),
    "waits": FigureKind({"": 1.0}, "waits<100"),
    "computes": FigureKind({"": 1.0}, "computes<2"),
    # A cause, and what it adds to the mean response time.
    **{name: FigureKind(condition.SHARE_UNITS, f"{name}>30%", is_share=True) for name in CAUSES},
}


def outcomes(asked: Sequence[Condition], found: Diagnosis) -> tuple[Outcome, ...]:
    """Return what comes of each condition."""
    return tuple(condition.outcome(each, _seen(each, found)) for each in asked)


def _seen(asked: Condition, found: Diagnosis) -> Sequence[FigureSeen] | NoFigure:
    match asked.quantity:
        case "breaking-point":
            return _breaking_point(found)
        case "memory-per-connection":
            return _memory(found)
        case "waits":
            return _at_a_time(parallelism.waits(found.seen))
        case "computes":
            return _at_a_time(parallelism.computes(found.seen))
        case _:
            return _share(asked.quantity, found)


def _breaking_point(found: Diagnosis) -> Sequence[FigureSeen] | NoFigure:
    if found.found is None:
        return NoFigure("nothing was searched")
    said = numerals.with_interval(found.found.point, unit="/s")
    return find_conditions.breaking_point(found.found, said, "the search did not find it")


def _memory(found: Diagnosis) -> Sequence[FigureSeen] | NoFigure:
    taken = connection_memory.per_connection(found.seen.memory)
    if isinstance(taken, Unknown):
        return NoFigure(taken.why)
    return [FigureSeen(taken.low, taken.high, f"{numerals.significant(taken.value / 1024, 2)} KiB")]


def _at_a_time(found: Parallelism | Unknown) -> Sequence[FigureSeen] | NoFigure:
    if isinstance(found, Unknown):
        return NoFigure(found.why)
    if found.kind == "at-least":
        return [FigureSeen(found.low, float("inf"), f"at least {found.value:,.0f} at a time")]
    return [FigureSeen(found.low, found.high, f"{found.value:,.0f} at a time")]


def _share(cause: str, found: Diagnosis) -> Sequence[FigureSeen] | NoFigure:
    """Return the share of the mean response time that a cause accounts for."""
    said = next((each for each in found.said if each.cause == cause), None)
    if said is None:
        return NoFigure(_not_judged(found))
    if isinstance(said, Out):
        return [FigureSeen.exactly(0.0, said.why)]
    if not isinstance(said, Finding):
        return NoFigure(said.why)
    whole_s = found.facts.beyond.mean_s if found.facts is not None else 0.0
    if said.share_s is None or not whole_s:
        return NoFigure("nothing was answered, so it has no share of the response time")
    share = said.share_s / whole_s
    words = (
        f"{numerals.share(share)} of the response time, {numerals.probability(said.probability)} {said.sure}"
    )
    return [FigureSeen(share, share, words, is_sure=said.is_sure)]


def _not_judged(found: Diagnosis) -> str:
    """Return why nothing was said of a cause."""
    if found.facts is None:
        return "no load beyond the limit was measured"
    unclear = [each for each in found.said if isinstance(each, Unclear)]
    whole = "; ".join(each.why for each in unclear if each.cause in ("none", "engine"))
    first = finding.first(found.said)
    if first is not None and first.cause != "none":
        return f"what was found explains it, or nothing shows it: {first.cause}, {first.evidence}"
    return whole or "nothing that was measured shows it or rules it out"
