"""From what is to be shown to a terminal, or the text of one: its width, its colours, its spaces.

All that a `Terminal` prints is shown, and nothing of it acts: see `shown`.
"""

import io
import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from crumple.drawing import numerals
from crumple.drawing.shown import acts, shown_text

DUMB = ("dumb", "unknown")


class Terminal(Console):
    """A console on which text from elsewhere is harmless, wherever in a table or a line it stands."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        return super().render(_harmless(renderable) if isinstance(renderable, Text) else renderable, options)

    def render_str(self, text: str, **how: Any) -> Text:
        return _harmless(super().render_str(text, **how))


def width(least: int, most: int) -> int:
    """Columns of the terminal, within these bounds; `most` where there is none."""
    return min(most, max(least, shutil.get_terminal_size((most, 40)).columns))


def printed(shown: RenderableType, columns: int, styled: bool | None = None) -> str:
    """What a terminal of so many columns shows, with ANSI styles or plain. `styled` None: as stdout does."""
    coloured = _takes_colours() if styled is None else styled
    written = io.StringIO()
    console = Terminal(
        file=written,
        width=columns,
        force_terminal=coloured,
        color_system="standard" if coloured else None,
        highlight=False,
        legacy_windows=False,
        # Looked at above, and a caller that asks for styles has them.
        no_color=False,
    )
    console.print(shown)
    # Terminals are not agreed on how wide the narrow space is.
    lines = written.getvalue().replace(numerals.NARROW, " ").splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def picture(shown: RenderableType, columns: int, title: str) -> str:
    """The same as an SVG of a terminal window, which fetches nothing."""
    console = Terminal(
        file=io.StringIO(), width=columns, record=True, force_terminal=True, color_system="standard",
        highlight=False, legacy_windows=False, no_color=False,
    )  # fmt: skip
    console.print(shown)
    drawn = console.export_svg(title=title).replace(numerals.NARROW, " ")
    # Fonts from elsewhere; where they are missing the reader's own monospaced one does.
    return re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.S)


def _takes_colours() -> bool:
    """Whether stdout is a terminal that knows them, whose user has not declined (no-color.org)."""
    dumb = os.environ.get("TERM", "").lower() in DUMB
    return sys.stdout.isatty() and not dumb and not os.environ.get("NO_COLOR")


def _harmless(text: Text) -> Text:
    if not acts(text.plain):
        return text
    ends = [end for end in range(1, len(text)) if acts(text.plain[end - 1 : end + 1])]
    pieces = text.divide(ends)
    for piece in pieces:
        piece.plain = shown_text(piece.plain)
    return text.blank_copy().join(pieces)
