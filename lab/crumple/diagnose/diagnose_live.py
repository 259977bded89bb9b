"""What the user sees while a server is diagnosed: which step, and how long it has taken.

It goes to stderr. On a terminal the last line is redrawn in place; elsewhere each step is a line.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from crumple.contract import ProgressLine
from crumple.diagnose.searching import SEARCH_S
from crumple.drawing.numerals import NARROW
from crumple.drawing.redrawn import Redrawn, with_time_left
from crumple.drawing.terminal import Terminal
from crumple.find.level import Level
from crumple.find.next_level import NextLevel, SearchOutlook
from crumple.find.report import find_sentences
from crumple.limit.finding import Finding, Said
from crumple.words import cause_sentences

# About how long the steps before and after the search take, and how long it takes to try a change, in
# seconds.
BESIDE_S, TRY_S = 35.0, 30.0


class DiagnoseView(Redrawn):
    """A `diagnosis.DiagnosisWatcher` on a console. Use as a context."""

    def __init__(
        self, *, searches: bool, tries: bool = False, quiet: bool = False, console: Console | None = None
    ) -> None:
        super().__init__(console or Terminal(stderr=True, quiet=quiet), self._line)
        takes_s = BESIDE_S + (SEARCH_S if searches else 0.0) + (TRY_S if tries else 0.0)
        self._over_s = time.monotonic() + takes_s
        self._doing = ""

    def doing(self, what: str) -> None:
        """Show the step, with about how much time is left."""
        self._doing = what
        if not self._console.is_interactive:
            self._console.print(self._line(), soft_wrap=True)

    def likely(self, said: Sequence[Said]) -> None:
        """Show what is likely so far, which stays."""
        rows = cause_sentences.in_short(
            [replace(each, remedy="") if isinstance(each, Finding) else each for each in said]
        )
        if rows:
            line = f"preliminary: {rows[0][1]}".replace(NARROW, " ")
            self._console.print(Text(line), soft_wrap=not self._console.is_interactive)

    def starting(self, start: int) -> None:
        """Show that the search begins."""
        self.doing("searching the breaking point")

    def guessing(self, connections: int) -> None:
        """Show nothing: the first guess is part of the search."""

    def planned(self, outlook: SearchOutlook) -> None:
        """Show nothing: the search has a budget of its own here."""

    def trying(self, step: NextLevel) -> None:
        """Show the load on the bottom line."""
        self._doing = f"searching the breaking point: {find_sentences.load(step.load, True)}"

    def progress(self, progress: ProgressLine) -> None:
        """Show nothing: a level takes a second or two."""

    def tried(self, level: Level, left_s: float) -> None:
        """Show nothing: the report has the result."""

    def _line(self) -> Text:
        return with_time_left(self._doing, self._over_s - time.monotonic(), "about ")
