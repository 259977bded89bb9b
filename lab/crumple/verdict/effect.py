"""What a comparison came to: its answer, its ratio with interval, the noise floor, and why.

Types only; verdict.py fills them, sentences.py and the reports word them.
"""

from dataclasses import dataclass
from enum import StrEnum

from crumple.stats.stats import Interval


class Answer(StrEnum):
    """What the measurements say about a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_DISTINGUISHABLE = "not distinguishable"
    NOT_TESTABLE = "not testable here"


@dataclass(frozen=True)
class Effect:
    """One comparison of a claim: `of` divided by `to`, or, where `to` is empty, a `value` of `of`.

    `published`: the article's ratio, None in an order; `expected`: the study's own, where there is no other.
    `ratio`, `value` both None: not testable, or seen otherwise than in a number. `noise_floor`: a ratio ≥ 1,
    None where unknown or where none applies. `direction_only`: the sign holds, the size is not confirmed.
    `reason`: a clause, without capital and full stop. `what`: the metric within a sentence. `unit`: of
    `value`; `bound`: what that is held against; `repeated`: what it was measured over.
    """

    label: str
    of: str
    to: str
    published: float | None
    ratio: Interval | None
    noise_floor: float | None
    answer: Answer
    direction_only: bool
    reason: str
    what: str
    value: Interval | None = None
    unit: str = ""
    bound: str = ""
    repeated: str = "blocks"
    expected: float | None = None

    @property
    def measured(self) -> Interval | None:
        """The ratio, or the value."""
        return self.ratio or self.value


@dataclass(frozen=True)
class Opinion:
    """What one rule says of one interval."""

    answer: Answer
    reason: str
    direction_only: bool = False
