"""What the blocks so far show of versions: ratios with intervals, and what these decide. Pure.

Each version is compared with the first, A, in each figure: the ratio of a block is that of the version to the
geometric mean of A and its twin in that block, at equal speed of the cores (`equal_speed`). The intervals of
all figures, versions and looks hold together in CONFIDENCE of comparisons, so versions that are alike are
called different, in whichever figure, in at most the rest of them. `stats.sequential` shares the error out
over looks; figures and versions share it evenly.

An interval rests on its own ratios alone (Student's t). `stats.moderated` could borrow degrees of freedom
from A and its twin. But where B was three times as noisy as A, borrowing called alike versions different in 8
to 14 % of simulated comparisons, and Student's t in 2 to 4 %.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crumple.record.undisturbed import Factors
from crumple.stats.decision import SLACK, Answer, Extent, differs, exceeds
from crumple.stats.estimate import Estimate
from crumple.stats.interval import Interval
from crumple.stats.question import Family, LookQuestion
from crumple.stats.sequential import Look, Looks
from crumple.verdict.verdict_sentences import times
from crumple.versus import equal_speed, forecast
from crumple.versus.forecast import Decides, Floats
from crumple.versus.ratio_estimates import CorrectedQuestion, FigureLogs

Figure = Literal["p50", "p90", "p99", "throughput", "cpu"]
# Figure → letter of a version, or TWIN → block, from 1 → value.
Rows = Mapping[Figure, Mapping[str, Mapping[int, float]]]
# Figure → letter, or TWIN → block → how far the value of a calm machine may lie.
Off = Mapping[Figure, Mapping[str, Mapping[int, Factors]]]
# Figure → letter → the blocks whose value is only a lower bound of the truth.
Bounded = Mapping[Figure, Mapping[str, Collection[int]]]
LikenessWord = Literal["different", "alike", "undecided"]

# With how much confidence the answers hold: more than the usual 95 %, since where every change is compared,
# one false alarm in twenty is too many.
CONFIDENCE = 0.98
VETOED = "A differs from its own twin in it, too"
UNREACHED = "in a block it lies among requests that had no answer, so the truth may be longer"
# The multiple of the least number of blocks after which crumple stops waiting for two blocks that count.
PATIENCE = 2
# The largest probability that further blocks decide anything with which a comparison ends.
NO_USE = 0.01
# Whether two versions differ → how that is called.
WORDS: Mapping[Answer, LikenessWord] = {"yes": "different", "no": "alike", "open": "undecided"}


@dataclass(frozen=True)
class Rule:
    """Which figures of which versions are compared, and how that is decided."""

    figures: tuple[Figure, ...]
    letters: tuple[str, ...]
    """The letters of all versions but the first."""
    looks: Looks
    tolerance: float
    """A difference by a smaller factor than 1 + this counts as none."""
    confidence: float = CONFIDENCE
    bounds: Mapping[Figure, tuple[float, ...]] = field(default_factory=dict)
    """Figure → the ratios that conditions compare it with."""

    @property
    def comparisons(self) -> int:
        """How many comparisons share the error."""
        return len(self.figures) * len(self.letters)

    @property
    def span(self) -> Extent:
        """The ratios that count as alike."""
        return Extent.around(1.0, 1.0, self.tolerance)


@dataclass(frozen=True)
class Bound:
    """A ratio that a condition compares with."""

    at: float
    is_open: bool
    """Whether it is not shown on which side of it the truth lies."""
    chance: float = 0.0
    """How probable it is that one of the planned blocks to come closes it."""


@dataclass(frozen=True)
class Ratio:
    """A version compared with the first in one figure, after `blocks` blocks."""

    letter: str
    figure: Figure
    blocks: int
    interval: Interval | None
    """The ratio of that version to the first; None: it takes two blocks that count."""
    twin: Interval | None
    """The ratio of the first's twin to the first, by the same rule."""
    answer: LikenessWord
    why: str
    needed: int | None = None
    """After how many blocks, in all, it would probably be decided.

    None: not known, more than can be foreseen, or no block could decide it, because values are only
    bounds.
    """
    chance: float = 0.0
    """How probable it is that one of the planned blocks to come decides it."""
    bounds: tuple[Bound, ...] = ()

    @property
    def is_decided(self) -> bool:
        """Whether the answer is one that stays, unless A is seen to differ from its twin."""
        return self.answer != "undecided"

    @property
    def twin_differs(self) -> bool:
        """Whether A is seen to differ from its own twin, so a difference shows nothing of the version."""
        return self.twin is not None and differs(self.twin)


