"""What the user sees while a file is imported: how much of it is read, and how much time is left.

It goes to stderr, on a terminal only, once it takes longer than SOON_S.
"""

import time
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from crumple.drawing import numerals
from crumple.drawing.redrawn import Redrawn, with_time_left
from crumple.drawing.terminal import Terminal

# Seconds after which progress is shown: what is done sooner needs none.
SOON_S = 1.0


class ImportProgress(Redrawn):
    """A line that is redrawn in place. Use as a context. `total_bytes` None: not known, as of stdin."""

    def __init__(
        self,
        total_bytes: int | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        console: Console | None = None,
    ) -> None:
        super().__init__(console or Terminal(stderr=True), lambda: self.line())
        self._total_bytes = total_bytes
        self._clock = clock
        self._began_s = clock()
        self._read_bytes = 0
        self._is_read = False

    def read(self, count_bytes: int) -> None:
        """Count bytes of the file that were read; 0: there are none left."""
        self._read_bytes += count_bytes
        self._is_read = self._is_read or not count_bytes or self._read_bytes == self._total_bytes

    def line(self) -> Text:
        """Return what is shown now."""
        took_s = self._clock() - self._began_s
        if took_s < SOON_S:
            return Text()
        done = numerals.size(self._read_bytes)
        if self._is_read:
            return _dim(f"{done} read, working out the requests  ({numerals.clock(took_s)} so far)")
        if self._total_bytes is None or not self._read_bytes:
            return _dim(f"{done} read  ({numerals.clock(took_s)} so far)")
        left_s = took_s * (self._total_bytes - self._read_bytes) / self._read_bytes
        return with_time_left(f"{done} of {numerals.size(self._total_bytes)} read", max(0.0, left_s))


def _dim(said: str) -> Text:
    return Text(said.replace(numerals.NARROW, " "), style="dim", no_wrap=True, overflow="ellipsis")
