"""Examples as they stand in one request: as JSON or as plain text. Bounded in length. Pure.

An example from YAML may name one part a million times, or hold itself.
"""

import json
from collections.abc import Iterable
from typing import Any

from crumple.importing.openapi_parts import NoExample

# As much as a body in a HAR may have.
LETTERS_MAX = 256 << 10
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class ExampleText:
    """Writes the examples of one request, which have LETTERS_MAX letters together at most."""

    def __init__(self) -> None:
        self._left = LETTERS_MAX

    @property
    def letters(self) -> int:
        """How many letters were written, or tried."""
        return LETTERS_MAX - self._left

    def json(self, value: Any, encoder: json.JSONEncoder = _ENCODER) -> str:
        """Return a value as JSON. Raises NoExample."""
        try:
            return self._joined(encoder.iterencode(value))
        except ValueError:
            raise NoExample("with an example that holds itself") from None
        except RecursionError:
            raise NoExample("with an example that is nested too deep") from None

    def compact(self, value: Any) -> str:
        """Return a value as JSON without spaces, as it stands in a parameter or a field. Raises NoExample."""
        return self.json(value, _COMPACT)

    def plain(self, value: Any) -> str:
        """Return a value as it stands in a path, a query or a form. Raises NoExample."""
        return self._joined([value]) if isinstance(value, str) else self.compact(value)

    def _joined(self, pieces: Iterable[str]) -> str:
        parts = []
        for piece in pieces:
            self.take(len(piece))
            parts.append(piece)
        return "".join(parts)

    def take(self, letters: int) -> None:
        """Count letters that are written. Raises NoExample."""
        self._left -= letters
        if self._left < 0:
            raise NoExample(f"with examples of more than {LETTERS_MAX >> 10} KiB")
