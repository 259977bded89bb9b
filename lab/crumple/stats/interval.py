"""An estimate with its interval. Pure."""

import math
from dataclasses import dataclass

# With how much confidence an interval holds the truth, unless a room says otherwise: the usual one.
CONFIDENCE = 0.95
# The fewest blocks, starts or values that have a spread.
SEVERAL = 2
# The ratio of the ends of the interval of two starts above which their spread is as good as unknown.
VAGUE_FROM = 10.0


@dataclass(frozen=True)
class Interval:
    """An estimate, and the interval that holds the truth in `confidence` of studies.

    With one start the spread is not known: `low` is 0 and `high` infinite.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    n: int
    """The number of starts or blocks."""

    @property
    def is_vague(self) -> bool:
        """Whether this is an interval of two starts whose ends are more than a factor of ten apart."""
        if self.n != 2 or self.low <= 0:
            return False
        # An infinite end counts as being as far away as the other end, on the logarithmic scale.
        apart = self.high / self.low if math.isfinite(self.high) else (self.estimate / self.low) ** 2
        return apart > VAGUE_FROM
