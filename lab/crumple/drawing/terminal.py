"""Text for a terminal: its width, its colours, and plots of lines in braille dots and columns in eighths.

Text from elsewhere, such as an answer, may hold characters that act on a terminal or mislead a reader;
`shown` escapes them. All text that a `Terminal` prints goes through it. Markup is not escaped: rich's `Text`
and the templates do that.

The plots are our own 60 lines: rich draws none, and plotext returns a finished picture with axes of its own
and colours as escape sequences, which does not fit a live view of rich's.
"""

import io
import math
import re
import shutil
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from crumple import streams
from crumple.drawing import numerals
from crumple.drawing.scale import AxisScale


def shown(text: str) -> str:
    """The text on one line, with an escape such as \\x1b for each character that acts or is invisible."""
    return "".join(each if _is_plain(each) else _escaped(each) for each in text)


def shown_lines(text: str) -> list[str]:
    """Each line as `shown`; tabs become spaces, and a carriage return at the end of a line is left out."""
    return [shown(line.removesuffix("\r").expandtabs(4)) for line in text.split("\n")]


def _is_plain(letter: str) -> bool:
    # isprintable() is False for all spaces but the ordinary one; those of other widths do no harm.
    return letter.isprintable() or unicodedata.category(letter) == "Zs"


def _escaped(letter: str) -> str:
    code = ord(letter)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


# Characters that move the cursor, set the title or change the direction of writing; and surrogates, which no
# encoding accepts. Line ends and tabs are not among them.
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def acts(text: str) -> bool:
    """Whether `shown_text` would change it."""
    return _ACTS.search(text) is not None


def shown_text(text: str) -> str:
    """A text of several lines, with such characters escaped, for a terminal or a file. Idempotent."""
    return _ACTS.sub(lambda found: _escaped(found[0]), text)


def shown_json(document: str) -> str:
    """A JSON document with such characters as JSON escapes; they occur in strings only, so the data stay."""
    return _ACTS.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


class Terminal(Console):
    """A console that escapes control characters in all text, in tables and in lines."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        if how.get("force_terminal") is None:
            # FORCE_COLOR asks for colours; it does not make a file redraw what was written to it.
            self.is_interactive = self.is_interactive and self.file.isatty()

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        return super().render(harmless(renderable) if isinstance(renderable, Text) else renderable, options)

    def render_str(self, text: str, **how: Any) -> Text:
        return harmless(super().render_str(text, **how))


# Results are drawn for no fewer columns.
WIDTH_MIN = 60


def width(most: int, least: int = WIDTH_MIN) -> int:
    """Columns of the terminal, from `least` to `most`; `most` if there is no terminal."""
    return min(most, max(least, shutil.get_terminal_size((most, 40)).columns))


# Stands for the narrow space while lines are wrapped, because rich wraps at every kind of space.
_HOLDS_TOGETHER = "\ue000"


def _with_blanks(drawn: str) -> str:
    # Terminals differ in how wide they show the narrow space.
    return drawn.replace(_HOLDS_TOGETHER, " ").replace(numerals.NARROW, " ")


class _Wrapping(Terminal):
    """A terminal that wraps no line between a number and its unit."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        if isinstance(renderable, Text):
            renderable = renderable.copy()
            renderable.plain = numerals.joined(renderable.plain).replace(numerals.NARROW, _HOLDS_TOGETHER)
        return super().render(renderable, options)


def printed(shown: RenderableType, columns: int, styled: bool | None = None) -> str:
    """What a terminal of this number of columns shows, with ANSI styles or without.

    `styled` None: with styles if stdout takes them.
    """
    coloured = streams.takes_colours() if styled is None else styled
    written = io.StringIO()
    console = _Wrapping(
        file=written,
        width=columns,
        force_terminal=coloured,
        color_system="standard" if coloured else None,
        highlight=False,
        legacy_windows=False,
        # NO_COLOR is checked above, and a caller that asks for styles gets them.
        no_color=False,
    )
    console.print(shown)
    lines = _with_blanks(written.getvalue()).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def picture(shown: RenderableType, columns: int, title: str) -> str:
    """What a terminal of this number of columns shows, as an SVG of its window, which fetches nothing."""
    console = _Wrapping(
        file=io.StringIO(), width=columns, record=True, force_terminal=True, color_system="standard",
        highlight=False, legacy_windows=False, no_color=False,
    )  # fmt: skip
    console.print(shown)
    drawn = _with_blanks(console.export_svg(title=title))
    # Remove fonts that would be fetched; a viewer then uses its own monospaced one.
    return re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.S)


