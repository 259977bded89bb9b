"""Types for the result of a comparison: its answer, its ratio with interval, and the reason.

The rules in kinds.py and along_load.py fill them; verdict_sentences.py and the reports word them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from crumple.stats.decision import Answer
from crumple.stats.interval import Interval
from crumple.stats.question import Decision

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


WORDS: Mapping[Answer, VerdictWord] = {
    "yes": VerdictWord.SUPPORTED,
    "no": VerdictWord.CONTRADICTED,
    "open": VerdictWord.UNDECIDED,
}


@dataclass(frozen=True)
class Effect:
    """One comparison of a claim: `of` divided by `to`, or, if `to` is empty, a value of `of`.

    `ratio` and `value` are both None if the comparison is not testable, or its result is not a number.
    """

    label: str
    of: str
    answer: VerdictWord
    reason: str
    """A clause, without capital and full stop."""
    what: str
    """The metric, as named in a sentence."""
    to: str = ""
    published: float | None = None
    """The article's ratio; None in an order."""
    ratio: Interval | None = None
    direction: VerdictWord | None = None
    """Whether the direction of a published ratio holds, whatever its size; None if the ratio states none."""
    blocks_needed: int | None = None
    """How many blocks would probably decide it; None if it is decided or the number is not known."""
    value: Interval | None = None
    unit: str = ""
    """The unit of `value`."""
    bound: str = ""
    """What the figure is compared with, in words."""
    repeated: str = "blocks"
    """What the value was measured over, "blocks" or "readings"."""
    expected: float | None = None
    """The study's own ratio, if the article has none."""
    bounds: tuple[float, ...] = ()
    """The numbers that decided, in the unit of what was measured.

    Reports show enough digits to distinguish the interval from them.
    """
    limit: Limit = ""
    blocks_hoped: int | None = None
    """`blocks_needed` if the truth lay at the far end of its 80 % interval."""
    refused: bool = False
    """Whether it is not testable because a server fails, or mostly has no figure."""
    more_may_help: bool = False
    """Whether more blocks may make a comparison testable."""
    margin: float | None = None
    """The factor between the nearest end of a decided comparison's interval and the bound."""

    @property
    def measured(self) -> Interval | None:
        """The ratio, or the value if there is no ratio."""
        return self.ratio or self.value

    @property
    def is_vague(self) -> bool:
        """Whether the interval rests on two blocks too far apart to show anything, and does not decide."""
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
    """The result of one rule for one estimate; the fields are those of `Effect`."""

    answer: VerdictWord
    reason: str
    direction: VerdictWord | None = None
    blocks_needed: int | None = None
    bounds: tuple[float, ...] = ()
    blocks_hoped: int | None = None
    margin: float | None = None
    by_others: bool = False
    """It is undecided because others took so much of the trials that no number of blocks helps."""

    @classmethod
    def of(
        cls, decision: Decision, reason: str, *bounds: float, direction: VerdictWord | None = None
    ) -> "Opinion":
        """Return a decision in words; `bounds`: from which the digits shown have to tell the interval."""
        return cls(
            WORDS[decision.answer],
            reason,
            direction,
            blocks_needed=decision.blocks_needed,
            bounds=bounds or decision.bounds,
            blocks_hoped=decision.blocks_hoped,
            margin=decision.margin,
            by_others=decision.by_others,
        )
