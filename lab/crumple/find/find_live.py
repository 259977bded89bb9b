"""What the user sees while the breaking point is searched: each level that is over, and what is being tried.

It goes to stderr. On a terminal the last line is redrawn in place. Nothing is computed here.
"""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from crumple.contract import Progress
from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.drawing.terminal import Terminal
from crumple.find.level import Level
from crumple.find.next_level import Outlook, Step
from crumple.find.report import find_sentences as say
from crumple.find.report.find_output import STYLES
from crumple.find.search import By


class FindView:
    """A `conduct.Watcher` on a console. Use as a context."""

    def __init__(
        self, by: By, budget_s: float, *, quiet: bool = False, console: Console | None = None
    ) -> None:
        self._console = console or Terminal(stderr=True, quiet=quiet)
        self._by_rate = by == "rate"
        self._budget_s = self._left_s = budget_s
        self._now = Text()
        self._doing = ""
        self._live = Live(
            console=self._console, refresh_per_second=4, transient=True, get_renderable=lambda: self._now
        )

    def __enter__(self) -> Self:
        if self._console.is_interactive:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_interactive:
            self._live.stop()

    def starting(self, start: int) -> None:
        """Show the number of the start on the bottom line."""
        self._say(f"start {start + 1}")

    def guessing(self, connections: int) -> None:
        """Show on the bottom line that the first guess is made."""
        asking = "each asking again at once, for a first guess"
        self._say(f"{numerals.count(connections, 'connection')}, {asking}")

    def planned(self, outlook: Outlook) -> None:
        """Print the outlook on a line that stays."""
        self._line(Text(say.outlook(outlook, self._budget_s).replace(NARROW, " "), style="dim"))

    def trying(self, step: Step) -> None:
        """Show the load on the bottom line."""
        self._say(f"{step.purpose}  {say.load(step.load, self._by_rate)}")

    def progress(self, progress: Progress) -> None:
        """Show the figures so far beside what is being tried."""
        failed = f"  {progress.failed:,} failed" if progress.failed else ""
        times = f"  p50 {numerals.duration(progress.p50_ns)}  p99 {numerals.duration(progress.p99_ns)}"
        self._show(f"{self._doing}  {progress.phase}{times}{failed}")

    def tried(self, level: Level, left_s: float) -> None:
        """Print the level on a line that stays."""
        self._left_s = left_s
        line = Text(say.line(level, self._by_rate), no_wrap=True, overflow="ellipsis")
        line.stylize(STYLES[level.outcome], len(line) - len(say.verdict(level)))
        self._line(line)

    def _line(self, line: Text) -> None:
        self._console.print(line, soft_wrap=not self._console.is_interactive)

    def _say(self, doing: str) -> None:
        self._doing = doing
        self._show(doing)

    def _show(self, said: str) -> None:
        line = f"{said}  ({numerals.clock(max(0.0, self._left_s))} left)".replace(NARROW, " ")
        self._now = Text(line, style="dim", no_wrap=True, overflow="ellipsis")
