"""What a comparison came to: its answer, its ratio with interval, and why.

Types only; verdict.py fills them, sentences.py and the reports word them.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from crumple.stats.stats import Interval

# Which way a figure is only a bound, because the engine was the limit of some trials.
Limit = Literal["", "at least", "at most"]


class Answer(StrEnum):
    """What the measurements say about a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_TESTABLE = "not testable here"


@dataclass(frozen=True)
class Effect:
    """One comparison of a claim: `of` divided by `to`, or, where `to` is empty, a `value` of `of`.

    `published`: the article's ratio, None in an order; `expected`: the study's own, where there is no other.
    `ratio`, `value` both None: not testable, or seen otherwise than in a number. `direction`: of a published
    ratio that says which is ahead, whether that holds, apart from its size; None elsewhere. `reason`: a
    clause, without capital and full stop. `blocks_needed`: with so many it would probably be decided; None:
    not open, or not known; `blocks_hoped`: were the truth at the far end of its 80 % interval. `what`: the
    metric within a sentence. `unit`: of `value`; `bound`: what that is held against; `repeated`: what it was
    measured over. `bounds`: the numbers that decided, in the unit of what was measured: so many digits are
    shown as tell it from them. `margin`: of a decided one the factor between its interval's nearest end and
    the bound. `refused`, `more_may_help`: where it is not testable, as in `evidence`.
    """

    label: str
    of: str
    to: str
    published: float | None
    ratio: Interval | None
    answer: Answer
    reason: str
    what: str
    direction: Answer | None = None
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
        """The ratio, or the value."""
        return self.ratio or self.value

    @property
    def is_vague(self) -> bool:
        """Of two blocks so far apart that the interval tells nothing. One that decides does tell."""
        measured = self.measured
        return self.answer is Answer.UNDECIDED and measured is not None and measured.is_vague

    @property
    def in_size_only(self) -> bool:
        """Whether the direction holds, and only the size is refuted or open."""
        return self.direction is Answer.SUPPORTED and self.answer in (Answer.CONTRADICTED, Answer.UNDECIDED)


@dataclass(frozen=True)
class Opinion:
    """What one rule says of one estimate; the rest as in `Effect`."""

    answer: Answer
    reason: str
    direction: Answer | None = None
    blocks_needed: int | None = None
    bounds: tuple[float, ...] = ()
    blocks_hoped: int | None = None
    margin: float | None = None
