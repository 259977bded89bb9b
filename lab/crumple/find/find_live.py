"""What the user sees while the breaking point is searched: each level that is over, and what is being tried.

It goes to stderr. On a terminal the last line is redrawn in place. Nothing is computed here.
"""

from rich.console import Console
from rich.text import Text

from crumple.contract import ProgressLine
from crumple.drawing import numerals, report_text
from crumple.drawing.numerals import NARROW
from crumple.drawing.redrawn import BottomLine
from crumple.drawing.terminal import Terminal
from crumple.find.level import Level
from crumple.find.next_level import NextLevel, SearchOutlook
from crumple.find.report import find_sentences as say
from crumple.find.report.level_sentences import verdict
from crumple.find.search import By


class FindView(BottomLine):
    """A `conduct.Watcher` on a console. Use as a context."""

    def __init__(
        self, by: By, budget_s: float, *, quiet: bool = False, console: Console | None = None
    ) -> None:
        super().__init__(console or Terminal(stderr=True, quiet=quiet), budget_s)
        self._by_rate = by == "rate"
        self._budget_s = budget_s

    def starting(self, start: int) -> None:
        """Show the number of the start on the bottom line."""
        self._say(f"start {start + 1}")

    def guessing(self, connections: int) -> None:
        """Show on the bottom line that the first guess is made."""
        asking = "each asking again at once, for a first guess"
        self._say(f"{numerals.count(connections, 'connection')}, {asking}")

    def planned(self, outlook: SearchOutlook) -> None:
        """Print the outlook on a line that stays."""
        self._line(Text(say.outlook(outlook, self._budget_s).replace(NARROW, " "), style="dim"))

    def trying(self, step: NextLevel) -> None:
        """Show the load on the bottom line."""
        self._say(f"{step.purpose}  {say.load(step.load, self._by_rate)}")

    def progress(self, progress: ProgressLine) -> None:
        """Show the figures so far beside what is being tried."""
        failed = f"  {progress.failed:,} failed" if progress.failed else ""
        times = f"  p50 {numerals.duration(progress.p50_ns)}  p99 {numerals.duration(progress.p99_ns)}"
        self._show(f"{self._doing}  {progress.phase}{times}{failed}")

    def tried(self, level: Level, left_s: float) -> None:
        """Print the level on a line that stays."""
        self._left_s = left_s
        line = Text(say.line(level, self._by_rate), no_wrap=True, overflow="ellipsis")
        line.stylize(report_text.STYLES[say.TONES[level.outcome]], len(line) - len(verdict(level)))
        self._line(line)
