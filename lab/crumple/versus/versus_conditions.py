"""What --fail-if can ask of a comparison, the ratios that it has to decide for that, and what comes of each.

A condition on a ratio holds if the whole interval lies beyond its limit, so chance alone raises no alarm.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from crumple.drawing import numerals
from crumple.gate import condition
from crumple.gate.condition import Condition, FigureKind, FigureSeen, NoFigure, Outcome
from crumple.versus import standing
from crumple.versus.standing import Figure, Ratio

if TYPE_CHECKING:
    from crumple.versus.report.versus_figures import VersusFigures

FIGURES: tuple[Figure, ...] = get_args(Figure)
# Figures are counted by their answers. One that is "different" by more than the tolerance counts as slower or
# faster.
COUNTS = ("slower", "faster", "alike", "undecided")
_RATIOS: Mapping[str, FigureKind] = {
    str(name): FigureKind({"": 1.0}, f"{name}>+10%", is_ratio=True)
    for name in FIGURES
    if name != "throughput"
}
KINDS: Mapping[str, FigureKind] = {
    **_RATIOS,
    "throughput": FigureKind({"": 1.0}, "throughput<-10%", is_ratio=True),
    **{name: FigureKind({"": 1.0}, f"{name}>0") for name in COUNTS},
    "failed": FigureKind(condition.SHARE_UNITS, "failed>0.1%", is_share=True),
}


def bounds(conditions: Sequence[Condition]) -> dict[Figure, tuple[float, ...]]:
    """Return figure → the ratios that conditions compare it with."""
    return {
        figure: limits
        for figure in FIGURES
        if (limits := tuple(dict.fromkeys(each.limit for each in conditions if each.quantity == figure)))
    }


def outcomes(asked: Sequence[Condition], result: "VersusFigures") -> tuple[Outcome, ...]:
    """Return what comes of each condition: one on a ratio holds if it holds of any version."""
    return tuple(condition.outcome(each, _figures_of(each, result)) for each in asked)


def way(ratio: Ratio, tolerance: float) -> str:
    """Return in which way versions differ, "slower" or "faster"; else the answer itself.

    A difference that is shown, and measured to be smaller than the tolerance, stays "different": it counts as
    none, as --alike says, and two builds of one program may differ as much.
    """
    if ratio.answer != "different" or ratio.interval is None:
        return ratio.answer
    factor = ratio.interval.estimate
    if max(factor, 1 / factor) <= 1 + tolerance:
        return ratio.answer
    is_more = factor > 1
    return "slower" if is_more != (ratio.figure == "throughput") else "faster"


def _figures_of(asked: Condition, result: "VersusFigures") -> Sequence[FigureSeen] | NoFigure:
    if asked.quantity == "failed":
        loaded = [letter for letter in result.others if result.turns(letter)]
        if not loaded:
            return NoFigure("no block is over")
        shares = ((letter, result.failing.get(letter, 0.0)) for letter in loaded)
        return [FigureSeen.exactly(share, f"{letter} {numerals.share(share)}") for letter, share in shares]
    if all(each.interval is None for each in result.compared.ratios):
        return NoFigure("no two blocks count")
    if asked.quantity in COUNTS:
        return [_count(asked.quantity, result)]
    ratios = [
        of_one
        for letter in result.others
        if (of_one := standing.at_bound(result.compared.seen, letter, _figure(asked), asked.limit))
        is not None
    ]
    if not ratios:
        return NoFigure(f"{asked.quantity} was not compared")
    if all(ratio.interval is None for ratio, _ in ratios):
        return NoFigure(", ".join(f"{ratio.letter}: {ratio.why}" for ratio, _ in ratios))
    return [*_sides(ratios, asked.limit)]


def _count(answer: str, result: "VersusFigures") -> FigureSeen:
    """Return how many figures have this answer, and how many may have: an undecided one may be slower."""
    found, undecided = (
        [each for each in result.compared.ratios if way(each, result.loads.tolerance) == word]
        for word in (answer, "undecided")
    )
    if answer == "undecided":
        return FigureSeen.exactly(len(found), _names(found))
    words = f"undecided: {_names(undecided)}" if undecided and not found else _names(found)
    return FigureSeen(len(found), len(found) + len(undecided), words)


def _names(ratios: Sequence[Ratio]) -> str:
    return ", ".join(f"{each.figure} of {each.letter}" for each in ratios)


def _sides(ratios: Sequence[tuple[Ratio, bool]], limit: float) -> Iterator[FigureSeen]:
    """Yield what is seen of each ratio; the bool: whether it is shown on which side of the limit it lies."""
    for ratio, is_shown in ratios:
        letter = ratio.letter
        if ratio.interval is None:
            yield FigureSeen(0.0, float("inf"), f"{letter}: {ratio.why}", is_sure=False)
            continue
        words = f"{letter} {numerals.with_interval(ratio.interval, of='block')}"
        if ratio.answer == "undecided" and not is_shown and not _includes(ratio, limit):
            # The interval shows the side; that it does not count has another reason.
            words = f"{words}, but {ratio.why}"
        yield FigureSeen(ratio.interval.low, ratio.interval.high, words, is_sure=is_shown)


def _figure(asked: Condition) -> Figure:
    return next(each for each in FIGURES if each == asked.quantity)


def _includes(ratio: Ratio, limit: float) -> bool:
    return ratio.interval is not None and ratio.interval.low <= limit <= ratio.interval.high
