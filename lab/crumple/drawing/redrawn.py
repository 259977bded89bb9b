"""Live views: what a terminal redraws in place while a command works, and takes away at the end."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW

# A live view is drawn four times a second: often enough to look alive, and cheap beside a load.
PER_SECOND = 4


class Redrawn:
    """A view that `drawn` returns. Use as a context. On a console that is no terminal nothing is redrawn."""

    def __init__(
        self, console: Console, drawn: Callable[[], RenderableType], per_second: int = PER_SECOND
    ) -> None:
        self._console = console
        self._drawn_by = drawn
        self._per_second = per_second
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_interactive:
            # Begun here, as it draws at once, and what is drawn is known only when the view is made.
            self._live = Live(
                console=self._console,
                refresh_per_second=self._per_second,
                transient=True,
                get_renderable=self._drawn_by,
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()


class BottomLine(Redrawn):
    """Lines that stay, above one that says what is being done and how much of a budget is left."""

    def __init__(self, console: Console, budget_s: float) -> None:
        super().__init__(console, lambda: self._now)
        self._left_s = budget_s
        self._doing = ""
        self._now = Text()

    def _line(self, line: Text) -> None:
        # A console joins texts into a new one, which loses how they would be cut.
        if self._console.is_interactive:
            self._console.print(line, no_wrap=True, overflow="ellipsis")
        else:
            self._console.print(line, soft_wrap=True)

    def _say(self, doing: str) -> None:
        self._doing = doing
        self._show(doing)

    def _show(self, said: str) -> None:
        self._now = with_time_left(said, self._left_s)


def with_time_left(said: str, left_s: float, about: str = "") -> Text:
    """Return the line with the time left, as in "level 3  (0:42 left)"."""
    line = f"{said}  ({about}{numerals.clock(max(0.0, left_s))} left)".replace(NARROW, " ")
    return Text(line, style="dim", no_wrap=True, overflow="ellipsis")
