"""How commands speak: facts on stdout, as tables or as JSON; everything else on stderr."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

facts = Console(soft_wrap=False)
words = Console(stderr=True, highlight=False)


def as_json(data: Any) -> None:
    """One document on stdout."""
    print(json.dumps(data, indent=1, ensure_ascii=False, default=str))


def as_table(headings: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """A plain table that folds long cells."""
    columns = (Column(heading, overflow="fold") for heading in headings)
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        # As text: a "[" in a name or reason is no markup.
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    facts.print(table)


def say(line: str) -> None:
    """One line to the user."""
    words.print(Text(line), soft_wrap=True)


def say_disturbed() -> None:
    """What to tell whoever measures beside another crumple."""
    say("another crumple measures on this machine now: each disturbs the other; wait until it has ended")


def ask(question: str) -> bool:
    """Yes or no from whoever sits there; no if nobody does."""
    if not words.is_terminal:
        say(f"{question} Nobody to ask; add --yes.")
        return False
    words.print(Text(f"{question} [y/N] "), end="")
    try:
        return input().strip().lower() in ("y", "yes")
    except EOFError:
        return False