@dataclass(frozen=True)
class LookResult:
    """What one look sees."""

    ratios: tuple[Ratio, ...]
    blocks: int
    """How many blocks were done by then."""
    is_early: bool = False
    """Whether these are too few for a look to decide."""


def look(
    rule: Rule,
    rows: Rows,
    blocks: int,
    *,
    bounded: Bounded = MappingProxyType({}),
    speeds: Rows = MappingProxyType({}),
    factors: Off = MappingProxyType({}),
    time_is_over: bool = False,
) -> LookResult:
    """Return what the first `blocks` blocks show. `time_is_over`: there will be no further block for that.

    `speeds`: how fast the server's cores were in the load that showed each figure, where that was read;
    `factors`: how far the values of a calm machine may lie from these, where others took something.
    """
    looks = _looks_until(rule.looks, blocks) if time_is_over else rule.looks
    at = _At(rule, Look(rule.confidence, blocks, looks), rows, bounded, speeds, factors)
    return LookResult(tuple(at.ratios()), blocks, is_early=blocks < looks.least)


def _looks_until(looks: Looks, blocks: int) -> Looks:
    """Return the looks of a comparison whose time was over after that many blocks.

    If turns that had to be repeated left fewer than the first look takes, there is this one look.
    """
    return replace(looks, ended=blocks) if blocks >= looks.least else Looks(blocks, blocks)


def standing(seen: Sequence[LookResult]) -> tuple[Ratio, ...]:
    """Return the ratio of each comparison at the last look that decided it, or at the last one of all.

    All looks together err as often as one would, so each look that decides counts. But if A differs from its
    own twin in a figure at any look, that figure stays undecided: B may differ for the same reason. Its ratio
    is then that of the last look that sees this, which shows why.
    """
    return tuple(
        next((ratio for ratio in reversed(ratios) if ratio.is_decided), ratios[-1])
        for ratios in _looks_that_count(seen)
    )


def _looks_that_count(seen: Sequence[LookResult]) -> list[tuple[Ratio, ...]]:
    """Return for each comparison its looks; only the last that sees A differ from its twin, if one does."""
    early = [each.is_early for each in seen]
    found = []
    for ratios in zip(*(each.ratios for each in seen), strict=True):
        against = [
            ratio
            for ratio, is_early in zip(ratios, early, strict=True)
            if ratio.twin_differs and not is_early
        ]
        found.append((against[-1],) if against else ratios)
    return found


def at_bound(seen: Sequence[LookResult], letter: str, figure: Figure, at: float) -> tuple[Ratio, bool] | None:
    """Return the ratio at the last look that shows on which side of a bound it lies, and True.

    If none does, that of the last look, and False; if looks see A differ from its own twin, that of the
    last of these, which shows why, and False. None: it was not compared.
    """
    for ratios in _looks_that_count(seen):
        if (ratios[0].letter, ratios[0].figure) == (letter, figure):
            closed = (each for each in reversed(ratios) if _closes(each, at))
            found = next(closed, None)
            return (ratios[-1], False) if found is None else (found, True)
    return None


def _closes(ratio: Ratio, at: float) -> bool:
    return any(bound.at == at and not bound.is_open for bound in ratio.bounds)


def open_bounds(seen: Sequence[LookResult]) -> list[Bound]:
    """Return the bounds that no look has closed, as the last look sees them.

    If looks see A differ from its own twin, none is closed, and all are as the last of these sees them.
    """
    bounds = (
        row
        for ratios in _looks_that_count(seen)
        for row in zip(*(each.bounds for each in ratios), strict=True)
    )
    return [row[-1] for row in bounds if all(bound.is_open for bound in row)]


def goes_on(ratios: Sequence[Ratio], bounds: Sequence[Bound] = ()) -> bool:
    """Whether it is probable enough that the planned blocks to come decide a ratio that is undecided.

    `bounds`: those that are open; a further block may close one. The probability that any of them is decided
    is no more than the sum of theirs.
    """
    chances = [*(each.chance for each in ratios if not each.is_decided), *(each.chance for each in bounds)]
    return sum(chances) > NO_USE


