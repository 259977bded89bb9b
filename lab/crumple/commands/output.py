"""How commands speak: facts on stdout, as tables, text or JSON; everything else on stderr; and into files.

All that a command says goes through here, so that nothing in it acts on a terminal (`drawing.terminal`).
"""

import codecs
import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from crumple import start
from crumple.drawing import numerals, terminal
from crumple.drawing.terminal import Terminal, shown_json, shown_text
from crumple.machine import leftovers

# Between the columns of a table.
GAP = 1
facts = Terminal(soft_wrap=False)
words = Terminal(stderr=True, highlight=False)


def as_json(data: Any) -> None:
    """One document on stdout."""
    document(json.dumps(data, indent=1, ensure_ascii=False, default=str) + "\n")


def document(text: str) -> None:
    """JSON on stdout. What the encoding there lacks becomes an escape, and the data stay what they are."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(shown_json(text).encode(encoding, "crumple-json").decode(encoding))


def drawn(text: str) -> None:
    """What `drawing.terminal` printed, on stdout, styles and all."""
    sys.stdout.write(text)


def plain(text: str) -> None:
    """Any other text on stdout."""
    sys.stdout.write(shown_text(text))


def write(file: Path, text: str) -> None:
    """A text, a page or a document as a file. Raises OSError."""
    file.write_text(shown_text(text), encoding="utf-8")


def as_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    left_out_first: Sequence[str] = (),
    on_one_line: Sequence[str] = (),
) -> None:
    """A plain table in which cells run over several lines, and no word does.

    `left_out_first`: columns that a narrow terminal does without, this one first; where that is not enough
    either, lines are longer than the terminal is wide. `on_one_line`: columns whose cells do not run over.
    """
    # As text: a "[" in a name or reason is no markup. Harmless before it is measured.
    cells = [
        [terminal.harmless(cell if isinstance(cell, Text) else Text(cell)) for cell in row] for row in rows
    ]
    columns = [
        _Cells(heading, [row[at] for row in cells], heading in on_one_line)
        for at, heading in enumerate(headings)
    ]
    gone = []
    for heading in left_out_first:
        if _least(columns) > facts.width:
            gone.append(heading)
            columns = [column for column in columns if column.heading != heading]
    width = max(facts.width, _least(columns))
    widths = _widths(columns, width)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    for column, wide in zip(columns, widths, strict=True):
        table.add_column(column.heading, width=wide)
    for line in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*line)
    # The last column has a gap, too, which is cut off.
    drawn(terminal.printed(table, width + GAP))
    if gone:
        say(f"left out, as {facts.width} columns are too few: {', '.join(gone)}; --json has all")


@dataclass(frozen=True)
class _Cells:
    """A column of a table. `whole`: its cells do not run over several lines."""

    heading: str
    cells: Sequence[Text]
    whole: bool

    @property
    def least(self) -> int:
        """Its longest word, in which a unit is part of its number; or its longest line."""
        words = rf"[^\S{numerals.NARROW}]+"
        return max(_longest([self.heading], words), _longest(self._texts, r"\n" if self.whole else words))

    @property
    def most(self) -> int:
        """Its longest line."""
        return _longest([self.heading, *self._texts], r"\n")

    @property
    def _texts(self) -> list[str]:
        return [cell.plain for cell in self.cells]


def _longest(texts: Sequence[str], between: str) -> int:
    return max((cell_len(part) for text in texts for part in re.split(between, text)), default=0)


def _least(columns: Sequence[_Cells]) -> int:
    return sum(column.least + GAP for column in columns) - GAP


def _widths(columns: Sequence[_Cells], width: int) -> list[int]:
    """Of each column no less than its longest word; what is left goes to those with most to write."""
    widths = [column.least for column in columns]
    left = width - _least(columns)
    wanting = {at: column.most - column.least for at, column in enumerate(columns)}
    # Those that want least first, so that what they leave is the others'.
    for done, at in enumerate(sorted(wanting, key=lambda at: wanting[at])):
        given = min(wanting[at], left // (len(columns) - done))
        widths[at] += given
        left -= given
    return widths


def say(line: str) -> None:
    """One line to the user."""
    words.print(Text(shown_text(line)), soft_wrap=True)


def say_disturbed() -> None:
    """What to tell whoever measures beside another crumple."""
    say("another crumple measures on this machine now: each disturbs the other; wait until it has ended")


def say_not_kept(cache: Path) -> None:
    """What to tell whoever has a cache that cannot be written to; nothing if it can."""
    if why := start.refusal(cache):
        measured = "what the engine reaches here is measured anew each time"
        say(f"cannot write {cache}: {why}; {measured}, unless XDG_CACHE_HOME names another place")


def ask(question: str) -> bool:
    """Yes or no from whoever sits there; no if nobody does."""
    if not words.is_terminal:
        say(f"{question} Nobody to ask; add --yes.")
        return False
    words.print(Text(f"{shown_text(question)} [y/N] "), end="")
    try:
        return input().strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _as_escapes(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error("crumple-json", _as_escapes)


def away() -> None:
    """End and remove it, and say so."""
    if ended := leftovers.end_all():
        say(str(ended))
