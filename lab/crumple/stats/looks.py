"""The confidence that each of several looks at accumulating blocks needs, so that all hold together. Pure.

The error is spent look by look (Lan and DeMets, *Biometrika* 1983; Kim and DeMets, *Biometrika* 1987).
Why in these shares: the first look tells only what is huge, and the last one has to see what is small.
"""

import math
from dataclasses import dataclass, replace

# Of the error: the first look's, and the last one's: so many times an even share, within bounds.
FIRST, LAST_TIMES, LAST_MOST = 0.05, 3.6, 0.9
# What successive looks have in common leaves more to spend than the shares add up to. So much: by simulation
# of Student's t (normal noise, 1,000,000 studies for each of 2..3 to 2..30 blocks). It is more where the
# first look has more than two blocks, and less of a smaller error.
GAIN, GAIN_PER_ROOT, ROOT_FREE, GAIN_POWER = 0.03, 0.45, 2.0, 0.35
GAIN_ERROR = 0.05


@dataclass(frozen=True)
class Looks:
    """After `least` blocks, and after each further one up to `most`; the same number: once."""

    least: int
    most: int

    @property
    def once(self) -> bool:
        """A fixed design: nothing has to be shared out."""
        return self.least >= self.most

    def confidence(self, blocks: int, overall: float) -> float:
        """Of the interval over so many blocks, so that those of all looks hold in `overall` of studies.

        Before the first look as at it, and beyond the last as there.
        """
        if self.once:
            return overall
        error = 1 - overall
        return 1 - min(error, error * self._gain(error) * self._share(blocks))

    def _share(self, blocks: int) -> float:
        """The look's part of the error; all of them add up to 1."""
        number = self.most - self.least + 1
        last = min(LAST_MOST, LAST_TIMES / number)
        if blocks >= self.most:
            return last
        if number == 2:
            return 1 - last
        return FIRST if blocks <= self.least else (1 - FIRST - last) / (number - 2)

    def _gain(self, error: float) -> float:
        roots = max(0.0, math.sqrt(self.most - self.least + 1) - ROOT_FREE)
        return 1 + (GAIN + GAIN_PER_ROOT * roots) * min(1.0, error / GAIN_ERROR) ** GAIN_POWER


ONCE = Looks(1, 1)


@dataclass(frozen=True)
class Look:
    """One of `looks`, over so many `blocks`. `confidence`: in which all of them together hold the truth."""

    confidence: float
    blocks: int = 0
    looks: Looks = ONCE

    def level(self, comparisons: int = 1) -> float:
        """Of an interval at this look, where so many comparisons share the error."""
        return self.looks.confidence(self.blocks, 1 - (1 - self.confidence) / comparisons)

    def at(self, blocks: int) -> "Look":
        """The look over so many blocks."""
        return replace(self, blocks=blocks)

    @property
    def most(self) -> int | None:
        """How many blocks there may be; None: nothing limits them."""
        return None if self.looks.once else self.looks.most
