"""Judging blocks while further ones come in: the confidence of each look at them. Pure.

Each of several looks at accumulating blocks needs a confidence so that all hold together. The error is spent
look by look (Lan and DeMets, *Biometrika* 1983; Kim and DeMets, *Biometrika* 1987). The shares follow from
what a look can show: a first look at two blocks shows only huge differences, a first look at three or more
blocks shows moderate ones, and the last look has to show small ones.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

# Shares of the error. The first look gets FIRST if it is at two blocks, and FIRST_OF_MORE if it is at more.
# The last look gets LAST_TIMES an even share, at most LAST_MOST. If the first look gets FIRST_OF_MORE, the
# others get proportionally less.
FIRST, FIRST_OF_MORE, LAST_TIMES, LAST_MOST = 0.05, 0.25, 3.6, 0.9
# Successive looks share data, so more error can be spent than the shares add up to. These constants say how
# much more, from a simulation of Student's t (normal noise, 1,000,000 studies for each of 2..3 to 2..60
# blocks, 400,000 for each of 3..4 to 3..12). The gain is larger if the first look has more blocks, and
# smaller for a smaller error.
GAIN, GAIN_OF_MORE, GAIN_PER_ROOT, ROOT_FREE, GAIN_POWER = 0.03, 0.05, 0.45, 2.0, 0.35
# The error that the gain was simulated for, and the largest number of looks.
GAIN_ERROR, NUMBER_MOST = 0.05, 59
# How many confidences are remembered: those of all blocks of some studies.
CONFIDENCES_KEPT = 4096


@dataclass(frozen=True)
class Looks:
    """Looks after `least` blocks and after each further one up to `most`; if both are equal, one look."""

    least: int
    most: int
    ended: int | None = None
    """After how many blocks the time was over; that look gets all the error that earlier ones left."""

    @property
    def once(self) -> bool:
        """Whether there is only one look (a fixed design), so that no error has to be shared out."""
        return self.least >= self.most

    def confidence(self, blocks: int, overall: float) -> float:
        """Return the confidence of the interval over `blocks`; all looks then hold in `overall` of studies.

        Before the first look it is that of the first look, and beyond the last that of the last.
        """
        return _confidence(self, blocks, overall)

    def _spent(self, blocks: int, error: float) -> float:
        """Return the error spent at that look, if the time does not end the study there."""
        of_few = GAIN if self.least < 3 else GAIN_OF_MORE
        return error * self._gain(error, of_few) * self._share(blocks)

    def _share(self, blocks: int) -> float:
        """Return the look's share of the error; the shares of all looks add up to 1."""
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
        nearness: float = min(1.0, error / GAIN_ERROR) ** GAIN_POWER
        return 1 + (of_few + GAIN_PER_ROOT * roots) * nearness


@lru_cache(maxsize=CONFIDENCES_KEPT)
def _confidence(looks: Looks, blocks: int, overall: float) -> float:
    """Return `Looks.confidence`. What is still to be shown asks for the same ones after every block."""
    if looks.once:
        return overall
    error = 1 - overall
    spent = looks._spent(blocks, error)
    if blocks == looks.ended and looks.least <= blocks < looks.most:
        earlier = sum(looks._spent(each, error) for each in range(looks.least, blocks))
        # Only the part of the gain that depends on the number of looks; the rest belongs to the shares.
        spent = max(spent, error * replace(looks, most=blocks)._gain(error, 0.0) - earlier)
    return 1 - min(error, spent)


ONCE = Looks(1, 1)


@dataclass(frozen=True)
class Look:
    """One of `looks`, over `blocks` blocks."""

    confidence: float
    """The confidence with which the intervals of all looks together hold the truth."""
    blocks: int = 0
    looks: Looks = ONCE
    past: bool = False
    """Whether there has been a later look, so that the blocks which this one still needs are not computed."""

    def level(self, comparisons: int = 1) -> float:
        """Return the confidence of an interval at this look, if `comparisons` share the error."""
        return self.looks.confidence(self.blocks, 1 - (1 - self.confidence) / comparisons)

    def at(self, blocks: int) -> "Look":
        """Return the look over `blocks` blocks."""
        return Look(self.confidence, blocks, self.looks, self.past)

    @property
    def most(self) -> int | None:
        """The largest number of blocks there may be; None: no limit."""
        return None if self.looks == ONCE else self.looks.most