@dataclass(frozen=True)
class _At:
    """One look: the rows of the blocks until then."""

    rule: Rule
    look: Look
    rows: Rows
    bounded: Bounded
    speeds: Rows
    factors: Off

    def ratios(self) -> Iterator[Ratio]:
        for letter in self.rule.letters:
            for figure in self.rule.figures:
                yield self._ratio(letter, figure, self._logs(figure))

    def _logs(self, figure: Figure) -> FigureLogs:
        logs, speeds = (
            equal_speed.logarithms(rows.get(figure, {}), self.look.blocks)
            for rows in (self.rows, self.speeds)
        )
        return FigureLogs(logs, speeds, self._with_bounds(figure), self.factors.get(figure, {}))

    def _with_bounds(self, figure: Figure) -> frozenset[str]:
        of_each = self.bounded.get(figure, {}).items()
        return frozenset(name for name, blocks in of_each if min(blocks) <= self.look.blocks)

    def _ratio(self, letter: str, figure: Figure, of: FigureLogs) -> Ratio:
        estimate = of.to_both(letter)
        if estimate is None:
            return self._too_few(letter, figure)
        whole = CorrectedQuestion(estimate, self.look, self._family, as_measured=of.as_measured(letter))
        asked, twin = replace(whole, sides=of.sides(letter)), self._twin(of)
        answer, why, needed = self._answer(asked, twin)
        if answer == "open" and self._answer(whole, twin)[0] != answer:
            why = UNREACHED
        may_change = answer == "open" and why not in (UNREACHED, VETOED)
        return Ratio(
            letter,
            figure,
            self.look.blocks,
            whole.for_yes,
            twin,
            WORDS[answer],
            why,
            needed if may_change else None,
            self._chance(estimate, partial(self._decides, sides=asked.sides)) if may_change else 0.0,
            tuple(self._bound(at, asked, twin) for at in self.rule.bounds.get(figure, ())),
        )

    def _too_few(self, letter: str, figure: Figure) -> Ratio:
        """The ratio of which too few blocks count; more may, for a while."""
        chance = 1.0 if self.look.blocks < PATIENCE * self.rule.looks.least else 0.0
        bounds = tuple(Bound(at, True, chance) for at in self.rule.bounds.get(figure, ()))
        why = "it takes two blocks that count"
        return Ratio(
            letter, figure, self.look.blocks, None, None, WORDS["open"], why, chance=chance, bounds=bounds
        )

    @property
    def _family(self) -> Family:
        return Family(self.rule.comparisons, self.rule.comparisons)

    def _twin(self, of: FigureLogs) -> Interval:
        return LookQuestion(of.twin, self.look, self._family).for_yes

    def _bound(self, at: float, asked: LookQuestion, twin: Interval) -> Bound:
        is_early = self.look.blocks < self.look.looks.least
        if not is_early and not differs(twin) and exceeds(asked.for_yes, at) != "open":
            return Bound(at, False)
        is_vetoed = not is_early and differs(twin)
        closes = partial(_on_a_side, math.log(at) if at > 0 else -math.inf, sides=asked.sides)
        return Bound(at, True, 0.0 if is_vetoed else self._chance(asked.estimate, closes))

    def _answer(self, asked: LookQuestion, twin: Interval) -> tuple[Answer, str, int | None]:
        """Whether they differ, why, and after how many blocks, in all, that would probably be decided."""
        decision = asked.differs(self.rule.span)
        lost, blocks = self.look.blocks - asked.estimate.n, decision.blocks_needed
        needed = None if blocks is None else blocks + lost
        if self.look.blocks < (least := self.look.looks.least):
            # What the interval shows already is decided at the first look.
            return "open", f"it takes {least} blocks", needed if decision.answer == "open" else least
        if differs(twin):
            return "open", VETOED, None
        return decision.answer, self._reason(decision.answer), needed

    def _reason(self, answer: Answer) -> str:
        if answer == "open":
            return "the interval includes 1"
        where = f"lies in {times(self.rule.span)}" if answer == "no" else "lies on one side of 1"
        return f"the whole interval {where}"

    def _chance(self, estimate: Estimate, decides: Decides) -> float:
        """Return with which probability one of the planned looks to come decides."""
        looks = self.rule.looks
        later = range(self.look.blocks + 1, looks.most + 1)
        confidences = [
            self.look.at(blocks).level(self.rule.comparisons) if blocks >= looks.least else None
            for blocks in later
        ]
        return forecast.chance(estimate, confidences, decides)

    def _decides(self, low: Floats, high: Floats, sides: Sequence[int]) -> NDArray[np.bool_]:
        """Return which of these intervals of logarithms show a difference or likeness."""
        apart = _on_a_side(0.0, low, high, sides)
        if len(sides) < 2:
            return apart
        least, most = (math.log(end) for end in self.rule.span.ends)
        return apart | ((low > least) & (high < most))


def _on_a_side(at: float, low: Floats, high: Floats, sides: Sequence[int]) -> NDArray[np.bool_]:
    """Return which of these intervals show that the truth lies on one of these sides of `at`."""
    above, below = low > at + SLACK, high < at - SLACK
    found: NDArray[np.bool_] = (above & (1 in sides)) | (below & (-1 in sides))
    return found
