"""Types for the result of a comparison: its answer, its ratio with interval, and the reason.

The rules in kinds.py and along_load.py fill them; verdict_sentences.py and the reports word them.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from crumple.stats.interval import Interval

# Whether a figure is only a lower or an upper bound, because the engine was the limit of some trials.
Limit = Literal["", "at least", "at most"]
# Stands before a figure that the study expects and no article gives.
EXPECTED = "expected "


class VerdictWord(StrEnum):
    """The answer to a claim or to one of its comparisons."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_TESTABLE = "not testable here"


@dataclass(frozen=True)
class Effect:
    """One comparison of a claim: `of` divided by `to`, or, where `to` is empty, a `value` of `of`.

    `published`: the article's ratio, None in an order; `expected`: the study's own, if the article has none.
    `ratio` and `value` are both None if the comparison is not testable, or its result is not a number.
    `direction`: whether the direction of a published ratio holds, whatever its size; None if the ratio states
    none. `reason`: a clause, without capital and full stop. `blocks_needed`: the number of blocks that would
    probably decide the comparison; None if it is decided or the number is not known. `blocks_hoped`: that
    number if the truth lay at the far end of its 80 % interval. `what`: the metric, as named in a sentence.
    `unit`: the unit of `value`; `bound`: what the figure is compared with, in words; `repeated`: what the
    value was measured over, "blocks" or "readings". `bounds`: the numbers that decided, in the unit of what
    was measured; reports show enough digits to tell the interval from them. `margin`: the factor between the
    nearest end of a decided comparison's interval and the bound. `refused`, `more_may_help`: for a comparison
    that is not testable, as in `evidence`.
    """

    label: str
    of: str
    answer: VerdictWord
    reason: str
    what: str
    to: str = ""
    published: float | None = None
    ratio: Interval | None = None
    direction: VerdictWord | None = None
    blocks_needed: int | None = None
    value: Interval | None = None
    unit: str = ""
    bound: str = ""
    repeated: str = "blocks"
    expected: float | None = None
    bounds: tuple[float, ...] = ()
    limit: Limit = ""
    blocks_hoped: int | None = None
    refused: bool = False
    more_may_help: bool = False
    margin: float | None = None

    @property
    def measured(self) -> Interval | None:
        """The ratio, or the value if there is no ratio."""
        return self.ratio or self.value

    @property
    def is_vague(self) -> bool:
        """Whether the interval rests on two blocks too far apart to tell anything, and does not decide."""
        measured = self.measured
        return self.answer is VerdictWord.UNDECIDED and measured is not None and measured.is_vague

    @property
    def in_size_only(self) -> bool:
        """Whether the direction holds, and only the size is refuted or undecided."""
        return self.direction is VerdictWord.SUPPORTED and self.answer in (
            VerdictWord.CONTRADICTED,
            VerdictWord.UNDECIDED,
        )


@dataclass(frozen=True)
class Opinion:
    """The result of one rule for one estimate; the fields are those of `Effect`.

    `by_others`: it is undecided because others took so much of the trials that no number of blocks helps.
    """

    answer: VerdictWord
    reason: str
    direction: VerdictWord | None = None
    blocks_needed: int | None = None
    bounds: tuple[float, ...] = ()
    blocks_hoped: int | None = None
    margin: float | None = None
    by_others: bool = False
