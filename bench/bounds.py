"""Which bounds must be met, and whether they were: a word beside every figure, and an exit code at the end.

A figure is judged by its interval. `met`: all of it is on the right side of the bound. `not met`: all of it
is on the wrong side. `open`: the bound lies within it, and more rounds would decide.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from crumple.errors import CrumpleError
from crumple.stats.decision import SLACK
from crumple.stats.interval import Interval

MET, NOT_MET, OPEN = "met", "not met", "open"


@dataclass
class Bounds:
    """The bounds of one script. `missed` and `undecided` are the names of what was not met and what is open.

    If `judging` is False (the shortest form of a script), bounds are printed and nothing is judged.
    """

    judging: bool = True
    missed: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    def at_most(self, name: str, interval: Interval, bound: float, unit: str = "") -> str:
        """Returns `≤ 0.8 met`, `≤ 0.8 not met` or `≤ 0.8 open`, and records what is not met under `name`."""
        return self._judge(name, f"≤ {bound:g}{unit}", _side(interval.low, interval.high, bound))

    def at_least(self, name: str, interval: Interval, bound: float, unit: str = "") -> str:
        """Like `at_most`, with ≥."""
        return self._judge(name, f"≥ {bound:g}{unit}", _side(-interval.high, -interval.low, -bound))

    def within(self, name: str, interval: Interval, lowest: float, highest: float, unit: str = "") -> str:
        """Like `at_most`, for a figure that has to lie between two bounds."""
        sides = {_side(interval.low, interval.high, highest), _side(-interval.high, -interval.low, -lowest)}
        word = NOT_MET if NOT_MET in sides else OPEN if OPEN in sides else MET
        return self._judge(name, f"{lowest:g} to {highest:g}{unit}", word)

    def miss(self, name: str) -> None:
        """Records that something which must be so is not."""
        if self.judging:
            self.missed.append(name)

    def count(self, name: str, word: str) -> None:
        """Records a word that was not found by an interval."""
        remembered = {NOT_MET: self.missed, OPEN: self.undecided}
        if self.judging and word in remembered:
            remembered[word].append(name)

    def close(self) -> None:
        """Ends the script, with exit code 1 if a bound was not met."""
        for word, names in ((OPEN, self.undecided), (NOT_MET, self.missed)):
            if names:
                print(f"{word}: {', '.join(names)}")
        if self.missed:
            sys.exit(1)

    def _judge(self, name: str, asked: str, word: str) -> str:
        self.count(name, word)
        return f"{asked} {word}" if self.judging else asked


def _side(low: float, high: float, bound: float) -> str:
    """The word for an interval that should lie below a bound. An interval that reaches the bound meets it."""
    slack = SLACK * max(1.0, abs(bound))
    if high <= bound + slack:
        return MET
    return NOT_MET if low > bound + slack else OPEN


def run(main: Callable[[], None]) -> None:
    """Runs a script. If it cannot do its work, it prints one line and exits 1."""
    try:
        main()
    except CrumpleError as error:
        sys.exit(f"failed: {error}")


def skip(why: str) -> NoReturn:
    """Ends the script because something that it needs is missing. This is no failure."""
    print(f"skipped: {why}")
    sys.exit(0)
