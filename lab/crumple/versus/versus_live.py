"""What the user sees while versions are compared: each block that is over, and what is being done.

It goes to stderr. On a terminal the last line is redrawn in place. Nothing is computed here.
"""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from crumple.contract import ProgressLine
from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.drawing.redrawn import BottomLine
from crumple.drawing.terminal import Terminal
from crumple.versus.report import versus_sentences as say
from crumple.versus.standing import Ratio, Rule
from crumple.versus.turn import VersusBlock


class VersusView(BottomLine):
    """A `versus_course.Watcher` on a console. Use as a context."""

    def __init__(self, budget_s: float, *, quiet: bool = False, console: Console | None = None) -> None:
        super().__init__(console or Terminal(stderr=True, quiet=quiet), budget_s)
        self._most = 0

    def calibrating(self, letter: str) -> None:
        """Show on the bottom line which version is asked first."""
        self._say(f"how much {letter} takes")

    def planned(self, rate_per_s: float, rule: Rule, block_s: float) -> None:
        """Print the loads and the number of blocks on a line that stays."""
        self._most = rule.looks.most
        blocks = f"up to {numerals.count(self._most, 'block')} of {numerals.seconds(block_s)}"
        self._line(Text(f"{blocks}, response times at {numerals.rate(rate_per_s)}", style="dim"))

    def turn(self, block: int, letter: str, left_s: float) -> None:
        """Show on the bottom line whose turn it is."""
        self._left_s = left_s
        self._say(f"block {block} of {self._most}: {letter}")

    def progress(self, progress: ProgressLine) -> None:
        """Show nothing: a load takes a second or two."""

    def block(self, number: int, block: VersusBlock, ratios: Sequence[Ratio], left_s: float) -> None:
        """Print what all blocks so far come to on a line that stays."""
        self._left_s = left_s
        self._line(Text(f"block {number:2}  {say.so_far(ratios)}{say.left_out_turns(block)}"))

    def _line(self, line: Text) -> None:
        line.plain = line.plain.replace(NARROW, " ")
        super()._line(line)
