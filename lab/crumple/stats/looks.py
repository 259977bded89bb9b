"""The confidence that each of several looks at accumulating blocks needs, so that all hold together. Pure.

The error is spent look by look (Lan and DeMets, *Biometrika* 1983; Kim and DeMets, *Biometrika* 1987).
Why in these shares: a first look at two blocks tells only what is huge, one at three or more what is not
small, and the last one has to see what is.
"""

import math
from dataclasses import dataclass, replace

# Shares of the error. The first look has FIRST where it is at two blocks, and FIRST_OF_MORE where it is at
# more. The last look has LAST_TIMES an even share, LAST_MOST at most; where the first has FIRST_OF_MORE, the
# others have proportionally less.
FIRST, FIRST_OF_MORE, LAST_TIMES, LAST_MOST = 0.05, 0.25, 3.6, 0.9
# What successive looks have in common leaves more to spend than the shares add up to. So much: by simulation
# of Student's t (normal noise, 1,000,000 studies for each of 2..3 to 2..60 blocks, 400,000 for each of 3..4
# to 3..12). It is more where the first look has more blocks, and less of a smaller error.
GAIN, GAIN_OF_MORE, GAIN_PER_ROOT, ROOT_FREE, GAIN_POWER = 0.03, 0.05, 0.45, 2.0, 0.35
GAIN_ERROR, NUMBER_MOST = 0.05, 59


@dataclass(frozen=True)
class Looks:
    """After `least` blocks, and after each further one up to `most`; the same number: once.

    `ended`: after how many the time was over; that look has all of the error that those before it left.
    """

    least: int
    most: int
    ended: int | None = None

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
        spent = self._spent(blocks, error)
        if blocks == self.ended and self.least <= blocks < self.most:
            earlier = sum(self._spent(each, error) for each in range(self.least, blocks))
            # Only the part of the gain that depends on the number of looks; the rest is of the shares above.
            spent = max(spent, error * replace(self, most=blocks)._gain(error, 0.0) - earlier)
        return 1 - min(error, spent)

    def _spent(self, blocks: int, error: float) -> float:
        """Of the error at that look, where the time does not end it."""
        of_few = GAIN if self.least < 3 else GAIN_OF_MORE
        return error * self._gain(error, of_few) * self._share(blocks)

    def _share(self, blocks: int) -> float:
        """The look's part of the error; all of them add up to 1."""
        number = self.most - self.least + 1
        first = FIRST if self.least < 3 else FIRST_OF_MORE
        last = min(LAST_MOST, LAST_TIMES / number) * (1 - first) / (1 - FIRST)
        if blocks >= self.most:
            return last
        if number == 2:
            return 1 - last
        first = min(first, last)
        return first if blocks <= self.least else (1 - first - last) / (number - 2)

    def _gain(self, error: float, of_few: float) -> float:
        number = min(NUMBER_MOST, self.most - self.least + 1)
        roots = max(0.0, math.sqrt(number) - ROOT_FREE)
        return 1 + (of_few + GAIN_PER_ROOT * roots) * min(1.0, error / GAIN_ERROR) ** GAIN_POWER


ONCE = Looks(1, 1)


@dataclass(frozen=True)
class Look:
    """One of `looks`, over so many `blocks`. `confidence`: in which all of them together hold the truth.

    `past`: there was a later one already, and nobody asks what it would take.
    """

    confidence: float
    blocks: int = 0
    looks: Looks = ONCE
    past: bool = False

    def level(self, comparisons: int = 1) -> float:
        """Of an interval at this look, where so many comparisons share the error."""
        return self.looks.confidence(self.blocks, 1 - (1 - self.confidence) / comparisons)

    def at(self, blocks: int) -> "Look":
        """The look over so many blocks."""
        return replace(self, blocks=blocks)

    @property
    def most(self) -> int | None:
        """How many blocks there may be; None: nothing limits them."""
        return None if self.looks == ONCE else self.looks.most
