"""What a format of imported files is: its name, how a file of it looks, and what reads it. Types only."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from crumple.importing.recorded import LeftOut, Recorded
from crumple.importing.shape import Way
from crumple.importing.source import HEAD_BYTES

Reader = Callable[[IO[bytes], Path, LeftOut], Iterator[Recorded]]


class Sample:
    """The first bytes of a file as text, by which its format is known."""

    def __init__(self, head: bytes) -> None:
        self._is_whole = len(head) < HEAD_BYTES
        self.text = head.decode(errors="replace")

    @cached_property
    def is_json(self) -> bool:
        """Whether a table of JSON begins, or an array of tables."""
        return re.match(r"\s*(?:\{|\[\s*\{)", self.text) is not None

    @cached_property
    def record(self) -> dict[str, Any] | None:
        """The table on the first line, which is all of it in JSON lines and in a short document."""
        line, end, _ = self.text.lstrip().partition("\n")
        return parsed_table(line) if end or self._is_whole else None

    @cached_property
    def lines(self) -> list[str]:
        """The lines, but the last one if it may be cut off."""
        return self.text.splitlines()[: None if self._is_whole else -1]

    @cached_property
    def first_line(self) -> str:
        """The first line that is neither empty nor a comment."""
        return next((line.strip() for line in self.lines if line.strip() and not line.startswith("#")), "")


def _never(_: Sample) -> bool:
    return False


@dataclass(frozen=True)
class Format:
    """A format of files that can be imported."""

    name: str
    """As it is typed behind --from."""
    read: Reader
    keys: tuple[frozenset[Way], ...] = ()
    """A document of JSON or YAML is of this format if it has one of these sets of keys at its top."""
    sniff: Callable[[Sample], bool] = _never
    """Whether a file begins as only files of this format do."""
    may_be: Callable[[Sample], bool] = _never
    """Whether a file may be of this format, if it is of none that is known more surely."""


def parsed_table(text: str) -> dict[str, Any] | None:
    """Return the table of JSON that a text is; None: it is none."""
    try:
        found = json.loads(text)
    # RecursionError: it is nested too deep.
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
