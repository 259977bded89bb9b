"""What a comparison came to: its answer, its ratio with interval, the noise floor, and why.

Types only; verdict.py fills them, sentences.py and the reports word them.
"""

from dataclasses import dataclass
from enum import StrEnum

from crumple.stats import Interval


class Answer(StrEnum):
    """What the measurements say about a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_DISTINGUISHABLE = "not distinguishable"
    NOT_TESTABLE = "not testable here"


@dataclass(frozen=True)
class Effect:
    """One comparison of a claim: `of` divided by `to` in the claim's metric.

    `published`: the article's ratio, None in an order. `ratio` None: not testable. `noise_floor`: a ratio
    ≥ 1, None where unknown. `direction_only`: the sign holds, the size is not confirmed. `reason`: a clause,
    without capital and full stop.
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
