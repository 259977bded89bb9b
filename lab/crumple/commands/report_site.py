"""crumple report --site: writes all results and runs as pages that need no server of ours."""

import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

from crumple.commands import output
from crumple.commands.project_files import Project
from crumple.drawing import numerals
from crumple.drawing.redrawn import Redrawn, with_time_left
from crumple.drawing.terminal import Terminal
from crumple.interrupt import interruptible
from crumple.results import selection
from crumple.site import site_build

# Seconds after which progress is shown: what is done sooner needs none.
SOON_S = 2.0
# How often progress is said where it cannot be redrawn in place, as in a log.
EVERY_S = 5.0


class SiteProgress(Redrawn):
    """How far a site is, and how much time is left. Use as a context."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, console: Console | None = None
    ) -> None:
        super().__init__(console or Terminal(stderr=True), lambda: self.line())
        self._clock = clock
        self._began_s = self._said_s = clock()
        self._doing, self._done, self._of = "", 0, 0
        self._since_s = self._began_s

    def at(self, doing: str, done: int, of: int) -> None:
        """Note what is being done, how many are done, and of how many."""
        if doing != self._doing:
            self._since_s = self._clock()
        self._doing, self._done, self._of = doing, done, of
        if not self._console.is_interactive and self._clock() - self._said_s >= EVERY_S:
            self._said_s = self._clock()
            self._console.print(self.line())

    def line(self) -> Text:
        """Return what is shown now."""
        took_s = self._clock() - self._since_s
        if self._clock() - self._began_s < SOON_S:
            return Text()
        done = f"{self._doing} {self._done} of {self._of}"
        left_s = took_s * (self._of - self._done) / self._done if self._done else 0.0
        return with_time_left(done, left_s, "about ")


def write(folder: Path, open_it: bool) -> int:
    """Build the site of all results and runs, anew where something changed. Raises CrumpleError."""
    stored = selection.entries(Project.here().runs)
    with interruptible(), SiteProgress() as progress:
        built = site_build.build(folder, stored, progress.at)
    for entry in built.unreadable:
        output.say(f"! {entry.row.name} has no page: {entry.row.damaged}")
    drawn = numerals.count(built.drawn, "page")
    output.say(f"{numerals.count(built.results, 'result')}: {drawn} drawn, {built.kept:,} unchanged")
    if open_it:
        output.open_page(built.index)
    else:
        output.say(f"page: {built.index}")
    return 0
