"""How commands speak: facts on stdout, as tables, text or JSON; everything else on stderr; and into files.

All that a command says goes through here, so that nothing in it acts on a terminal (`drawing.shown`).
"""

import codecs
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.table import Column, Table
from rich.text import Text

from crumple import surroundings
from crumple.drawing.shown import shown_json, shown_text
from crumple.drawing.terminal import Terminal
from crumple.machine import leftovers

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


def as_table(headings: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """A plain table that folds long cells."""
    columns = (Column(heading, overflow="fold") for heading in headings)
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        # As text: a "[" in a name or reason is no markup.
        table.add_row(*(cell if isinstance(cell, Text) else Text(shown_text(cell)) for cell in row))
    facts.print(table)


def say(line: str) -> None:
    """One line to the user."""
    words.print(Text(shown_text(line)), soft_wrap=True)


def say_disturbed() -> None:
    """What to tell whoever measures beside another crumple."""
    say("another crumple measures on this machine now: each disturbs the other; wait until it has ended")


def say_not_kept(cache: Path) -> None:
    """What to tell whoever has a cache that cannot be written to; nothing if it can."""
    if why := surroundings.refusal(cache):
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