def harmless(text: Text) -> Text:
    """The text with its styles; characters that act on a terminal are escaped."""
    if not acts(text.plain):
        return text
    ends = [end for end in range(1, len(text)) if acts(text.plain[end - 1 : end + 1])]
    pieces = text.divide(ends)
    for piece in pieces:
        piece.plain = shown_text(piece.plain)
    return text.blank_copy().join(pieces)


Point = tuple[float, float | None]
# A character, and the number of the line that it belongs to; None: nothing is drawn there.
Cell = tuple[str, int | None]

_BLOCKS = " ▁▂▃▄▅▆▇█"
# The code point of the braille character without dots.
_BRAILLE = 0x2800
# The bits of a braille character, row by row: its left and its right dot.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
# Numbers with one digit that divide a decade of an axis evenly.
_ROUND = (1.0, 2.0, 5.0)
# Numbers that differ by a smaller share than a billionth are the same but for rounding.
_NEARLY = 1e-9


def lines(
    drawn: Sequence[Sequence[Point]], across: AxisScale, up: AxisScale, columns: int, rows: int
) -> list[list[Cell]]:
    """Draw each line through its points, broken at None; a cell that two lines cross belongs to the later."""
    bits = [[0] * columns for _ in range(rows)]
    owners: list[list[int | None]] = [[None] * columns for _ in range(rows)]
    for number, points in enumerate(drawn):
        for x, y in _dots(points, across, up, 2 * columns, 4 * rows):
            bits[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
            owners[y // 4][x // 2] = number
    return [
        [(chr(_BRAILLE + dots) if dots else " ", owner) for dots, owner in zip(*row, strict=True)]
        for row in zip(bits, owners, strict=True)
    ]


def blocks(counts: Sequence[int], rows: int) -> list[str]:
    """A column for each count, in `rows` rows from the top; a count above 0 shows at least an eighth."""
    most = max(counts, default=0)
    eighths = [max(1, round(count / most * rows * 8)) if count else 0 for count in counts]
    return [
        "".join(_BLOCKS[min(8, max(0, height - 8 * below))] for height in eighths)
        for below in reversed(range(rows))
    ]


def ruler(
    marks: Iterable[tuple[str, float]], across: AxisScale, columns: int, between: str = " ", apart: int = 1
) -> str:
    """A line with each word centred at its value; one within `apart` of an earlier one is left out."""
    line = [between] * columns
    for word, value in marks:
        start = round(across.share(value) * (columns - 1)) - len(word) // 2
        start = min(max(0, start), columns - len(word))
        if all(cell == between for cell in line[max(0, start - apart) : start + len(word) + apart]):
            line[start : start + len(word)] = word
    return "".join(line)


def rounded_up(value: float, steps: Sequence[float] = _ROUND) -> float:
    """The least step times a power of ten that is not below `value` (> 0); `steps`: 1 ≤ step < 10, rising."""
    decade = 10.0 ** math.floor(math.log10(value))
    return next((step * decade for step in steps if step * decade >= value * (1 - _NEARLY)), 10 * decade)


def rounded_down(value: float) -> float:
    """The greatest step times a power of ten that is not above `value` (> 0)."""
    decade = 10.0 ** math.floor(math.log10(value) + _NEARLY)
    return next(
        (step * decade for step in reversed(_ROUND) if step * decade <= value * (1 + _NEARLY)), decade
    )


def _dots(
    points: Sequence[Point], across: AxisScale, up: AxisScale, wide: int, high: int
) -> Iterator[tuple[int, int]]:
    before: tuple[int, int] | None = None
    for at, value in points:
        if value is None:
            before = None
            continue
        here = (round(across.share(at) * (wide - 1)), round((1 - up.share(value)) * (high - 1)))
        yield from _stroke(before or here, here)
        before = here


def _stroke(start: tuple[int, int], end: tuple[int, int]) -> Iterator[tuple[int, int]]:
    (x, y), (to_x, to_y) = start, end
    steps = max(abs(to_x - x), abs(to_y - y), 1)
    for step in range(steps + 1):
        yield x + round((to_x - x) * step / steps), y + round((to_y - y) * step / steps)
