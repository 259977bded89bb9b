"""Tables that fit a terminal: cells wrap between words, and columns that have no room are left out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from crumple.drawing import numerals

# Blanks between columns.
GAP = 2


@dataclass(frozen=True)
class TextColumn:
    """A column of a table. `whole`: its cells do not wrap. `right`: they stand at its right side."""

    heading: str
    cells: Sequence[Text]
    whole: bool = False
    right: bool = False
    at_least: int = 0

    @property
    def least(self) -> int:
        """Return the width of its longest word (a number and its unit are one), or of its longest line."""
        words = rf"[^\S{numerals.NARROW}]+"
        longest = _longest(self._texts, r"\n" if self.whole else words)
        return max(self.at_least, _longest([self.heading], words), longest)

    @property
    def most(self) -> int:
        """Return the width of its longest line."""
        return max(self.at_least, _longest([self.heading, *self._texts], r"\n"))

    @property
    def _texts(self) -> list[str]:
        return [numerals.joined(cell.plain) for cell in self.cells]


def fitted(
    columns: Sequence[TextColumn],
    wide: int,
    gap: int = GAP,
    *,
    left_out_first: Sequence[str] = (),
    spared_first: Sequence[str] = (),
) -> list[TextColumn]:
    """Return the columns that are shown in the room there is.

    `left_out_first`: the headings of those to leave out while words would be broken, in this order;
    `spared_first`: of those to leave out while cells would wrap.
    """
    kept = list(columns)
    for heading in spared_first:
        if sum(column.most + gap for column in kept) - gap > wide:
            kept = [column for column in kept if column.heading != heading]
    for heading in left_out_first:
        if least(kept, gap) > wide:
            kept = [column for column in kept if column.heading != heading]
    return kept


def least(columns: Sequence[TextColumn], gap: int = GAP) -> int:
    """Return how wide a table of these columns is at least."""
    return sum(column.least + gap for column in columns) - gap


def widths(columns: Sequence[TextColumn], wide: int, gap: int) -> list[int]:
    """Return the width of each column: at least its longest word; columns that would wrap share the rest."""
    found = [column.least for column in columns]
    left = max(0, wide - least(columns, gap))
    wanting = {at: column.most - column.least for at, column in enumerate(columns)}
    # Columns that need the least come first, so that the others share what these leave.
    for done, at in enumerate(sorted(wanting, key=lambda at: wanting[at])):
        given = min(wanting[at], left // (len(columns) - done))
        found[at] += given
        left -= given
    return found


def table(columns: Sequence[TextColumn], wide: int, gap: int = GAP, *, heading_style: str = "dim") -> Table:
    """Return the columns as a table. It is wider than `wide` only if a word of them leaves no choice."""
    drawn = Table(box=None, pad_edge=False, header_style=heading_style, padding=(0, gap, 0, 0))
    for column, width in zip(columns, widths(columns, wide, gap), strict=True):
        drawn.add_column(column.heading, width=width, justify="right" if column.right else "left")
    for row in zip(*(column.cells for column in columns), strict=True):
        drawn.add_row(*row)
    return drawn


def left_out(columns: Sequence[TextColumn], kept: Sequence[TextColumn], wide: int) -> str:
    """Return a line that names what was left out; empty if nothing was."""
    gone = [column.heading for column in columns if column not in kept]
    return f"left out, because {wide} columns are too few: {', '.join(gone)}; --json has all" if gone else ""


def _longest(texts: Sequence[str], between: str) -> int:
    return max((cell_len(part) for text in texts for part in re.split(between, text)), default=0)
