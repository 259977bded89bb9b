"""From what is to be shown to the text of a terminal: its width, its colours, its spaces."""

import io
import os
import shutil
import sys

from rich.console import Console, RenderableType

from crumple.drawing import numerals


def width(least: int, most: int) -> int:
    """Columns of the terminal, within these bounds; `most` where there is none."""
    return min(most, max(least, shutil.get_terminal_size((most, 40)).columns))


def printed(shown: RenderableType, columns: int, styled: bool | None = None) -> str:
    """What a terminal of so many columns shows, with ANSI styles or plain. `styled` None: as stdout does."""
    coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ if styled is None else styled
    written = io.StringIO()
    console = Console(
        file=written,
        width=columns,
        force_terminal=coloured,
        color_system="standard" if coloured else None,
        highlight=False,
        legacy_windows=False,
    )
    console.print(shown)
    # Terminals are not agreed on how wide the narrow space is.
    lines = written.getvalue().replace(numerals.NARROW, " ").splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"
